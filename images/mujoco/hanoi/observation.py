"""What an agent may read of a Hanoi episode: proprioception at L0, declared simulator state at L3."""

from __future__ import annotations

from functools import partial

import numpy as np

from images.mujoco.cameras import present_pose
from images.mujoco.embodiment import Sense
from images.mujoco.hanoi import geometry as g
from images.mujoco.hanoi import look
from images.mujoco.hanoi.evaluator import Evaluator
from images.mujoco.hanoi.model import ring
from images.mujoco.hanoi.plant import Plant
from images.mujoco.readings import Readings

FORCES = {"rad": "N m", "m": "N"}
"""What drives a joint, by the unit of its position."""


class Observation(Readings):
    """Fields and their readers."""

    def __init__(self, plant: Plant, evaluator: Evaluator) -> None:
        super().__init__(plant.model, plant.data)
        self._plant, self._evaluator = plant, evaluator
        self._proprioception()
        self._objects()

    def _proprioception(self) -> None:
        plant, robot = self._plant, self._plant.compiled.robot
        d, m = plant.data, plant.model
        q, v, count = plant.positions, plant.speeds, len(robot.joints)
        names = ", ".join(joint.name for joint in robot.joints)
        units = list(dict.fromkeys(joint.unit for joint in robot.joints))  # in the order of the joints
        unit, force = ", ".join(units), ", ".join(FORCES[unit] for unit in units)
        self.add("joint_positions", unit, (count,), "L0", f"measured joint positions: {names}", lambda: d.qpos[q])
        self.add("joint_velocities", f"{unit} per s", (count,), "L0", f"measured: {names}", lambda: d.qvel[v])
        self.add("joint_torques", force, (count,), "L0", f"force of the servos: {names}", lambda: d.qfrc_actuator[v])
        for sense in robot.senses(m):
            field = sense.field
            self.add(field.name, field.unit, field.shape, field.level, field.text, partial(_felt, sense, d))
        text = "pose of the camera on the hand: world from camera, x right, y down, z forward"
        camera = m.camera(look.WRIST).id
        self.add(f"camera_pose/{look.WRIST}", "m", (4, 4), "L0", text, partial(present_pose, d, camera))
        controls = len(robot.controls())
        self.add("commanded", "as the controls", (controls,), "L0", "the last action", lambda: plant.commanded.copy())

    def _objects(self) -> None:
        for index in range(g.RINGS):
            self.bodies(ring(index), [ring(index)])
        for letter in g.PEGS:
            self.bodies(f"peg_{letter}", [f"peg_{letter}"])
        for barrier in self._plant.compiled.board.barriers:
            self.bodies(barrier.name, [barrier.name])
        self.add(
            "seated", "peg", (g.RINGS,), "L3", "for each ring the peg on which it is seated, 0 to 2 for A to C, or -1",
            self._seated,
        )  # fmt: skip
        self.add(
            "touched", "0 or 1", (g.RINGS,), "L3", "whether the robot touches each ring",
            lambda: np.array([float(self._evaluator.touched >> i & 1) for i in range(g.RINGS)]),
        )  # fmt: skip

    def _seated(self) -> np.ndarray:
        return np.array([-1.0 if peg is None else float(peg) for peg in self._evaluator.seated])


def _felt(sense: Sense, data: object) -> np.ndarray:
    return sense.read(data)
