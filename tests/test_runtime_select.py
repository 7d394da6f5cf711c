"""`--runtime auto` picks and says which and why; an agent's own code never runs without isolation."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from runtime_pairs import TRUSTED, UNTRUSTED, request

from runner.runtimes.base import RuntimeUnavailable
from runner.runtimes.commands import entry_points
from runner.runtimes.select import select


@pytest.fixture
def nothing_works(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without an Engine and without bubblewrap."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    monkeypatch.setenv("PATH", str(tmp_path))


def test_an_unknown_runtime_is_named_with_the_choices(tmp_path: Path) -> None:
    with pytest.raises(RuntimeUnavailable, match=r"'podman' is unknown; choose one of auto, docker, bubblewrap, proc"):
        select("podman", TRUSTED, tmp_path)


def test_model_written_code_never_runs_as_a_plain_process(tmp_path: Path) -> None:
    with pytest.raises(RuntimeUnavailable, match="without isolation"):
        select("process", UNTRUSTED, tmp_path)


@pytest.mark.usefixtures("nothing_works")
def test_without_any_isolation_a_baseline_runs_as_a_process_and_says_so(tmp_path: Path) -> None:
    chosen = select("auto", TRUSTED, tmp_path)
    try:
        assert chosen.facts.name == "process"
        assert not chosen.facts.official
        assert "no Engine answers" in chosen.facts.why
        assert "bwrap is not installed" in chosen.facts.why
        assert "\n" not in chosen.facts.why
    finally:
        chosen.close()


@pytest.mark.usefixtures("nothing_works")
def test_without_any_isolation_a_model_agent_stops_and_is_told_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(RuntimeUnavailable) as error:
        select("auto", UNTRUSTED, tmp_path)
    assert "docker.io" in str(error.value)
    assert "apt-get install bubblewrap" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["docker", "bubblewrap"])
@pytest.mark.usefixtures("nothing_works")
def test_a_runtime_that_was_asked_for_is_never_replaced(name: str, tmp_path: Path) -> None:
    with pytest.raises(RuntimeUnavailable, match=name):
        select(name, TRUSTED, tmp_path)


@pytest.mark.docker
def test_an_engine_that_answers_is_preferred(tmp_path: Path) -> None:
    chosen = select("auto", TRUSTED, tmp_path)
    try:
        assert (chosen.facts.name, chosen.facts.official) == ("docker", True)
        assert {"engine", "api", "kernel", "cgroup", "storage", "seccomp"} <= set(chosen.facts.details)
    finally:
        chosen.close()


@pytest.mark.bubblewrap
def test_bubblewrap_stands_in_for_a_missing_engine_and_is_not_official(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    chosen = select("auto", UNTRUSTED, tmp_path)
    try:
        assert (chosen.facts.name, chosen.facts.official) == ("bubblewrap", False)
        assert "no Engine answers" in chosen.facts.why
    finally:
        chosen.close()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"engine": "unreal"}, "engine 'unreal' is unknown; known: "),
        ({"engine": "isaaclab"}, "engine 'isaaclab' cannot run here: "),
        ({"sandbox": "kitchen"}, "sandbox 'kitchen' is unknown; known: "),
    ],
)
def test_what_cannot_be_started_is_named(change: dict[str, Any], text: str) -> None:
    with pytest.raises(RuntimeUnavailable, match=text):
        entry_points(type(request())(**{**vars(request()), **change}))


def test_choosing_imports_no_container_library() -> None:
    code = "import sys, runner.runtimes.select; sys.exit('docker' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", [pytest.param("bubblewrap", marks=pytest.mark.bubblewrap), "process"])
def test_a_gpu_is_refused_where_no_attempt_would_get_it(name: str, tmp_path: Path) -> None:
    chosen = select(name, TRUSTED, tmp_path)
    try:
        with pytest.raises(RuntimeUnavailable, match=rf"gpus: the runtime {name} gives .* RUNTIME=docker .* GPUS out"):
            chosen.prepare(replace(request(), gpus=True))
        assert chosen.prepare(request())
    finally:
        chosen.close()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("tcp://127.0.0.1:1", "Connection refused; start it"),
        ("unix:///none.sock", "No such file or directory; install and start Docker"),
        ("garbage", "port is required"),
        ("http://[bad", "Invalid IPv6 URL"),
        ("tcp://nowhere.invalid:2375", "the name of its host is unknown"),
    ],
)
def test_an_address_in_docker_host_that_does_not_answer_is_one_line_with_the_fix(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str, said: str
) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(RuntimeUnavailable) as error:
        select("docker", TRUSTED, tmp_path)
    text = str(error.value)
    assert text.startswith(f"docker: no Engine answers at {address}: ")
    assert said in text
    assert "give in DOCKER_HOST an address that answers" in text
    assert "\n" not in text
    assert len(text) < 400
