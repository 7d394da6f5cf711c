"""What an agent may read of a launcher episode: proprioception at L0, declared simulator state at L3."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import mujoco
import numpy as np

from images.gateway.environment import Field
from images.mujoco.cameras import present_pose
from images.mujoco.launcher import geometry as g
from images.mujoco.launcher import look
from images.mujoco.launcher.evaluator import Evaluator
from images.mujoco.launcher.flight import SPENT
from images.mujoco.launcher.model import BODIES, FINGERS
from images.mujoco.launcher.plant import Plant

Reader = Callable[[], np.ndarray]
MECHANISM_BODIES = ("barrel", "carriage", "elevation_wheel_knob", "azimuth_wheel_knob", "brake", "trigger")


class Observation:
    """Fields and their readers. Poses are (x, y, z, qw, qx, qy, qz), velocities (vx, vy, vz, wx, wy, wz)."""

    def __init__(self, plant: Plant, evaluator: Evaluator) -> None:
        self._plant, self._evaluator = plant, evaluator
        self.fields: list[Field] = []
        self._readers: dict[str, Reader] = {}
        self._proprioception()
        self._mechanism()
        self._objects()

    def read(self, name: str) -> np.ndarray:
        """A fresh copy of the field's present value. Raises KeyError."""
        return self._readers[name]()

    def _add(self, name: str, unit: str, shape: tuple[int, ...], level: str, text: str, read: Reader) -> None:
        self.fields.append(Field(name, unit, shape, level, text))
        self._readers[name] = read

    def _floats(self, name: str, unit: str, level: str, text: str, read: Callable[[], float]) -> None:
        self._add(name, unit, (), level, text, lambda: np.array(float(read())))

    def _proprioception(self) -> None:
        plant = self._plant
        d, m = plant.data, plant.model
        q, v = plant.addresses([f"{arm}_joint{i}" for arm in g.ARMS for i in range(1, 8)])
        slides, _ = plant.addresses([f"{arm}_slide{i}" for arm in g.ARMS for i in (1, 2)])
        servos = [m.actuator(f"{arm}_servo{i}").id for arm in g.ARMS for i in range(1, 8)]
        grips = [m.actuator(f"{arm}_gripper").id for arm in g.ARMS]
        arms = "left 1..7, right 1..7"
        self._add("joint_positions", "rad", (14,), "L0", f"measured joint angles: {arms}", lambda: d.qpos[q])
        self._add("joint_velocities", "rad/s", (14,), "L0", f"measured joint speeds: {arms}", lambda: d.qvel[v])
        self._add("joint_torques", "N m", (14,), "L0", f"servo torques: {arms}", lambda: d.actuator_force[servos])
        self._add(
            "gripper_openings", "m", (2,), "L0", "measured openings: left, right",
            lambda: d.qpos[slides].reshape(2, 2).sum(axis=1),
        )  # fmt: skip
        self._add(
            "gripper_forces", "N", (2,), "L0", "force of each gripper's drive, negative closes: left, right",
            lambda: d.actuator_force[grips],
        )  # fmt: skip
        for name in look.WRISTS:
            text = f"pose of the camera {name}: world from camera, x right, y down, z forward"
            self._add(f"camera_pose/{name}", "m", (4, 4), "L0", text, partial(present_pose, d, m.camera(name).id))
        self._add("commanded", "rad, m", (16,), "L0", "the last action", lambda: d.ctrl.copy())

    def _mechanism(self) -> None:
        p = self._plant
        self._floats("azimuth", "rad", "L3", "azimuth of the barrel", lambda: p.angle("azimuth"))
        self._floats("elevation", "rad", "L3", "elevation of the barrel", lambda: p.angle("elevation"))
        self._floats("draw", "m", "L3", "draw of the carriage", lambda: p.draw)
        self._floats(
            "latched_draw", "m", "L3", "draw that the latch holds, 0 without", lambda: p.notch * g.RATCHET_PITCH
        )
        self._floats("brake_angle", "rad", "L3", "angle of the brake lever", lambda: p.angle("brake"))
        self._floats("trigger_angle", "rad", "L3", "angle of the trigger paddle", lambda: p.angle("trigger"))
        self._add(
            "wheel_angles", "rad", (2,), "L3", "elevation wheel, azimuth wheel",
            lambda: np.array([p.angle("elevation_wheel"), p.angle("azimuth_wheel")]),
        )  # fmt: skip
        self._add(
            "cycle", "0 or 1", (6,), "L3",
            "aiming cycle: brake released since the last launch, wheels settled when it was set, brake set, "
            "latch armed, latched, projectile seated",
            self._cycle,
        )  # fmt: skip
        self._floats("shots_left", "1", "L3", "launches that remain", lambda: p.shots_left)
        self._add(
            "contact_forces", "N", (2 * len(BODIES + FINGERS) + 1,), "L3",
            f"largest normal force of a contact: left {', '.join(BODIES + FINGERS)}; right likewise; between the arms",
            self._evaluator.limits.forces,
        )  # fmt: skip

    def _cycle(self) -> np.ndarray:
        p = self._plant
        return np.array([p.released, p.settled, p.brake_set, p.armed, p.notch > 0, p.seated() is not None], dtype=float)

    def _objects(self) -> None:
        compiled = self._plant.compiled
        for name in MECHANISM_BODIES:
            self._body(name, [name])
        for index, name in enumerate(compiled.projectiles):
            self._body(name, [name], spent=index)
        for element in compiled.built.values():
            self._body(element.name, element.bodies)
            if element.shards:
                self._body(f"{element.name}/shards", element.shards)
                self._floats(
                    f"fractured/{element.name}", "0 or 1", "L3", "whether the pane has fractured",
                    partial(self._evaluator.fractured, element.name),
                )  # fmt: skip
        for item in compiled.scene.task.required:
            self._floats(
                f"reached/{item.element}", "0 or 1", "L3", f"whether the target has been {item.goal}",
                partial(self._evaluator.reached, item.element),
            )  # fmt: skip

    def _body(self, name: str, bodies: list[str], spent: int | None = None) -> None:
        d, ids = self._plant.data, np.array([self._plant.model.body(body).id for body in bodies])
        single = len(bodies) == 1
        shape = () if single else (len(bodies),)

        def pose() -> np.ndarray:
            value = np.concatenate([d.xpos[ids], d.xquat[ids]], axis=1)
            return value[0] if single else value

        def velocity() -> np.ndarray:
            value = np.stack([self._velocity(int(i)) for i in ids])
            return value[0] if single else value

        text = "pose in the world" if single else f"poses of {bodies[0]} .. {bodies[-1]}"
        self._add(f"pose/{name}", "m, quaternion", (*shape, 7), "L3", text, pose)
        self._add(f"velocity/{name}", "m/s, rad/s", (*shape, 6), "L3", "velocity in the world", velocity)
        if spent is not None:
            self._floats(
                f"spent/{name}", "0 or 1", "L3", "whether it was launched and taken away",
                lambda: self._plant.projectiles[spent].status == SPENT,
            )  # fmt: skip

    def _velocity(self, body: int) -> np.ndarray:
        value = np.zeros(6)
        kind = mujoco.mjtObj.mjOBJ_XBODY
        mujoco.mj_objectVelocity(self._plant.model, self._plant.data, kind, body, value, 0)
        return np.concatenate([value[3:], value[:3]])
