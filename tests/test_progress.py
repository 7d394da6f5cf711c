"""What a person sees while a run is going: counts that say of what, no foretelling of a run that stops, whole notes."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from manifests.load import load
from runner.agents.base import AgentInfo
from runner.attempt import AttemptView
from runner.cli.common import _Trimmed
from runner.plan import plan
from runner.progress import Progress
from runner.schedule import Schedule, Taken
from runner.settings import Choices
from scoring.ledger import Attempt
from scoring.rules import Rules

NOOP = AgentInfo("noop", "baseline", "1", "d" * 64, "L0")


def begun(console: Console, *, settled: int = 0, jobs: int = 2) -> tuple[Progress, Schedule]:
    """Progress of a run over A007 with so many conditions settled by an earlier start."""
    manifests = load()
    planned = plan(manifests, Choices(model="noop", subset="smoke", tasks="*A007", protocol="single"), NOOP)
    schedule = Schedule(planned, [], Rules(manifests, "single"))
    for _ in range(settled):
        settle(schedule)
    progress = Progress(console, models=False)
    progress.begin(schedule, jobs)
    return progress, schedule


def settle(schedule: Schedule) -> Taken:
    taken = schedule.take(lambda: False)
    assert taken is not None
    name, condition = taken.slot.key
    schedule.closed(taken.slot, Attempt(condition + 1, name, condition, "success", None))
    return taken


def screen(width: int = 100) -> Console:
    return Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)


def finished(wall_s: float = 1.0) -> Any:
    usage = SimpleNamespace(model_calls=0)
    return SimpleNamespace(
        outcome="success", sequence=2, wall_s=wall_s, simulated_s=1.0, actions=1, usage=usage, code=None
    )


def shown(progress: Progress, console: Console) -> str:
    with console.capture() as captured:
        console.print(progress._render())
    return captured.get()


def test_conditions_of_an_earlier_start_are_not_counted_as_attempts_of_this_one() -> None:
    console = screen()
    progress, schedule = begun(console, settled=2)
    view = AttemptView(settle(schedule).slot, 1)
    progress.opened(view)
    progress.closed(view, finished())
    text = shown(progress, console)
    assert "3 of 4 conditions settled, 2 of them before; attempts since: ✓ 1  ✗ 0  ! 0" in text
    fresh, _ = begun(console)
    assert "0 of 4 conditions settled: ✓ 0" in shown(fresh, console)


def test_a_run_that_stops_foretells_nothing() -> None:
    console = screen()
    progress, schedule = begun(console)
    view = AttemptView(settle(schedule).slot, 1)
    progress.opened(view)
    progress.closed(view, finished())
    assert "to go" in shown(progress, console)
    progress.stopping = lambda: True
    text = shown(progress, console)
    assert "to go" not in text
    assert "stopping" in text


def test_a_note_is_shown_over_lines_and_not_cut_at_the_first() -> None:
    console = screen(width=60)
    progress, schedule = begun(console)
    view = AttemptView(settle(schedule).slot, 1)
    view.note = "aims by search " * 8 + "END"
    progress.opened(view)
    text = shown(progress, console)
    assert "END" in text
    assert max(map(len, text.splitlines())) <= 60


@pytest.mark.parametrize(
    ("jobs", "settled", "said"),
    [
        (9, 0, "jobs 9: 4 conditions to run, so at most 4 at a time"),
        (2, 3, "jobs 2: 1 condition to run, so at most 1 at a time"),
        (2, 4, ""),  # nothing to run is nothing to clip
        (1, 0, ""),
    ],
)
def test_jobs_beyond_the_conditions_are_said_and_not_silently_clipped(jobs: int, settled: int, said: str) -> None:
    out = io.StringIO()
    begun(Console(file=out, width=200), jobs=jobs, settled=settled)
    assert out.getvalue().split("\n")[0] == said


def test_a_dumb_terminal_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    console = screen()
    progress, schedule = begun(console)
    with progress:
        view = AttemptView(settle(schedule).slot, 1)
        progress.opened(view)
    file = console.file
    assert isinstance(file, io.StringIO)
    assert "start   marble/dual-panda/A007 c0 #1" in file.getvalue()
    assert "\x1b" not in file.getvalue()


def test_no_line_on_a_pipe_ends_in_blanks() -> None:
    out = io.StringIO()
    trimmed: Any = _Trimmed(out)
    trimmed.write("a  \nb c \n\n  d")
    assert out.getvalue() == "a\nb c\n\n  d"
