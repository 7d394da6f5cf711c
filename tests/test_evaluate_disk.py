"""A disk that is full in the middle of a run: what happened is said as it is, and the same command goes on."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import pytest
from rich.console import Console
from slider_runtime import Scripted, SliderRuntime, evaluation
from test_cli import assay, one_error

from runner.agents.base import AgentEnd, AttemptContext
from runner.errors import AssayError
from runner.evaluate import Evaluation
from runner.progress import Progress
from runner.store.store import Store

CHOICES = ["--model", "noop", "--subset", "smoke", "--tasks", "marble/dual-panda/A007", "--runtime", "process"]


def fill(home: Path, left: int = 0) -> None:
    with (home / "filler").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, os.statvfs(home).f_bavail * 4096 - left)


def run(made: Evaluation) -> tuple[str, str]:
    """(what the progress display said, the error)."""
    out = io.StringIO()
    made.observer = Progress(Console(file=out, width=200), models=False)
    error = ""
    try:
        made.run()
    except AssayError as caught:
        error = str(caught)
    made.store.close()
    return out.getvalue(), error


def state(home: Path) -> list[tuple[str, str | None]]:
    store = Store(home)
    found = store.find_run("test")
    assert found is not None
    assert store.verify(found) is None
    assert store.leases(found) == []
    rows = [(row.state, row.cause) for row in store.attempts(found)]
    store.close()
    return rows


def test_an_episode_whose_end_cannot_be_recorded_is_said_to_have_begun_and_closed_by_the_next_start(disk: Path) -> None:
    def act(context: AttemptContext) -> AgentEnd | None:
        fill(disk)
        return None

    said, error = run(evaluation(disk, Scripted(act), parameters=[{}]))
    assert "c0 #1: began, and its end could not be recorded: the next start closes it" in said
    assert "had not begun" not in said
    assert "free disk space, then run the same command" in error
    (disk / "filler").unlink()
    said, error = run(evaluation(disk, Scripted(act), parameters=[{}]))
    assert "c0: closed as interrupted, left by an earlier start" in said
    assert error == ""
    assert state(disk) == [("closed", "interrupted")]  # an open candidate: it is not drawn again


def test_an_episode_whose_files_cannot_be_kept_is_shown_with_its_record(disk: Path) -> None:
    def act(context: AttemptContext) -> AgentEnd | None:
        fill(disk, left=96 << 10)  # room for a ledger entry
        context.transcript({"text": "x" * (1 << 20)})
        return None

    said, error = run(evaluation(disk, Scripted(act), parameters=[{}]))
    assert "evidence_fault" in said
    assert "had not begun" not in said
    assert "free some space, then run the same command" in error
    assert state(disk) == [("closed", "evidence_fault")]


def test_a_disk_with_too_little_room_is_noticed_before_anything_is_started(disk: Path) -> None:
    fill(disk, left=20 << 20)
    runtime = SliderRuntime()
    said, error = run(evaluation(disk, Scripted(lambda context: None), runtime, parameters=[{}]))
    assert said == ""
    assert re.fullmatch(rf"disk: 1\d MB are free under {disk}, an attempt needs 64 MB: free some space or .*", error)
    assert runtime.opened == 0
    assert not (disk / "test").exists()
    done = assay(disk, "evaluate", *CHOICES, check=1)
    assert done.stdout == ""  # no table of nothing
    assert one_error(done).startswith("disk: ")
    assert len(done.stderr.splitlines()) == 1
    assert assay(disk, "runs", check=0).stdout.startswith("no runs in ")


def test_a_finished_run_needs_no_room_to_be_shown_again(disk: Path) -> None:
    made = evaluation(disk, Scripted(lambda context: None), parameters=[{}], protocol="single")
    made.run()
    fill(disk)
    said, error = run(evaluation(disk, Scripted(lambda context: None), parameters=[{}], protocol="single"))
    assert (said, error) == ("", "")


def test_an_attempt_that_cannot_even_begin_keeps_its_slot(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = Store.begin_attempt

    def full(store: Store, *arguments: object) -> object:
        fill(disk)
        return begin(store, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "begin_attempt", full)
    said, error = run(evaluation(disk, Scripted(lambda context: None), parameters=[{}], protocol="single"))
    assert "c0 #1: had not begun, the next start takes it up" in said
    assert "free disk space, then run the same command" in error
    (disk / "filler").unlink()
    monkeypatch.undo()
    run(evaluation(disk, Scripted(lambda context: None), parameters=[{}], protocol="single"))
    assert state(disk) == [("closed", "quit")]
