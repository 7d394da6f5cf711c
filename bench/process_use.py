"""Processor time and memory of running processes, from /proc."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Use:
    """``cpu_s``: user and system time of the process and of its children that have ended; ``peak_bytes``: its largest
    resident memory."""

    cpu_s: float
    peak_bytes: int


def use(pid: int) -> Use:
    fields = _stat(pid)
    ticks = sum(int(fields[index]) for index in (11, 12, 13, 14))
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    peak = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
    return Use(ticks / _TICK, int(peak) * 1024)


def children(pid: int) -> list[int]:
    """Processes whose parent is ``pid`` now."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int(_stat(int(entry.name))[1]) == pid:
                found.append(int(entry.name))
        except OSError:
            continue  # it has ended meanwhile
    return found


def tree(pid: int) -> list[int]:
    """The process and everything below it."""
    return [pid, *(found for child in children(pid) for found in tree(child))]


def child_running(module: str) -> int:
    """The child of this process that runs ``python -m module``. Raises LookupError."""
    for pid in children(os.getpid()):
        if f"\0{module}\0".encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
            return pid
    raise LookupError(f"no child runs {module}")


def _stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat from the state on; the name before it may hold anything."""
    text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    return text.rsplit(")", 1)[1].split()
