"""Every run of a store as the pages show it. What was computed stays, in memory and in a file beside no record.

A ledger only grows, and each of its entries has the hash of all before it: a run's id with its head names one state
for ever. So a visit reads the heads (one index seek per run) and scores only what is new. Whether a run still is what
its ledger says is looked at before it is scored, and again when a file of the store has changed or the last look is
old. The file is a cache (:mod:`leaderboard.summaries`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from sqlmodel import col, select

from leaderboard import rows, summaries, workers
from leaderboard.source import Entry, Unscored
from leaderboard.summaries import Head, Summary
from leaderboard.workers import Say
from runner.store.store import Run, Store
from runner.store.tables import EntryRow, RunRow

AGE_S = 600.0  # a look is repeated after so long: files can vanish without a trace in the database
TURN_S = 0.25  # a visit may look at runs again for so long
SHARE = 0.05  # of all time that goes into it: after a turn there is a pause


def _silent(done: int, count: int) -> None:
    """Tells nobody how far it is."""


@dataclass
class Board:
    """All runs of one store, newest first. Safe to share between threads."""

    place: Path | None
    version: int = 0  # counts what was found to be new
    _found: dict[str, Summary] = field(default_factory=dict)
    _runs: list[Entry | Unscored] = field(default_factory=list)
    _stamp: str | None = None
    _turn: float = 0.0  # when the next visit may look at runs again
    _lock: Lock = field(default_factory=Lock)

    def refresh(self, store: Store, say: Say = _silent, *, jobs: int = 1, whole: bool = True) -> list[Entry | Unscored]:
        """The runs as they are now, new ones scored by ``jobs`` processes. With ``whole`` every run whose last look
        does not stand any more is looked at again; without, as many as a visitor can wait for, the oldest look
        first."""
        with self._lock:
            stamp, fresh = _stamp(store), set[str]()
            if stamp is None or stamp != self._stamp:
                fresh = self._update(store, stamp or "", say, jobs)
                self._stamp = stamp
            began = time.monotonic()
            if whole or began >= self._turn:
                known = {key: item for key, item in self._found.items() if key not in fresh}
                due = [key for key, item in known.items() if not item.good(stamp or "", AGE_S)]
                due.sort(key=lambda key: self._found[key].looked)
                if due:
                    self._look(store, due, stamp or "", say if whole else _silent, jobs, math.inf if whole else TURN_S)
                    self._turn = began + (time.monotonic() - began) / SHARE
            return self._runs

    def look(self, store: Store, run: Run) -> Unscored | None:
        """Look at one run now, where the last look does not stand any more: its numbers are about to be shown. Returns
        it where it is damaged."""
        with self._lock:
            stamp = _stamp(store) or ""
            if not self._found[run.id].good(stamp, AGE_S):
                self._look(store, [run.id], stamp, _silent, 1, math.inf)
            found = self._found[run.id].found
            return found if isinstance(found, Unscored) and found.damaged else None

    def head(self, run_id: str) -> str:
        """The hash of the last entry that was seen of a run."""
        return self._found[run_id].head[1]

    def looked(self, run_id: str) -> float:
        """When a run was last looked at, in seconds since 1970."""
        return self._found[run_id].looked

    def _update(self, store: Store, stamp: str, say: Say, jobs: int) -> set[str]:
        """Take in what has come, grown or gone. Returns the runs that were scored, and so looked at."""
        heads, before = _heads(store), self._found
        known = before or summaries.load(self.place, store, heads)
        due = [key for key, head in heads.items() if key not in known or known[key].head != head]
        runs = list(rows.named(store, due).values())
        fresh = {
            run.id: Summary(heads[run.id], found, stamp, time.time())
            for run, found in workers.scored(store, runs, say, jobs)
        }
        self.place = summaries.save(self.place, fresh)
        every = known | fresh
        anew = bool(fresh) or heads.keys() != before.keys()
        self._show({key: every[key] for key in heads if key in every}, anew=anew)
        return set(fresh)

    def _look(self, store: Store, keys: Sequence[str], stamp: str, say: Say, jobs: int, seconds: float) -> None:
        """Look again at some runs, in this order."""
        runs = rows.named(store, keys)
        order = [(runs[key], self._found[key].found) for key in keys if key in runs]
        seen, same = dict[str, Summary](), set[str]()
        for run, found in workers.looked(store, order, say, jobs, seconds):
            seen[run.id] = Summary(self._found[run.id].head, found, stamp, time.time())
            if found == self._found[run.id].found:
                same.add(run.id)
        self.place = summaries.save(self.place, seen, same)
        self._show({key: seen.get(key, item) for key, item in self._found.items()}, anew=len(same) < len(seen))

    def _show(self, found: dict[str, Summary], *, anew: bool) -> None:
        self._found = found
        if anew:
            self.version += 1
            self._runs = [item.found for item in found.values()]


def _stamp(store: Store) -> str | None:
    """Differs after any commit to an SQLite store; None for another database."""
    path = store.database.path
    if path is None:
        return None
    found = []
    for file in (path, path.with_name(f"{path.name}-wal")):
        try:
            about = file.stat()
        except OSError:
            found.append("none")
        else:  # a reader leaves an empty log behind where there was none
            found.append(f"{about.st_mtime_ns}/{about.st_size}" if about.st_size else "none")
    return " ".join(found)


def _heads(store: Store) -> dict[str, Head]:
    """Run id to the head of its ledger, newest run first. One seek per run: the entries are not read."""
    mine = select(EntryRow.sequence, EntryRow.hash).where(EntryRow.run_id == RunRow.id)
    newest = mine.order_by(col(EntryRow.sequence).desc()).limit(1).correlate(RunRow)
    length = newest.with_only_columns(col(EntryRow.sequence)).scalar_subquery()
    head = newest.with_only_columns(col(EntryRow.hash)).scalar_subquery()
    query = select(RunRow.id, length, head).order_by(col(RunRow.created_at).desc())
    with store.database.read() as session:
        return {key: (length, head) for key, length, head in session.exec(query)}
