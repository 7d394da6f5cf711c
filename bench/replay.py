"""Replay of a stored episode by the audit, against the same environment stepped in process.

Ours is what ``assay audit`` does from the first action to the compared verdict: batches through the sandbox's relay,
recording and digests by the gateway, artifacts by stdio, comparison. Raw is the bare environment with its evaluator, in
the container (or process) that it has in an attempt. The two take turns within an episode, part by part; the end with
verdict, artifacts and comparison belongs to the last part.
"""

from __future__ import annotations

import time
from contextlib import ExitStack

from bench.figures import Figure, Target, composed
from bench.pairs import available, bare, opened, sandbox, started
from bench.recording import A007, Recording, record, request
from manifests.audit import load_audit
from runner.audit.compare import divergence
from runner.audit.recorded import Course
from runner.audit.replay import BATCH, course_of, feed
from runner.links import Frame
from runner.startup import Started

PART = 250  # actions; the audit's own batches are larger still
VERDICT_S = 60.0
TARGET = Target("ratio", ">=", 0.9)


def run(quick: bool) -> list[Figure]:
    return [_measure(name, 2 if quick else 8) for name in available()]


def _measure(name: str, rounds: int) -> Figure:
    recording = record(A007)[0]
    stored: Course | None = None
    ours, raw = [], []
    for number in range(rounds):
        seconds, bare_seconds, stored = _round(name, recording, stored, number)
        ours.append(seconds)
        raw.append(bare_seconds)
    note = f"batches of {PART} here, to take turns; of {BATCH} in an audit"
    return composed(f"replay of an episode, {name}", "actions/s", len(recording.actions), ours, raw, TARGET, note)


def _round(
    name: str, recording: Recording, stored: Course | None, number: int
) -> tuple[list[float], list[float], Course]:
    actions = recording.actions
    ours, raw = [], []
    with ExitStack() as stack:
        pair = request(A007)
        runtime = stack.enter_context(opened(name))
        alone = stack.enter_context(bare(name, pair, recording))
        replayed = stack.enter_context(started(runtime, pair, recording.spec))
        link = sandbox(replayed)
        for index, first in enumerate(range(0, len(actions), PART)):
            last = min(first + PART, len(actions))
            for mine in (True, False) if (number + index) % 2 else (False, True):
                if not mine:
                    raw.append(alone.step(first, last)["wall_s"])
                    continue
                began = time.perf_counter()
                feed(link, actions[first:last])
                if last == len(actions):
                    made = course_of(_verdict(replayed).attachments, replayed.ready.header)
                    if divergence(stored or made, made, load_audit().classes["bit-exact"]) is not None:
                        raise RuntimeError(f"{recording.name}: the replay is another episode")
                ours.append(time.perf_counter() - began)
    return ours, raw, made


def _verdict(pair: Started) -> Frame:
    if not pair.link.wait(time.monotonic() + VERDICT_S, lambda: pair.link.ended) or pair.link.last is None:
        raise RuntimeError("no verdict of the replayed episode")
    return pair.link.last
