"""``assay --help``, which must not pay for what it does not use, against the interpreter's own start."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass

from bench.figures import Figure, Target, paired
from bench.tools import assay

LIMIT = Target("ours", "<", 300.0)
HELP = [assay(), "--help"]
SITE = [sys.executable, "-c", "pass"]
BARE = [sys.executable, "-S", "-c", "pass"]


@dataclass(frozen=True)
class Spent:
    """Milliseconds of one command: wall clock, and processor time by the kernel's account."""

    wall: float
    cpu: float


def run(quick: bool) -> list[Figure]:
    spend(HELP)  # bytecode and page cache
    rounds = [(spend(HELP), spend(SITE), spend(BARE)) for _ in range(5 if quick else 25)]
    ours, site, bare = zip(*rounds, strict=True)

    def wall(spent: tuple[Spent, ...]) -> list[float]:
        return [item.wall for item in spent]

    return [
        paired("assay --help, against python -c pass", "ms", wall(ours), wall(site), LIMIT),
        paired("assay --help, against python -S -c pass", "ms", wall(ours), wall(bare), LIMIT),
        paired("assay --help, processor time", "CPU ms", [item.cpu for item in ours], [item.cpu for item in site]),
    ]


def spend(command: list[str]) -> Spent:
    """Run a command to its end. Raises CalledProcessError when it fails."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Spent(1e3 * wall, 1e3 * (usage.ru_utime + usage.ru_stime))
