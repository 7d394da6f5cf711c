"""A pair's life under every runtime: hello, frames, ends, evidence; and nothing is left when its owner dies."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from runtime_pairs import TRUSTED, begin, execute, request, runtime, verdict

from runner.runtimes.base import Limits, Runtime, StartFailed
from runner.runtimes.children import PREFIX, _runtime_folder
from runner.runtimes.select import clean
from runner.store.lock import RunLock

DOCKER = pytest.param("docker", marks=pytest.mark.docker)
BUBBLEWRAP = pytest.param("bubblewrap", marks=pytest.mark.bubblewrap)
ALL = [DOCKER, BUBBLEWRAP, "process"]


@pytest.fixture(params=ALL)
def started(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Runtime]:
    made = runtime(request.param, tmp_path)
    yield made
    made.close()


@pytest.fixture(params=ALL)
def pooled(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Runtime]:
    made = runtime(request.param, tmp_path, jobs=1)
    yield made
    made.close()


def containers_and_volumes(label: str = "assay.run=test") -> list[str]:
    lines = []
    for command in (["ps", "-aq"], ["volume", "ls", "-q"]):
        done = subprocess.run(
            ["docker", *command, "--filter", f"label={label}"], capture_output=True, text=True, check=True
        )
        lines += done.stdout.split()
    return lines


def test_a_pair_plays_an_episode_and_leaves_nothing(started: Runtime) -> None:
    images = started.prepare(request())
    assert [image.role for image in images] == ["mujoco", "sandbox"]
    assert all(len(image.content) == 64 for image in images)
    pair = started.open(request())
    try:
        assert pair.environment_hello["engine"] == "mujoco"
        assert pair.images == images
        assert pair.start_s > 0.0
        ready = begin(pair)
        assert ready["describe"]["environment_id"] == "marble/dual-panda/A007"
        code = "from images.client import connect\nprint(connect().describe().environment_id)"
        header, printed = execute(pair, code)
        assert (header["status"], printed) == ("ok", "marble/dual-panda/A007\n")
        assert pair.exit("environment", 0.0) is None
        assert verdict(pair)["judgement"]["cause"] == "quit"
    finally:
        pair.close()
    pair.close()


def test_a_killed_process_is_an_end_and_its_partner_lives_on(started: Runtime) -> None:
    pair = started.open(request())
    try:
        begin(pair)
        pair.kill("sandbox")
        pair.kill("sandbox")
        with pytest.raises(EOFError):
            pair.sandbox.receive(10.0)
        ended = pair.exit("sandbox", 10.0)
        assert ended is not None
        assert ended.code == 137
        assert verdict(pair, "sandbox_memory")["judgement"]["cause"] == "sandbox_memory"
        with pytest.raises(TimeoutError):
            pair.environment.receive(0.05)
    finally:
        pair.close()


@pytest.mark.parametrize("name", [DOCKER, BUBBLEWRAP])
def test_every_pair_is_fresh(name: str, tmp_path: Path) -> None:
    code = (
        "import os\nprint(os.path.exists('/tmp/left'), 'kept' in globals())\nopen('/tmp/left', 'w').close()\nkept = 1"
    )
    started = runtime(name, tmp_path)
    try:
        for _ in range(2):
            pair = started.open(request())
            assert execute(pair, code)[1] == "False False\n"
            assert execute(pair, code)[1] == "True True\n"
            pair.close()
    finally:
        started.close()


def test_the_next_pair_is_ready_when_it_is_asked_for(pooled: Runtime) -> None:
    first = pooled.open(request())
    time.sleep(first.start_s * 3 + 1.0)
    asked = time.monotonic()
    second = pooled.open(request())
    handed_over = time.monotonic() - asked
    first.close()
    second.close()
    assert handed_over < second.start_s / 2  # it was started meanwhile; `bench overhead` has the milliseconds


def test_closing_the_runtime_ends_pairs_that_are_still_open(started: Runtime) -> None:
    pair = started.open(request())
    begin(pair)
    started.close()
    assert pair.exit("environment", 10.0) is not None
    assert pair.exit("sandbox", 10.0) is not None
    pair.close()


@pytest.mark.parametrize("name", [DOCKER, BUBBLEWRAP])
def test_an_environment_that_cannot_start_is_told_with_evidence(name: str, tmp_path: Path) -> None:
    started = runtime(name, tmp_path)
    starved = replace(request(), environment_limits=Limits(24 << 20, 1.0, 64, 1 << 20, 60.0))
    try:
        with pytest.raises(StartFailed, match="environment") as error:
            started.open(starved)
        evidence = error.value.evidence
        assert evidence["role"] == "environment"
        assert evidence["exit_code"] != 0
        assert evidence["oom"] is True if name == "docker" else evidence["log"]
    finally:
        started.close()


def owning(name: str, home: Path) -> subprocess.Popen[str]:
    """Another process that holds a pair open and says so on its stdout."""
    script = str(Path(__file__).with_name("runtime_owner.py"))
    paths = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[1]), *filter(None, sys.path)])
    return subprocess.Popen(
        [sys.executable, script, name, str(home)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )


@pytest.mark.parametrize("name", ALL)
def test_a_start_that_has_nothing_else_to_do_removes_what_a_dead_one_left(name: str, tmp_path: Path) -> None:
    owner = owning(name, tmp_path)
    run_lock = RunLock(tmp_path / "locks" / "test.lock", "test")
    run_lock.release()
    try:
        assert owner.stdout is not None
        assert "open\n" in iter(owner.stdout.readline, "")
        assert clean(name, TRUSTED, tmp_path) == []  # of the living
        (lock,) = set((tmp_path / "locks").iterdir()) - {run_lock.path}
        owner.kill()
        owner.wait()
        assert any("of run test" in line for line in clean(name, TRUSTED, tmp_path))
        assert _left(name, {lock.stem}) == []
        assert list((tmp_path / "locks").iterdir()) == [run_lock.path]  # which is never removed
        assert clean(name, TRUSTED, tmp_path) == []
    finally:
        owner.kill()
        owner.wait()


@pytest.mark.parametrize("name", ALL)
def test_after_sigkill_of_the_runner_nothing_is_left(name: str, tmp_path: Path) -> None:
    owner = owning(name, tmp_path)
    living = runtime(name, tmp_path)
    try:
        assert owner.stdout is not None
        assert "open\n" in iter(owner.stdout.readline, "")
        locks = {path.stem for path in (tmp_path / "locks").glob("*.lock")}
        assert len(locks) == 2
        living.reap()
        assert _left(name, locks, tries=1), "a living owner was robbed"
        owner.kill()
        owner.wait()
        removed = living.reap()
        assert any("of run test" in line for line in removed)
        (own,) = {path.stem for path in (tmp_path / "locks").glob("*.lock")}
        assert _left(name, locks - {own}) == []
    finally:
        owner.kill()
        owner.wait()
        living.close()
        assert owner.stdout is not None
        owner.stdout.close()


def _left(name: str, owners: set[str], tries: int = 100) -> list[str]:
    """Containers and volumes, or folders and processes, of the owners. Processes get a moment to end."""
    if name == "docker":
        return [line for owner in owners for line in containers_and_volumes(f"assay.owner={owner}")]
    folders = [_runtime_folder() / f"{PREFIX}{owner[:16]}" for owner in owners]
    found = [str(folder) for folder in folders if folder.exists()]
    return found + [process for folder in folders for process in _processes_of(folder.name, tries)]


def _processes_of(folder: str, tries: int) -> list[str]:
    """Processes whose mounts or command line name the folder."""
    found: list[str] = []
    for _ in range(tries):
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    seen = (entry / "mountinfo").read_text() + (entry / "cmdline").read_text()
                except OSError:
                    continue
                if folder in seen:
                    found.append(entry.name)
        if not found:
            break
        time.sleep(0.05)
    return found
