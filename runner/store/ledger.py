"""The ledger of one run: append-only entries in a hash chain (design: section 9, docs/architecture.md).

hash = SHA-256 over RFC 8785 of ``{"run", "sequence", "kind", "time", "payload", "previous"}``. An entry that was
edited, removed, added or moved breaks the chain at its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func
from sqlmodel import Session, col, delete, select

from runner.store import view
from runner.store.tables import AttemptRow, EntryRow, RunRow
from runner.store.text import canonical, digest, now, parse, stamp

GENESIS = "0" * 64


@dataclass(frozen=True)
class Entry:
    """One entry as read back. ``time`` is aware and on UTC."""

    run: str
    sequence: int
    kind: str
    time: datetime
    payload: dict[str, Any]
    previous: str
    hash: str


def entry_hash(run: str, sequence: int, kind: str, time: datetime, payload: Any, previous: str) -> str:
    return digest(
        {
            "run": run,
            "sequence": sequence,
            "kind": kind,
            "time": stamp(time),
            "payload": payload,
            "previous": previous,
        }
    )


def append(session: Session, run_id: str, kind: str, payload: dict[str, Any]) -> Entry:
    """Append within a write transaction; gives the entry the run's next sequence number."""
    return append_all(session, run_id, [(kind, payload)])[0]


def append_all(session: Session, run_id: str, added: Iterable[tuple[str, dict[str, Any]]]) -> list[Entry]:
    """Append (kind, payload) in order within a write transaction, with consecutive sequence numbers."""
    # PostgreSQL serializes the writers of one run here; SQLite holds the write lock already and ignores the clause.
    session.exec(select(RunRow.id).where(RunRow.id == run_id).with_for_update()).one()
    last = session.exec(
        select(EntryRow).where(EntryRow.run_id == run_id).order_by(col(EntryRow.sequence).desc()).limit(1)
    ).first()
    sequence, previous = (last.sequence, last.hash) if last else (0, GENESIS)
    appended = []
    with session.no_autoflush:  # a fold that looks a row up would flush once per entry; it flushes what it needs
        for kind, payload in added:
            sequence += 1
            entry = _row(session, run_id, sequence, kind, payload, previous)
            previous = entry.hash
            appended.append(entry)
    session.flush()
    return appended


def _row(session: Session, run_id: str, sequence: int, kind: str, payload: dict[str, Any], previous: str) -> Entry:
    text = canonical(payload).decode()
    clean = parse(text)
    time = now()
    row = EntryRow(
        run_id=run_id,
        sequence=sequence,
        kind=kind,
        time=time,
        payload=text,
        previous=previous,
        hash=entry_hash(run_id, sequence, kind, time, clean, previous),
    )
    session.add(row)
    view.apply(session, row)
    return _entry(row, clean)


def rows(session: Session, run_id: str) -> Sequence[EntryRow]:
    """The entries as they are stored, in order."""
    return session.exec(select(EntryRow).where(EntryRow.run_id == run_id).order_by(col(EntryRow.sequence))).all()


def entry_of(row: EntryRow) -> Entry:
    """Raises LedgerError for a payload that was never written so."""
    try:
        return _entry(row, parse(row.payload))
    except ValueError as error:
        raise view.LedgerError(f"entry {row.sequence} was changed: its payload is not JSON: {error}") from None


def entries(session: Session, run_id: str) -> list[Entry]:
    return [entry_of(row) for row in rows(session, run_id)]


def verify(found: Iterable[Entry]) -> str | None:
    """Why the chain is broken, naming the first bad entry, or None. An empty ledger is broken: a run has entry 1."""
    previous, expected = GENESIS, 1
    for entry in found:
        if entry.sequence != expected:
            return f"entry {expected} is missing (found {entry.sequence})"
        if entry.previous != previous:
            return f"entry {entry.sequence} does not follow the entry before it"
        try:
            right = entry_hash(entry.run, entry.sequence, entry.kind, entry.time, entry.payload, entry.previous)
        except ValueError as error:
            return f"entry {entry.sequence} was changed: its payload {error}"
        if entry.hash != right:
            return f"entry {entry.sequence} was changed: its hash does not match its content"
        previous, expected = entry.hash, expected + 1
    return None if expected > 1 else "the ledger is empty"


def rebuild(session: Session, run_id: str) -> int:
    """Drop the attempt rows of a run and fold its ledger again; returns how many attempts there are."""
    session.exec(delete(AttemptRow).where(col(AttemptRow.run_id) == run_id))
    run = session.get_one(RunRow, run_id)
    run.withdrawn_at = run.withdrawn = None
    session.add(run)
    for row in rows(session, run_id):
        view.apply(session, row)
    counted = session.exec(select(func.count()).select_from(AttemptRow).where(AttemptRow.run_id == run_id))
    return counted.one()


def _entry(row: EntryRow, payload: dict[str, Any]) -> Entry:
    return Entry(row.run_id, row.sequence, row.kind, row.time, payload, row.previous, row.hash)
