"""Hanoi boards on one core: pace of an episode for each robot, compile plus reset, and how long 31 moves take.

Actions are those of the reference agent under the first condition, played here. Raw is bare ``mj_step`` under the same
targets: the same physics without contacts read, referee and fields.
"""

from __future__ import annotations

import time
from typing import Any

import mujoco
import numpy as np

from bench.figures import Figure, Target, paired
from bench.tools import say
from images import mujoco as engine
from images.mujoco.embodiments import embodiment
from images.mujoco.hanoi import board as boards
from images.mujoco.hanoi import geometry as g
from images.mujoco.hanoi.model import mjcf, realize
from images.mujoco.hanoi.workshop.episode import Episode, start
from images.reference import solve

CONDITION = 0
PACES = {"panda": 40.0, "fr3-sharpa": 20.0, "floating-sharpa": 25.0}  # times real time, at least
COMPILE, LONGEST = Target("ours", "<", 1000.0), Target("ours", "<", 330.0)
CASE, LONG = "H03", "H04"  # nine moves, and 31


def run(quick: bool) -> list[Figure]:
    figures = []
    for robot, pace in PACES.items():
        figures += _robot(robot, "H01" if quick else CASE, Target("ours", ">=", pace))
    return figures if quick else [*figures, *(_long(robot) for robot in PACES)]


def _play(task: str) -> Episode:
    client = Episode(task, CONDITION)
    solve(client, lambda line: None)
    say(f"hanoi {task}: {client.session.meter.simulated_s:.0f} s simulated")
    return client


def _robot(robot: str, case: str, pace: Target) -> list[Figure]:
    task = f"{robot}/{case}"
    actions = _play(task).actions
    spec = start(task, CONDITION)
    seconds = len(actions) * g.CONTROL_DT
    ours, raw = [], []
    for _ in range(3):
        ours.append(seconds / _whole(spec, actions))
        raw.append(seconds / _bare(spec, actions))
    board, parameters = boards.load(case), spec["condition"]["parameters"]
    text = mjcf(board, realize(board, parameters), embodiment(robot))
    compiled = [_milliseconds(lambda: engine.create(spec)) for _ in range(3)]
    read = [_milliseconds(lambda: mujoco.MjModel.from_xml_string(text)) for _ in range(3)]
    return [
        paired(f"{robot}: pace of {case}", "simulated s/CPU s", ours, raw, pace),
        paired(f"{robot}: compile and reset", "ms", compiled, read, COMPILE),
    ]


def _whole(spec: dict[str, Any], actions: np.ndarray) -> float:
    """Processor seconds of the environment with its referee."""
    environment = engine.create(spec)
    began = time.process_time()
    for action in actions:
        environment.apply(action)
    return time.process_time() - began


def _bare(spec: dict[str, Any], actions: np.ndarray) -> float:
    """Processor seconds of the physics alone."""
    environment: Any = engine.create(spec)
    model, data, step = environment.plant.model, environment.plant.data, mujoco.mj_step
    present = np.array(data.ctrl)
    began = time.process_time()
    for action in actions:
        rise = (action - present) / g.SAMPLES
        for left in range(g.SAMPLES - 1, -1, -1):
            data.ctrl[:] = action - left * rise
            step(model, data, g.SUBSTEPS)
        present = action
    return time.process_time() - began


def _long(robot: str) -> Figure:
    """Simulated seconds of 31 moves; raw is the least that a move took, 31 times."""
    client = _play(f"{robot}/{LONG}")
    environment: Any = client.environment
    times = [0.0, *(move[3] for move in environment.evaluator.moves)]
    least = min(np.diff(times))
    return paired(f"{robot}: 31 moves", "simulated s", [client.session.meter.simulated_s], [31 * least], LONGEST)


def _milliseconds(work: Any) -> float:
    began = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - began)
