"""What the pages show, read from the store and scored. Nothing here knows Streamlit, and nothing writes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from manifests.errors import ManifestError
from manifests.load import Manifests, load
from manifests.records import AttemptRecord
from runner.store.decisions import IncidentState, incident_state
from runner.store.scored import scored_attempt
from runner.store.status import EVALUATED, SCORING, not_rankable, stale
from runner.store.store import Run, Store
from runner.store.tables import AttemptRow
from runner.store.text import digest
from scoring.ledger import LedgerError
from scoring.plan import selection_of
from scoring.report import score
from scoring.rules import Rules


@dataclass(frozen=True)
class Setting:
    """What a score is of. Runs of two settings never share a table (design: section 2, 'group').

    ``rest`` covers budgets and versions, which people do not filter by: two settings may differ in it alone.
    """

    board: str
    subset: str
    tasks: str | None
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


@dataclass(frozen=True)
class Unscored:
    """A run that this program cannot score, and why. It is shown: nothing is ever dropped."""

    run: Run
    why: str


@dataclass(frozen=True)
class Attempt:
    """One attempt: its row in the store, its terminal record if it has ended, and what the protocol makes of it."""

    row: AttemptRow
    record: AttemptRecord | None
    judged: dict[str, Any]
    state: IncidentState


def setting_of(settings: dict[str, Any]) -> Setting:
    """Raises KeyError naming the field that is missing."""
    return Setting(
        board=settings["board"],
        subset=settings["subset"],
        tasks=settings["tasks"],
        protocol=settings["protocol"],
        profile=settings["profile"],
        engines=tuple(sorted(set(settings["environments"].values()))),
        level=settings["level"],
        grants=tuple(sorted(settings["grants"])),
        seed=settings["seed"],
        rest=digest([settings["budgets"], _group_versions(settings["versions"])])[:8],
    )


def entry_of(run: Run, rows: list[AttemptRow], by: tuple[str, ...] = ()) -> Entry | Unscored:
    """The score of a run from its attempts, with the breakdowns ``by``."""
    try:
        setting = setting_of(run.settings)
        members = None if setting.tasks is None else list(run.settings["environments"])
        manifests = load()
        selection = selection_of(
            manifests, setting.subset, profile=setting.profile, level=setting.level, members=members
        )
        attempts = [scored_attempt(row, manifests) for row in rows]
        report = score(attempts, selection, Rules(manifests, setting.protocol), by=by)
        agent = run.settings["agent"]
        records = [record for record in map(record_of, rows) if record is not None]
        older = _stale(run, records, manifests)
        reasons = not_rankable(run.settings, run.withdrawn, older) + report["not_rankable"]
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
            report={**report, "rankable": not reasons, "not_rankable": reasons},
        )
    except KeyError as error:
        return Unscored(run, f"its settings have no field {error}")
    except (ManifestError, LedgerError, ValueError, TypeError) as error:
        return Unscored(run, str(error))


def record_of(row: AttemptRow) -> AttemptRecord | None:
    return AttemptRecord.model_validate_json(row.record) if row.record else None


def attempts_of(entry: Entry, rows: list[AttemptRow]) -> list[Attempt]:
    """Every attempt in ledger order. One at a task outside the selection has no place in the score, and says so."""
    judged = {item["sequence"]: item for item in entry.report["attempts"]}
    manifests = load()
    return [
        Attempt(row, record_of(row), judged.get(row.sequence, _outside(row)), incident_state(row, manifests))
        for row in rows
    ]


def clauses(attempts: list[Attempt]) -> dict[tuple[str, str], int]:
    """Scored failures by code and the disclosed clause of the first violation, most frequent first."""
    counts: Counter[tuple[str, str]] = Counter()
    for attempt in attempts:
        if attempt.judged["status"] == "scored" and attempt.judged["outcome"] == "failure":
            clause = attempt.record.violation.clause if attempt.record and attempt.record.violation else None
            counts[attempt.judged["code"] or "none", clause or "none"] += 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def read_entry(store: Store, run: Run, by: tuple[str, ...] = ()) -> Entry | Unscored:
    return entry_of(run, store.attempts(run), by)


def _group_versions(versions: dict[str, str]) -> dict[str, str]:
    """The versions that attempts were made under. Scores are always made by the scoring of today: runs of two versions
    of it stand in one table."""
    return {name: value for name, value in versions.items() if name != SCORING}


def _stale(run: Run, records: list[AttemptRecord], manifests: Manifests) -> tuple[str, ...]:
    if run.kind != EVALUATED:
        return ()
    versions = [record.settings.versions for record in records] or [run.settings["versions"]]
    return stale(versions, run.settings["environments"].values(), manifests)


def _outside(row: AttemptRow) -> dict[str, Any]:
    return {
        "outcome": row.outcome,
        "cause": row.cause,
        "code": row.code,
        "incident": row.incident or "none",
        "status": "outside",
        "reason": "its task is not part of the selection",
    }
