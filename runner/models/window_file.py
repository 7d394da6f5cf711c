"""A window that all processes with the same records share: one small file, changed under a lock.

The kernel drops the lock when its holder dies, however it dies, and the file is replaced as a whole, so that it is
always the one before or the one after a change. Times are those of the machine since it started, which setting its
clock does not change; what another start of it, or another machine, has written is placed by the wall clock, and
never later than now.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from manifests import strict
from runner.models.window import Admission, Waiting, Window
from runner.runtimes.owner import boot_id

BUSY_S = 10.0  # a change takes a millisecond: who holds the lock for longer has been stopped
TRY_S = 0.002


def clock() -> float:
    """Seconds since the machine started, the same in all its processes; it goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class WindowFile:
    """The window at ``path``; what is not there, or was cut by a power failure, is an empty one."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def held(self) -> Iterator[tuple[Window, float]]:
        """The window and the present moment; the window is written back where the block ends well. Raises OSError."""
        with _locked(self.path.with_suffix(".lock")):
            now = clock()
            window = self._read(now)
            yield window, now
            self._write(window, now)

    def _read(self, now: float) -> Window:
        try:
            found = strict.loads(self.path.read_bytes())
            shift = _shift(found, now)
            return Window(
                [Admission(str(ticket), min(at + shift, now), int(tokens)) for ticket, at, tokens in found["admitted"]],
                [Waiting(str(ticket), min(seen + shift, now)) for ticket, seen in found["waiting"]],
            )
        except FileNotFoundError:
            return Window()
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return Window()

    def _write(self, window: Window, now: float) -> None:
        content = {
            "boot": boot_id(),
            "now": now,
            "wall": time.time(),
            "admitted": [[item.ticket, item.at, item.tokens] for item in window.admitted],
            "waiting": [[item.ticket, item.seen] for item in window.waiting],
        }
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(content), encoding="ascii")
        new.replace(self.path)


def _shift(found: Mapping[str, Any], now: float) -> float:
    """What turns the times of a file into those of this machine since its start."""
    if found["boot"] == boot_id():
        return 0.0
    return now - max(0.0, time.time() - found["wall"]) - float(found["now"])


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Raises OSError, EBUSY where another process holds the lock all the time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        until = time.monotonic() + BUSY_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise OSError(errno.EBUSY, "another process holds it") from None
                time.sleep(TRY_S)
        yield
    finally:
        os.close(descriptor)
