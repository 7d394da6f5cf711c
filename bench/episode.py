"""One reference episode of A007 from the processes' own accounts: real-time factor, memory, and the agent beside it.

The pair runs as plain processes, because there /proc tells of each; the physics is the same everywhere. Raw is the same
episode replayed in a process with nothing but the environment in it. Rendering is not part of it: the reference agent
asks for no picture.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from bench.figures import Figure, Target, paired
from bench.pairs import bare, opened, sandbox, started
from bench.pairs import run as execute
from bench.process_use import child_running, tree, use
from bench.recording import A007, Recording, record, request
from runner.agents.baselines import PROGRAMS

SPEED = Target("ours", ">=", 25.0)
MEMORY = Target("ours", "<", 400.0)
VERDICT_S = 30.0
MB = 1e6


@dataclass(frozen=True)
class Played:
    """Seconds of simulated time, processor time from the end of the start to the verdict, and peak memory (bytes)."""

    simulated_s: float
    environment_s: float
    agent_s: float
    peak_bytes: int


def run(quick: bool) -> list[Figure]:
    recordings = record(A007)[: 1 if quick else None]
    played, raw = [], []
    for recording in recordings:
        played.append(_play(recording))
        with bare("process", request(A007), recording) as environment:
            raw.append(environment.step(0, len(recording.actions)))
    seconds = [item.environment_s for item in played]
    return [
        paired(
            "reference episode",
            "simulated s/CPU s",
            [item.simulated_s / item.environment_s for item in played],
            [item.simulated_s / other["cpu_s"] for item, other in zip(played, raw, strict=True)],
            SPEED,
        ),
        paired(
            "environment process",
            "MB at most",
            [item.peak_bytes / MB for item in played],
            [other["peak_bytes"] / MB for other in raw],
            MEMORY,
        ),
        paired("reference agent, against its environment", "CPU s/episode", [item.agent_s for item in played], seconds),
    ]


def _play(recording: Recording) -> Played:
    with opened("process") as runtime, started(runtime, request(A007, "reference"), recording.spec) as pair:
        environment, agent = child_running("images.gateway"), child_running("images.sandbox")
        before = use(environment).cpu_s
        agent_before = sum(use(pid).cpu_s for pid in tree(agent))
        execute(sandbox(pair), (PROGRAMS / "reference.py").read_text(encoding="utf-8"))
        if not pair.link.wait(time.monotonic() + VERDICT_S, lambda: pair.link.ended) or pair.link.last is None:
            raise RuntimeError(f"{recording.name}: no verdict of the reference episode")
        after = use(environment)
        agent_s = sum(use(pid).cpu_s for pid in tree(agent)) - agent_before
        return Played(pair.link.last.header["meter"]["simulated_s"], after.cpu_s - before, agent_s, after.peak_bytes)
