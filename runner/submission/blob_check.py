"""The artifacts of a bundle: each is what its records and the statement say, and fits the record that it belongs to."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from typing import Any

from manifests import arrays
from manifests.records import AttemptRecord
from manifests.submission import BLOBS, LEDGER_FILE, Statement
from runner.submission.archive import DAMAGED, Archive
from runner.submission.findings import Report, shown
from runner.submission.strict import strict_value
from runner.words import count

_SHA256 = re.compile(r"[0-9a-f]{64}")
_SMALL = 4 << 20  # bytes: digests of the longest episode take 200 kB


def check_files(
    archive: Archive, blobs: Mapping[str, int], ledger_sha256: str | None, statement: Statement | None, report: Report
) -> None:
    """Files, subjects and records name the same blobs, and every blob has the content that its name promises.

    ``blobs`` maps SHA-256 to size, from the records; ``ledger_sha256`` is None where the ledger cannot be read.
    """
    subjects = _subjects(statement, report) if statement is not None else {}
    if LEDGER_FILE in subjects and ledger_sha256 not in (None, subjects[LEDGER_FILE]):
        report.problem(
            LEDGER_FILE, f"has SHA-256 {ledger_sha256}, the statement says {subjects[LEDGER_FILE]}: it was changed"
        )
    named = {f"{BLOBS}{sha256}" for sha256 in blobs}
    present = {name for name in archive.files if name.startswith(BLOBS)}
    for name in sorted(named - present):
        report.problem(name, "missing: a record names this artifact; submit the run with its files")
    for name in sorted(present - named):
        report.problem(name, "extra file: no record names this artifact; leave it out")
    if statement is not None:
        for name in sorted((named | {LEDGER_FILE}) - set(subjects)):
            report.problem("statement.subject", f"{name} is not listed: it is not under the signature")
        for name in sorted(set(subjects) - named - {LEDGER_FILE}):
            report.problem("statement.subject", f"{name} is listed, and no record names it; leave it out")
    for name in sorted(present):
        size, expected = archive.files[name].file_size, blobs.get(name.removeprefix(BLOBS))
        if expected is not None and size != expected:
            report.problem(name, f"has {size} bytes, its record says {expected}")
        _hash(archive, name, report)


def _subjects(statement: Statement, report: Report) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, subject in enumerate(statement.subject):
        path, sha256 = f"statement.subject[{number}]", subject.digest.sha256
        if subject.name in found:
            report.problem(path, f"{shown(subject.name)} stands twice")
        if subject.name.startswith(BLOBS) and subject.name != f"{BLOBS}{sha256}":
            report.problem(f"{path}.digest.sha256", f"{sha256} is not that of {shown(subject.name)}")
        found[subject.name] = sha256
    if [subject.name for subject in statement.subject] != sorted(found):
        report.problem("statement.subject", "is not in the order of its names; `assay submit` writes it again")
    return found


def _hash(archive: Archive, name: str, report: Report) -> None:
    digest = hashlib.sha256()
    try:
        for chunk in archive.chunks(name):
            digest.update(chunk)
    except DAMAGED as error:
        report.problem(name, f"cannot be unpacked ({error}); fetch the bundle again")
        return
    if f"{BLOBS}{digest.hexdigest()}" != name:
        report.problem(name, f"has SHA-256 {digest.hexdigest()}: its content was changed or swapped")


def check_artifacts(archive: Archive, record: AttemptRecord, report: Report, path: str) -> None:
    """Sizes and hashes have their form; the number of actions and the last digest are those of the record."""
    for number, artifact in enumerate(record.artifacts):
        where = f"{path}.artifacts[{number}]"
        if not _SHA256.fullmatch(artifact.sha256):
            report.problem(f"{where}.sha256", f"{shown(artifact.sha256)} is no SHA-256 in hexadecimal")
            continue
        info = archive.files.get(f"{BLOBS}{artifact.sha256}")
        if info is not None and info.file_size != artifact.size:
            report.problem(f"{where}.size", f"{artifact.size}, the file has {info.file_size} bytes")
        if info is None or record.outcome == "invalid":
            continue
        try:
            if artifact.name == "digests.json":
                _last_digest(strict_value(archive.read(f"{BLOBS}{artifact.sha256}", _SMALL)), record, report, path)
            elif artifact.name == "actions.npy":
                _action_count(archive, f"{BLOBS}{artifact.sha256}", record, report, path)
        except DAMAGED as error:
            report.problem(where, f"{artifact.name} cannot be read ({error})")


def _last_digest(digests: Any, record: AttemptRecord, report: Report, path: str) -> None:
    last = digests[-1] if isinstance(digests, list) and digests else None
    if last != [record.actions, record.final_digest]:
        report.problem(
            f"{path}.final_digest",
            f"{shown(record.final_digest)} after {count(record.actions, 'action')}, digests.json ends with "
            f"{shown(last)}: the state digest was altered",
        )


def _action_count(archive: Archive, name: str, record: AttemptRecord, report: Report, path: str) -> None:
    with archive.stream(name) as stream:
        shape, dtype = arrays.read_header(stream)
        size = stream.tell() + math.prod(shape) * dtype.itemsize
    held = archive.files[name].file_size
    if size != held:
        report.problem(f"{path}.artifacts", f"actions.npy declares {size} bytes and has {held}")
    if not shape or shape[0] != record.actions:
        report.problem(f"{path}.actions", f"{record.actions}, actions.npy holds {shape[0] if shape else 'no'} actions")
