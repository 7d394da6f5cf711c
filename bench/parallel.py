"""Two attempts at once against one after the other: the whole command, reference on the smoke subset.

Raw is what the machine itself gives: the same recorded episodes, replayed by two processes without any container at
once and one after the other. On a machine with two cores of its own that is close to two.
"""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from bench.figures import Figure, Target, paired
from bench.pairs import Bare, available, bare
from bench.recording import A007, record, request
from bench.tools import evaluate, say

TARGET = Target("ours", ">=", 1.6)


def run(quick: bool) -> list[Figure]:
    runtime = next(iter(available()))
    subset = ["--tasks", A007] if quick else []
    _evaluate(runtime, 1, ["--tasks", A007, "--protocol", "single"])  # images, page cache
    gains, machine = [], []
    for number in range(1 if quick else 3):
        one, two = _evaluate(runtime, 1, subset), _evaluate(runtime, 2, subset)
        say(f"parallel, {runtime}: {one:.1f} s with one job, {two:.1f} s with two")
        gains.append(one / two)
        machine.append(_scaling(number))
    return [paired(f"throughput of 2 jobs, {runtime}", "of 1 job", gains, machine, TARGET)]


def _evaluate(runtime: str, jobs: int, subset: list[str]) -> float:
    """Seconds of the whole command."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as home:
        options = ["--model", "reference", "--subset", "smoke", *subset, "--runtime", runtime, "--jobs", str(jobs)]
        return evaluate(home, options)


def _scaling(number: int) -> float:
    """Throughput of two processes at once, of that of one."""
    recording = record(A007)[number % 4]
    last = len(recording.actions)

    def replay(environment: Bare) -> float:
        began = time.perf_counter()
        environment.step(0, last)
        return time.perf_counter() - began

    with bare("process", request(A007), recording) as first:
        alone = replay(first)
    with (
        bare("process", request(A007), recording) as first,
        bare("process", request(A007), recording) as second,
        ThreadPoolExecutor(2) as threads,
    ):
        began = time.perf_counter()
        list(threads.map(replay, (first, second)))
        return 2 * alone / (time.perf_counter() - began)
