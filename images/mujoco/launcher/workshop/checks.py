"""Measurements of one scene: does it stay put, how small is the window of aims, and does a naive aimer solve it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from images.mujoco.launcher import geometry as g
from images.mujoco.launcher.reference.aiming import NoAim
from images.mujoco.launcher.reference.ballistics import Ballistics
from images.mujoco.launcher.reference.plan import through
from images.mujoco.launcher.scene import Scene
from images.mujoco.launcher.workshop.episode import NOMINAL
from images.mujoco.launcher.workshop.proxy import Aim, Outcome, Proxy
from images.mujoco.launcher.workshop.search import LIMITS, attempt, next_projectile

UNTOUCHED_S = 150.0  # s
DRIFT = 1e-4  # m
GRID = 200  # aims of the window; a quasi-random set spreads them evenly
SPAN = np.radians(6.0)  # the window's azimuths: the bearing of the target and this to either side
LEVELS = (0.07, 0.04, 0.02, 0.007)  # least share of aims for D-level 1, 2, 3, 4; below the last one it is 5
STRAIGHT = np.radians(12.0)  # elevation that the naive aimer likes best


@dataclass(frozen=True)
class Stay:
    """What 150 s untouched do to a scene: largest shift of a body (m), its name, and when all slept (s)."""

    drift: float
    body: str
    asleep_s: float | None

    @property
    def good(self) -> bool:
        return self.drift < DRIFT and self.asleep_s is not None


def stay(scene: Scene) -> Stay:
    """Wake every body of the scene but waiting shards, and look. What sleeps does not move again by itself."""
    proxy = Proxy(scene, NOMINAL)
    model, data = proxy.plant.model, proxy.plant.data
    names = [body for built in proxy.plant.compiled.built.values() for body in built.bodies]
    ids = np.array([model.body(name).id for name in names])
    start = data.xpos[ids].copy()
    for body in ids:
        first, count = int(model.body_dofadr[body]), int(model.body_dofnum[body])
        if count:
            data.qvel[first : first + count] = -0.0
    asleep = None
    drift = np.zeros(len(ids))
    while proxy.plant.time < UNTOUCHED_S and asleep is None and proxy.judgement is None:
        proxy.advance(0.5)
        drift = np.maximum(drift, np.linalg.norm(data.xpos[ids] - start, axis=1))
        asleep = proxy.plant.time if proxy.settled else None
    worst = int(drift.argmax())
    return Stay(float(drift[worst]), names[worst], asleep)


def first_target(scene: Scene) -> str:
    """The required target that comes first."""
    return scene.task.order[0] if scene.task.order else scene.task.required[0].element


def _halton(count: int) -> np.ndarray:
    """(count, 3) points of the unit cube, evenly spread and always the same."""
    out = np.zeros((count, 3))
    for column, base in enumerate((2, 3, 5)):
        for row in range(count):
            index, scale = row + 1, 1.0
            while index:
                scale /= base
                out[row, column] += scale * (index % base)
                index //= base
    return out


def window(scene: Scene, count: int = GRID) -> float:
    """Share of ``count`` first shots, spread over azimuths around the first required target, all elevations and draws
    of the nominal launcher, that make it reach its goal without breaking a rule."""
    proxy = Proxy(scene, NOMINAL)
    name = first_target(scene)
    x, y, _ = proxy.position(name) - proxy.ballistics.pivot
    low = np.array([np.arctan2(y, x) - SPAN, LIMITS.elevation[0], 0.08])
    high = np.array([np.arctan2(y, x) + SPAN, LIMITS.elevation[1], LIMITS.draw[1]])
    aims = low + (high - low) * _halton(count)
    outcomes = [attempt(proxy, Aim(*(float(v) for v in aim))) for aim in aims]
    return sum(name in o.reached and o.broke is None for o in outcomes) / count


def d_level(share: float) -> int:
    """D-level of a share of aims: 1 (a large window) to 5."""
    return 1 + sum(share < least for least in LEVELS)


def naive(scene: Scene, parameters: dict[str, Any]) -> list[Outcome]:
    """Shoots straight at the first target that is left, as if the launcher were the nominal one: no path, no order, no
    protection, no correction."""
    proxy = Proxy(scene, parameters)
    believed = Ballistics(proxy.ballistics.mechanism, NOMINAL["stiffness"], np.array(g.PIVOT))
    listed = [item.element for item in scene.task.required]
    out: list[Outcome] = []
    while proxy.judgement is None and proxy.plant.shots_left:
        fields = proxy.fields()
        pending = [name for name in listed if not fields[f"reached/{name}"]]
        if not pending:
            break
        out.append(proxy.fire(_straight(proxy, believed, pending[0])))
    proxy.advance(8.0)
    if out:
        out[-1].judgement = proxy.judgement
    return out


def _straight(proxy: Proxy, believed: Ballistics, name: str) -> Aim:
    """The elevation nearest to STRAIGHT that reaches the target; full draw at 30 degrees where none does."""
    point = proxy.position(name)
    for arc in (STRAIGHT, *np.radians([18.0, 25.0, 33.0, 40.0])):
        try:
            aim = through(believed, next_projectile(proxy), point, float(arc), LIMITS)
        except NoAim:
            continue
        return Aim(aim.azimuth, aim.elevation, aim.draw)
    x, y, _ = point - believed.pivot
    azimuth = float(np.clip(np.arctan2(y, x), *LIMITS.azimuth))
    return Aim(azimuth, float(np.radians(30)), LIMITS.draw[1])
