"""Every run of a store as the pages show it. What was computed stays, in memory and in a file beside no record.

A ledger only grows, and each of its entries has the hash of all before it: a run's id with its head names one state for
ever. So a visit reads the heads (one index seek per run) and scores only what is new. The file is a cache: it is made
again when manifests or scoring change, and whoever may not write it does without.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from sqlmodel import col, select

from leaderboard.facts import Received
from leaderboard.source import Entry, Unscored, read_entry, setting_of
from manifests import load as manifests_load
from runner.store.store import Run, Store
from runner.store.tables import EntryRow, RunRow
from scoring.report import SCORING_VERSION

VERSION = 2  # of what is kept of a run
KEPT = ("report", "slots", "failures", "others", "runtimes", "official", "cost_usd", "unpriced", "stale")
logger = logging.getLogger("leaderboard")

Head = tuple[int, str]  # entries and last hash of a ledger
Stamp = tuple[tuple[int, int], ...]  # times and sizes of the files of a store
Say = Callable[[int, int], None]  # runs scored, of how many


@dataclass
class Board:
    """All runs of one store, newest first. Safe to share between threads."""

    place: Path | None
    version: int = 0  # counts what was found to be new
    _found: dict[str, tuple[Head, Entry | Unscored]] = field(default_factory=dict)
    _runs: list[Entry | Unscored] = field(default_factory=list)
    _stamp: Stamp | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def refresh(self, store: Store, say: Say = lambda done, count: None) -> list[Entry | Unscored]:
        """The runs as they are now."""
        with self._lock:
            stamp = _stamp(store)
            if stamp is not None and stamp == self._stamp:
                return self._runs
            heads = _heads(store)
            if not self._found:
                self._found = dict(self._load(store, heads))
            due = [key for key, head in heads.items() if self._found.get(key, (None,))[0] != head]
            fresh: dict[str, tuple[Head, Entry | Unscored]] = {}
            for number, (key, run) in enumerate(_runs(store, due).items()):
                say(number, len(due))
                fresh[key] = heads[key], read_entry(store, run, listing=False)
            self._save(store, fresh)
            found = self._found | fresh
            now = {key: found[key] for key in heads if key in found}
            self.version += bool(fresh) or now.keys() != self._found.keys()
            self._found, self._stamp = now, stamp
            self._runs = [found for _, found in now.values()]
            return self._runs

    def head(self, run_id: str) -> str:
        """The hash of the last entry that was seen of a run."""
        return self._found[run_id][0][1]

    def _load(self, store: Store, heads: dict[str, Head]) -> Iterator[tuple[str, tuple[Head, Entry | Unscored]]]:
        if self.place is None or not self.place.is_file():
            return
        try:
            with closing(sqlite3.connect(f"file:{self.place}?mode=ro", uri=True, timeout=2)) as connection:
                rows = connection.execute("SELECT run, length, head, value FROM summary WHERE made_by = ?", [_maker()])
                kept = {run: ((length, head), value) for run, length, head, value in rows}
        except sqlite3.Error as error:
            logger.warning("%s: not used (%s)", self.place, error)
            return
        current = [key for key, (head, _) in kept.items() if heads.get(key) == head]
        for key, run in _runs(store, current).items():
            yield key, (heads[key], _read(run, json.loads(kept[key][1])))

    def _save(self, store: Store, fresh: dict[str, tuple[Head, Entry | Unscored]]) -> None:
        rows = [(key, *head, _maker(), _written(found)) for key, (head, found) in fresh.items()]
        if self.place is None or not rows:
            return
        try:
            self.place.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.place, timeout=5)) as connection, connection:
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS summary "
                    "(run TEXT PRIMARY KEY, length INTEGER, head TEXT, made_by TEXT, value TEXT)"
                )
                connection.executemany("INSERT OR REPLACE INTO summary VALUES (?, ?, ?, ?, ?)", rows)
        except (OSError, sqlite3.Error) as error:
            logger.warning("%s: not written (%s): scores are made again at the next start", self.place, error)
            self.place = None


def place_of(store: Store) -> Path:
    """The file of a store's board: in ASSAY_CACHE, or the user's cache folder."""
    given = os.environ.get("ASSAY_CACHE")
    folder = Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay"
    return folder / f"board-{hashlib.sha256(store.database.label.encode()).hexdigest()[:16]}.sqlite"


def _stamp(store: Store) -> Stamp | None:
    """Differs after any commit to an SQLite store; None for another database."""
    path = store.database.path
    if path is None:
        return None
    found = []
    for file in (path, path.with_name(f"{path.name}-wal")):
        try:
            about = file.stat()
        except OSError:
            found.append((0, 0))
        else:
            found.append((about.st_mtime_ns, about.st_size))
    return tuple(found)


def _heads(store: Store) -> dict[str, Head]:
    """Run id to the head of its ledger, newest run first. One seek per run: the entries are not read."""
    mine = select(EntryRow.sequence, EntryRow.hash).where(EntryRow.run_id == RunRow.id)
    newest = mine.order_by(col(EntryRow.sequence).desc()).limit(1).correlate(RunRow)
    length = newest.with_only_columns(col(EntryRow.sequence)).scalar_subquery()
    head = newest.with_only_columns(col(EntryRow.hash)).scalar_subquery()
    query = select(RunRow.id, length, head).order_by(col(RunRow.created_at).desc())
    with store.database.read() as session:
        return {key: (length, head) for key, length, head in session.exec(query)}


def _runs(store: Store, keys: list[str]) -> dict[str, Run]:
    """The runs with these ids, in the order of the store."""
    if not keys:
        return {}
    wanted = set(keys)
    if len(keys) > 20:
        return {run.id: run for run in store.runs() if run.id in wanted}
    return {run.id: run for run in map(store.find_run, keys) if run is not None}


def _written(found: Entry | Unscored) -> str:
    if isinstance(found, Unscored):
        return json.dumps({"why": found.why})
    value: dict[str, Any] = {name: getattr(found, name) for name in KEPT}
    value["rest"] = found.setting.rest
    value["updated_at"] = found.updated_at.isoformat() if found.updated_at else None
    value["signer"] = [found.signer.key, found.signer.name] if found.signer else None
    return json.dumps(value)


def _read(run: Run, value: dict[str, Any]) -> Entry | Unscored:
    if "why" in value:
        return Unscored(run, value["why"])
    agent = run.settings["agent"]
    return Entry(
        run=run,
        setting=setting_of(run.settings, value["rest"]),
        model=str(run.settings["model"]),
        agent=str(agent["name"]),
        parameters=dict(agent["parameters"]),
        runtimes=tuple(value["runtimes"]),
        official=value["official"],
        updated_at=datetime.fromisoformat(value["updated_at"]) if value["updated_at"] else None,
        stale=tuple(value["stale"]),
        report=value["report"],
        slots=value["slots"],
        failures=tuple((suite, code, clause, count) for suite, code, clause, count in value["failures"]),
        others=tuple((status, cause, count) for status, cause, count in value["others"]),
        cost_usd=value["cost_usd"],
        unpriced=value["unpriced"],
        signer=Received(*value["signer"]) if value["signer"] else None,
    )


@cache
def _maker() -> str:
    """What a summary was made by: the manifests, the scoring, the form of a summary."""
    found = hashlib.sha256(f"{VERSION} {SCORING_VERSION}".encode())
    folder = Path(manifests_load.__file__).parent
    for path in sorted(folder.glob("*.json")):
        found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()
