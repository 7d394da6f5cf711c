"""What a person sees while a run is going: a live table in a terminal, one line per event without one.

Everything goes to stderr, so that stdout holds nothing but the result.
"""

from __future__ import annotations

import os
import textwrap
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from manifests.records import AttemptRecord
from runner.attempt import AttemptView
from runner.schedule import Schedule
from runner.terminal import printable
from runner.words import clock, count

NOTE_LINES = 3  # of the terminal, for the last note of each attempt
UNBEGUN = "had not begun, the next start takes it up"
MARKS = {"success": ("✓", "green"), "failure": ("✗", "red"), "invalid": ("!", "yellow")}


class Progress:
    """An observer of an evaluation. Use as a context manager; ``begin`` when the schedule is known. ``stopping`` says
    whether the run opens no further attempt: then nothing is foretold."""

    def __init__(self, console: Console, *, models: bool) -> None:
        self._console, self._models = console, models
        self._views: list[AttemptView] = []
        self._records: list[AttemptRecord] = []
        self._durations: list[float] = []
        self._started = time.monotonic()
        self._schedule: Schedule | None = None
        self._jobs, self._settled_before = 1, 0
        self.stopping: Callable[[], bool] = lambda: False
        self._lock = threading.Lock()
        self._live: Live | None = None
        if console.is_terminal and not console.is_dumb_terminal:
            self._live = Live(console=console, get_renderable=self._render, refresh_per_second=4, transient=True)

    def __enter__(self) -> Progress:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def begin(self, schedule: Schedule, jobs: int) -> None:
        due, cores = schedule.due, len(os.sched_getaffinity(0))
        with self._lock:
            self._schedule, self._jobs, self._started = schedule, min(jobs, max(due, 1)), time.monotonic()
            self._settled_before = schedule.planned - due
        if 0 < due < jobs:
            self.say(f"jobs {jobs}: {count(due, 'condition')} to run, so at most {due} at a time")
        if self._jobs > cores and not self._models:
            self.say(f"jobs {self._jobs}: this machine has {count(cores, 'core')}; attempts slow each other down")

    def say(self, text: str) -> None:
        self._print(escape(printable(text)))

    def opened(self, view: AttemptView) -> None:
        with self._lock:
            self._views.append(view)
        if self._live is None:
            self.say(f"start   {view.slot} #{view.ordinal}")

    def closed(self, view: AttemptView, record: AttemptRecord | None) -> None:
        with self._lock:
            self._views.remove(view)
            if record is not None:
                self._records.append(record)
                self._durations.append(time.monotonic() - view.opened)
        if record is None:
            what = "began, and its end could not be recorded: the next start closes it" if view.began else UNBEGUN
            self.say(f"left    {view.slot} #{view.ordinal}: {what}")
            return
        mark, colour = MARKS[record.outcome]
        line = Text(f"{mark} {outcome_word(record):8}", style=colour)
        line.append(f"{view.slot} #{view.ordinal} [{record.sequence}]  ", style="default")
        line.append(printable(summary(record)), style="dim" if self._live else "default")
        self._print(line)

    def _print(self, line: RenderableType) -> None:
        with suppress(OSError):  # a terminal that was closed ends no run
            self._console.print(line, highlight=False, soft_wrap=self._live is None)

    # ---- the live table -------------------------------------------------------------------------------------------
    def _render(self) -> RenderableType:
        with self._lock:
            views = list(self._views)
            return Group(self._table(views), *self._notes(views), self._totals())

    def _table(self, views: list[AttemptView]) -> Table:
        table = Table(box=None, pad_edge=False, expand=False)
        table.add_column("attempt", no_wrap=True)
        table.add_column("phase", no_wrap=True, style="cyan", width=12)
        for name in ("wall", "simulated", "actions"):
            table.add_column(name, justify="right", no_wrap=True)
        if self._models:
            table.add_column("tokens", justify="right", no_wrap=True)
            table.add_column("cost", justify="right", no_wrap=True)
        for view in views:
            budgets = view.slot.planned.budgets
            cells = [
                f"{view.slot} #{view.ordinal}",
                view.phase,
                _of(time.monotonic() - view.opened, budgets.wall_s, "s"),
                _of(view.meter.get("simulated_s", 0.0), budgets.simulated_s, "s"),
                str(view.meter.get("actions", 0)),
            ]
            if self._models:
                usage = view.usage
                known = usage is not None and usage.tokens_input is not None
                cells.append(f"{(usage.tokens_input or 0) + (usage.tokens_output or 0):,}" if usage and known else "–")
                cells.append(f"${usage.cost_usd:.2f}" if usage and usage.cost_usd is not None else "–")
            table.add_row(*cells)
        return table

    def _notes(self, views: list[AttemptView]) -> list[Text]:
        """The last note of each attempt, in a few lines of the terminal."""
        found = []
        for view in views:
            if view.note:
                name = f"{view.slot.planned.environment_id.rsplit('/', 1)[-1]} c{view.slot.condition.index}"
                text = textwrap.shorten(
                    f"{name}: {view.note}", NOTE_LINES * (self._console.width - 2), placeholder="..."
                )
                found.append(Text(text, style="dim"))
        return found

    def _totals(self) -> Text:
        """Conditions of the whole run, attempts of this start alone."""
        counts = {name: sum(record.outcome == name for record in self._records) for name in MARKS}
        line = Text()
        if self._schedule is not None:
            settled = self._schedule.planned - self._schedule.due
            line.append(f"{settled} of {count(self._schedule.planned, 'condition')} settled")
            line.append(f", {self._settled_before} of them before; attempts since: " if self._settled_before else ": ")
        for name, (mark, colour) in MARKS.items():
            line.append(f"{mark} {counts[name]}  ", style=colour)
        line.append(f"elapsed {clock(time.monotonic() - self._started)}", style="dim")
        if self.stopping():
            line.append("  stopping", style="yellow")
        elif self._schedule is not None and self._durations and (due := self._schedule.due):
            each = sum(self._durations) / len(self._durations)
            line.append(f"  about {clock(each * due / min(self._jobs, due))} to go", style="dim")
        return line


def outcome_word(record: AttemptRecord) -> str:
    return "success" if record.outcome == "success" else record.code or record.outcome


def summary(record: AttemptRecord) -> str:
    """``12.3 s wall, 31.2 s simulated, 1,560 actions; L-03 protected target hit``."""
    parts = [
        f"{record.wall_s:.1f} s",
        f"{record.simulated_s:.1f} s simulated",
        count(record.actions, "action"),
    ]
    usage = record.usage
    if usage.model_calls:
        known = usage.tokens_input is not None and usage.tokens_output is not None
        tokens = f"{(usage.tokens_input or 0) + (usage.tokens_output or 0):,} tokens" if known else "tokens unknown"
        parts += [tokens, f"${usage.cost_usd:.2f}" if usage.cost_usd is not None else "cost unknown"]
    text = ", ".join(parts)
    if record.outcome == "success":
        return text
    reason = record.cause if not record.text else f"{record.cause}: {record.text}"
    if record.violation is not None and record.violation.clause:
        clause, reason = record.violation.clause, record.violation.text
        if not reason.startswith(clause):
            reason = f"{clause}: {reason}"
    return f"{text}; {reason}"


def _of(value: float, limit: float, unit: str) -> str:
    return f"{value:.0f}/{limit:g} {unit}"
