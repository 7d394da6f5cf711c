"""Whether a run is still what its ledger says: asked before any number of it is shown.

The question is that of :meth:`runner.store.store.Store.check_intact`, answered quickly: stored texts are canonical,
so that hashes and records are compared as they stand and not made anew (:mod:`leaderboard.folded`). What is in doubt is
put to the store, whose words are given. Beyond that the row of the run, and the presence and size of every artifact are
looked at; the hashes of artifacts are for the page of an attempt, and for ``assay audit``.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Row
from sqlalchemy import select as sql_select
from sqlmodel import Session, col

from leaderboard.folded import FIELDS, Folded, stamped
from leaderboard.rows import raw
from runner.store.database import Damaged
from runner.store.integrity import ATTEMPT
from runner.store.ledger import GENESIS
from runner.store.store import Run, Store
from runner.store.tables import AttemptRow, EntryRow, RunRow
from runner.store.text import stamp
from runner.store.view import KINDS

TRIES = 3  # a run that grows while it is looked at is looked at again
COLUMNS = ("sequence", "kind", "time", "payload", "previous", "hash")

Entries = Sequence[Row[Any]]


def damage(store: Store, run: Run) -> str | None:
    """Why no number may come from a run, or None."""
    for _ in range(TRIES):
        try:
            with store.database.read() as session:
                row, entries, table = session.get_one(RunRow, run.id), _entries(session, run), _table(session, run)
                of_run = _of_run(row, entries)
        except Damaged:  # it names the folder of the store
            return "what its row has for a time is none: restore the store from a backup"
        folded = Folded.of(run.id, entries)
        sound = folded is not None and folded.rows == table and chained(run.id, entries)
        if folded is not None and sound and not _strangers(store, run, folded):
            return of_run or _of_files(store, run, folded)
        words = _words_of_the_store(store, run)
        if words is None:
            return of_run or (_of_files(store, run, folded) if folded is not None else None)
        if _head(store, run) == (entries[-1].hash if entries else None):
            return words
    return None  # it grows faster than it can be read: the next visit looks again


def chained(run_id: str, entries: Iterable[Row[Any]]) -> bool:
    """Whether every entry has the hash of its text and of the entry before it (:func:`runner.store.ledger.verify`)."""
    previous, expected = GENESIS, 1
    for sequence, kind, time, payload, before, found in map(tuple, entries):
        text = (
            f'{{"kind":"{kind}","payload":{payload},"previous":"{before}","run":"{run_id}",'
            f'"sequence":{sequence},"time":"{stamped(time)}"}}'
        )
        follows = sequence == expected and before == previous and kind in KINDS
        if not follows or hashlib.sha256(text.encode()).hexdigest() != found:
            return False
        previous, expected = found, expected + 1
    return expected > 1


def _words_of_the_store(store: Store, run: Run) -> str | None:
    try:
        store.check_intact(run)
    except Damaged as error:
        return str(error).removeprefix(f"run {run.name}: ")
    except (ValueError, TypeError, KeyError, AttributeError):  # the text of an entry is not JSON, or not of an entry
        return "an entry of its ledger cannot be read: restore the store from a backup"
    return None


def _entries(session: Session, run: Run) -> Entries:
    columns = [raw(EntryRow, name) for name in COLUMNS]
    query = sql_select(*columns).where(col(EntryRow.run_id) == run.id).order_by(col(EntryRow.sequence))
    return session.execute(query).all()


def _table(session: Session, run: Run) -> dict[str, dict[str, Any]]:
    columns: list[Any] = [raw(AttemptRow, name) for name in FIELDS]
    found = session.execute(sql_select(*columns).where(col(AttemptRow.run_id) == run.id))
    return {row[0]: dict(zip(FIELDS, row, strict=True)) for row in found}


def _head(store: Store, run: Run) -> str | None:
    newest = sql_select(col(EntryRow.hash)).where(col(EntryRow.run_id) == run.id)
    with store.database.read() as session:
        return session.execute(newest.order_by(col(EntryRow.sequence).desc()).limit(1)).scalar()


def _of_run(row: RunRow, entries: Entries) -> str | None:
    """Where the row of the run is not what its ledger says: its settings name model, tasks and protocol."""
    if entries and entries[0].kind == "run" and not entries[0].payload.endswith(f',"settings":{row.settings}}}'):
        return "its settings are not those in the first entry of its ledger: restore the store from a backup"
    withdrawn = [(stamped(entry.time), entry.payload) for entry in entries if entry.kind == "withdrawn"]
    told = [] if row.withdrawn is None else [(row.withdrawn_at and stamp(row.withdrawn_at), row.withdrawn)]
    if withdrawn != told:
        return "whether it is withdrawn is not what its ledger says: restore the store from a backup"
    return None


def _strangers(store: Store, run: Run, folded: Folded) -> bool:
    """Whether a folder looks like that of an attempt that the ledger does not have."""
    try:
        names = os.listdir(store.folder(run))
    except OSError:
        return False
    return any(name not in folded.rows and ATTEMPT.fullmatch(name) for name in names)


def _of_files(store: Store, run: Run, folded: Folded) -> str | None:
    """The first artifact that is missing or of another size. Records in a database server may be read where no file of
    the run is: then there is none to look at."""
    folder = store.folder(run)
    if store.database.path is None and not folder.exists():
        return None
    for attempt, files in folded.files.items():
        for name, size in files:
            try:
                found = os.stat(f"{folder}/{attempt}/{name}").st_size
            except OSError:
                found = None
            if found != size:
                what = "is missing" if found is None else f"has {found:,} bytes, and its record says {size:,}"
                where = f"attempt {folded.rows[attempt]['sequence']}: its file {name} {what}"
                return f"{where}: restore the folder of the run from a backup"
    return None
