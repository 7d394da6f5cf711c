"""Artifacts of an attempt: written to a temporary folder, flushed to disk, renamed as one, hashed.

``<run>/.<attempt>.part/`` grows while the attempt runs (the transcript is kept even if the runner is killed);
``<run>/<attempt>/`` is complete: the rename is the moment from which the evidence counts.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np

from manifests import strict
from manifests.records import Artifact, AttemptRecord
from runner.store.text import canonical

RECORD = "record.json"
RENDERED = "rendered"  # folder of a run for what was drawn from its records: no evidence, made anew at any time
_MEDIA = {
    ".npy": "application/x-npy",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".log": "text/plain",
    ".txt": "text/plain",
    ".png": "image/png",
}


def rendered_stem(record: AttemptRecord) -> str:
    """The name, without its ending, of what is drawn of an attempt: ``marble-dual-panda-A007-c0-2-54f98f86``: task,
    condition, ledger sequence and the beginning of the attempt's id, so that files of several runs keep apart."""
    task = record.environment_id.replace("/", "-")
    return f"{task}-c{record.condition}-{record.sequence}-{record.attempt[:8]}"


class AttemptFolder:
    """The files of one attempt. Safe to append to from several threads."""

    def __init__(self, run_folder: Path, attempt: str) -> None:
        self.final = run_folder / attempt
        self.part = run_folder / f".{attempt}.part"
        self._lock = threading.Lock()
        self._sealed = False
        self._failed: OSError | None = None

    def start(self) -> None:
        """An empty temporary folder; what an earlier, never begun start left there goes."""
        shutil.rmtree(self.part, ignore_errors=True)
        self.part.mkdir(parents=True)

    def append(self, name: str, entry: dict[str, Any]) -> None:
        """One JSON line at the end of ``name``, at once. Ignored after the attempt was sealed.

        A full disk is no fault of the agent that is writing: it is kept and raised by :meth:`seal`.
        """
        with self._lock:
            if self._sealed:
                return
            try:
                with open(self.part / name, "ab") as file:
                    file.write(canonical(entry) + b"\n")
            except OSError as error:
                self._failed = self._failed or error

    def keep(self, name: str, content: bytes) -> None:
        """One whole file of the agent, as ``pictures/<hash>.png``. Ignored after the attempt was sealed; a full disk is
        kept and raised by :meth:`seal`, as for :meth:`append`."""
        with self._lock:
            if self._sealed:
                return
            try:
                path = self.part / name
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(content)
            except OSError as error:
                self._failed = self._failed or error

    def write(self, name: str, content: bytes | np.ndarray) -> None:
        """One whole file; an array becomes ``.npy``."""
        if isinstance(content, np.ndarray):
            buffer = io.BytesIO()
            np.save(buffer, content, allow_pickle=False)
            content = buffer.getvalue()
        (self.part / name).write_bytes(content)

    def seal(self) -> tuple[Artifact, ...]:
        """Flush every file to disk and list them with size and hash; later ``append`` calls are dropped.

        Raises OSError when something could not be written.
        """
        with self._lock:
            self._sealed = True
            if self._failed is not None:
                raise self._failed
        if not self.part.is_dir():
            return ()
        files = sorted(path for path in self.part.rglob("*") if path.is_file() and path != self.part / RECORD)
        for folder in {path.parent for path in files} - {self.part}:
            _flush(folder)
        return tuple(_describe(path, path.relative_to(self.part).as_posix()) for path in files)

    def publish(self, record: AttemptRecord) -> None:
        """Write the record beside its artifacts and rename the folder to its final name."""
        path = self.part / RECORD
        path.write_bytes(canonical(record.model_dump(mode="json")))
        _flush(path)
        _flush(self.part)
        os.rename(self.part, self.final)
        _flush(self.final.parent)

    def published(self) -> AttemptRecord | None:
        """The record of a folder that was renamed, or None where there is none that can be read."""
        try:
            return AttemptRecord.model_validate(strict.loads((self.final / RECORD).read_bytes()))
        except (OSError, ValueError):
            return None

    def discard(self) -> None:
        """Remove the temporary folder."""
        with self._lock:
            self._sealed = True
        shutil.rmtree(self.part, ignore_errors=True)


def media_type(name: str) -> str:
    return _MEDIA.get(Path(name).suffix, "application/octet-stream")


def check(folder: Path, artifact: Artifact) -> str | None:
    """Why a stored artifact does not match its record, or None."""
    path = folder / artifact.name
    if not path.is_file():
        return f"{path} is missing"
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    return None if found == artifact.sha256 else f"{path} has hash {found}, the record says {artifact.sha256}"


def _describe(path: Path, name: str) -> Artifact:
    raw = path.read_bytes()
    _flush(path)
    return Artifact(name=name, sha256=hashlib.sha256(raw).hexdigest(), size=len(raw), media_type=media_type(name))


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
