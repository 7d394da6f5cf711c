"""Panes: a fixed sheet takes the impulse of projectiles; at its threshold the sleeping shards take its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from images.mujoco.launcher import geometry as g
from images.mujoco.launcher.model import POINTS, Compiled
from images.mujoco.launcher.rules import BLOW_S

CONTACT_BREAK_S = 0.005  # s without force after which the impulse of a contact starts anew
BLOW_STEPS = round(BLOW_S / g.PHYSICS_DT)
BURST_SPEED, BURST_SPIN = 0.4, 4.0  # m/s along the blow, rad/s at most: stress that the glass lets go as it breaks


@dataclass
class Pane:
    """One pane in the running model. ``broken`` is the time of its fracture (s)."""

    name: str
    threshold: float  # N s
    sheet: int  # geom id
    shards: np.ndarray  # geom ids
    dots: np.ndarray  # geom ids of the marks on the sheet
    dofs: np.ndarray
    breakers: np.ndarray  # (n,) ids of the bodies that may break it: projectiles first
    force: np.ndarray  # view (n, POINTS): normal forces of each of them on the sheet (N)
    recent: np.ndarray  # (BLOW_STEPS, n) normal forces of the present contact in the last steps (N), oldest overwritten
    idle: np.ndarray  # (n,) s since its last force
    neighbours: np.ndarray  # degrees of freedom of the scene's moving bodies, shards apart
    rgba: np.ndarray
    pattern: int  # seed of cells and burst
    row: int = 0  # of ``recent``, that the next step writes
    loaded: bool = False  # whether some impulse is not zero
    peak: float = 0.0  # largest impulse of one contact so far (N s)
    broken: float | None = None

    @property
    def impulse(self) -> np.ndarray:
        """(n,) normal impulse of the present contact with each breaker within the last ``BLOW_STEPS`` (N s)."""
        return np.asarray(self.recent.sum(axis=0) * g.PHYSICS_DT)

    def load(self) -> bool:
        """Add one physics step's force to the impulses; True when the threshold is reached."""
        if not self.loaded and not np.count_nonzero(self.force):
            return False
        force = np.abs(self.force).sum(axis=1)
        self.idle = np.where(force > 0, 0.0, self.idle + g.PHYSICS_DT)
        self.recent[self.row] = force
        self.recent[:, self.idle > CONTACT_BREAK_S] = 0.0
        self.row = (self.row + 1) % BLOW_STEPS
        self.loaded = bool(self.recent.any())
        self.peak = max(self.peak, float(self.impulse.max()))
        return self.peak >= self.threshold

    def look(self, model: Any, *, broken: bool) -> None:
        """Show the shards or the sheet."""
        model.geom_rgba[self.sheet] = 0.0 if broken else self.rgba
        model.geom_rgba[self.shards] = self.rgba if broken else 0.0
        model.geom_rgba[self.dots, 3] = 0.0 if broken else 1.0

    def blow(self, model: Any, data: Any) -> np.ndarray:
        """Velocity (3,) in the world of the body with the largest impulse on the sheet."""
        breaker, velocity = int(self.breakers[int(self.impulse.argmax())]), np.zeros(6)
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY.value, breaker, velocity, 0)
        return velocity[3:]

    def fracture(self, model: Any, data: Any, blow: np.ndarray) -> None:
        """Take the sheet away and let the shards go in the direction of ``blow`` (3,), a velocity in the world.

        Without some speed the shards would lean on each other and stand. Collision bits live in the model, which one
        episode owns; any speed, even -0.0, wakes a sleeping body. What stood on the sheet would not notice by itself
        that it is gone."""
        self.broken = float(data.time)
        still = self.neighbours[data.qvel[self.neighbours] == 0.0]
        data.qvel[still] = -0.0
        model.geom_contype[self.sheet] = model.geom_conaffinity[self.sheet] = 0
        bodies = model.geom_bodyid[self.shards]  # the broad phase looks at the bodies' bits
        model.body_contype[bodies], model.body_conaffinity[bodies] = 1, 33
        model.geom_contype[self.shards], model.geom_conaffinity[self.shards] = 1, 33
        self.look(model, broken=True)
        count, rng = len(self.shards), np.random.default_rng(self.pattern)
        normal = data.geom_xmat[self.sheet].reshape(3, 3)[:, 0]
        along = normal * np.copysign(BURST_SPEED, normal @ blow)
        speeds = np.concatenate(
            [along * rng.uniform(0.5, 1.0, (count, 1)), rng.uniform(-BURST_SPIN, BURST_SPIN, (count, 3))], axis=1
        )
        data.qvel[self.dofs] = speeds.ravel()


def panes(compiled: Compiled, data: Any) -> list[Pane]:
    """The panes of a model, their force views taken from the end of the sensor data (see ``model.sensors``)."""
    model = compiled.model
    elements = [element for element in compiled.built.values() if element.shards]
    breakers = {
        element.name: [*compiled.projectiles, *compiled.scene.element(element.name).breakers] for element in elements
    }
    width = 3 * POINTS
    address = model.nsensordata - width * sum(len(names) for names in breakers.values())
    neighbours = [_dofs(model, body) for built in compiled.built.values() for body in built.bodies]
    out = []
    for element in elements:
        count = len(breakers[element.name])
        force = data.sensordata[address : address + width * count].reshape(count, POINTS, 3)[:, :, 0]
        address += width * count
        sheet = model.geom(element.name).id
        first = np.array([model.jnt_dofadr[model.joint(name).id] for name in element.shards])
        out.append(
            Pane(
                element.name,
                compiled.scene.element(element.name).threshold,
                sheet,
                np.array([model.geom(name).id for name in element.shards]),
                _dots(model, element.name),
                (first[:, None] + np.arange(6)).ravel(),
                np.array([model.body(name).id for name in breakers[element.name]]),
                force,
                np.zeros((BLOW_STEPS, count)),
                np.zeros(count),
                np.concatenate(neighbours),
                model.mat_rgba[model.geom_matid[sheet]].copy(),
                compiled.scene.element(element.name).pattern,
            )
        )
    return out


def _dots(model: Any, pane: str) -> np.ndarray:
    """Ids of the geoms that number a pane."""
    found = (mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM.value, f"{pane}_dot_{i}") for i in range(1, 10))
    return np.array([geom for geom in found if geom >= 0], dtype=int)


def _dofs(model: Any, body: str) -> np.ndarray:
    """Addresses of a body's degrees of freedom; none of a fixed one."""
    item = model.body(body)
    return np.arange(int(item.dofadr[0]), int(item.dofadr[0]) + int(item.dofnum[0]))
