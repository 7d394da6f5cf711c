"""Projectiles from the tray to the rack: seating, launch, flight, what they strike, and their end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from images.mujoco.launcher import geometry as g
from images.mujoco.launcher.glass import panes
from images.mujoco.launcher.mechanism import centre_height
from images.mujoco.launcher.model import Compiled
from images.mujoco.launcher.rules import PROJECTILE_LIFE_S
from images.mujoco.launcher.scene import WORKSPACE, projectile

WAITING, FIRED, FLYING, SPENT = "waiting", "fired", "flying", "spent"
REST_SPEED, REST_S = 0.03, 0.5  # m/s, s: a projectile slower than this for so long has come to rest
LEAVES_WITHIN_S = 1.0  # s: one that is still in the barrel this long after the launch stays there
RACK = (-1.0, -0.3)  # m: where spent projectiles are put, one beside the other along y

Note = Callable[..., None]


@dataclass
class Shot:
    """One launch and what is known of it. Angles in rad, lengths in m, times in s, speed in m/s."""

    number: int
    projectile: int
    time: float
    azimuth: float
    elevation: float
    draw: float
    muzzle_speed: float | None = None
    struck: list[str] = field(default_factory=list)


@dataclass
class Projectile:
    """One projectile; ``since`` is when it was fired, ``rest`` how long it has been at rest (s)."""

    index: int
    radius: float
    position: np.ndarray  # view into qpos (7,)
    velocity: np.ndarray  # view into qvel (6,)
    status: str = WAITING
    on_floor: bool = False  # it started there and has not been lifted yet
    since: float = 0.0
    rest: float = 0.0


class Flight:
    """All projectiles of one episode. Contacts are scanned only while ``flying`` is not empty."""

    def __init__(self, compiled: Compiled, data: Any, note: Note) -> None:
        model = self._model = compiled.model
        self._data, self._note = data, note
        self._barrel = model.body("barrel").id
        self.projectiles: list[Projectile] = []
        self._projectile_of = np.full(model.ngeom, -1)
        for index, name in enumerate(compiled.projectiles):
            joint = model.joint(name)
            q, v = int(joint.qposadr[0]), int(joint.dofadr[0])
            radius = projectile(compiled.scene, index)["radius"]
            item = Projectile(index, radius, data.qpos[q : q + 7], data.qvel[v : v + 6])
            item.on_floor = index == 0 and compiled.realized.floor_pick is not None
            self.projectiles.append(item)
            self._projectile_of[model.geom(name).id] = index
        self._element_of: list[str | None] = [None] * model.ngeom
        for element in compiled.built.values():
            for name in element.geoms + element.shards:
                self._element_of[model.geom(name).id] = element.name
        self.panes = panes(compiled, data)
        self.flying: list[Projectile] = []
        self.shots: list[Shot] = []
        self.strikes: list[tuple[float, int, str]] = []
        self.touches: list[tuple[float, str]] = []  # of shards and elements that they must spare
        self._spared: list[str | None] = [None] * model.ngeom
        for name in compiled.scene.task.shard_free:
            for geom in compiled.built[name].geoms:
                self._spared[model.geom(geom).id] = name
        self._sharp = np.zeros(model.ngeom, dtype=bool)  # shards that lie about
        self._cutting = False
        self.idle_since: float | None = None
        self._brittle = False

    def local(self, point: np.ndarray) -> np.ndarray:
        """(s, w, h) of a world point in barrel coordinates (m)."""
        rotation = self._data.xmat[self._barrel].reshape(3, 3)
        return np.asarray((point - self._data.xpos[self._barrel]) @ rotation - [g.REST, 0, 0])

    def seated(self, draw: float, gap: float) -> int | None:
        """Index of the projectile that lies in the groove within ``gap`` of the pusher, if one does (m)."""
        face = -draw + g.PUSHER_FRONT
        for item in self.projectiles:
            if item.status in (WAITING, FIRED):
                s, w, h = self.local(item.position[:3])
                near = -0.004 < s - item.radius - face < gap
                if near and abs(w) < 0.006 and abs(h - centre_height(item.radius)) < 0.006:
                    return item.index
        return None

    def launch(self, index: int, azimuth: float, elevation: float, draw: float) -> None:
        """The sear has let go with this projectile seated."""
        time = float(self._data.time)
        shot = Shot(len(self.shots) + 1, index, time, azimuth, elevation, draw)
        self.shots.append(shot)
        item = self.projectiles[index]
        item.status, item.since, item.rest = FIRED, time, 0.0
        self.flying.append(item)
        self._brittle = any(len(pane.breakers) > len(self.projectiles) for pane in self.panes if pane.broken is None)
        self._note("launch", shot=shot.number, draw=draw, azimuth=azimuth, elevation=elevation, projectile=index)

    @property
    def active(self) -> bool:
        """Whether physics steps must be looked at: something flies, bodies of the scene may break a pane, or shards may
        touch what they must spare."""
        return bool(self.flying) or self._brittle or self._cutting

    def step(self) -> None:
        """After a physics step with something under way: muzzle, strikes, glass."""
        for item in self.flying:
            if item.status == FIRED and self.local(item.position[:3])[0] > g.BARREL_MUZZLE:
                item.status, shot = FLYING, self._shot(item)
                shot.muzzle_speed = float(np.linalg.norm(item.velocity[:3]))
                self._note("left the muzzle", shot=shot.number, speed=shot.muzzle_speed)
        self._scan()
        for pane in self.panes:
            if pane.broken is None and pane.load():
                pane.fracture(self._model, self._data, pane.blow(self._model, self._data))
                self._note("fractured", element=pane.name, impulse=pane.peak)
                self._sharp[pane.shards] = True
                self._cutting = any(self._spared)
        if self._cutting:
            self._scan_shards()

    def _shot(self, item: Projectile) -> Shot:
        return next(shot for shot in reversed(self.shots) if shot.projectile == item.index)

    def _scan(self) -> None:
        """Which elements launched projectiles touch at this instant; each element once per shot."""
        if not self._data.ncon or not self.flying:
            return
        contacts = self._data.contact.geom
        owner = self._projectile_of.take(contacts)
        if owner.max() < 0:
            return
        for row in np.nonzero((owner >= 0).any(axis=1))[0].tolist():
            first, second = contacts[row].tolist()
            item = self.projectiles[int(owner[row].max())]
            other = self._element_of[second if self._projectile_of[first] >= 0 else first]
            if other is None or item not in self.flying:
                continue
            shot = self._shot(item)
            if other not in shot.struck:
                shot.struck.append(other)
                self.strikes.append((float(self._data.time), shot.number, other))
                self._note("struck", shot=shot.number, element=other)

    def _scan_shards(self) -> None:
        """Which elements without shards a shard touches at this instant; each element once."""
        contacts = self._data.contact.geom
        for first, second in contacts[self._sharp[contacts].any(axis=1)].tolist():
            name = self._spared[first] or self._spared[second]
            if name is not None and all(name != touched for _, touched in self.touches):
                self.touches.append((float(self._data.time), name))

    def tick(self) -> None:
        """After a control step: take away what rests, has left the area or has lived its time."""
        for item in list(self.flying):
            self._follow(item)

    def _follow(self, item: Projectile) -> None:
        position, speed, age = item.position, float(np.linalg.norm(item.velocity[:3])), self._data.time - item.since
        if item.status == FIRED:
            if age > LEAVES_WITHIN_S:
                item.status = WAITING
                self._retire(item, "stayed in the barrel")
            return
        item.rest = item.rest + g.CONTROL_DT if speed < REST_SPEED else 0.0
        inside = all(low <= p <= high for p, (low, high) in zip(position, WORKSPACE, strict=False))
        if item.rest < REST_S and inside and age < PROJECTILE_LIFE_S:
            return
        item.status = SPENT
        position[:] = [RACK[0], RACK[1] + 0.08 * item.index, item.radius, 1, 0, 0, 0]
        item.velocity[:] = 0.0
        self._retire(item, "spent")

    def _retire(self, item: Projectile, text: str) -> None:
        self.flying.remove(item)
        self.idle_since = float(self._data.time)
        self._note(text, projectile=item.index)
