"""The store as the rest of the runner uses it: every method is one transaction."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import URL, func
from sqlmodel import Session, col, select

from manifests.records import AttemptRecord
from manifests.words import count
from runner.errors import BadInput
from runner.store import integrity, leases, ledger
from runner.store.artifacts import AttemptFolder
from runner.store.database import Damaged, Database, StoreError, make_folder
from runner.store.leases import Owner
from runner.store.ledger import Entry
from runner.store.lock import RunLock
from runner.store.status import Withdrawal, kind_of
from runner.store.tables import AttemptRow, EntryRow, RunRow
from runner.store.text import canonical, now, parse
from runner.store.view import LedgerError

DATABASE = "assay.sqlite"  # with -wal, -shm and -journal beside it
LOCKS = "locks"
STORABLE = range(2**63)  # integers that a database takes; no sequence number is 0
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def default_home() -> Path:
    """Where records go: ASSAY_HOME, or ``runs``."""
    return Path(os.environ.get("ASSAY_HOME") or "runs")


@dataclass(frozen=True)
class Run:
    """One run. ``id`` is random; ``name`` is what people type."""

    id: str
    name: str
    created_at: datetime
    settings: dict[str, Any]
    withdrawn: Withdrawal | None = None

    @property
    def kind(self) -> str:
        """``evaluated``, or how an imported run came about."""
        return kind_of(self.settings)


class Store:
    """Runs and their ledgers in a database, their artifacts in folders below ``home``.

    ``read_only`` opens what exists, changes nothing, and raises StoreMissing where there is no store. ``say`` is told
    when another process holds it.
    """

    def __init__(
        self,
        home: Path | None = None,
        url: str | None = None,
        *,
        read_only: bool = False,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.home = (home or default_home()).absolute()
        if not read_only:
            make_folder(self.home)
        own = self.home / DATABASE
        where: str | URL | None = url or os.environ.get("ASSAY_STORE")
        if not where:
            _check_whole(own)
            where = URL.create("sqlite", database=str(own))  # as text, a '?' or '%' in the path would have a meaning
        self.database = Database(where, read_only=read_only, say=say)

    def close(self) -> None:
        self.database.close()

    # -- runs

    def create_run(self, name: str, settings: dict[str, Any]) -> Run:
        """A new run; its settings are the first entry of its ledger. The name must be free."""
        return self.import_run(name, settings, ())

    def import_run(self, name: str, settings: dict[str, Any], attempts: Iterable[dict[str, Any]]) -> Run:
        """The same with attempts that were made elsewhere (payloads of ``imported``), in one transaction."""
        check_name(name)
        text = canonical(settings).decode()
        row = RunRow(id=uuid.uuid4().hex, name=name, created_at=now(), settings=text)
        with self.database.write() as session:
            session.add(row)
            session.flush()
            first = ("run", {"name": name, "settings": settings})
            ledger.append_all(session, row.id, [first, *(("imported", attempt) for attempt in attempts)])
        return _run(row)

    def withdraw_run(self, run: Run, reviewer: str, reason: str) -> Run:
        """Append the tombstone: the records stay, the run has no rank any more. Raises BadInput the second time."""
        with self.database.write() as session:
            row = session.get_one(RunRow, run.id)
            if row.withdrawn is not None:
                raise BadInput(f"run {run.name}: it is {_run(row).withdrawn} already")
            ledger.append(session, run.id, "withdrawn", {"reviewer": reviewer, "reason": reason})
            return _run(row)

    def find_run(self, name: str) -> Run | None:
        """By name or id. An id goes before a name that looks like it, which older releases did not refuse."""
        with self.database.read() as session:
            rows = session.exec(select(RunRow).where((RunRow.name == name) | (RunRow.id == name))).all()
            row = max(rows, key=lambda row: row.id == name, default=None)
            return _run(row) if row else None

    def runs(self) -> list[Run]:
        """Newest first."""
        with self.database.read() as session:
            return [_run(row) for row in session.exec(select(RunRow).order_by(col(RunRow.created_at).desc())).all()]

    def lengths(self) -> dict[str, int]:
        """Entries in the ledger of each run id. Ledgers only grow, so id and length name one state of a run."""
        with self.database.read() as session:
            found = session.exec(select(EntryRow.run_id, func.max(EntryRow.sequence)).group_by(EntryRow.run_id))
            return dict(found.all())

    def lock(self, name: str) -> RunLock:
        """By name or id. Raises BadInput naming the process that works on this run now."""
        _check_file_name(name)
        return RunLock(self.home / LOCKS / f"{name}.lock", name)

    def folder(self, run: Run) -> Path:
        return self.home / run.name

    def attempt_folder(self, run: Run, attempt: str) -> AttemptFolder:
        return AttemptFolder(self.folder(run), attempt)

    # -- the ledger

    def open_attempt(self, run: Run, environment_id: str, condition: int, owner: Owner) -> AttemptRow:
        """Append ``opened`` and take the attempt's lease, in one transaction."""
        attempt = uuid.uuid4().hex
        payload = {"attempt": attempt, "environment_id": environment_id, "condition": condition}
        with self.database.write() as session:
            ledger.append(session, run.id, "opened", payload)
            leases.acquire(session, run.id, attempt, owner)
            return session.get_one(AttemptRow, attempt)

    def resume_attempt(self, run: Run, attempt: str, owner: Owner) -> AttemptRow:
        """Append ``resumed`` for an attempt that was opened and had not begun, and take its lease."""
        with self.database.write() as session:
            ledger.append(session, run.id, "resumed", {"attempt": attempt})
            leases.acquire(session, run.id, attempt, owner)
            return session.get_one(AttemptRow, attempt)

    def begin_attempt(self, run: Run, attempt: str) -> datetime:
        """Append ``began``: from now on the attempt cannot be drawn again."""
        return self.append(run, "began", {"attempt": attempt}).time

    def close_attempt(
        self, run: Run, record: AttemptRecord, owner: Owner, decision: dict[str, Any] | None = None
    ) -> Entry:
        """Append ``closed`` with the terminal record, the policy's ``decision`` on it if there is one, and drop the
        lease, in one transaction."""
        payload = {"attempt": record.attempt, "record": record.model_dump(mode="json")}
        added = [("closed", payload), *([("decision", decision)] if decision is not None else [])]
        with self.database.write() as session:
            entry = ledger.append_all(session, run.id, added)[0]
            leases.release(session, run.id, record.attempt, owner)
            return entry

    def decide(
        self, run: Run, attempt: str, make: Callable[[AttemptRow], Iterable[tuple[str, dict[str, Any]]]]
    ) -> list[Entry]:
        """Append the entries that ``make`` gives for the attempt as it is under the write lock, so that no two people
        decide on the same state. What ``make`` raises leaves the ledger as it was."""
        with self.database.write() as session:
            session.exec(select(RunRow.id).where(RunRow.id == run.id).with_for_update()).one()
            return ledger.append_all(session, run.id, list(make(session.get_one(AttemptRow, attempt))))

    def append(self, run: Run, kind: str, payload: dict[str, Any]) -> Entry:
        with self.database.write() as session:
            return ledger.append(session, run.id, kind, payload)

    def entries(self, run: Run) -> list[Entry]:
        with self.database.read() as session:
            return ledger.entries(session, run.id)

    def verify(self, run: Run) -> str | None:
        """Why the run's hash chain is broken, or None."""
        with self.database.read() as session:
            return _broken(ledger.rows(session, run.id))

    def diverged(self, run: Run) -> str | None:
        """Where the tables of runs and attempts or the folders of artifacts are not what the ledger says, or None."""
        with self.database.read() as session:
            return self._diverged(session, run, ledger.rows(session, run.id))

    def _diverged(self, session: Session, run: Run, entries: Iterable[EntryRow]) -> str | None:
        try:
            row = session.get_one(RunRow, run.id)
            begun, expected = integrity.folded(row, entries)
        except LedgerError as error:
            return str(error)
        found = session.exec(select(AttemptRow).where(AttemptRow.run_id == run.id))
        return (
            integrity.run_difference(begun, row)
            or integrity.difference(expected, found)
            or integrity.unknown_folder(self.folder(run), expected)
        )

    def check_intact(self, run: Run) -> None:
        """Raises Damaged, naming the first fault, when the hash chain is broken or the tables of runs and attempts
        or the folders of artifacts are not what the ledger says: no number may come from such a run, and no attempt be
        added."""
        with self.database.read() as session:
            rows = ledger.rows(session, run.id)
            if (broken := _broken(rows)) is not None:
                raise Damaged(f"run {run.name}: its ledger is damaged ({broken}): restore the store from a backup")
            if (where := self._diverged(session, run, rows)) is not None:
                raise Damaged(
                    f"run {run.name}: {where}: restore the store from a backup, or start another run with RUN=..."
                )

    def attempts(self, run: Run) -> list[AttemptRow]:
        """In sequence order."""
        with self.database.read() as session:
            rows = session.exec(
                select(AttemptRow).where(AttemptRow.run_id == run.id).order_by(col(AttemptRow.sequence))
            ).all()
            session.expunge_all()
            return list(rows)

    def attempt(self, run: Run, sequence: int) -> AttemptRow:
        """By the sequence number that reports show. Raises BadInput when the run has no such attempt."""
        wanted = sequence if sequence in STORABLE else 0
        with self.database.read() as session:
            row = session.exec(
                select(AttemptRow).where(AttemptRow.run_id == run.id, AttemptRow.sequence == wanted)
            ).first()
            if row is None:
                known = session.exec(
                    select(AttemptRow.sequence).where(AttemptRow.run_id == run.id).order_by(col(AttemptRow.sequence))
                )
                numbers = ", ".join(map(str, list(known)[:20])) or "none yet"
                raise BadInput(f"run {run.name}: no attempt has the sequence number {sequence}; it has {numbers}")
            session.expunge(row)
            return row

    # -- leases

    def lease_run(self, run: Run, owner: Owner) -> None:
        """Take the run for this process; leases left by a dead process of this machine go. Raises BadInput."""
        with self.database.write() as session:
            in_the_way = leases.acquire(session, run.id, leases.RUN_KEY, owner)
            if in_the_way is not None:
                raise BadInput(
                    f"run {run.name} is being evaluated by process {in_the_way.pid} on {in_the_way.host}: stop it, or "
                    f"wait until its lease ends at {in_the_way.expires_at:%H:%M:%S} UTC"
                )
            for lease in leases.held(session, run.id):
                if lease.key != leases.RUN_KEY:
                    session.delete(lease)

    def renew_leases(self, run: Run, owner: Owner) -> bool:
        """False when another machine has taken the run over."""
        with self.database.write() as session:
            return leases.renew(session, run.id, owner) > 0

    def release_lease(self, run: Run, key: str, owner: Owner) -> None:
        with self.database.write() as session:
            leases.release(session, run.id, key, owner)

    def release_leases(self, run: Run, owner: Owner) -> None:
        with self.database.write() as session:
            for lease in leases.held(session, run.id):
                if lease.owner == owner.id:
                    session.delete(lease)

    def leases(self, run: Run) -> list[str]:
        """Keys of the leases that are held."""
        with self.database.read() as session:
            return [lease.key for lease in leases.held(session, run.id)]


def _broken(rows: Iterable[EntryRow]) -> str | None:
    try:
        return ledger.verify(map(ledger.entry_of, rows))
    except LedgerError as error:
        return str(error)


def _check_whole(path: Path) -> None:
    """Raises StoreError for a ledger that is gone while its attempts are there: it must not begin anew in silence."""
    try:
        whole = path.exists() and path.stat().st_size > 0
        lost = [] if whole else integrity.run_folders(path.parent)
    except OSError:
        return  # said by whoever opens it
    if lost:
        what = "is empty" if path.exists() else "is missing"
        runs = f"{', '.join(lost[:3])} and {count(len(lost) - 3, 'more run')}" if len(lost) > 3 else ", ".join(lost)
        raise StoreError(
            f"store {path}: it {what}, but {path.parent} holds the attempts of {runs}: restore it from a backup, or "
            "set ASSAY_HOME to another folder"
        )


def check_name(name: str) -> None:
    """Raises BadInput for a name that cannot be a folder of its own beside the store's own files, and for one that has
    the form of an id, by which another run may be found."""
    _check_file_name(name)
    if integrity.ATTEMPT.fullmatch(name):
        raise BadInput(f"RUN={name!r}: 32 hexadecimal digits are the id of a run; use another name")


def _check_file_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise BadInput(f"RUN={name!r}: use 1 to 100 letters, digits, '.', '_' or '-', beginning with a letter or digit")
    if name.lower() == LOCKS or name.lower().startswith(DATABASE):
        raise BadInput(f"RUN={name!r}: the store itself has a file or folder of that name; use another name")


def _run(row: RunRow) -> Run:
    withdrawn = None
    try:
        settings = parse(row.settings)
        if not isinstance(settings, dict):
            raise ValueError("no object")
    except ValueError as error:
        raise Damaged(f"run {row.name}: its settings are not JSON ({error}): restore the store from a backup") from None
    if row.withdrawn is not None and row.withdrawn_at is not None:
        try:
            payload = parse(row.withdrawn)
            withdrawn = Withdrawal(row.withdrawn_at, str(payload["reviewer"]), str(payload["reason"]))
        except (ValueError, KeyError, TypeError):
            raise Damaged(
                f"run {row.name}: its tombstone holds no reviewer and reason: restore the store from a backup"
            ) from None
    return Run(row.id, row.name, row.created_at, settings, withdrawn)
