"""A store that another process holds: said within two seconds and by whom, waited for, and not for ever."""

from __future__ import annotations

import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from test_cli import ASSAY, assay

from runner.store import waiting
from runner.store.database import StoreLocked
from runner.store.store import Store

HOLD = """
import sqlite3, sys, time
held = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[3:]:
    held.execute(statement)
print(flush=True)
time.sleep(float(sys.argv[2]))
"""
WRITING = ["BEGIN IMMEDIATE"]
ALONE = ["PRAGMA locking_mode = EXCLUSIVE", "CREATE TABLE own (x)", "DROP TABLE own"]  # keeps readers out as well


@contextmanager
def held(home: Path, seconds: float, how: list[str]) -> Iterator[int]:
    """Another process holds the store; its number."""
    command = [sys.executable, "-c", HOLD, str(home / "assay.sqlite"), str(seconds), *how]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process.pid
        finally:
            process.kill()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    Store(tmp_path).close()
    return tmp_path


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "SAID_AFTER_S", 0.2)
    monkeypatch.setattr(waiting, "TRY_S", 0.05)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("how", [WRITING, ALONE], ids=["a writer", "one that keeps readers out"])
def test_who_holds_the_store_is_said_once_and_what_was_to_be_written_is_written_then(
    home: Path, how: list[str]
) -> None:
    said: list[str] = []
    with held(home, 0.8, how) as number:
        store = Store(home, say=said.append)
        store.create_run("r", {})
    (line,) = said
    assert line.startswith(f"store {home / 'assay.sqlite'}: process {number} (python")
    assert f") on {socket.gethostname()} holds it; waiting up to 60 s for it to end" in line
    assert store.find_run("r") is not None
    store.close()


@pytest.mark.usefixtures("hasty")
def test_a_store_that_is_not_given_back_is_refused_naming_who_holds_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "PATIENCE_S", 0.4)
    store = Store(home)
    with held(home, 60, WRITING) as number, pytest.raises(StoreLocked) as caught:
        store.create_run("r", {})
    assert f"database is locked: process {number} (python" in str(caught.value)
    assert str(caught.value).endswith("holds it; wait for it to end, or stop it")
    assert store.find_run("r") is None
    store.create_run("r", {})  # the same connection goes on, with the patience of before
    with store.database.write() as session:
        assert session.connection().exec_driver_sql("PRAGMA busy_timeout").scalar() == 400
    store.close()


@pytest.mark.usefixtures("hasty")
def test_a_reader_is_told_who_keeps_it_out(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.store.database.READER_TIMEOUT_S", 0.1)
    with held(home, 60, ALONE) as number, pytest.raises(StoreLocked, match=rf"process {number} \(python"):
        Store(home, read_only=True)


def test_a_short_wait_is_not_worth_a_word(home: Path) -> None:
    said: list[str] = []
    with held(home, 0.3, WRITING):
        store = Store(home, say=said.append)
        store.create_run("r", {})
        store.close()
    assert said == []


def test_a_lock_of_this_process_is_not_blamed_on_another(home: Path) -> None:
    own = sqlite3.connect(home / "assay.sqlite", isolation_level=None)
    own.execute("BEGIN IMMEDIATE")
    assert waiting.holder(home / "assay.sqlite") == "another thread of this process"
    own.close()
    assert waiting.holder(home / "assay.sqlite") == "another process"  # it has ended since


def test_a_command_says_within_two_seconds_that_it_waits_and_then_goes_on(home: Path) -> None:
    choices = ["--model", "noop", "--subset", "full", "--tasks", "marble/dual-panda/A007", "--protocol", "single"]
    command = [*ASSAY, "evaluate", *choices, "--runtime", "process", "--run", "r"]
    environment = {"ASSAY_HOME": str(home), "PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"}
    with (
        held(home, 60, ALONE) as number,
        subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment) as process,
    ):
        assert process.stderr is not None
        began = time.monotonic()
        line = process.stderr.readline().decode()
        took = time.monotonic() - began
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
        assert f"process {number} (python" in line
        assert "waiting up to 60 s" in line
        assert took < 2.0 + 4.0  # with the start of a program on a busy machine
        assert process.stderr.read().decode().strip() == "assay: error: stopped"
    assert assay(home, "runs", check=0).stdout.startswith("no runs in ")
