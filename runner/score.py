"""The score of a run in the store: the plain result of :mod:`scoring.report` with what only the records know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from manifests.load import Manifests
from manifests.lookup import engine_name, why_not
from manifests.records import AttemptRecord
from runner.plan import missing_here
from runner.record import CLAUSE_TEXT
from runner.schedule import scored_attempt
from runner.store.store import Run, Store
from scoring.plan import selection_of
from scoring.report import BREAKDOWNS, score
from scoring.rules import Rules


def score_run(store: Store, run: Run, manifests: Manifests, by: Sequence[str] = BREAKDOWNS) -> dict[str, Any]:
    """``scoring.report.score`` plus ``run``, ``clauses`` (broken ones, most frequent first), ``candidates``,
    ``open_attempts`` (opened, no record) and ``unavailable`` (environments that cannot run here, by family)."""
    settings = run.settings
    rows = store.attempts(run)
    members = tuple(settings["environments"]) if settings["tasks"] is not None else None
    selection = selection_of(
        manifests, settings["subset"], profile=settings["profile"], level=settings["level"], members=members
    )
    report = score(
        [scored_attempt(row) for row in rows],
        selection,
        Rules(manifests, settings["protocol"]),
        by=by,
    )
    records = [AttemptRecord.model_validate_json(row.record) for row in rows if row.record]
    scored = {row["sequence"] for row in report["attempts"] if row["status"] == "scored"}
    candidates = {row.sequence for row in rows if row.incident == "candidate"}
    return {
        "run": _run(store, run, records),
        **report,
        "clauses": _clauses(manifests, records, scored),
        "candidates": [_candidate(record) for record in records if record.sequence in candidates],
        "open_attempts": [f"{row.environment_id} c{row.condition}" for row in rows if row.state != "closed"],
        "unavailable": _unavailable(manifests, settings),
    }


def _run(store: Store, run: Run, records: list[AttemptRecord]) -> dict[str, Any]:
    settings = run.settings
    return {
        "name": run.name,
        "id": run.id,
        "model": settings["model"],
        "agent": settings["agent"]["name"],
        "subset": settings["subset"],
        "tasks": settings["tasks"],
        "protocol": settings["protocol"],
        "profile": settings["profile"],
        "level": settings["level"],
        "grants": settings["grants"],
        "seed": settings["seed"],
        "runtime": settings["runtime"],
        "official": bool(records) and all(record.official for record in records),
        "records": str(store.folder(run)),
    }


def _clauses(manifests: Manifests, records: list[AttemptRecord], scored: set[int]) -> list[dict[str, Any]]:
    """Scored failures by code and broken clause, with the clause as it was disclosed; without a clause, the code's
    own text."""
    counts: Counter[tuple[str, str | None, str]] = Counter()
    for record in records:
        if record.sequence not in scored or record.outcome != "failure":
            continue
        violation = record.violation
        clause = violation.clause if violation else None
        text = manifests.codes.get(record.code or "", record.cause)
        if violation and clause:
            text = violation.data.get(CLAUSE_TEXT, violation.text)
        counts[record.code or "none", clause, text] += 1
    return [
        {"code": code, "clause": clause, "text": text, "attempts": count}
        for (code, clause, text), count in counts.most_common()
    ]


def _candidate(record: AttemptRecord) -> dict[str, Any]:
    return {
        "sequence": record.sequence,
        "attempt": record.attempt,
        "environment_id": record.environment_id,
        "condition": record.condition,
        "cause": record.cause,
        "text": record.text,
        "acted": record.acted,
    }


def _unavailable(manifests: Manifests, settings: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for environment_id in settings["environments"]:
        engine = engine_name(manifests, environment_id, settings["profile"])
        reason = why_not(manifests, environment_id, engine)
        if reason is not None:
            found.append((environment_id, manifests.environments[environment_id].family, reason))
    return [
        {"family": row.family, "environments": list(row.environments), "text": str(row)} for row in missing_here(found)
    ]
