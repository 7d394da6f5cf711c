"""``assay --help``, which must not pay for what it does not use, against the interpreter's own start."""

from __future__ import annotations

import subprocess
import sys
import time

from bench.figures import Figure, Target, paired
from bench.tools import assay

LIMIT = Target("ours", "<", 300.0)


def run(quick: bool) -> list[Figure]:
    help_command, site, bare = [assay(), "--help"], [sys.executable, "-c", "pass"], [sys.executable, "-S", "-c", "pass"]
    times: list[tuple[float, float, float]] = []
    _milliseconds(help_command)  # bytecode and page cache
    for _ in range(5 if quick else 25):
        times.append((_milliseconds(help_command), _milliseconds(site), _milliseconds(bare)))
    ours, with_site, without = zip(*times, strict=True)
    return [
        paired("assay --help, against python -c pass", "ms", ours, with_site, LIMIT),
        paired("assay --help, against python -S -c pass", "ms", ours, without, LIMIT),
    ]


def _milliseconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return 1e3 * (time.perf_counter() - began)
