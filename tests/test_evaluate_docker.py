"""A killed run in containers: the next start closes what began, goes on, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from test_cli import ASSAY

from runner.store.store import Store
from runner.store.tables import AttemptRow

pytestmark = pytest.mark.docker
RUN = f"killed-{os.getpid()}"
COMMAND = ["evaluate", "--model", "random", "--subset", "smoke", "--tasks", "*/A007", "--protocol", "single"]


def leftovers() -> list[str]:
    """Containers of the run."""
    listed = ["docker", "ps", "-aq", "--filter", f"label=assay.run={RUN}"]
    volumes = ["docker", "volume", "ls", "-q", "--filter", f"label=assay.run={RUN}"]
    return [
        name
        for command in (listed, volumes)
        for name in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    ]


@pytest.mark.timeout(600)
def test_a_run_in_containers_that_is_killed_twice_goes_on_and_leaves_nothing(tmp_path: Path) -> None:
    environment = os.environ | {"ASSAY_HOME": str(tmp_path)}
    command = [*ASSAY, *COMMAND, "--runtime", "docker", "--run", RUN]
    store = Store(tmp_path)
    killed: set[str] = set()
    try:
        for _ in range(2):
            with (tmp_path / "log").open("w") as log:
                process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            until = time.monotonic() + 240
            while not (began := {row.id for row in attempts(store) if row.state == "began"} - killed):
                assert process.poll() is None, (tmp_path / "log").read_text()
                assert time.monotonic() < until
                time.sleep(0.02)
            process.kill()
            process.wait()
            killed |= began
        assert leftovers()
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        found = attempts(store)
        interrupted = {row.id for row in found if row.cause == "interrupted"}
        assert interrupted <= killed
        assert done.returncode == (3 if interrupted else 0), done.stderr  # 3: they wait for a decision
        assert all(row.state == "closed" for row in found)
        assert len({row.sequence for row in found}) == len(found)
        assert sorted(row.condition for row in found) == [0, 1, 2, 3]  # nothing was drawn again
        run = store.find_run(RUN)
        assert run is not None
        assert store.leases(run) == []
        assert leftovers() == []
    finally:
        store.close()
        for name in leftovers():
            subprocess.run(["docker", "rm", "-f", "-v", name], capture_output=True)
            subprocess.run(["docker", "volume", "rm", "-f", name], capture_output=True)


def attempts(store: Store) -> list[AttemptRow]:
    run = store.find_run(RUN)
    return store.attempts(run) if run else []
