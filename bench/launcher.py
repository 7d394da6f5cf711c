"""Every scene of the launcher on one core: pace of an episode with the arms moving, compile plus reset, one picture.

Actions are those of the reference agent under the first condition, played here. A scene's pace is measured as
``bench/physics.py`` measures: the environment with its evaluator, and bare ``mj_step`` of the same states in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import mujoco
import numpy as np

from bench.figures import Figure, Target, paired
from bench.physics import episode
from bench.recording import Recording
from bench.tools import say
from images import mujoco as engine
from images.mujoco.gl import NoBackend
from images.mujoco.launcher import scene as scenes
from images.mujoco.launcher.model import mjcf, realize
from images.mujoco.launcher.workshop.episode import Episode, start
from images.mujoco.render import Painter
from images.reference import solve

SIZE = 512  # pixels
CONDITION = 0
PACE, SLOWEST = Target("ours", ">=", 20.0), Target("ours", ">=", 6.0)
COMPILE, PICTURE = Target("ours", "<", 600.0), Target("ours", "<", 30.0)


def run(quick: bool) -> list[Figure]:
    cases = scenes.cases()[:3] if quick else scenes.cases()
    return [*_paces(cases), _compile(cases, 1 if quick else 3), *_pictures(cases)]


def _paces(cases: list[str]) -> list[Figure]:
    ours, raw = [], []
    for case in cases:
        recording = _play(case)
        spent, bare = episode(recording)
        ours.append(recording.simulated_s / spent)
        raw.append(recording.simulated_s / bare)
        say(f"launcher {case}: {ours[-1]:.1f} times real time")
    slow = int(np.argmin(ours))
    unit = "simulated s/CPU s"
    return [
        paired("pace of a scene, median of all", unit, ours, raw, PACE),
        paired("pace of the slowest scene", unit, [ours[slow]], [raw[slow]], SLOWEST, cases[slow]),
    ]


def _play(case: str) -> Recording:
    client = Episode(case, CONDITION)
    solve(client, lambda line: None)
    meter = client.session.meter
    return Recording(f"marble/dual-panda/{case}", CONDITION, start(case, CONDITION), client.actions, meter.simulated_s)


def _compile(cases: list[str], rounds: int) -> Figure:
    """Raw is MuJoCo's own reading of the same model, without reset, checks and referee."""
    ours: list[float] = []
    raw: list[float] = []
    for case in cases:
        spec = start(case, CONDITION)
        parameters = spec["condition"]["parameters"]
        text, _ = mjcf(scenes.load(case), realize(parameters), parameters["background"])
        ours.append(min(_milliseconds(partial(engine.create, spec)) for _ in range(rounds)))
        raw.append(min(_milliseconds(partial(mujoco.MjModel.from_xml_string, text)) for _ in range(rounds)))
    slow = int(np.argmax(ours))
    note = f"the slowest scene, {cases[slow]}; the median takes {median(ours):.0f} ms"
    return paired("compile and reset", "ms", [ours[slow]], [raw[slow]], COMPILE, note)


def _pictures(cases: list[str]) -> list[Figure]:
    """One picture of a fixed camera in the first state; raw is the same without shadows."""
    ours: list[float] = []
    raw: list[float] = []
    for case in cases:
        environment: Any = engine.create(start(case, CONDITION))
        try:
            painter = Painter(environment.plant.model, environment.plant.data)
        except NoBackend as error:
            say(f"pictures are not measured: {error}")
            return []
        draw = partial(painter.picture, environment.cameras()[0].name, SIZE, SIZE)
        for shadows, found in ((True, ours), (False, raw)):
            draw(shadows=shadows)
            found.append(median(_milliseconds(partial(draw, shadows=shadows)) for _ in range(5)))
        painter.close()
        environment.close()
    note = f"the slowest scene takes {max(ours):.0f} ms; raw is without shadows"
    return [paired(f"picture of {SIZE} x {SIZE}, median of all scenes", "ms", ours, raw, PICTURE, note)]


def _milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - began)
