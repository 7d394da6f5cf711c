"""The rows of runs, whatever stands in them: one that cannot be read must not take the others down with it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row, String, type_coerce
from sqlalchemy import select as sql_select
from sqlmodel import col

from runner.store.status import Withdrawal
from runner.store.store import Run, Store
from runner.store.tables import AttemptRow, EntryRow, RunRow, UtcDateTime
from runner.store.text import parse

COLUMNS = ("id", "name", "created_at", "settings", "withdrawn_at", "withdrawn")
FEW = 500  # ids that a query may name
NO_TIME = datetime.fromtimestamp(0, UTC)  # stands for an instant that cannot be read


def raw(table: type[RunRow | EntryRow | AttemptRow], name: str) -> Any:
    """A column as it is stored. SQLite keeps an instant as text: to make one of each takes longer than all hashes."""
    column = getattr(table, name)
    return type_coerce(column, String) if isinstance(column.type, UtcDateTime) else column


def named(store: Store, keys: Sequence[str]) -> dict[str, Run]:
    """The runs with these ids, in their order. Of a row that is damaged what cannot be read is left empty:
    :func:`leaderboard.intact.damage` says what is the matter with it."""
    if not keys:
        return {}
    query = sql_select(*(raw(RunRow, name) for name in COLUMNS))
    if len(keys) <= FEW:
        query = query.where(col(RunRow.id).in_(keys))
    with store.database.read() as session:
        found = {row[0]: row for row in session.execute(query)}
    return {key: _run(found[key]) for key in keys if key in found}


def _run(row: Row[Any]) -> Run:
    key, name, created_at, text, withdrawn_at, said = tuple(row)
    settings = _parsed(text)
    return Run(key, name, _instant(created_at) or NO_TIME, settings, _withdrawal(_instant(withdrawn_at), said))


def _parsed(text: str) -> dict[str, Any]:
    try:
        found = parse(text)
    except (ValueError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _instant(value: Any) -> datetime | None:
    """SQLite has a text on UTC without a zone, a server an instant."""
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        return None


def _withdrawal(time: datetime | None, said: str | None) -> Withdrawal | None:
    if time is None or said is None:
        return None
    try:
        return Withdrawal(time, **_parsed(said))
    except TypeError:
        return None
