"""The score of a run in the store: the plain result of :mod:`scoring.report` with what only the records know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from manifests.load import Manifests
from manifests.lookup import engine_name, members, why_not
from manifests.records import AttemptRecord
from runner.errors import BadInput
from runner.plan import missing_here
from runner.record import CLAUSE_TEXT
from runner.replies import tally
from runner.seeds import private_list
from runner.store.scored import scored_attempt
from runner.store.status import EVALUATED, not_rankable, stale
from runner.store.store import Run, Store
from runner.submission.received import received
from runner.words import count
from scoring.ledger import Attempt
from scoring.plan import selection_of
from scoring.report import score
from scoring.rules import Rules
from scoring.selection import Selection


def score_run(
    store: Store, run: Run, manifests: Manifests, by: Sequence[str] | None = None, subset: str | None = None
) -> dict[str, Any]:
    """``scoring.report.score`` plus ``run``, ``clauses`` (broken ones, most frequent first), ``candidates``,
    ``open_attempts`` (opened, no record), ``unavailable`` (environments that cannot run here, by family) and
    ``replies`` (how they were read, None where an agent gives none).

    ``by`` None: the breakdowns of the run's board. ``subset`` scores a smaller subset that the run's own one contains.
    Raises BadInput for another.
    """
    settings = run.settings
    rows = store.attempts(run)
    attempts = [scored_attempt(row, manifests) for row in rows]
    rules = Rules(manifests, settings["protocol"])
    board = manifests.boards[settings["board"]]
    selection = _selection(manifests, run, subset)
    if subset is not None:  # which may take fewer conditions than the run
        conditions = {task.environment_id: task.conditions for task in selection.tasks}
        attempts = [item for item in attempts if item.condition < conditions.get(item.environment_id, 0)]
    report = score(attempts, selection, rules, by=board.breakdowns if by is None else by)
    records = [AttemptRecord.model_validate_json(row.record) for row in rows if row.record]
    scored = {row["sequence"] for row in report["attempts"] if row["status"] == "scored"}
    marks = _marks(manifests, run, records)
    reasons = not_rankable(settings, run.withdrawn, marks["stale"]) + report["not_rankable"]
    return {
        "run": _run(store, run, manifests, records, subset) | marks | {"replaces_incidents": rules.excludes},
        **report,
        "rankable": not reasons,
        "not_rankable": reasons,
        "clauses": _clauses(manifests, records, scored),
        "candidates": _candidates(records, attempts),
        "open_attempts": [f"{row.environment_id} c{row.condition}" for row in rows if row.state != "closed"],
        "unavailable": _unavailable(manifests, settings) if run.kind == EVALUATED else [],
        "replies": tally(records),
    }


def _selection(manifests: Manifests, run: Run, subset: str | None) -> Selection:
    settings = run.settings
    chosen = tuple(settings["environments"]) if settings["tasks"] is not None and subset is None else None
    if subset is not None:
        outside = [entry.id for entry in members(manifests, subset) if entry.id not in settings["environments"]]
        if outside:
            raise BadInput(
                f"subset {subset!r}: run {run.name} is of {settings['subset']} and has no attempt planned at "
                f"{outside[0]} ({count(len(outside), 'such environment')}); choose a subset inside it"
            )
    return selection_of(
        manifests, subset or settings["subset"], profile=settings["profile"], level=settings["level"], members=chosen
    )


def _marks(manifests: Manifests, run: Run, records: list[AttemptRecord]) -> dict[str, Any]:
    """What a reader must know before the numbers: the kind of run, whether it is withdrawn, whether it is stale."""
    versions = [record.settings.versions for record in records] or [run.settings["versions"]]
    engines = run.settings["environments"].values()
    return {
        "kind": run.kind,
        "withdrawn": str(run.withdrawn) if run.withdrawn is not None else None,
        "stale": list(stale(versions, engines, manifests)) if run.kind == EVALUATED else [],
    }


def _run(
    store: Store, run: Run, manifests: Manifests, records: list[AttemptRecord], subset: str | None
) -> dict[str, Any]:
    settings, source = run.settings, received(store).get(run.id)
    return {
        "name": run.name,
        "id": run.id,
        "board": settings["board"],
        "model": settings["model"],
        "agent": settings["agent"]["name"],
        "setting": settings.get("mode"),
        "subset": subset or settings["subset"],
        "tasks": settings["tasks"] if subset is None else None,
        "protocol": settings["protocol"],
        "profile": settings["profile"],
        "level": settings["level"],
        "grants": settings["grants"],
        "seed": settings["seed"],
        "private_seeds": private_list(settings["versions"], manifests, store.home),
        "runtime": settings["runtime"],
        "submitter": {"name": source.name, "key": source.key} if source is not None else None,
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


def _candidates(records: list[AttemptRecord], attempts: list[Attempt]) -> list[dict[str, Any]]:
    """The records whose incident nobody has decided."""
    open_ones = {attempt.sequence for attempt in attempts if attempt.incident == "candidate"}
    fields = ("sequence", "attempt", "environment_id", "condition", "cause", "text", "acted")
    return [{name: getattr(record, name) for name in fields} for record in records if record.sequence in open_ones]


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
