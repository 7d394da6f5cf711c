"""What the pages show, read from the store and scored. Nothing here knows Streamlit, and nothing writes."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from sqlmodel import col, select

from leaderboard import slots
from leaderboard.facts import Facts, Received, Record, facts_of, received
from manifests.errors import ManifestError
from manifests.load import load
from manifests.records import AttemptRecord
from runner.store.decisions import IncidentState, incident_state
from runner.store.status import EVALUATED, SCORING, not_rankable, stale
from runner.store.store import Run, Store
from runner.store.tables import AttemptRow
from runner.store.text import digest
from scoring.eligibility import Eligibility, assess, binding
from scoring.ledger import LedgerError
from scoring.plan import selection_of
from scoring.report import report
from scoring.rules import Rules
from scoring.selection import Selection
from scoring.window import Kind, Status

_LOCAL = re.compile(
    r"(?:file:|~[\w.-]*|[A-Za-z]:)?[\\/]++(?!(?:home|Users)[\\/]+[^\\/]*[\\/]*$)(?:.*[\\/])?([^\\/]+)[\\/]*",
    re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True)
class Setting:
    """What a score is of. Runs of two settings never share a table (design: section 2, 'group').

    ``mode`` is the way of prompting, None on a board that has one way. ``rest`` covers budgets and versions, which
    people do not filter by: two settings may differ in it alone.
    """

    board: str
    subset: str
    tasks: str | None
    mode: str | None
    protocol: str
    profile: str
    engines: tuple[str, ...]
    level: str
    grants: tuple[str, ...]
    seed: int
    rest: str

    @property
    def id(self) -> str:
        """Short and stable, for addresses and anchors."""
        return digest(vars(self))[:8]


@dataclass(frozen=True)
class Entry:
    """One run with its score. ``report`` is that of :func:`scoring.report.score`.

    ``official`` is False when a recorded attempt, or the run by its settings, is of a runtime that does not count for
    the board; None before the first record. ``updated_at`` is the end of the last recorded attempt. ``stale`` says
    under which older evaluator or scoring the attempts were made; ``report`` has that among the reasons against a rank.
    ``slots`` has a sign of :mod:`leaderboard.slots` for each planned condition, in catalog order. ``failures`` counts
    scored failures by (suite, code, clause), ``others`` the remaining attempts by (status, cause). ``cost_usd`` is the
    sum over attempts with a known price, ``unpriced`` the number of those without. ``signer`` vouches for a run that
    came with a bundle.
    """

    run: Run
    setting: Setting
    model: str
    agent: str
    parameters: dict[str, Any]
    runtimes: tuple[str, ...]
    official: bool | None
    updated_at: datetime | None
    stale: tuple[str, ...]
    report: dict[str, Any]
    slots: str
    failures: tuple[tuple[str, str, str, int], ...]
    others: tuple[tuple[str, str, int], ...]
    cost_usd: float | None
    unpriced: int
    signer: Received | None

    @property
    def title(self) -> str:
        """The model as pages name it. Of one that is a path of its submitter's machine that is the last part, so that
        two of them can be told apart; not where that is a person's folder."""
        local = _LOCAL.fullmatch(self.model)
        return f"…/{local[1]}" if local is not None else self.model


@dataclass(frozen=True)
class Unscored:
    """A run that this program cannot score, and why, or one that is ``damaged``: its numbers are withheld. It is shown:
    nothing is ever dropped."""

    run: Run
    why: str
    damaged: bool = False


@dataclass(frozen=True)
class Attempt:
    """One attempt: its row in the store, its terminal record if it has ended, and what the protocol makes of it.
    ``ordinal`` counts the attempts at its condition; None for one at a task outside the selection."""

    row: AttemptRow
    record: AttemptRecord | None
    judged: dict[str, Any]
    state: IncidentState
    ordinal: int | None


def setting_of(settings: dict[str, Any], rest: str | None = None) -> Setting:
    """``rest`` where it is known already. Raises KeyError naming the field that is missing."""
    return Setting(
        board=settings["board"],
        subset=settings["subset"],
        tasks=settings["tasks"],
        mode=settings.get("mode"),
        protocol=settings["protocol"],
        profile=settings["profile"],
        engines=tuple(sorted(set(settings["environments"].values()))),
        level=settings["level"],
        grants=tuple(sorted(settings["grants"])),
        seed=settings["seed"],
        rest=rest or digest([settings["budgets"], _group_versions(settings["versions"])])[:8],
    )


def read_entry(store: Store, run: Run, by: tuple[str, ...] = ("suite",), *, listing: bool = True) -> Entry | Unscored:
    """A run with its score and the breakdowns ``by``; without ``listing`` without groups and attempts."""
    try:
        return _entry(run, facts_of(store, run, load()), received(store, run), by, listing)
    except KeyError as error:
        return Unscored(run, f"its settings have no field {error}")
    except (ManifestError, LedgerError, ValueError, TypeError) as error:
        return Unscored(run, str(error))


def selection_for(setting: Setting, run: Run, subset: str | None = None) -> Selection:
    """The planned tasks of a run, or those of a subset inside them."""
    members = list(run.settings["environments"]) if setting.tasks is not None and subset is None else None
    return selection_of(load(), subset or setting.subset, profile=setting.profile, level=setting.level, members=members)


def judged(store: Store, entry: Entry, subset: str | None = None) -> Eligibility:
    """The ledger of a run as its protocol judges it, over its own tasks or those of a subset inside them."""
    attempts = [facts.attempt for facts in facts_of(store, entry.run, load())]
    selection = selection_for(entry.setting, entry.run, subset)
    return assess(attempts, selection, Rules(load(), entry.setting.protocol))


def _entry(run: Run, facts: list[Facts], signer: Received | None, by: tuple[str, ...], listing: bool) -> Entry:
    setting = setting_of(run.settings)
    selection = selection_for(setting, run)
    found = assess([item.attempt for item in facts], selection, Rules(load(), setting.protocol))
    scores = report(found, by=by, listing=listing)
    agent = run.settings["agent"]
    records = [item.record for item in facts if item.record is not None]
    older = _stale(run, records)
    reasons = not_rankable(run.settings, run.withdrawn, older) + scores["not_rankable"]
    prices = [record.cost_usd for record in records]
    known = [price for price in prices if price is not None]
    return Entry(
        run=run,
        setting=setting,
        model=str(run.settings["model"]),
        agent=str(agent["name"]),
        parameters=dict(agent["parameters"]),
        runtimes=tuple(sorted({record.runtime for record in records})) or (str(run.settings["runtime"]),),
        official=all(record.official for record in records) if records else None,
        updated_at=max((record.closed_at for record in records), default=None),
        stale=older,
        report={**scores, "rankable": not reasons, "not_rankable": reasons},
        slots=slots.signs(found),
        failures=_failures(found, facts),
        others=_others(found),
        cost_usd=math.fsum(known) if known else None,
        unpriced=len(facts) - len(known),
        signer=signer,
    )


def record_of(row: AttemptRow) -> AttemptRecord | None:
    return AttemptRecord.model_validate_json(row.record) if row.record else None


def attempts_of(store: Store, entry: Entry, sequences: Iterable[int]) -> list[Attempt]:
    """Some attempts of a run with their records, in ledger order. ``entry`` is whole. One at a task outside the
    selection has no place in the score, and says so."""
    found = {item["sequence"]: item for item in entry.report["attempts"]}
    numbers = ordinals(entry.report["attempts"])
    query = (
        select(AttemptRow)
        .where(AttemptRow.run_id == entry.run.id, col(AttemptRow.sequence).in_(list(sequences)))
        .order_by(col(AttemptRow.sequence))
    )
    with store.database.read() as session:
        rows = list(session.exec(query).all())
        session.expunge_all()
    manifests = load()
    return [
        Attempt(
            row,
            record_of(row),
            found.get(row.sequence, _outside(row)),
            incident_state(row, manifests),
            numbers.get(row.sequence),
        )
        for row in rows
    ]


def ordinals(attempts: Iterable[dict[str, Any]]) -> dict[int, int]:
    """By ledger sequence: the first, second ... attempt at its condition, as the terminal counts them."""
    seen: Counter[tuple[str, int]] = Counter()
    found = {}
    for item in attempts:
        place = item["environment_id"], item["condition"]
        seen[place] += 1
        found[item["sequence"]] = seen[place]
    return found


def _group_versions(versions: dict[str, str]) -> dict[str, str]:
    """The versions that attempts were made under. Scores are always made by the scoring of today: runs of two versions
    of it stand in one table."""
    return {name: value for name, value in versions.items() if name != SCORING}


def _stale(run: Run, records: list[Record]) -> tuple[str, ...]:
    if run.kind != EVALUATED:
        return ()
    versions = [record.versions for record in records] or [run.settings["versions"]]
    return stale(versions, run.settings["environments"].values(), load())


def _failures(found: Eligibility, facts: list[Facts]) -> tuple[tuple[str, str, str, int], ...]:
    """Scored failures by suite, code and disclosed clause of the first violation, most frequent first."""
    clauses = {item.attempt.sequence: item.record.clause for item in facts if item.record is not None}
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in np.flatnonzero((found.window.status == Status.SCORED) & (found.kind == Kind.FAILURE)):
        attempt = found.attempts[row]
        suite = found.layout.tasks[found.layout.task[found.slot[row]]].suite
        counts[suite, binding(attempt, found.rules)[1] or "none", clauses.get(attempt.sequence) or "none"] += 1
    return tuple((*key, count) for key, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _others(found: Eligibility) -> tuple[tuple[str, str, int], ...]:
    """Attempts that are not scored, by status and cause."""
    counts = Counter(
        (Status(found.window.status[row]).name.lower(), found.attempts[row].ruling[1] or "not recorded")
        for row in np.flatnonzero(found.window.status != Status.SCORED)
    )
    return tuple((*key, count) for key, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _outside(row: AttemptRow) -> dict[str, Any]:
    return {
        "outcome": row.outcome,
        "cause": row.cause,
        "code": row.code,
        "incident": row.incident or "none",
        "status": "outside",
        "reason": "its task is not part of the selection",
    }
