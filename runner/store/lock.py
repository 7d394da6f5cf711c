"""One live evaluation per run and machine: an flock that the kernel drops when its holder dies, however it dies."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from contextlib import suppress
from pathlib import Path

from runner.errors import BadInput, RunStopped
from runner.store.text import now, stamp


class RunLock:
    """Held from construction until :meth:`release`. The file names its holder for the message to the second one."""

    def __init__(self, path: Path, run_name: str) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise RunStopped(
                f"store: {path} cannot be made ({error.strerror}): make its folder writable, or set ASSAY_HOME to "
                "another place"
            ) from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(self._descriptor)
            os.close(self._descriptor)
            raise BadInput(
                f"run {run_name} is in use by {holder}: wait for it to end or stop it, or name another run with RUN=..."
            ) from None
        content = {"pid": os.getpid(), "host": socket.gethostname(), "since": stamp(now())}
        with suppress(OSError):  # a full disk: the lock holds all the same, and a finished run needs no more
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, json.dumps(content).encode(), 0)

    def release(self) -> None:
        """Idempotent. The file stays: removing it would let two processes lock two different files."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _holder(descriptor: int) -> str:
    try:
        content = json.loads(os.pread(descriptor, 4096, 0))
        return f"process {content['pid']} on {content['host']} since {content['since']}"
    except (ValueError, KeyError):
        return "another process"
