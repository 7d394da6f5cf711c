"""Audit reports that lie with the records: ``assay audit`` wrote them here, or they came with a submission.

A report is a plain file that nobody signs, and what it says is text of strangers: it is shown with where it lies and of
which state of the ledger it speaks, and whoever doubts it runs the audit again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sqlmodel import select

from manifests import strict
from manifests.records import LARGEST as WHOLE
from runner.store.artifacts import RENDERED
from runner.store.store import Run, Store
from runner.store.tables import EntryRow

KEPT = "audits"  # folder of the store: one folder for each report that was not written by an audit of this machine
REPORT = "audit.json"
LARGEST = 64 << 20  # bytes of a report
MOST = 500  # reports kept beside the store that are read


@dataclass(frozen=True)
class Audit:
    """One report. ``kept`` names its folder below ``audits``; None for the one in the run's own folder. ``entries`` is
    the length of the ledger that it saw, and ``holds`` whether the ledger still has the entry that was its head."""

    document: Mapping[str, Any]
    kept: str | None
    entries: int | None
    holds: bool

    @property
    def checks(self) -> list[dict[str, Any]]:
        return _dicts(self.document.get("checks"))

    @property
    def passed(self) -> bool:
        return self.document.get("passed") is True

    @property
    def verdict(self) -> str:
        """``passed``, ``failed`` or ``undecided``; reports without the word have the first two only."""
        if self.document.get("verdict") == "undecided" and not self.passed:
            return "undecided"
        return "passed" if self.passed else "failed"

    @property
    def ended(self) -> str:
        return str(self.document.get("ended", ""))


def of_run(store: Store, run: Run) -> list[Audit]:
    """The reports of a run, the latest first."""
    return of_runs(store, [run]).get(run.name, [])


def of_runs(store: Store, runs: Iterable[Run]) -> dict[str, list[Audit]]:
    """By run name, the latest report first; runs without one are left out."""
    kept: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for path in _folders(store.home / KEPT):
        if (document := _read(path / REPORT)) is not None:
            kept.setdefault(document["run"]["id"], []).append((path.name, document))
    found = {}
    for run in runs:
        own = _read(store.folder(run) / RENDERED / "audit" / REPORT)
        mine = [(None, own)] if own is not None and own["run"]["id"] == run.id else []
        if documents := [*mine, *kept.get(run.id, ())]:
            reports = [Audit(document, name, *_state(store, run, document)) for name, document in documents]
            found[run.name] = sorted(reports, key=lambda report: report.ended, reverse=True)
    return found


def replay_of(reports: Iterable[Audit], sequence: int) -> dict[str, Any] | None:
    """What the latest report that replayed an attempt says of it, or None."""
    for report in reports:
        for check in report.checks:
            rows = _dicts(_data(check).get("attempts")) if check.get("name") == "replay" else []
            for row in rows:
                if row.get("sequence") == sequence:
                    return row
    return None


def _state(store: Store, run: Run, document: Mapping[str, Any]) -> tuple[int | None, bool]:
    """How many entries the audit saw, and whether the last of them still stands in the ledger."""
    checks = (item for item in _dicts(document.get("checks")) if item.get("name") == "chain")
    chain = _data(next(checks, {}))
    entries, head = chain.get("entries"), chain.get("head")
    if not isinstance(entries, int) or not 0 < entries < WHOLE:
        return None, False
    with store.database.read() as session:
        query = select(EntryRow.hash).where(EntryRow.run_id == run.id, EntryRow.sequence == entries)
        return entries, session.exec(query).first() == head


def _dicts(value: Any) -> list[dict[str, Any]]:
    """The objects of a list in a document of a stranger."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _data(check: Mapping[str, Any]) -> Mapping[str, Any]:
    data = check.get("data")
    return data if isinstance(data, dict) else {}


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())[:MOST]
    except OSError:
        return []


def _read(path: Path) -> Mapping[str, Any] | None:
    try:
        about = path.stat()
    except OSError:
        return None
    return _document(path, about.st_mtime_ns, about.st_size) if about.st_size <= LARGEST else None


@lru_cache(maxsize=64)
def _document(path: Path, changed_ns: int, size: int) -> Mapping[str, Any] | None:
    """None for what is no report."""
    try:
        found = strict.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    run = found.get("run") if isinstance(found, dict) else None
    return found if isinstance(run, dict) and isinstance(run.get("id"), str) else None
