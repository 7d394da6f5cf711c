"""The Panda's hand as a tool: a parallel gripper that pinches the long sides of a handle."""

from __future__ import annotations

from typing import Any

import numpy as np

from images.client.results import Description
from images.mujoco.hanoi.reference.tool import Tool, downward
from images.reference.motion import TICK, Arm, Program
from images.reference.panda import PandaArm

Array = np.ndarray
ROOM = 0.011  # m between a pad and the handle before it closes: fingers that open wider would meet the ring
CLOSING_S = 0.3
SPEED_SHARE = 0.9  # of the rated joint speeds


class PandaTool(Arm, Tool):
    """Built from ``describe``: ``robot`` has kinematics and servo constants, ``handle`` the handle's size."""

    def __init__(self, description: Description) -> None:
        robot: dict[str, Any] = description.parameters["robot"]
        controls = description.controls
        kinematics = PandaArm(
            np.array(robot["base"]),
            tool_offset=robot["flange"] + robot["grip_point"],
            tool_yaw=robot["hand_rotation"],
            posture=np.array(robot["home"]),
        )
        super().__init__(
            "panda",
            kinematics,
            np.array(robot["home"]),
            robot["gripper_open"],
            1 / description.control_hz,
            robot["servo_lag"],
            np.array([control.low for control in controls]),
            np.array([control.high for control in controls]),
            SPEED_SHARE * np.array(robot["joint_speed_limits"]),
        )
        self._wide = description.parameters["handle"][1] + 2 * ROOM
        self._squeeze = robot["gripper_squeeze"]

    def open(self) -> Program:
        yield from self.hold(0.3, self._wide)

    def close(self) -> Program:
        """Gently: pads that snap shut strike deep."""
        wide, count = self.grip, self.steps(CLOSING_S)
        for i in range(1, count + 1):
            self.grip = wide + (self._squeeze - wide) * i / count
            yield TICK
        yield from self.hold(0.2)

    def over(self, azimuth: float) -> Array:
        """A gripper fits either way round."""
        found = [downward(azimuth), downward(azimuth + np.pi)]
        return max(found, key=lambda rotation: float(rotation[:, 0] @ self.rotation[:, 0]))
