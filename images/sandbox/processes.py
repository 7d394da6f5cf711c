"""What the kernel needs of Linux: hiding itself, adopting and ending every process of the agent."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
KILL_S = 5.0
OOM_COUNTERS = (  # cgroup v2, v1
    ("/sys/fs/cgroup/memory.events", "oom_kill "),
    ("/sys/fs/cgroup/memory/memory.oom_control", "oom_kill "),
)

_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) failed")


def hide() -> None:
    """Nobody of the same user may read this process's memory or reach its descriptors through /proc."""
    _prctl(PR_SET_DUMPABLE, 0)


def unhide() -> None:
    """Normal /proc entries again: a child of a hidden process needs them for its own subprocesses."""
    _prctl(PR_SET_DUMPABLE, 1)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, so that no daemon escapes."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int) -> None:
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the line above
        os._exit(1)


def prefer_as_victim() -> None:
    """When memory runs out the kernel of Linux takes this process and not its parent."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="utf-8") as file:
        file.write("1000")


def oom_kills() -> int:
    """How many processes of this container were killed for memory; 0 where that cannot be read."""
    for path, key in OOM_COUNTERS:
        with contextlib.suppress(OSError, ValueError), open(path, encoding="utf-8") as file:
            for line in file:
                if line.startswith(key):
                    return int(line.split()[1])
    return 0


def descendants(root: int) -> list[int]:
    """Living processes below ``root``."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", "rb") as file:
            state, parent = file.read().rpartition(b")")[2].split()[:2]
            if state not in (b"Z", b"X"):
                parents[int(entry)] = int(parent)
    below: list[int] = []
    frontier = {root}
    while frontier:
        frontier = {pid for pid, parent in parents.items() if parent in frontier}
        below.extend(frontier)
    return below


def reap() -> dict[int, int]:
    """Wait status of every child that has ended."""
    ended: dict[int, int] = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            ended[pid] = status
    return ended


def end_descendants(spare: int = 0) -> dict[int, int]:
    """Kill everything below this process but ``spare``, again and again until nothing is left (a fork bomb goes on
    forking in between, but every round leaves it less). Returns the wait status of those that were children."""
    ended: dict[int, int] = {}
    deadline = time.monotonic() + KILL_S
    while below := [pid for pid in descendants(os.getpid()) if pid != spare]:
        if time.monotonic() > deadline:
            break
        for pid in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        ended |= reap()
        time.sleep(0.001)
    return ended | reap()
