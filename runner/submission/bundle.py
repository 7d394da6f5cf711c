"""``submit``: a run of the store as a signed bundle, checked by the code of ``verify`` before it gets its name.

The same run, key and name make the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from manifests.load import Manifests
from manifests.submission import BLOBS, ENVELOPE_FILE, LEDGER_FILE, Limits, Submitter
from runner.errors import AssayError, BadInput
from runner.keys import Key
from runner.store.ledger import Entry
from runner.store.status import EVALUATED
from runner.store.store import Run, Store
from runner.submission.archive import CHUNK, Archive, NoBundle, member
from runner.submission.check import check
from runner.submission.envelope import sign
from runner.submission.expected import expected
from runner.submission.facts import Tally, predicate, statement
from runner.submission.findings import Report
from runner.submission.ledger_file import LedgerReader, line_of, record_of
from runner.submission.received import received

LEVEL = 6  # of zlib, as zipfile packs
WORTH, SUSPECT = 0.9, 0.02  # packed to unpacked size: above the one it is no use, below the other it looks like a bomb


@dataclass(frozen=True)
class Submitted:
    """``path`` is None when the report has problems: nothing was written."""

    path: Path | None
    report: Report


def submit(
    store: Store, run: Run, manifests: Manifests, limits: Limits, key: Key, out: Path, name: str | None = None
) -> Submitted:
    """Write the bundle of a run to ``out``. Raises BadInput for a run that is nobody's to submit, Damaged for one whose
    records contradict each other, and AssayError when an artifact or the disk fails."""
    _refuse(store, run, out)
    store.check_intact(run)
    try:
        who = Submitter(key=key.public, name=name)
    except ValidationError:
        raise BadInput(f"name {name!r}: use 1 to 100 characters, without control characters") from None
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    report = Report()
    try:
        _write(store, run, manifests, key, who, part)
        with Archive(part, limits, report) as archive:
            check(archive, manifests, limits, report, key.public)
        if report.problems:
            return Submitted(None, report)
        os.replace(part, out)
        return Submitted(out, report)
    except NoBundle:
        return Submitted(None, report)
    except OSError as error:
        raise AssayError(f"bundle {out}: cannot be written ({error.strerror}); choose another place with -o") from None
    finally:
        part.unlink(missing_ok=True)


def _refuse(store: Store, run: Run, out: Path) -> None:
    if out.exists():
        raise BadInput(f"bundle {out}: there is a file already; move it away, or choose another name with -o")
    if run.kind != EVALUATED:
        raise BadInput(f"run {run.name}: it is {run.kind}; only a run that was evaluated here is submitted")
    if run.withdrawn is not None:
        raise BadInput(f"run {run.name}: it is {run.withdrawn}; submit another run")
    if (source := received(store).get(run.id)) is not None:
        raise BadInput(f"run {run.name}: it was submitted by key {source.key}; pass their bundle on")


def _write(store: Store, run: Run, manifests: Manifests, key: Key, who: Submitter, part: Path) -> None:
    entries = store.entries(run)
    with LedgerReader(Report()) as ledger, zipfile.ZipFile(part, "w") as bundle:
        ledger.read(line_of(entry)[:-1] for entry in entries)
        if ledger.settings is None:
            raise BadInput(f"run {run.name}: its first ledger entry is not one that can be submitted: {_first(ledger)}")
        tally = Tally()
        sources: dict[str, Path] = {}
        for row in ledger.rows():
            record = record_of(row)
            if record is not None:
                tally.add(record)
                folder = store.attempt_folder(run, row.id).final
                for artifact in record.artifacts:
                    sources.setdefault(artifact.sha256, folder / artifact.name)
        for sha256 in sorted(sources):
            _add_blob(bundle, sha256, sources[sha256])
        _add_ledger(bundle, entries, ledger.end.size)
        conditions = expected(ledger.settings, manifests).conditions
        stated = predicate(ledger.run, ledger.settings, tally, ledger.end, conditions, who)
        envelope = sign(statement(stated, ledger.end.sha256, sources), key)
        with bundle.open(member(ENVELOPE_FILE, len(envelope), packed=True), "w") as target:
            target.write(envelope)


def _first(ledger: LedgerReader) -> str:
    problems = ledger.report.problems
    return f"{problems[0].path}: {problems[0].text}" if problems else "it is empty"


def _add_ledger(bundle: zipfile.ZipFile, entries: list[Entry], size: int) -> None:
    with bundle.open(member(LEDGER_FILE, size, packed=True), "w") as target:
        for entry in entries:
            target.write(line_of(entry))


def _add_blob(bundle: zipfile.ZipFile, sha256: str, source: Path) -> None:
    try:
        size, packed = _look(source, sha256)
        with bundle.open(member(f"{BLOBS}{sha256}", size, packed=packed), "w") as target:
            for chunk in _chunks(source):
                target.write(chunk)
    except FileNotFoundError:
        raise AssayError(f"artifact {source}: is missing; restore it from a backup, then submit again") from None


def _look(source: Path, sha256: str) -> tuple[int, bool]:
    """Size of an artifact, and whether it is worth packing: by a tenth, and not so much that it looks like a bomb.

    Raises AssayError for a file that is not what its record says.
    """
    digest, packer, size, packed = hashlib.sha256(), zlib.compressobj(LEVEL), 0, 0
    worth = True
    for chunk in _chunks(source):
        digest.update(chunk)
        size += len(chunk)
        if worth:  # pictures show in their first chunk that they are not
            packed += len(packer.compress(chunk))
            worth = packed < WORTH * size
    packed += len(packer.flush())
    if digest.hexdigest() != sha256:
        raise AssayError(
            f"artifact {source}: has SHA-256 {digest.hexdigest()}, its record says {sha256}; restore it from a backup"
        )
    return size, worth and SUSPECT * size < packed < WORTH * size


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk
