"""One Panda with its gripper at the world's origin, facing +x (``embodiment.Embodiment``)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from images.gateway.environment import Control, Field
from images.mujoco import panda
from images.mujoco.embodiment import Joint, Mjcf, Mount, Part, Sense

HOME = (0.0, 0.1, 0.0, -2.2, 0.0, 2.3, 0.785)
PARTS: Mapping[str, Part] = {
    **dict.fromkeys([f"link{i}" for i in range(8)], "arm"),
    "hand": "hand",
    "finger1": "finger",
    "finger2": "finger",
}
GRIPPER_SPEED = 0.1
"""m/s of opening, as the real hand is rated: 0.05 m/s for each finger."""


class SinglePanda:
    """Action: seven joint angles (rad), then the gripper's opening (m)."""

    name = "panda"
    joints = tuple(
        Joint(f"joint{i + 1}", "rad", low, high, panda.SPEED[i], float(panda.TORQUE[i]), HOME[i])
        for i, (low, high) in enumerate(panda.JOINT_RANGE)
    )
    parts = PARTS
    impratio = 10.0
    slew = (*(math.inf,) * len(joints), GRIPPER_SPEED)
    wrist = Mount("hand", (0.078, 0.0, 0.03), (0.01, 0.0, 0.16), (1.0, 0.0, 0.0), 75.0)

    def controls(self) -> list[Control]:
        text = "target angle of the joint's position servo"
        found = [Control(joint.name, joint.unit, joint.low, joint.high, text) for joint in self.joints]
        grip = f"{panda.GRIP_TEXT}; what it drives to approaches the command at {GRIPPER_SPEED} m/s"
        return [*found, Control("gripper", "m", panda.GRIPPER_SQUEEZE, panda.GRIPPER_OPEN, grip)]

    def mjcf(self, camera: str) -> Mjcf:
        return Mjcf(
            assets=panda.assets(),
            defaults=panda.defaults(),
            bodies=panda.arm("", (0.0, 0.0, 0.0), 0, camera),
            exclusions=panda.exclusions(""),
            tendons=panda.tendons(""),
            equalities=panda.equalities(""),
            actuators=panda.actuators(""),
        )

    def start(self) -> dict[str, float]:
        arm = {joint.name: joint.start for joint in self.joints}
        return arm | {f"slide{i}": panda.GRIPPER_OPEN / 2 for i in (1, 2)}

    def rest(self) -> np.ndarray:
        return np.array([*HOME, panda.GRIPPER_OPEN])

    def senses(self, model: Any) -> list[Sense]:
        slides = [int(model.joint(f"slide{i}").qposadr[0]) for i in (1, 2)]
        drive = model.actuator("gripper").id
        return [
            Sense(
                Field("gripper_opening", "m", (), "L0", "measured opening between the pads"),
                lambda data: np.array(float(data.qpos[slides].sum())),
            ),
            Sense(
                Field("gripper_force", "N", (), "L0", "force of the gripper's drive, negative closes"),
                lambda data: np.array(float(data.actuator_force[drive])),
            ),
        ]

    def parameters(self) -> dict[str, Any]:
        return {
            "base": [0.0, 0.0, 0.0],
            "dh": [list(row) for row in panda.DH],
            "flange": panda.FLANGE,
            "hand_rotation": panda.HAND_ROTATION,
            "grip_point": panda.GRIP_POINT,
            "pad_half": list(panda.PAD_HALF),
            "home": list(HOME),
            "joint_limits": [list(pair) for pair in panda.JOINT_RANGE],
            "joint_speed_limits": list(panda.SPEED),
            "joint_torque_limits": list(panda.TORQUE),
            "servo_kp": list(panda.KP),
            "servo_lag": panda.LAG,
            "gripper_open": panda.GRIPPER_OPEN,
            "gripper_squeeze": panda.GRIPPER_SQUEEZE,
            "gripper_stiffness": panda.GRIPPER_STIFFNESS,
            "gripper_force": panda.GRIPPER_FORCE,
            "gripper_speed": GRIPPER_SPEED,
        }
