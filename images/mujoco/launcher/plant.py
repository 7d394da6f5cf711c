"""The mechanism at work: physics at 1000 Hz with brake, ratchet and sear; projectiles and glass are in ``flight.py``.

Everything here is mechanics. The plant records what happened; whether it was allowed is the evaluator's business. A
physics step costs some 30 us and leaves no cache warm, so what is added to each must stay small: state is read through
memoryviews made once (a third of the time of NumPy's scalars and slices), arm speeds and contact sensors are copied
into a log of one control step that the evaluator checks as a whole, and contacts are scanned only while a launched
projectile is under way.
"""

from __future__ import annotations

import struct
from typing import Any

import mujoco
import numpy as np

from images.mujoco import physics
from images.mujoco.launcher import geometry as g
from images.mujoco.launcher.flight import Flight, Projectile, Shot
from images.mujoco.launcher.model import ARM_DOFS, ARM_SENSORS, Compiled
from images.mujoco.launcher.rules import SETTLED_S, Interlocks


class Plant:
    """One episode's physics. ``advance`` is one control step.

    ``speed_log`` (SUBSTEPS, ARM_DOFS) holds the speeds of the arms' joints and fingers after each physics step (rad/s,
    m/s), ``sensor_log`` (SUBSTEPS, ARM_SENSORS) the contact sensors of the arms (N, m); ``samples`` is both, side by
    side."""

    def __init__(self, compiled: Compiled, interlocks: Interlocks) -> None:
        self.compiled, self.model, self.interlocks = compiled, compiled.model, interlocks
        m, self.data = self.model, mujoco.MjData(self.model)
        d = self.data
        self._qadr = {m.joint(i).name: int(m.jnt_qposadr[i]) for i in range(m.njnt)}
        self._vadr = {m.joint(i).name: int(m.jnt_dofadr[i]) for i in range(m.njnt)}
        self._draw_joint = m.joint("draw").id
        self._brakes = [m.equality("azimuth_brake").id, m.equality("elevation_brake").id]
        first = self._vadr["left_joint1"]
        self._position, self._speed = memoryview(d.qpos), memoryview(d.qvel)
        self._mechanism_speed = d.qvel[:first]
        self._wheels = self._vadr["elevation_wheel"], self._vadr["azimuth_wheel"]
        self._brake, self._draw, self._trigger = (self._qadr[name] for name in ("brake", "draw", "trigger"))
        self._arm_speed = self._speed[first : first + ARM_DOFS]
        self._arm_sensors = memoryview(d.sensordata)[:ARM_SENSORS]
        self.samples = np.zeros((g.SUBSTEPS, ARM_DOFS + ARM_SENSORS))
        self.speed_log, self.sensor_log = self.samples[:, :ARM_DOFS], self.samples[:, ARM_DOFS:]
        rows = zip(self.speed_log, self.sensor_log, strict=True)
        self._rows = [(memoryview(speeds), memoryview(readings)) for speeds, readings in rows]
        self._warnings = d.warning.number
        self.brake_set, self.notch, self.armed, self.trigger_down = True, 0, True, False
        self.released, self.settled, self._still = False, False, 0.0
        self.misfires: list[tuple[float, list[str]]] = []
        self.notes: list[tuple[float, str, dict[str, Any]]] = []
        self.flight = Flight(compiled, d, self.note)
        self._start()
        mujoco.mj_forward(m, d)

    def _start(self) -> None:
        d, realized = self.data, self.compiled.realized
        loaded = realized.floor_pick is None
        load = float(self.model.body(self.compiled.projectiles[0]).mass[0]) if loaded else 0.0
        start = {
            "azimuth": realized.azimuth,
            "azimuth_wheel": realized.azimuth / g.GEAR,
            "elevation": realized.elevation,
            "elevation_wheel": realized.elevation / g.GEAR,
            "brake": g.BRAKE_START,
            "draw": -realized.sag(load),
        }
        for arm in g.ARMS:
            start |= {f"{arm}_joint{i + 1}": angle for i, angle in enumerate(g.HOME[arm])}
            start |= {f"{arm}_slide{i}": g.GRIPPER_OPEN / 2 for i in (1, 2)}
        for name, value in start.items():
            d.qpos[self._qadr[name]] = value
        d.ctrl[:] = [*g.HOME["left"], g.GRIPPER_OPEN, *g.HOME["right"], g.GRIPPER_OPEN]
        self.model.eq_data[self._brakes, 0] = [realized.azimuth, realized.elevation]

    # ---- reading ---------------------------------------------------------------------------------------------------
    @property
    def time(self) -> float:
        return float(self.data.time)

    def angle(self, joint: str) -> float:
        """Position of one joint of the model (rad, or m for a slide)."""
        return float(self._position[self._qadr[joint]])

    def addresses(self, joints: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Indices of these joints into qpos and qvel."""
        return np.array([self._qadr[j] for j in joints]), np.array([self._vadr[j] for j in joints])

    @property
    def draw(self) -> float:
        """Draw of the carriage (m), 0 at rest."""
        return -self.angle("draw")

    @property
    def projectiles(self) -> list[Projectile]:
        return self.flight.projectiles

    @property
    def shots(self) -> list[Shot]:
        return self.flight.shots

    @property
    def shots_left(self) -> int:
        return len(self.projectiles) - len(self.shots)

    def seated(self) -> int | None:
        """Index of the projectile that lies in the groove against the pusher, if one does."""
        return self.flight.seated(self.draw, self.interlocks.seat_gap)

    def missing(self) -> list[str]:
        """Clauses of the aiming cycle that a launch now would break; empty when it is complete."""
        lacking = []
        if not self.released:
            lacking.append("L-16")
        if not self.brake_set:
            lacking.append("L-18")
        elif self.released and not self.settled:
            lacking.append("L-17")
        if self.notch * g.RATCHET_PITCH < self.interlocks.min_draw - 1e-9:
            lacking.append("L-19")
        if self.seated() is None:
            lacking.append("L-20")
        return lacking

    # ---- stepping --------------------------------------------------------------------------------------------------
    def advance(self) -> None:
        """One control step with the present ``data.ctrl``. Raises PhysicsSanityError."""
        model, data, step, work = self.model, self.data, mujoco.mj_step, self._work
        speed, sensors = self._arm_speed, self._arm_sensors
        for speeds, readings in self._rows:
            step(model, data)
            speeds[:] = speed
            readings[:] = sensors
            work()
        if self.flight.flying:
            self.flight.tick()
        physics.check(self._warnings, self.time)

    def _work(self) -> None:
        """The mechanism after one physics step."""
        position = self._position
        brake, draw, trigger = position[self._brake], position[self._draw], position[self._trigger]
        if self.brake_set:
            if brake < g.BRAKE_RELEASED:
                self._release_brake()
        else:
            speed, limit = self._speed, self.interlocks.settled_speed
            still = -limit < speed[self._wheels[0]] < limit and -limit < speed[self._wheels[1]] < limit
            self._still = self._still + g.PHYSICS_DT if still else 0.0
            if brake > g.BRAKE_SET:
                self._set_brake()
        if draw < -g.RATCHET_START or not self.armed:
            self._ratchet(-draw, trigger)
        if trigger > g.TRIGGER_REARMS:
            if trigger > g.TRIGGER_FIRES and not self.trigger_down:
                self.trigger_down = True
                self._pull_trigger()
        else:
            self.trigger_down = False
        if self.flight.active:
            self.flight.step()

    def _ratchet(self, draw: float, trigger: float) -> None:
        """The pawl drops behind each tooth; after a launch it works again once the trigger is up while the
        carriage is home, bouncing or not."""
        if not self.armed:
            self.armed = trigger < g.TRIGGER_REARMS and draw < 0.005
            return
        notch = int((draw + 1e-4) / g.RATCHET_PITCH)
        if notch > self.notch:
            self.notch = notch
            self.model.jnt_range[self._draw_joint, 1] = -notch * g.RATCHET_PITCH

    def _release_brake(self) -> None:
        self.brake_set, self.released, self.settled, self._still = False, True, False, 0.0
        self.data.eq_active[self._brakes] = 0
        self._wake()
        self.note("brake released")

    def _set_brake(self) -> None:
        self.brake_set, self.settled = True, self._still >= SETTLED_S
        aim = [self.angle("azimuth"), self.angle("elevation")]
        self.model.eq_data[self._brakes, 0] = aim
        self.data.eq_active[self._brakes] = 1
        self.note("brake set", azimuth=aim[0], elevation=aim[1], settled=self.settled)

    def _pull_trigger(self) -> None:
        lacking, index = self.missing() if self.shots_left else ["L-70"], self.seated()
        if lacking or index is None:
            self.misfires.append((self.time, lacking))
            self.note("trigger held by the sear", clauses=lacking)
            return
        self.flight.launch(index, self.angle("azimuth"), self.angle("elevation"), self.draw)
        self.notch, self.armed, self.released = 0, False, False
        self.model.jnt_range[self._draw_joint, 1] = 0.0
        self._wake()

    def _wake(self) -> None:
        """A sleeping mechanism does not notice that brake or sear have let go; a speed that is not the bytes of zero
        wakes it without moving it. Everything else that moves it is a contact, which wakes it by itself."""
        speeds = self._mechanism_speed
        speeds[speeds == 0.0] = -0.0

    def note(self, text: str, **data: Any) -> None:
        """Put an event on record at the present time."""
        self.notes.append((self.time, text, data))

    # ---- evidence --------------------------------------------------------------------------------------------------
    def digest(self) -> str:
        """SHA-256 of the exact dynamic state: physics, what the mechanism wrote into the model, and its flags."""
        m = self.model
        digest = physics.state_digest(m, self.data)
        for part in (m.jnt_range[self._draw_joint], m.eq_data[self._brakes, 0], m.geom_contype):
            digest.update(np.ascontiguousarray(part).tobytes())
        flags = (self.brake_set, self.armed, self.trigger_down, self.released, self.settled)
        digest.update(struct.pack("<5?qd", *flags, self.notch, self._still))
        digest.update(",".join(item.status for item in self.projectiles).encode())
        return str(digest.hexdigest())
