"""``import``: a verified bundle becomes a run of the store, as a whole or not at all.

Artifacts are unpacked into a hidden folder; the ledger is written in one transaction, at whose end the folder gets its
name. A process that is killed in between leaves a folder with a marker, which the next import of the run removes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from manifests.load import Manifests
from manifests.records import AttemptRecord
from manifests.submission import BLOBS, LEDGER_FILE, LedgerLine, Limits
from runner.errors import AssayError, BadInput
from runner.store import ledger, view
from runner.store.artifacts import AttemptFolder
from runner.store.store import Run, Store, check_name
from runner.store.tables import RunRow
from runner.store.text import canonical
from runner.submission.archive import CORRUPT, Archive, NoBundle
from runner.submission.check import Verified, check
from runner.submission.findings import Report
from runner.submission.ledger_file import lines_of, parse_line, row_of
from runner.submission.received import KIND, Received, received

MARKER = ".importing"  # in the folder of a run whose import has not been committed


@dataclass(frozen=True)
class Imported:
    """``run`` is None when the report has problems: nothing was changed."""

    run: Run | None
    report: Report


def import_bundle(
    store: Store, path: Path, manifests: Manifests, limits: Limits, name: str | None = None, key: str | None = None
) -> Imported:
    """Verify a bundle and record its run as ``name``. Raises BadInput for a name that is taken and for a run that is in
    the store already."""
    report = Report()
    try:
        with Archive(path, limits, report) as archive:
            verified = check(archive, manifests, limits, report, key)
            if verified is None or report.problems:
                return Imported(None, report)
            return Imported(_import(store, archive, limits, verified, name), report)
    except NoBundle:
        return Imported(None, report)


def _import(store: Store, archive: Archive, limits: Limits, verified: Verified, name: str | None) -> Run:
    said = verified.statement.predicate
    chosen = name or said.run.name
    check_name(chosen)
    with ExitStack() as locks:
        for locked in sorted({said.run.id, chosen}):  # the copy's folder has the one name, the run the other
            locks.callback(store.lock(locked).release)
        _refuse_duplicate(store, said.run.id, chosen, said.submitter.key)
        final, staged = store.home / chosen, store.home / f".{said.run.id}.import"
        _clear(final, staged)
        try:
            staged.mkdir()
            (staged / MARKER).touch()
            _unpack(archive, limits, staged)
            os.sync()  # one for all files: each is on the disk before the ledger speaks of it
            _record(store, archive, limits, verified, chosen, staged, final)
            (final / MARKER).unlink()
        except OSError as error:
            raise AssayError(f"import: {staged} cannot be written ({error.strerror}); free some space") from None
        finally:
            shutil.rmtree(staged, ignore_errors=True)
    run = store.find_run(said.run.id)
    assert run is not None
    return run


def _refuse_duplicate(store: Store, run_id: str, name: str, key: str) -> None:
    there = store.find_run(run_id)
    if there is not None and there.id == run_id:
        source = received(store).get(run_id)
        by = "was evaluated here" if source is None else f"was submitted by key {source.key}"
        other = f"; this bundle is signed by another key, {key}" if source is not None and source.key != key else ""
        raise BadInput(f"run {run_id}: it is in the store as {there.name!r} and {by}{other}; nothing is imported twice")
    if store.find_run(name) is not None:
        raise BadInput(f"run {name!r}: another run has that name; give --name")


def _clear(final: Path, staged: Path) -> None:
    """Remove what a killed import left. Raises BadInput for a folder that is no import's."""
    shutil.rmtree(staged, ignore_errors=True)
    if (final / MARKER).is_file():
        shutil.rmtree(final)
    if final.exists():
        raise BadInput(f"run {final.name!r}: the folder {final} is in the way; move it away, or give --name")


def _lines(archive: Archive, limits: Limits) -> Iterator[tuple[bytes, LedgerLine]]:
    try:
        with archive.stream(LEDGER_FILE) as stream:
            for raw in lines_of(stream, limits.line_bytes):
                yield raw, parse_line(raw)
    except CORRUPT:
        raise _changed(archive) from None


def _changed(archive: Archive) -> AssayError:
    """The file of the bundle is no longer the one that was verified."""
    return AssayError(f"bundle {archive.path}: it was changed while it was being imported; fetch it again")


def _unpack(archive: Archive, limits: Limits, folder: Path) -> None:
    for _, line in _lines(archive, limits):
        if line.kind != "closed":
            continue
        record = AttemptRecord.model_validate(line.payload["record"])
        if not record.artifacts:
            continue
        attempt = AttemptFolder(folder, record.attempt)
        attempt.start()
        for artifact in record.artifacts:
            target = attempt.part / artifact.name
            target.parent.mkdir(exist_ok=True)
            _copy(archive, artifact.sha256, target)
        attempt.publish(record)


def _copy(archive: Archive, sha256: str, target: Path) -> None:
    """Hashed again while it is written: the file under the name of the bundle may have changed meanwhile."""
    digest = hashlib.sha256()
    try:
        with target.open("xb") as file:
            for chunk in archive.chunks(f"{BLOBS}{sha256}"):
                digest.update(chunk)
                file.write(chunk)
    except CORRUPT:
        raise _changed(archive) from None
    if digest.hexdigest() != sha256:
        raise _changed(archive)


def _record(
    store: Store, archive: Archive, limits: Limits, verified: Verified, name: str, staged: Path, final: Path
) -> None:
    try:
        with store.database.write() as session:
            if _entries(session, archive, limits, name) != verified.ledger_sha256:
                raise _changed(archive)
            said = verified.statement.predicate
            source = Received(
                key=said.submitter.key,
                name=said.submitter.name,
                statement=verified.payload_sha256,
                entries=said.ledger.entries,
                run_name=name,
            )
            ledger.append(session, said.run.id, KIND, source.payload())
            staged.rename(final)
    except IntegrityError:
        shutil.rmtree(final, ignore_errors=True)
        raise BadInput(
            f"bundle {archive.path}: attempts of it are in the store under another run; nothing is imported twice"
        ) from None
    except BaseException:
        if (final / MARKER).is_file():
            shutil.rmtree(final, ignore_errors=True)
        raise


def _entries(session: Session, archive: Archive, limits: Limits, name: str) -> str:
    """Write every entry as it is, with its time and hash; returns the SHA-256 of the ledger file."""
    digest = hashlib.sha256()
    with session.no_autoflush:
        for raw, line in _lines(archive, limits):
            row = row_of(line)
            if line.kind == "run":
                settings = canonical(line.payload["settings"]).decode()
                created = datetime.fromisoformat(line.time)
                session.add(RunRow(id=line.run, name=name, created_at=created, settings=settings))
                session.flush()
            session.add(row)
            view.apply(session, row)
            digest.update(raw + b"\n")
        session.flush()
    return digest.hexdigest()
