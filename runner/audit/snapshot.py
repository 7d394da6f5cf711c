"""What the store holds of a run, read at one moment, and the same run folded again from its ledger alone.

Rows are read as they are: the text of a damaged entry may not even be JSON, and that is a finding, no crash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from sqlalchemy.exc import IntegrityError
from sqlmodel import col, select

from manifests.load import first_line
from manifests.records import AttemptRecord
from runner.audit.findings import Finding, problem
from runner.store import view
from runner.store.store import Run, Store
from runner.store.tables import AttemptRow, EntryRow, RunRow
from runner.store.text import canonical, parse


@dataclass(frozen=True)
class Snapshot:
    """The rows of one run, in sequence order."""

    run: RunRow
    entries: tuple[EntryRow, ...]
    attempts: tuple[AttemptRow, ...]


@dataclass(frozen=True)
class Folded:
    """A run as its ledger alone has it: a store of its own, its attempts, and the records that can be read."""

    store: Store
    run: Run | None
    attempts: tuple[AttemptRow, ...]
    records: dict[str, AttemptRecord]  # by attempt


def snapshot(store: Store, run: Run) -> Snapshot:
    """Everything in one transaction, so that a run which is being evaluated meanwhile shows one state."""
    with store.database.read() as session:
        row = session.get_one(RunRow, run.id)
        entries = session.exec(select(EntryRow).where(EntryRow.run_id == run.id).order_by(col(EntryRow.sequence))).all()
        attempts = session.exec(
            select(AttemptRow).where(AttemptRow.run_id == run.id).order_by(col(AttemptRow.sequence))
        ).all()
        session.expunge_all()
        return Snapshot(row, tuple(entries), tuple(attempts))


def fold(found: Snapshot, home: Path) -> tuple[Folded, list[Finding]]:
    """Fold the entries in a fresh store under ``home``, up to the first that cannot follow the ones before it."""
    store = Store(home, f"sqlite:///{home / 'folded.sqlite'}")
    findings: list[Finding] = []
    run = found.run
    with store.database.write() as session:
        session.add(RunRow(id=run.id, name=run.name, created_at=run.created_at, settings=_settings(found)))
        session.flush()
        for entry in found.entries:
            try:
                with session.begin_nested():
                    view.apply(session, EntryRow(**entry.model_dump()))
            except (view.LedgerError, IntegrityError, ValueError, KeyError, TypeError, AttributeError) as error:
                text = str(error) if isinstance(error, view.LedgerError) else f"{type(error).__name__}: {error}"
                text = text.splitlines()[0]
                findings.append(problem(f"entry {entry.sequence}", f"cannot follow the entries before it: {text}"))
                break
    folded = store.find_run(run.id)
    rows = tuple(store.attempts(folded)) if folded is not None else ()
    records: dict[str, AttemptRecord] = {}
    for row in rows:
        if row.record is not None:
            try:
                records[row.id] = AttemptRecord.model_validate(parse(row.record))
            except ValidationError as error:
                findings.append(problem(f"attempt {row.sequence}", f"its record is not one: {first_line(error)}"))
    return Folded(store, folded, rows, records), findings


def _settings(found: Snapshot) -> str:
    """The settings as the first entry of the ledger has them, or, where that cannot be read, as the table does."""
    try:
        payload: Any = parse(found.entries[0].payload)
        return canonical(payload["settings"]).decode()
    except (IndexError, ValueError, KeyError, TypeError):
        return found.run.settings


def differing(folded: Sequence[AttemptRow], stored: Sequence[AttemptRow]) -> list[Finding]:
    """Where the attempt table is not what the ledger says."""
    mine, theirs = ({row.id: row for row in rows} for rows in (folded, stored))
    findings = []
    for key, row in theirs.items():
        if key not in mine:
            text = f"attempt {key} stands in the attempt table and not in the ledger"
            findings.append(problem(f"attempt {row.sequence}", text))
            continue
        ledger, table = mine[key].model_dump(), row.model_dump()
        for name in [name for name in ledger if ledger[name] != table[name]]:
            text = f"{name} is {_short(table[name])} in the attempt table, and {_short(ledger[name])} by the ledger"
            findings.append(problem(f"attempt {row.sequence}", text))
    for key, row in mine.items():
        if key not in theirs:
            findings.append(problem(f"attempt {row.sequence}", f"attempt {key} is missing from the attempt table"))
    return findings


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
