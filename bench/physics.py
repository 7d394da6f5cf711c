"""The environment with its evaluator against bare ``mj_step`` of the same model with the same controls.

Both replay a recorded reference episode in this process. Before every control step the bare twin gets the exact state
of the environment and what the mechanism has written into its model; then both advance 20 physics steps, in turn first
and second, each by its own processor time. Without that the twin would soon be another scene: no brake would open and
nothing would be launched.
"""

from __future__ import annotations

import time
from typing import Any

import mujoco
import numpy as np

from bench.figures import Figure, Target, paired
from bench.recording import A007, SMOKE, Recording, record
from bench.tools import say
from images import mujoco as engine
from images.mujoco.launcher import geometry as g

WRITTEN = ("jnt_range", "eq_data", "geom_contype", "geom_conaffinity", "body_contype", "body_conaffinity", "geom_rgba")
"""Fields of the model that the mechanism and the panes change during an episode."""
ALIKE = 0.95
"""Share of control steps after which the twin must be in the very state of the environment: not where a brake, the
trigger or a pane acts within the step."""
LIMIT = Target("ratio", "<=", 1.3)


def run(quick: bool) -> list[Figure]:
    figures = []
    for environment_id in (A007,) if quick else SMOKE:
        recordings = record(environment_id)[: 1 if quick else None]
        ours, raw = zip(*(episode(recording) for recording in recordings), strict=True)
        case = environment_id.rsplit("/", 1)[-1]
        figures.append(paired(f"environment and evaluator, {case}", "CPU s/episode", ours, raw, LIMIT))
        say(f"physics {case}: {len(recordings)} episodes")
    return figures


def episode(recording: Recording) -> tuple[float, float]:
    """Processor time (s) of one episode: environment with evaluator, bare physics."""
    environment: Any = engine.create(recording.spec)
    twin: Any = engine.create(recording.spec)
    model, data = twin.plant.model, twin.plant.data
    ours = raw = 0
    clock, step = time.process_time_ns, mujoco.mj_step

    def bare(action: np.ndarray) -> int:
        began = clock()
        data.ctrl[:] = action
        step(model, data, g.SUBSTEPS)
        return clock() - began

    def whole(action: np.ndarray) -> int:
        began = clock()
        environment.apply(action)
        environment.judge()
        return clock() - began

    alike = 0
    for index, action in enumerate(recording.actions):
        mujoco.mj_copyData(data, model, environment.plant.data)
        for name in WRITTEN:
            getattr(model, name)[:] = getattr(environment.plant.model, name)
        if index % 2:
            ours += whole(action)
            raw += bare(action)
        else:
            raw += bare(action)
            ours += whole(action)
        alike += np.array_equal(data.qpos, environment.plant.data.qpos)
    if alike < ALIKE * len(recording.actions):
        raise RuntimeError(
            f"{recording.name}: the bare twin went its own way; the environment writes into more than {WRITTEN}"
        )
    environment.close()
    twin.close()
    return ours / 1e9, raw / 1e9
