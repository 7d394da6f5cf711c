"""The Panda's hand as a tool: a parallel gripper that pinches the long sides of a handle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from images.client.results import Description
from images.mujoco.hanoi.reference.tool import Tool, downward
from images.reference.motion import TICK, Arm, Program
from images.reference.panda import PandaArm

Array = np.ndarray
ROOM = 0.011  # m between a pad and the handle before it closes: fingers that open wider would meet the ring
FIRM_S = 0.15  # s after the gripper's drive has come to its hardest squeeze
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
        self._drive, self._pace = self.grip, robot["gripper_speed"] * self.dt

    def open(self) -> Program:
        yield from self.drive(self._wide)

    def close(self) -> Program:
        yield from self.drive(self._squeeze)
        yield from self.hold(FIRM_S)

    def drive(self, opening: float) -> Program:
        """The gripper to an opening (m), for as long as its drive takes."""
        self.grip = opening
        for _ in range(math.ceil(abs(opening - self._drive) / self._pace)):
            yield TICK

    def command(self) -> Array:
        """What the gripper drives to approaches the command at the drive's pace."""
        self._drive = min(max(self.grip, self._drive - self._pace), self._drive + self._pace)
        return super().command()

    def over(self, azimuth: float) -> Array:
        """A gripper fits either way round."""
        found = [downward(azimuth), downward(azimuth + np.pi)]
        return max(found, key=lambda rotation: float(rotation[:, 0] @ self.rotation[:, 0]))
