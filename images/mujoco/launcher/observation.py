"""What an agent may read of a launcher episode: proprioception at L0, declared simulator state at L3."""

from __future__ import annotations

from functools import partial

import numpy as np

from images.mujoco.cameras import present_pose
from images.mujoco.launcher import geometry as g
from images.mujoco.launcher import look
from images.mujoco.launcher.evaluator import Evaluator
from images.mujoco.launcher.flight import SPENT
from images.mujoco.launcher.model import BODIES, FINGERS
from images.mujoco.launcher.plant import Plant
from images.mujoco.readings import Readings

MECHANISM_BODIES = ("barrel", "carriage", "elevation_wheel_knob", "azimuth_wheel_knob", "brake", "trigger")


class Observation(Readings):
    """Fields and their readers."""

    def __init__(self, plant: Plant, evaluator: Evaluator) -> None:
        super().__init__(plant.model, plant.data)
        self._plant, self._evaluator = plant, evaluator
        self._proprioception()
        self._mechanism()
        self._objects()

    def _proprioception(self) -> None:
        plant = self._plant
        d, m = plant.data, plant.model
        q, v = plant.addresses([f"{arm}_joint{i}" for arm in g.ARMS for i in range(1, 8)])
        slides, _ = plant.addresses([f"{arm}_slide{i}" for arm in g.ARMS for i in (1, 2)])
        servos = [m.actuator(f"{arm}_servo{i}").id for arm in g.ARMS for i in range(1, 8)]
        grips = [m.actuator(f"{arm}_gripper").id for arm in g.ARMS]
        arms = "left 1..7, right 1..7"
        self.add("joint_positions", "rad", (14,), "L0", f"measured joint angles: {arms}", lambda: d.qpos[q])
        self.add("joint_velocities", "rad/s", (14,), "L0", f"measured joint speeds: {arms}", lambda: d.qvel[v])
        self.add("joint_torques", "N m", (14,), "L0", f"servo torques: {arms}", lambda: d.actuator_force[servos])
        self.add(
            "gripper_openings", "m", (2,), "L0", "measured openings: left, right",
            lambda: d.qpos[slides].reshape(2, 2).sum(axis=1),
        )  # fmt: skip
        self.add(
            "gripper_forces", "N", (2,), "L0", "force of each gripper's drive, negative closes: left, right",
            lambda: d.actuator_force[grips],
        )  # fmt: skip
        for name in look.WRISTS:
            text = f"pose of the camera {name}: world from camera, x right, y down, z forward"
            self.add(f"camera_pose/{name}", "m", (4, 4), "L0", text, partial(present_pose, d, m.camera(name).id))
        self.add("commanded", "rad, m", (16,), "L0", "the last action", lambda: d.ctrl.copy())

    def _mechanism(self) -> None:
        p = self._plant
        self.number("azimuth", "rad", "L3", "azimuth of the barrel", lambda: p.angle("azimuth"))
        self.number("elevation", "rad", "L3", "elevation of the barrel", lambda: p.angle("elevation"))
        self.number("draw", "m", "L3", "draw of the carriage", lambda: p.draw)
        self.number(
            "latched_draw", "m", "L3", "draw that the latch holds, 0 without", lambda: p.notch * g.RATCHET_PITCH
        )
        self.number("brake_angle", "rad", "L3", "angle of the brake lever", lambda: p.angle("brake"))
        self.number("trigger_angle", "rad", "L3", "angle of the trigger paddle", lambda: p.angle("trigger"))
        self.add(
            "wheel_angles", "rad", (2,), "L3", "elevation wheel, azimuth wheel",
            lambda: np.array([p.angle("elevation_wheel"), p.angle("azimuth_wheel")]),
        )  # fmt: skip
        self.add(
            "cycle", "0 or 1", (6,), "L3",
            "aiming cycle: brake released since the last launch, wheels settled when it was set, brake set, "
            "latch armed, latched, projectile seated",
            self._cycle,
        )  # fmt: skip
        self.number("shots_left", "1", "L3", "launches that remain", lambda: p.shots_left)
        self.add(
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
                self.number(
                    f"fractured/{element.name}", "0 or 1", "L3", "whether the pane has fractured",
                    partial(self._evaluator.fractured, element.name),
                )  # fmt: skip
        for item in compiled.scene.task.required:
            self.number(
                f"reached/{item.element}", "0 or 1", "L3", f"whether the target has been {item.goal}",
                partial(self._evaluator.reached, item.element),
            )  # fmt: skip

    def _body(self, name: str, bodies: list[str], spent: int | None = None) -> None:
        self.bodies(name, bodies)
        if spent is not None:
            self.number(
                f"spent/{name}", "0 or 1", "L3", "whether it was launched and taken away",
                lambda: self._plant.projectiles[spent].status == SPENT,
            )  # fmt: skip
