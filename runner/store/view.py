"""The attempt table as a fold over ledger entries: one function, used when appending and when rebuilding."""

from __future__ import annotations

from typing import Any

from sqlmodel import Session

from runner.store.tables import AttemptRow, EntryRow
from runner.store.text import canonical, parse

KINDS = ("run", "opened", "began", "resumed", "closed", "decision", "ruled")


class LedgerError(ValueError):
    """An entry that cannot follow the ones before it."""


def apply(session: Session, entry: EntryRow) -> None:
    """Fold one entry into the attempt table. Raises LedgerError when it contradicts the attempt's state."""
    payload: dict[str, Any] = parse(entry.payload)
    if entry.kind == "run":
        return
    if entry.kind == "opened":
        session.add(
            AttemptRow(
                id=payload["attempt"],
                run_id=entry.run_id,
                sequence=entry.sequence,
                environment_id=payload["environment_id"],
                condition=payload["condition"],
                state="opened",
                opened_at=entry.time,
            )
        )
        session.flush()
        return
    row = session.get(AttemptRow, payload["attempt"])
    if row is None or row.run_id != entry.run_id:
        raise LedgerError(f"{entry.kind}: attempt {payload['attempt']} was never opened in this run")
    _fold(row, entry, payload)
    session.add(row)
    session.flush()


def _fold(row: AttemptRow, entry: EntryRow, payload: dict[str, Any]) -> None:
    if entry.kind == "resumed":
        _expect(row, entry, "opened")
    elif entry.kind == "began":
        _expect(row, entry, "opened")
        row.state, row.began_at = "began", entry.time
    elif entry.kind == "closed":
        _expect(row, entry, "opened", "began")
        record = payload["record"]
        row.state, row.closed_at = "closed", entry.time
        row.outcome, row.cause = record["outcome"], record["cause"]
        row.code, row.incident = record["code"], record["incident"]
        row.record = canonical(record).decode()
    elif entry.kind == "decision":
        _expect(row, entry, "closed")
        if row.incident not in ("candidate", "confirmed", "rejected"):
            raise LedgerError(f"decision: attempt {row.id} is no incident candidate")
        row.incident = payload["decision"]
    elif entry.kind == "ruled":
        _expect(row, entry, "closed")
        if row.incident != "rejected":
            raise LedgerError(f"ruled: the incident of attempt {row.id} was not rejected")
        row.ruling = canonical(payload).decode()
        row.outcome, row.cause, row.code = payload["outcome"], payload["cause"], payload["code"]
    else:
        raise LedgerError(f"kind {entry.kind!r} is not one of {', '.join(KINDS)}")


def _expect(row: AttemptRow, entry: EntryRow, *states: str) -> None:
    if row.state not in states:
        raise LedgerError(f"{entry.kind}: attempt {row.id} is {row.state}, not {' or '.join(states)}")
