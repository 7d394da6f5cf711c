"""Whether a run may go on: the table of attempts and the folders of artifacts hold what its ledger says.

The ledger's own hash chain is checked by :func:`runner.store.ledger.verify`. A row that was deleted, or a ledger whose
end was cut off, would otherwise let a condition be drawn again in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from sqlmodel import Session

from runner.store import view
from runner.store.artifacts import RECORD
from runner.store.tables import AttemptRow, EntryRow, RunRow
from runner.store.text import canonical, parse

ATTEMPT = re.compile(r"[0-9a-f]{32}")
PART = re.compile(rf"\.{ATTEMPT.pattern}\.part")


class _Rows:
    """What :func:`runner.store.view.apply` needs of a session, in memory."""

    def __init__(self, run: RunRow) -> None:
        self.runs, self.attempts = {run.id: run}, dict[str, AttemptRow]()

    def get(self, kind: type[Any], key: str) -> Any:
        return (self.runs if kind is RunRow else self.attempts).get(key)

    def get_one(self, kind: type[Any], key: str) -> Any:
        return (self.runs if kind is RunRow else self.attempts)[key]

    def add(self, row: RunRow | AttemptRow) -> None:
        if isinstance(row, AttemptRow):
            self.attempts[row.id] = row

    def flush(self) -> None:
        """Nothing waits."""


def folded(run: RunRow, entries: Iterable[EntryRow]) -> tuple[RunRow, Mapping[str, AttemptRow]]:
    """The run and the attempts that the entries fold to. Raises LedgerError for an entry that cannot follow the ones
    before it, or has not the content of its kind."""
    fresh = RunRow(id=run.id, name=run.name, created_at=run.created_at, settings=run.settings)
    rows = _Rows(fresh)
    for entry in entries:
        try:
            if entry.kind == "run":
                fresh.settings = canonical(parse(entry.payload)["settings"]).decode()
            view.apply(cast(Session, rows), entry)
        except view.LedgerError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError):
            raise view.LedgerError(f"entry {entry.sequence} has not the content of a {entry.kind!r}") from None
    return fresh, rows.attempts


def run_difference(expected: RunRow, found: RunRow) -> str | None:
    """Where the table of runs differs from the ledger, or None: settings name model, tasks and protocol of a score. The
    name is not asked for: an import gives another one."""
    if expected.settings != found.settings:
        return "its settings in the table of runs are not those of the first entry of its ledger"
    if (expected.withdrawn, expected.withdrawn_at) != (found.withdrawn, found.withdrawn_at):
        return "whether it is withdrawn is in the table of runs not what its ledger says"
    return None


def difference(expected: Mapping[str, AttemptRow], found: Iterable[AttemptRow]) -> str | None:
    """The first attempt in which the table differs from the ledger, or None."""
    table = {row.id: row for row in found}
    for row in sorted(expected.values(), key=lambda row: row.sequence):
        stored = table.pop(row.id, None)
        if stored is None:
            return f"{_named(row)} is in the ledger and not in the table of attempts"
        for name in AttemptRow.model_fields:
            if (before := getattr(row, name)) != (now := getattr(stored, name)):
                return f"{_named(row)}: {name} is {_short(now)} in the table and {_short(before)} in the ledger"
    for row in table.values():
        return f"{_named(row)} is in the table of attempts and not in the ledger"
    return None


def unknown_folder(folder: Path, attempts: Iterable[str]) -> str | None:
    """A folder with a record of an attempt that the ledger does not have, or None."""
    known = set(attempts)
    for path in sorted(folder.glob(f"*/{RECORD}")):
        if ATTEMPT.fullmatch(path.parent.name) and path.parent.name not in known:
            return f"{path.parent} holds an attempt that the ledger does not have"
    return None


def run_folders(home: Path) -> list[str]:
    """Names of the folders below ``home`` that hold attempts."""
    return sorted(
        {
            path.parent.name
            for path in home.glob("*/*")
            if path.is_dir() and (ATTEMPT.fullmatch(path.name) or PART.fullmatch(path.name))
        }
    )


def _named(row: AttemptRow) -> str:
    return f"attempt {row.sequence} ({row.environment_id} c{row.condition})"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
