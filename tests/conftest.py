"""Tests that need a Docker Engine, bubblewrap or a PostgreSQL server are left out where there is none, and say so; with
``ASSAY_REQUIRE=docker,bubblewrap,postgresql`` (as in CI) a missing one is an error instead."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import postgres_server
import pytest
from hypothesis import settings

from runner.store.store import Store

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells let their background jobs ignore interrupts, and commands under test would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("assay", deadline=None)  # a busy machine is no counterexample
settings.load_profile("assay")


@functools.cache
def why_not(runtime: str) -> str | None:
    """Why a runtime or server cannot be used here, in one line; None when it can."""
    if runtime == "postgresql":
        return postgres_server.why_not()
    if runtime == "docker":
        command = ["docker", "version", "--format", "{{.Server.Version}}"]
    else:
        command = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]
    if shutil.which(command[0]) is None:
        return f"{command[0]} is not installed"
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except subprocess.TimeoutExpired:
        return f"{command[0]}: no answer in 30 s"
    return None if done.returncode == 0 else f"{command[0]}: {done.stderr.strip().splitlines()[-1:] or 'failed'}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves out what cannot run here, and groups the rest for ``-n 2 --dist loadgroup``: a file stays in one process
    for the sake of its fixtures, and all that use the one Engine stay in one, since they count its containers."""
    required = set(filter(None, os.environ.get("ASSAY_REQUIRE", "").split(",")))
    for item in items:
        group = "docker" if item.get_closest_marker("docker") else item.path.name
        item.add_marker(pytest.mark.xdist_group(group))
        for runtime in ("docker", "bubblewrap", "postgresql"):
            if item.get_closest_marker(runtime) is None or (reason := why_not(runtime)) is None:
                continue
            if runtime in required:
                raise pytest.UsageError(f"ASSAY_REQUIRE names {runtime}, which cannot be used here: {reason}")
            item.add_marker(pytest.mark.skip(reason=f"left out, needs {runtime}: {reason}"))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store that commands and pages find by the environment, whose summaries are kept beside it."""
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    return Store(tmp_path / "home")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 80 MB of its own, which a test can fill up."""
    if os.geteuid() != 0:
        pytest.skip("left out, mounting a small tmpfs needs root")
    home = tmp_path / "disk"
    home.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", str(home)], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"left out, no tmpfs can be mounted: {done.stderr.strip()}")
    yield home
    subprocess.run(["umount", "-l", str(home)], check=True)
