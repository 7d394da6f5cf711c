"""Stepping through the gateway from the sandbox, against the same environment stepped in process.

Three copies of one episode are alive at once: one stepped from a sandbox with one action per call, one with 50 per
call, one in process, in a container with the same image, limits and flags. They take turns every 50 actions, so that
all three meet the same machine and the same physics. The end of the episode (verdict, artifacts) is not part of it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from contextlib import ExitStack

from bench.figures import Figure, Target, composed
from bench.pairs import available, bare, opened, sandbox, started
from bench.pairs import run as execute
from bench.recording import A007, Recording, record, request
from bench.tools import program
from runner.links import SandboxLink

PART = 50  # actions: short enough to be undisturbed now and then on a busy machine
BATCH = 50
TARGETS = {1: 0.85, BATCH: 0.97}
Arm = Callable[[int], float]  # the first action of a part -> seconds


def run(quick: bool) -> list[Figure]:
    return [figure for name in available() for figure in _measure(name, 2 if quick else 8)]


def _measure(name: str, rounds: int) -> list[Figure]:
    recording = record(A007)[0]
    parts = range(0, (len(recording.actions) - 1) // PART * PART, PART)
    times: dict[int, list[list[float]]] = {0: [], 1: [], BATCH: []}
    for number in range(rounds):
        with ExitStack() as stack:
            arms = _arms(stack, name, recording)
            found: dict[int, list[float]] = {key: [] for key in arms}
            for index, first in enumerate(parts):
                for key in _rotated(list(arms), number + index):
                    found[key].append(arms[key](first))
            for key, seconds in found.items():
                times[key].append(seconds)
    actions = len(parts) * PART
    return [
        composed(
            f"stepping, {batch} per call, {name}",
            "actions/s",
            actions,
            times[batch],
            times[0],
            Target("ratio", ">=", target),
        )
        for batch, target in TARGETS.items()
    ]


def _arms(stack: ExitStack, name: str, recording: Recording) -> dict[int, Arm]:
    pair = request(A007)
    runtime = stack.enter_context(opened(name))
    raw = stack.enter_context(bare(name, pair, recording))
    arms: dict[int, Arm] = {0: lambda first: raw.step(first, first + PART)["wall_s"]}
    text = base64.b64encode(recording.actions.tobytes()).decode()
    for batch in TARGETS:
        link = sandbox(stack.enter_context(started(runtime, pair, recording.spec)))
        execute(link, f"{program('through_gateway')}\nactions = decode({text!r})")
        arms[batch] = _through_gateway(link, batch)
    return arms


def _through_gateway(link: SandboxLink, batch: int) -> Arm:
    return lambda first: float(execute(link, f"print(seconds(actions, {first}, {first + PART}, {batch}))"))


def _rotated(items: list[int], by: int) -> list[int]:
    by %= len(items)
    return items[by:] + items[:by]
