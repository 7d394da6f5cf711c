"""The attempt table as a fold over ledger entries: one function, used when appending and when rebuilding.

Whether a decision binds is not asked here: that depends on the board's trust list, and a view must not.
"""

from __future__ import annotations

from typing import Any

from sqlmodel import Session

from runner.store.tables import AttemptRow, EntryRow, RunRow
from runner.store.text import canonical, parse, stamp

KINDS = ("run", "opened", "began", "resumed", "closed", "imported", "decision", "ruled", "withdrawn", "received")


class LedgerError(ValueError):
    """An entry that cannot follow the ones before it."""


def apply(session: Session, entry: EntryRow) -> None:
    """Fold one entry into the attempt table. Raises LedgerError when it contradicts the attempt's state."""
    payload: dict[str, Any] = parse(entry.payload)
    if entry.kind in ("run", "received"):
        return
    if entry.kind == "withdrawn":
        _withdraw(session, entry)
        return
    if entry.kind == "imported":
        session.add(_imported(entry, payload))
        return
    if entry.kind == "opened":
        if session.get_one(RunRow, entry.run_id).withdrawn is not None:
            raise LedgerError("opened: the run is withdrawn")
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
        decided = parse(row.decisions) if row.decisions else []
        added = {"sequence": entry.sequence, "time": stamp(entry.time), "payload": payload}
        row.decisions = canonical([*decided, added]).decode()
    elif entry.kind == "ruled":
        _expect(row, entry, "closed")
        last = parse(row.decisions)[-1]["payload"] if row.decisions else {}
        ruled = {name: payload[name] for name in ("cause", "code")}
        if last.get("decision") != "rejected" or last.get("ruled") != ruled:
            became = " ".join(filter(None, (payload["cause"], payload["code"])))
            raise LedgerError(f"ruled: attempt {row.id} has no rejected incident that became {became!r}")
        row.ruling = canonical(payload).decode()
    else:
        raise LedgerError(f"kind {entry.kind!r} is not one of {', '.join(KINDS)}")


def _imported(entry: EntryRow, payload: dict[str, Any]) -> AttemptRow:
    """An attempt that was made elsewhere: closed from the start, without a record."""
    ruled = payload.get("ruled")
    return AttemptRow(
        id=payload["attempt"],
        run_id=entry.run_id,
        sequence=payload["sequence"],
        environment_id=payload["environment_id"],
        condition=payload["condition"],
        state="closed",
        opened_at=entry.time,
        outcome=payload["outcome"],
        code=payload["code"],
        incident=payload["incident"],
        ruling=canonical(ruled).decode() if ruled else None,
    )


def _withdraw(session: Session, entry: EntryRow) -> None:
    run = session.get_one(RunRow, entry.run_id)
    if run.withdrawn is not None:
        raise LedgerError("withdrawn: the run is withdrawn already")
    run.withdrawn_at, run.withdrawn = entry.time, entry.payload
    session.add(run)
    session.flush()


def _expect(row: AttemptRow, entry: EntryRow, *states: str) -> None:
    if row.state not in states:
        raise LedgerError(f"{entry.kind}: attempt {row.id} is {row.state}, not {' or '.join(states)}")
