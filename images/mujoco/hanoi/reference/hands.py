"""The five-finger hand as a tool of the strategy: on an arm, and on a floating base.

The tool's frame is the contract's: origin in the middle of the grasped handle, z along the fingers (down), x along the
handle away from its peg. Index and middle finger press one long side of the handle, the thumb presses the other; ring
and little finger stay curled out of the way. The palm stands on the index finger's side, towards the robot, so that
pegs of any length pass beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from images.client.results import Description
from images.mujoco.hanoi.reference.tool import downward
from images.reference.hand import Hand
from images.reference.motion import TICK, Arm, Effector, Program, minimum_jerk
from images.reference.panda import PandaArm
from images.reference.rotations import quaternion_matrix

Array = np.ndarray

PINCH = np.array([0.0207, 0.040, -0.128])  # m: the middle of the handle in the palm's frame, between the fingers' roots
SPREAD, APART = 0.0105, 0.021  # m: index finger from there towards the ring, and middle finger from index finger
FARTHEST = 0.0165  # m from the handle's middle outwards: no finger beyond its end
GAP = 0.0003  # m between the index finger and the neck of a turned handle
ROOM = 0.011  # m on each side of the handle while the hand goes down over it
FORCE = 24.0  # N: pinch
CLEARANCE = 0.03  # m: fingertips end 8 mm below the grasp point
STUCK = 0.004  # m
TOUCH_S, PRESS_S, OPEN_S = 0.25, 0.25, 0.3
CURL = {"mcp_flexion": 0.5, "pip_flexion": 1.6, "dip_flexion": 1.0}
BENT = {
    "thumb_cmc_abduction": 0.3,
    "thumb_cmc_flexion": 0.9,
    "thumb_mcp_flexion": -0.6,
    "thumb_ip_flexion": -0.5,
    **{f"{finger}_{joint}": angle for finger in ("ring", "little") for joint, angle in CURL.items()},
    **{
        f"{finger}_{joint}": angle
        for finger in ("index", "middle")
        for joint, angle in (("mcp_flexion", -0.2), ("pip_flexion", 1.0), ("dip_flexion", 0.0))
    },
}
PALM = np.diag([-1.0, 1.0, -1.0])  # tool from palm
SPEED_SHARE = 0.9  # of the rated speeds
ARM_POSTURE = (0.0, -0.3, 0.0, -2.2, 0.0, 2.0, 0.0)  # rad


class Fingers:
    """Commands of the hand's joints (22,): ``now``, and what opens the pinch, touches the handle and presses it."""

    def __init__(self, hand: Hand, handle_width: float, inner: float, now: Array, dt: float) -> None:
        self.now, self._dt = np.array(now), dt
        rest = hand.posture(BENT)
        side = handle_width / 2 + hand.radius
        self.touching, _ = hand.reach(_tips(side, inner), rest)
        self.opened, _ = hand.reach(_tips(side + ROOM, inner), rest, self.touching)
        push = np.array([0.0, FORCE, 0.0])
        self.pressing = hand.pressing({"index": push / 2, "middle": push / 2, "thumb": -push}, self.touching)

    def to(self, goal: Array, seconds: float) -> Program:
        """Move all joints at once, smoothly."""
        start, count = self.now, max(1, round(seconds / self._dt))
        for i in range(1, count + 1):
            self.now = start + minimum_jerk(i / count) * (goal - start)
            yield TICK

    def open(self) -> Program:
        """A little wider than the handle."""
        yield from self.to(self.opened, OPEN_S)

    def close(self) -> Program:
        """Touch the handle, then press it."""
        yield from self.to(self.touching, TOUCH_S)
        yield from self.to(self.pressing, PRESS_S)


def _tips(side: float, inner: float) -> dict[str, Array]:
    """Fingertips in the palm's frame, ``side`` (m) from the handle's middle plane; the index finger is ``inner`` (m)
    from its middle towards the ring."""
    outer = max(inner - APART, -FARTHEST)
    return {
        "index": PINCH + np.array([inner, -side, 0.0]),
        "middle": PINCH + np.array([outer, -side, 0.0]),
        "thumb": PINCH + np.array([(inner + outer) / 2, side, 0.0]),
    }


def _inner(side: float, radius: float, neck: float, yaw: float) -> float:
    """How far towards the ring (m) the index finger may be on a handle that is turned by ``yaw`` (rad) about its
    middle, where its neck, ``neck`` m wide, begins."""
    if abs(yaw) < 1e-6:
        return SPREAD
    room = side * np.cos(yaw) - radius - neck / 2 - GAP
    return float(np.clip(room / abs(np.sin(yaw)), -0.002, SPREAD))


class HandOnArm(Arm):
    """The hand on the arm's flange. The action is seven joint targets, then those of the hand (rad)."""

    clearance, stuck = CLEARANCE, STUCK

    def __init__(self, description: Description) -> None:
        robot = description.parameters["robot"]
        start = np.array(robot["start"])
        controls, count = description.controls, len(robot["joint_limits"])
        place = np.array(robot["palm"]["position"]) + quaternion_matrix(robot["palm"]["quaternion"]) @ PINCH
        kinematics = PandaArm(
            np.array(robot["base"]),
            tool_offset=robot["flange"] + place[2],
            tool_yaw=np.pi,
            tool_shift=(place[0], place[1]),
            posture=np.array(ARM_POSTURE),
            joint_range=np.array(robot["joint_limits"]),
        )
        super().__init__(
            "arm",
            kinematics,
            start[:count],
            0.0,
            1 / description.control_hz,
            robot["servo_lag"],
            np.array([control.low for control in controls]),
            np.array([control.high for control in controls]),
            SPEED_SHARE * np.array(robot["joint_speed_limits"]),
        )
        self.fingers = _fingers(description, start[count:])

    def open(self) -> Program:
        yield from self.fingers.open()

    def close(self) -> Program:
        yield from self.fingers.close()

    def over(self, azimuth: float) -> Array:
        return downward(azimuth)

    def command(self) -> Array:
        return np.clip(np.concatenate([self.follow(), self.fingers.now]), self.low, self.high)


class FloatingHand(Effector):
    """The hand on its own six axes. The action is position (m) and yaw, pitch, roll (rad) of the palm, then the hand's
    joint targets (rad). ``lag`` (6,) s is cancelled by commands that lead."""

    clearance, stuck = CLEARANCE, STUCK

    def __init__(self, description: Description) -> None:
        robot = description.parameters["robot"]
        axes, start = robot["base_axes"], np.array(robot["start"])
        self._pose = start[: len(axes)]
        rotation = _turned(*self._pose[3:]) @ PALM
        super().__init__("hand", 1 / description.control_hz, self._pose[:3] + rotation @ PALM @ PINCH, rotation)
        self._lead = np.array([axis["lag"] for axis in axes]) / self.dt
        self._largest = SPEED_SHARE * np.array([axis["speed"] for axis in axes]) * self.dt
        self._low = np.array([control.low for control in description.controls])
        self._high = np.array([control.high for control in description.controls])
        self.fingers = _fingers(description, start[len(axes) :])

    def open(self) -> Program:
        yield from self.fingers.open()

    def close(self) -> Program:
        yield from self.fingers.close()

    def over(self, azimuth: float) -> Array:
        return downward(azimuth)

    def command(self) -> Array:
        palm = self.rotation @ PALM
        pitch = -np.arcsin(np.clip(palm[2, 0], -1.0, 1.0))
        yaw, roll = np.arctan2(palm[1, 0], palm[0, 0]), np.arctan2(palm[2, 1], palm[2, 2])
        goal = np.array([*(self.position - palm @ PINCH), yaw, pitch, roll])
        step = goal - self._pose
        step[3] = (step[3] + np.pi) % (2 * np.pi) - np.pi
        step *= min(1.0, 1 / float(np.max(np.abs(step) / self._largest, initial=1.0)))
        self._pose = self._pose + step
        return np.clip(np.concatenate([self._pose + self._lead * step, self.fingers.now]), self._low, self._high)


def _turned(yaw: float, pitch: float, roll: float) -> Array:
    """World from palm: yaw about z, then pitch about the turned y, then roll about the twice turned x axis."""
    (cy, cp, cr), (sy, sp, sr) = np.cos([yaw, pitch, roll]), np.sin([yaw, pitch, roll])
    about_z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    about_y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    about_x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    return about_z @ about_y @ about_x


def _fingers(description: Description, now: Array) -> Fingers:
    parameters: Mapping[str, Any] = description.parameters
    own = description.controls[-len(now) :]
    low, high = np.array([control.low for control in own]), np.array([control.high for control in own])
    hand = Hand(parameters["robot"]["hand"], low, high)
    width, side = parameters["handle"][1], parameters["handle"][1] / 2 + hand.radius
    yaws = np.radians(parameters["handle_yaws"])
    inner = min(_inner(side, hand.radius, parameters["neck_width"], float(yaw)) for yaw in yaws)
    return Fingers(hand, width, inner, now, 1 / description.control_hz)
