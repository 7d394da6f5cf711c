"""``artifacts``: every file that a record names, by size and hash, and no file or attempt beyond them."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from manifests import arrays, strict
from manifests.records import AttemptRecord
from runner.audit.findings import Check, Finding, check, note, problem
from runner.audit.snapshot import Folded
from runner.store.artifacts import RECORD, RENDERED
from runner.store.artifacts import check as mismatch
from runner.store.text import canonical
from runner.words import count


def check_artifacts(folded: Folded, folder: Path) -> Check:
    """``folder`` holds one folder for each attempt that kept files."""
    findings: list[Finding] = []
    files = size = 0
    for row in folded.attempts:
        record = folded.records.get(row.id)
        if record is None:
            continue
        where = f"attempt {row.sequence}"
        files += len(record.artifacts)
        size += sum(artifact.size for artifact in record.artifacts)
        findings += [problem(where, text) for text in _attempt(record, folder / row.id)]
    findings += _strangers(folded, folder)
    return check("artifacts", f"{count(files, 'file')}, {size / 1e6:.1f} MB", findings, {"files": files, "bytes": size})


def _attempt(record: AttemptRecord, folder: Path) -> Iterator[str]:
    if folder.is_symlink():
        yield "its folder is a link to another place"
        return
    if not record.artifacts and not folder.exists():
        return  # its evidence could not be kept, or it never began; the cause says so
    odd = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if not _ordinary(path)]
    if odd:  # nothing of them is opened: a pipe would wait for ever
        yield from (f"{name} is neither a regular file nor a folder (a link or a pipe)" for name in odd)
        return
    try:
        stored = (folder / RECORD).read_bytes()
    except OSError as error:
        yield f"{RECORD} cannot be read ({error.strerror})"
    else:
        if stored != canonical(record.model_dump(mode="json")):
            yield f"{RECORD} is not the record that stands in the ledger"
    for artifact in record.artifacts:
        if not (folder / artifact.name).resolve().is_relative_to(folder.resolve()):
            yield f"{artifact.name} is no name inside the attempt's folder"
        elif (text := mismatch(folder, artifact)) is not None:
            yield text.replace(f"{folder}/", "")
    listed = {RECORD, *(artifact.name for artifact in record.artifacts)}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and (name := path.relative_to(folder).as_posix()) not in listed:
            yield f"{name} is not listed in the record"
    yield from _agreement(record, folder)


def _ordinary(path: Path) -> bool:
    mode = path.lstat().st_mode
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _agreement(record: AttemptRecord, folder: Path) -> Iterator[str]:
    """What the files say of themselves against what the record says of them."""
    if (path := folder / "actions.npy").is_file():
        try:
            found = len(arrays.load(path))
        except (ValueError, OSError, TypeError):
            yield "actions.npy is no array"
        else:
            if found != record.actions:
                yield f"actions.npy holds {count(found, 'action')}, the record counts {record.actions:,}"
    if record.final_digest is not None and (path := folder / "digests.json").is_file():
        try:
            last: Any = strict.loads(path.read_bytes())[-1]
            wanted = [record.actions, record.final_digest]
        except (ValueError, LookupError, TypeError, RecursionError):
            yield "digests.json holds no list of digests"
        else:
            if last != wanted:
                yield f"digests.json ends with {last}, the record with {wanted}"


def _strangers(folded: Folded, folder: Path) -> Iterator[Finding]:
    """Folders that no entry of the ledger accounts for: the log was cut short, or never had them."""
    known = {row.id: row for row in folded.attempts}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        name = path.name
        row = known.get(name.removeprefix(".").removesuffix(".part") if name.startswith(".") else name)
        if not path.is_dir() or name == RENDERED:
            continue
        if row is None:
            yield problem(f"folder {name}", "is of an attempt that the ledger does not have: the log was cut short")
        elif row.record is None and not name.startswith("."):
            yield problem(f"folder {name}", f"holds a record, and attempt {row.sequence} has none in the ledger")
        elif name.startswith(".") and row.state == "closed":
            yield note(f"folder {name}", "was left behind when the attempt closed")
