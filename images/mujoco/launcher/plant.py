"""The mechanism at work: physics at 1000 Hz, brake, ratchet, sear, flight of projectiles and fracture of panes.

Everything here is mechanics. The plant records what happened (``strikes``, ``notes``); whether it was allowed is the
evaluator's business. Per physics step the cost must stay a few microseconds, so state is read through views that are
made once, and contacts are scanned only while a launched projectile is under way.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np

from images.gateway.environment import PhysicsSanityError
from images.mujoco.launcher import geometry as g
from images.mujoco.launcher.mechanism import centre_height
from images.mujoco.launcher.model import Compiled
from images.mujoco.launcher.rules import PROJECTILE_LIFE_S, SETTLED_S
from images.mujoco.launcher.scene import WORKSPACE, projectile

WAITING, FIRED, FLYING, SPENT = "waiting", "fired", "flying", "spent"
REST_SPEED, REST_S = 0.03, 0.5  # m/s, s: a projectile slower than this for so long has come to rest
LEAVES_WITHIN_S = 1.0  # s: one that is still in the barrel this long after the launch stays there
RACK = (-1.0, -0.3)  # m: where spent projectiles are put, one beside the other along y
_CONTACT_BREAK_S = 0.005  # s without force after which the impulse of a contact starts anew


@dataclass
class Shot:
    """One launch and what is known of it. Angles in rad, lengths in m, times in s."""

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
    index: int
    radius: float
    position: np.ndarray  # view into qpos (7,)
    velocity: np.ndarray  # view into qvel (6,)
    status: str = WAITING
    since: float = 0.0
    rest: float = 0.0


@dataclass
class PaneState:
    name: str
    threshold: float
    sheet: int
    shards: np.ndarray  # geom ids
    dofs: np.ndarray
    force: np.ndarray  # view (projectiles,) of normal forces
    impulse: np.ndarray
    idle: np.ndarray
    rgba: np.ndarray
    broken: float | None = None


class Plant:
    """One episode's physics. ``step()`` is one physics step; ``tick()`` belongs after the last of a control step."""

    def __init__(self, compiled: Compiled, min_draw: float, seat_gap: float, settled_speed: float) -> None:
        self.compiled, self.model = compiled, compiled.model
        self.data = d = mujoco.MjData(self.model)
        self._min_draw, self._seat_gap, self._settled_speed = min_draw, seat_gap, settled_speed
        m = self.model
        self._qadr = {m.joint(i).name: int(m.jnt_qposadr[i]) for i in range(m.njnt)}
        self._vadr = {m.joint(i).name: int(m.jnt_dofadr[i]) for i in range(m.njnt)}
        self._draw_joint = m.joint("draw").id
        self._brakes = [m.equality("azimuth_brake").id, m.equality("elevation_brake").id]
        self._barrel = m.body("barrel").id
        self.joints = d.qpos[: self._qadr["left_joint1"]]
        self._names = [name for name, adr in self._qadr.items() if adr < len(self.joints)]
        self.speeds = d.qvel[: len(self.joints)]
        self._order = [self._qadr[n] for n in ("brake", "draw", "trigger", "azimuth_wheel", "elevation_wheel")]
        self.brake_set, self.notch, self.armed, self.trigger_down = True, 0, True, False
        self.released, self.settled, self._still = False, False, 0.0
        self.shots: list[Shot] = []
        self.strikes: list[tuple[float, int, str]] = []
        self.misfires: list[tuple[float, list[str]]] = []
        self.notes: list[tuple[float, str, dict[str, Any]]] = []
        self.idle_since: float | None = None
        self._start()
        self.projectiles = self._projectiles()
        self._flying: list[Projectile] = []
        self.panes = self._panes()
        self._element_of = self._geom_table()
        self._projectile_of = np.full(m.ngeom, -1)
        for index, name in enumerate(compiled.projectiles):
            self._projectile_of[m.geom(name).id] = index
        mujoco.mj_forward(m, d)

    # ---- set-up ----------------------------------------------------------------------------------------------------
    def _start(self) -> None:
        d, m, realized = self.data, self.model, self.compiled.realized
        start = {
            "azimuth": realized.azimuth,
            "azimuth_wheel": realized.azimuth / g.GEAR,
            "elevation": realized.elevation,
            "elevation_wheel": realized.elevation / g.GEAR,
            "brake": g.BRAKE_START,
        }
        for arm in g.ARMS:
            start |= {f"{arm}_joint{i + 1}": angle for i, angle in enumerate(g.HOME[arm])}
            start |= {f"{arm}_slide{i}": g.GRIPPER_OPEN / 2 for i in (1, 2)}
        for name, value in start.items():
            d.qpos[self._qadr[name]] = value
        d.ctrl[:] = [*g.HOME["left"], g.GRIPPER_OPEN, *g.HOME["right"], g.GRIPPER_OPEN]
        m.eq_data[self._brakes, 0] = [realized.azimuth, realized.elevation]

    def _projectiles(self) -> list[Projectile]:
        out = []
        for index, name in enumerate(self.compiled.projectiles):
            q, v = self._qadr[name], self._vadr[name]
            radius = projectile(self.compiled.scene, index)["radius"]
            out.append(Projectile(index, radius, self.data.qpos[q : q + 7], self.data.qvel[v : v + 6]))
        return out

    def _panes(self) -> list[PaneState]:
        m, count = self.model, len(self.projectiles)
        panes = []
        elements = [e for e in self.compiled.built.values() if e.shards]
        address = m.nsensordata - 3 * count * len(elements)
        for element in elements:
            force = self.data.sensordata[address : address + 3 * count].reshape(count, 3)[:, 0]
            address += 3 * count
            sheet = m.geom(element.name).id
            panes.append(
                PaneState(
                    element.name,
                    self.compiled.scene.element(element.name).threshold,
                    sheet,
                    np.array([m.geom(name).id for name in element.shards]),
                    np.concatenate([self._vadr[name] + np.arange(6) for name in element.shards]),
                    force,
                    np.zeros(count),
                    np.zeros(count),
                    m.mat_rgba[m.geom_matid[sheet]].copy(),
                )
            )
        return panes

    def _geom_table(self) -> list[str | None]:
        table: list[str | None] = [None] * self.model.ngeom
        for element in self.compiled.built.values():
            for name in element.geoms + element.shards:
                table[self.model.geom(name).id] = element.name
        return table

    # ---- reading ---------------------------------------------------------------------------------------------------
    @property
    def time(self) -> float:
        return float(self.data.time)

    def angle(self, joint: str) -> float:
        """Position of one joint of the model (rad, or m for a slide)."""
        return float(self.data.qpos[self._qadr[joint]])

    def addresses(self, joints: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Indices of these joints into qpos and qvel."""
        return np.array([self._qadr[j] for j in joints]), np.array([self._vadr[j] for j in joints])

    @property
    def draw(self) -> float:
        """Draw of the carriage (m), 0 at rest."""
        return -self.angle("draw")

    def local(self, point: np.ndarray) -> np.ndarray:
        """(s, w, h) of a world point in barrel coordinates (m)."""
        rotation = self.data.xmat[self._barrel].reshape(3, 3)
        return np.asarray((point - self.data.xpos[self._barrel]) @ rotation - [g.REST, 0, 0])

    def seated(self) -> int | None:
        """Index of the projectile that lies in the groove against the pusher, if one does."""
        face = -self.draw + g.PUSHER_FRONT
        for item in self.projectiles:
            if item.status in (WAITING, FIRED):
                s, w, h = self.local(item.position[:3])
                near = -0.004 < s - item.radius - face < self._seat_gap
                if near and abs(w) < 0.006 and abs(h - centre_height(item.radius)) < 0.006:
                    return item.index
        return None

    def missing(self) -> list[str]:
        """Clauses of the aiming cycle that a launch now would break; empty when it is complete."""
        lacking = []
        if not self.released:
            lacking.append("L-16")
        if not self.brake_set:
            lacking.append("L-18")
        elif self.released and not self.settled:
            lacking.append("L-17")
        if self.notch * g.RATCHET_PITCH < self._min_draw - 1e-9:
            lacking.append("L-19")
        if self.seated() is None:
            lacking.append("L-20")
        return lacking

    @property
    def in_flight(self) -> bool:
        """Whether a launched projectile is still under way."""
        return bool(self._flying)

    @property
    def shots_left(self) -> int:
        return len(self.projectiles) - len(self.shots)

    # ---- stepping --------------------------------------------------------------------------------------------------
    def step(self) -> None:
        """One physics step with the interlocks of the mechanism."""
        mujoco.mj_step(self.model, self.data)
        joints = self.joints.tolist()
        brake, x, trigger = joints[self._order[0]], -joints[self._order[1]], joints[self._order[2]]
        if self.brake_set:
            if brake < g.BRAKE_RELEASED:
                self._release_brake()
        else:
            if (
                abs(self.speeds[self._order[3]]) < self._settled_speed
                and abs(self.speeds[self._order[4]]) < self._settled_speed
            ):
                self._still += g.PHYSICS_DT
            else:
                self._still = 0.0
            if brake > g.BRAKE_SET:
                self._set_brake()
        if self.armed:
            notch = int((x + 1e-4) / g.RATCHET_PITCH)
            if notch > self.notch and x > g.RATCHET_START:
                self.notch = notch  # the pawl drops behind the next tooth
                self.model.jnt_range[self._draw_joint, 1] = -notch * g.RATCHET_PITCH
        elif trigger < g.TRIGGER_REARMS and x < 0.005:
            self.armed = True
        if trigger > g.TRIGGER_FIRES:
            if not self.trigger_down:
                self.trigger_down = True
                self._pull_trigger()
        elif trigger < g.TRIGGER_REARMS:
            self.trigger_down = False
        if self._flying:
            for item in self._flying:
                if item.status == FIRED and self.local(item.position[:3])[0] > g.BARREL_MUZZLE:
                    self._leave(item)
            self._scan()
            for pane in self.panes:
                if pane.broken is None:
                    self._load(pane)

    def _release_brake(self) -> None:
        self.brake_set, self.released, self.settled, self._still = False, True, False, 0.0
        self.data.eq_active[self._brakes] = 0
        self._note("brake released")

    def _set_brake(self) -> None:
        self.brake_set, self.settled = True, self._still >= SETTLED_S
        aim = [self.angle("azimuth"), self.angle("elevation")]
        self.model.eq_data[self._brakes, 0] = aim
        self.data.eq_active[self._brakes] = 1
        self._note("brake set", azimuth=aim[0], elevation=aim[1], settled=self.settled)

    def _pull_trigger(self) -> None:
        lacking = self.missing()
        if lacking:
            self.misfires.append((self.time, lacking))
            self._note("trigger held by the sear", clauses=lacking)
            return
        index = self.seated()
        assert index is not None
        shot = Shot(len(self.shots) + 1, index, self.time, self.angle("azimuth"), self.angle("elevation"), self.draw)
        self.shots.append(shot)
        self.notch, self.armed, self.released = 0, False, False
        self.model.jnt_range[self._draw_joint, 1] = 0.0
        item = self.projectiles[index]
        item.status, item.since, item.rest = FIRED, self.time, 0.0
        self._flying.append(item)
        self._note(
            "launch", shot=shot.number, draw=shot.draw, azimuth=shot.azimuth, elevation=shot.elevation, projectile=index
        )

    def _shot(self, item: Projectile) -> Shot:
        return next(shot for shot in reversed(self.shots) if shot.projectile == item.index)

    def _leave(self, item: Projectile) -> None:
        item.status, shot = FLYING, self._shot(item)
        shot.muzzle_speed = float(np.linalg.norm(item.velocity[:3]))
        self._note("left the muzzle", shot=shot.number, speed=shot.muzzle_speed)

    def _scan(self) -> None:
        """Which elements launched projectiles touch at this instant; each element once per shot."""
        contacts = self.data.contact.geom
        if not len(contacts):
            return
        owner = self._projectile_of[contacts]
        for row in np.nonzero((owner >= 0).any(axis=1))[0].tolist():
            first, second = contacts[row].tolist()
            index = int(owner[row].max())
            other = self._element_of[second if self._projectile_of[first] >= 0 else first]
            if other is None or self.projectiles[index].status not in (FIRED, FLYING):
                continue
            shot = self._shot(self.projectiles[index])
            if other not in shot.struck:
                shot.struck.append(other)
                self.strikes.append((self.time, shot.number, other))
                self._note("struck", shot=shot.number, element=other)

    def _load(self, pane: PaneState) -> None:
        """Adds up the normal impulse of each contact with a projectile and breaks the pane at its threshold."""
        force = np.abs(pane.force)
        if not force.any():
            pane.idle += g.PHYSICS_DT
            pane.impulse[pane.idle > _CONTACT_BREAK_S] = 0.0
            return
        pane.idle = np.where(force > 0, 0.0, pane.idle + g.PHYSICS_DT)
        pane.impulse += force * g.PHYSICS_DT
        if pane.impulse.max() >= pane.threshold:
            self._fracture(pane)

    def _fracture(self, pane: PaneState) -> None:
        m, v = self.model, self.data.qvel
        pane.broken = self.time
        m.geom_contype[pane.sheet] = m.geom_conaffinity[pane.sheet] = 0
        m.geom_rgba[pane.sheet] = 0.0
        m.geom_contype[pane.shards] = m.geom_conaffinity[pane.shards] = 1
        m.geom_rgba[pane.shards] = pane.rgba
        v[pane.dofs] = -0.0  # not the bytes of zero: wakes the sleeping shards without moving them
        self._note("fractured", element=pane.name, impulse=float(pane.impulse.max()))

    def tick(self) -> None:
        """Once per control step: flight bookkeeping and physics sanity. Raises PhysicsSanityError."""
        counts = self.data.warning.number
        if counts.any():
            kinds = [str(mujoco.mjtWarning(i).name) for i in np.nonzero(counts)[0]]
            raise PhysicsSanityError(f"MuJoCo warned at {self.time:.3f} s: {', '.join(kinds)}")
        for item in list(self._flying):
            self._follow(item)

    def _follow(self, item: Projectile) -> None:
        position, speed, age = item.position, float(np.linalg.norm(item.velocity[:3])), self.time - item.since
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
        self._flying.remove(item)
        self.idle_since = self.time
        self._note(text, projectile=item.index)

    def _note(self, text: str, **data: Any) -> None:
        self.notes.append((self.time, text, data))

    def digest(self) -> str:
        """SHA-256 of the exact dynamic state: physics, what the mechanism wrote into the model, and its flags."""
        d, m = self.data, self.model
        spec = mujoco.mjtState.mjSTATE_INTEGRATION
        state = np.empty(mujoco.mj_stateSize(m, spec))
        mujoco.mj_getState(m, d, state, spec)
        digest = hashlib.sha256(state.tobytes())
        for part in (m.jnt_range[self._draw_joint], m.eq_data[self._brakes, 0], m.geom_contype):
            digest.update(np.ascontiguousarray(part).tobytes())
        flags = (self.brake_set, self.armed, self.trigger_down, self.released, self.settled)
        digest.update(struct.pack("<5?q", *flags, self.notch))
        digest.update(",".join(item.status for item in self.projectiles).encode())
        return digest.hexdigest()
