"""The attempts of a run, narrowed and paged: how each ended, and what the protocol makes of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leaderboard.blocks import Block, Data, data_of
from leaderboard.markup import Safe, join, link, seconds, small, table, tag
from leaderboard.source import Attempt, Entry
from leaderboard.views import parts
from manifests.words import count

PAGE = 200  # attempts on one page


@dataclass(frozen=True)
class Wanted:
    """Which attempts are listed. None: whatever they have."""

    task: str | None = None
    code: str | None = None
    clause: str | None = None
    status: str | None = None

    def takes(self, judged: dict[str, Any], clause: str | None) -> bool:
        failed = judged["status"] == "scored" and judged["outcome"] == "failure"
        return (
            self.task in (None, judged["environment_id"])
            and self.status in (None, judged["status"])
            and (self.code is None or (failed and self.code == (judged["code"] or "none")))
            and (self.clause is None or (failed and self.clause == (clause or "none")))
        )


@dataclass(frozen=True)
class Listed:
    """Page ``number`` of the attempts that are wanted, ``count`` of them in all."""

    attempts: Sequence[Attempt]
    number: int
    count: int


def build(entry: Entry, wanted: Wanted, listed: Listed) -> Block:
    """The page of the list that is wanted, and the way to the others."""
    head = ("Attempt", "Environment", "Condition", "Outcome", "Clause", "What the protocol makes of it", "Wall time")
    blocks = [tag("h2", "Attempts", id="attempts"), _counts(entry)]
    given = {name: value for name, value in vars(wanted).items() if value is not None}
    if given:
        words = ", ".join(f"{name} {value}" for name, value in given.items())
        every = link("all of this run", run=entry.run.name)
        blocks.append(tag("p", f"Only those with {words}: {listed.count}. See ", every, "."))
    shown = listed.attempts
    if shown:
        span = f"{shown[0].row.sequence} to {shown[-1].row.sequence}"
        caption = f"Attempts with ledger sequence {span}, in this order; {parts.NUMBERING}"
        blocks.append(table(caption, head, [_attempt_row(entry.run.name, item) for item in shown], kind="cards"))
    pages = math.ceil(listed.count / PAGE)
    if pages > 1:
        steps = [
            tag("span", index, aria_current="page")
            if index == listed.number
            else link(index, run=entry.run.name, page=index, **given)
            for index in range(1, pages + 1)
        ]
        items = [tag("li", step) for step in steps]
        blocks.append(tag("nav", tag("ol", *items), class_="pages", aria_label="Pages of attempts"))
    return Block(join(blocks), _data(entry))


def _data(entry: Entry) -> Data:
    """Every attempt of the selection with what the protocol makes of it."""
    columns = ("sequence", "environment_id", "condition", "outcome", "cause", "code", "incident", "status", "reason")
    rows = [[row[name] for name in columns] for row in entry.report["attempts"]]
    return data_of(f"attempts-{entry.run.name}", columns, rows)


def _counts(entry: Entry) -> Safe:
    ledger = entry.report["ledger"]
    names = ("scored", "excluded", "candidate", "extra", "invalid", "pending")
    counts = ", ".join(f"{ledger[name]} {name}" for name in names if ledger[name]) or "none"
    outside = f"; {ledger['outside_selection']} more at tasks outside it" if ledger["outside_selection"] else ""
    attempts = count(ledger["attempts"], "attempt")
    return tag("p", f"{attempts} at the tasks of the selection: {counts}{outside}.")


def _attempt_row(run: str, attempt: Attempt) -> list[Any]:
    judged, record = attempt.judged, attempt.record
    name = parts.outcome_state(judged["outcome"], judged["status"], judged["incident"])
    violation = record.violation if record else None
    return [
        link(parts.attempt_name(attempt.ordinal, attempt.row.sequence), run=run, attempt=attempt.row.sequence),
        attempt.row.environment_id,
        attempt.row.condition,
        parts.state(name, " ".join(filter(None, (judged["outcome"] or "open", judged["code"])))),
        (violation.clause if violation else None) or "–",
        join((tag("strong", judged["status"]), tag("br"), small(judged["reason"]))),
        seconds(record.wall_s) if record else "–",
    ]
