"""Who owns containers, volumes and folders: a lock file held for as long as the owner lives.

Everything that a runtime creates carries the labels of its owner. The kernel drops the lock when the owner dies,
however it dies, so the next start knows what nobody needs any more. Labels name the host and its boot, because several
machines can share one Engine: what belongs to another host is left alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import platform
import re
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import IO

_NAME = re.compile(r"[0-9a-f]{32}")
RUN, OWNER, HOST, BOOT, LOCK = "assay.run", "assay.owner", "assay.host", "assay.boot", "assay.lock"


def boot_id() -> str:
    """Another one after every start of the machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:  # not Linux: a restart is not noticed there, a dead owner still is
        return "unknown"


class Owner:
    """One living runtime. ``folder`` is the run-lock folder; it is made when it does not exist."""

    def __init__(self, folder: Path) -> None:
        self.id = uuid.uuid4().hex
        folder.mkdir(parents=True, exist_ok=True)
        self.lock = folder.resolve() / f"{self.id}.lock"
        self._file = self._hold()

    def labels(self, run: str) -> dict[str, str]:
        return {RUN: run, OWNER: self.id, HOST: platform.node(), BOOT: boot_id(), LOCK: str(self.lock)}

    def release(self) -> None:
        """To be called when nothing of this owner is left."""
        self.lock.unlink(missing_ok=True)
        self._file.close()

    def sweep(self) -> None:
        """Remove the locks that nobody holds, once what their owners left is gone."""
        for path in dead_owners(self.lock.parent):
            path.unlink(missing_ok=True)

    def _hold(self) -> IO[str]:
        while True:
            file = self.lock.open("w", encoding="ascii")
            fcntl.flock(file, fcntl.LOCK_EX)
            if self.lock.exists():  # else another owner swept it between the two lines above
                return file
            file.close()


def dead_owners(folder: Path) -> list[Path]:
    """Locks of owners that ended without removing what they had. The locks of runs in the same folder are none."""
    found = []
    for path in folder.glob("*.lock"):
        if _NAME.fullmatch(path.stem):
            with contextlib.suppress(OSError), path.open(encoding="ascii") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                found.append(path)
    return found


def abandoned(labels: Mapping[str, str]) -> bool:
    """Whether the owner of these labels is known to be dead."""
    if labels.get(HOST) != platform.node() or LOCK not in labels:
        return False
    if labels.get(BOOT) != boot_id():
        return True
    try:
        with open(labels[LOCK], encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:  # an owner removes its lock last
        return True
    except OSError:  # held, or not ours to open
        return False
    return True
