"""What a score reads of an attempt, in one narrow query per run: the records stay in the database.

A terminal record has some 3 kB; a score needs a tenth of it. SQLite picks those fields itself; another database sends
the records and they are picked here. Attempts with decisions are read whole, since decisions are bound to a hash of the
record.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, func
from sqlalchemy import select as sql_select
from sqlmodel import Session, col, select

from manifests.load import Manifests
from runner.store.scored import scored_attempt
from runner.store.store import Run, Store
from runner.store.tables import AttemptRow, EntryRow
from runner.store.text import parse
from scoring.ledger import Attempt

PATHS = (
    "wall_s",
    "success_wall_s",
    "usage.tokens_input",
    "usage.tokens_output",
    "usage.cost_usd",
    "runtime",
    "official",
    "closed_at",
    "settings.versions",
    "violation.clause",
)
COLUMNS = ("id", "sequence", "environment_id", "condition", "outcome", "cause", "code", "incident")


@dataclass(frozen=True)
class Record:
    """The fields of a terminal record beside those that scoring reads. ``cost_usd`` is None when it is unknown."""

    runtime: str
    official: bool
    closed_at: datetime
    versions: dict[str, str]
    clause: str | None
    cost_usd: float | None


@dataclass(frozen=True)
class Facts:
    """One attempt. ``record`` is None where there is none: it has not ended, or was made elsewhere."""

    attempt: Attempt
    record: Record | None


@dataclass(frozen=True)
class Received:
    """Who signed the bundle that a run came with; the signature held when it was imported."""

    key: str
    name: str | None


def facts_of(store: Store, run: Run, manifests: Manifests) -> list[Facts]:
    """Every attempt of a run in ledger order."""
    table = AttemptRow
    with store.database.read() as session:
        sqlite = session.get_bind().dialect.name == "sqlite"
        picked = func.json_extract(table.record, *(f"$.{path}" for path in PATHS)) if sqlite else col(table.record)
        columns: list[Any] = [getattr(table, name) for name in COLUMNS]
        decided = col(table.decisions).is_not(None) | col(table.ruling).is_not(None)
        query = sql_select(*columns, decided, picked).where(col(table.run_id) == run.id).order_by(col(table.sequence))
        found = session.execute(query).all()
        return [_facts(session, row, manifests, sqlite) for row in found]


def received(store: Store, run: Run) -> Received | None:
    """Of a run that came with a bundle: its submitter."""
    with store.database.read() as session:
        payload = session.exec(
            select(EntryRow.payload).where(EntryRow.run_id == run.id, EntryRow.kind == "received")
        ).first()
    if payload is None:
        return None
    said = parse(payload)
    return Received(str(said["key"]), said.get("name"))


def _facts(session: Session, row: Row[Any], manifests: Manifests, sqlite: bool) -> Facts:
    key, sequence, environment_id, condition, outcome, cause, code, incident, decided, text = tuple(row)
    values = _picked(text, sqlite) if text else None
    record = None
    wall_s = success_wall_s = tokens = None
    if values is not None:
        wall_s, success_wall_s, tokens_in, tokens_out, cost, runtime, official, closed_at, versions, clause = values
        closed = datetime.fromisoformat(closed_at)
        record = Record(runtime, bool(official), closed, versions, clause, cost)
        tokens = None if tokens_in is None or tokens_out is None else tokens_in + tokens_out
    if decided:
        return Facts(scored_attempt(session.get_one(AttemptRow, key), manifests), record)
    attempt = Attempt(
        sequence=sequence,
        environment_id=environment_id,
        condition=condition,
        outcome=outcome,
        cause=cause,
        code=code,
        incident=incident or "none",
        wall_s=wall_s,
        success_wall_s=success_wall_s,
        tokens=tokens,
    )
    return Facts(attempt, record)


def _picked(text: str, sqlite: bool) -> list[Any]:
    """The values of PATHS."""
    if sqlite:
        return list(json.loads(text))
    record = parse(text)
    return [_at(record, path.split(".")) for path in PATHS]


def _at(value: Any, steps: list[str]) -> Any:
    for step in steps:
        value = None if value is None else value.get(step)
    return value
