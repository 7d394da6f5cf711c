"""Public geometry of the launcher: everything about the two arms and the mechanism that any agent is told.

Lengths in metres, masses in kilograms, angles in radians, forces in newtons, times in seconds; the world has x down
range, y to the left, z up, and its origin on the floor midway between the arm bases. ``parameters()`` is the same
table as JSON, disclosed by ``describe`` at every access level.

A *condition* moves the launcher's pivot, the ammunition tray and the starting barrel angles by a few millimetres and
degrees from the nominal values given here; wheels, brake and trigger stay where they are.
"""

from __future__ import annotations

import math
from typing import Any

from images.mujoco import panda

# ---- time ----------------------------------------------------------------------------------------------------------
PHYSICS_DT = 0.001
"""One physics step (s): 1000 Hz."""
SUBSTEPS = 20
"""Physics steps per action: control at 50 Hz."""
CONTROL_DT = PHYSICS_DT * SUBSTEPS

# ---- arms (Franka Panda, public kinematics) ------------------------------------------------------------------------
ARMS = ("left", "right")
ARM_BASE = {"left": (0.0, 0.30, 0.0), "right": (0.0, -0.30, 0.0)}
"""Position of each arm's base (m); both face +x without rotation."""
JOINT_LIMITS = panda.JOINT_RANGE
"""Lower and upper limit of each joint (rad)."""
JOINT_SPEED_LIMITS = panda.SPEED
"""Rated speed of each joint (rad/s); the evaluator allows a disclosed margin above it."""
JOINT_TORQUE_LIMITS = panda.TORQUE
"""Torque at which each joint's servo saturates (N m)."""
DH = panda.DH
"""Modified Denavit-Hartenberg rows (a m, d m, alpha rad), Craig's convention: T_i = Rx(alpha) Tx(a) Rz(q_i) Tz(d)."""
FLANGE = panda.FLANGE
"""Joint 7 frame to flange along z (m)."""
HAND_ROTATION = panda.HAND_ROTATION
"""Rotation of the hand about the flange's z axis (rad); the fingers open along the hand's y axis."""
GRIP_POINT = panda.GRIP_POINT
"""Flange to the point between the finger pads along z (m)."""
PAD_HALF = panda.PAD_HALF
"""Half width of a finger pad across and along the finger (m)."""
HOME = {
    "left": (0.617, -0.6679, -0.1701, -2.1872, -0.1052, 1.5266, -0.3072),
    "right": (-0.7899, -0.6922, 0.2804, -2.184, 0.1779, 1.5122, -1.3466),
}
"""Joint angles at the start (rad): hands point down, fingers open along world x, grip point at PARK."""
PARK = {"left": (0.32, 0.42, 0.52), "right": (0.32, -0.42, 0.52)}
"""Grip point of each arm at HOME (m)."""
DOWN = {
    "left": ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, -1.0)),
    "right": ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, -1.0)),
}
"""Rotation (world from hand) of a hand that points down with fingers open along x; joint 7 stays off its limits."""
SERVO_LAG = panda.LAG
"""Damping over stiffness of every joint servo (s). A joint follows q_cmd - SERVO_LAG * qdot, so an agent that
commands ``q + SERVO_LAG * qdot`` follows its path without lag."""
SERVO_KP = panda.KP
"""Stiffness of each joint servo (N m/rad); gravity of the arm itself is compensated."""
GRIPPER_OPEN = panda.GRIPPER_OPEN
"""Widest opening between the pads (m); the gripper command is an opening."""
GRIPPER_SQUEEZE = panda.GRIPPER_SQUEEZE
"""Smallest gripper command (m). The gripper pulls with GRIPPER_STIFFNESS * (opening - command), at most GRIPPER_FORCE:
a command of 0 closes, a negative one squeezes harder what is already held."""
GRIPPER_STIFFNESS = panda.GRIPPER_STIFFNESS
"""Closing force per metre between opening and command (N/m)."""
GRIPPER_FORCE = panda.GRIPPER_FORCE
"""Largest closing or opening force (N), shared by the two fingers."""

# ---- barrel and spring ---------------------------------------------------------------------------------------------
PIVOT = (0.55, 0.0, 0.30)
"""Nominal pivot: the azimuth axis (vertical) and the elevation axis cross here."""
REST = 0.10
"""Distance along the barrel axis from the pivot to the carriage at rest (s = 0). Barrel coordinate s grows down
range, so a drawn carriage has s < 0. The point (s, w, h) of the barrel is pivot + R (REST + s, w, h) with
R = Rz(azimuth) Ry(-elevation)."""
BARREL_REAR = -0.33
"""Barrel coordinate s of the closed rear end (m)."""
BARREL_MUZZLE = 0.12
"""Barrel coordinate s of the muzzle (m)."""
GROOVE_ANGLE = math.pi / 4
"""The barrel is a V groove, open on top; each wall leans by this angle from the vertical."""
REFERENCE_RADIUS = 0.018
"""Radius of the projectile whose centre runs on the barrel axis; one of radius r runs at
h = (r - REFERENCE_RADIUS) * sqrt(2) above it."""
BORE_FRICTION = 0.02
"""Sliding friction of groove and pusher (it replaces the projectile's own)."""
PUSHER_FRONT = 0.005
"""The pusher's face is this far in front of the carriage (m)."""
CARRIAGE_MASS = 0.035
"""Carriage with pusher and T-bar (kg); it runs without friction."""
TBAR_HEIGHT = 0.078
"""Height of the T-bar's centre above the barrel axis (m), on the carriage (s = draw)."""
TBAR_RADIUS = 0.008
TBAR_HALF_LENGTH = 0.035
"""The T-bar is a capsule across the barrel (along its y axis)."""
RATCHET_PITCH = 0.002
"""The latch holds the draw at multiples of this (m). It cannot go back: release is by the trigger only."""
RATCHET_START = 0.02
"""The pawl engages from this draw on (m). A carriage that bounces back this far after a hard launch is caught there
when the trigger is up again by then; the next draw starts from that tooth."""
MAX_DRAW = 0.31
"""Mechanical end of the draw (m)."""
BREECH = (-0.045, 0.058)
"""A good place to let a projectile go into the open groove: (s, h) of its centre, with the carriage drawn (m)."""
STOPS_AZIMUTH = (math.radians(-30), math.radians(30))
"""Mechanical stops of the azimuth (rad); positive turns the barrel to the left (+y)."""
STOPS_ELEVATION = (math.radians(0), math.radians(50))
"""Mechanical stops of the elevation (rad); positive raises the muzzle."""
START_ELEVATION = math.radians(15)
"""Nominal elevation at the start (rad); the nominal azimuth is 0."""

# ---- handwheels ----------------------------------------------------------------------------------------------------
GEAR = 0.1
"""Barrel angle per wheel angle: one turn of a wheel moves the barrel by 36 degrees. Wheel angles count from the start
of the gear, so wheel = barrel angle / GEAR. They turn freely only while the brake is released."""
ELEVATION_WHEEL = (0.42, 0.48, 0.22)
AZIMUTH_WHEEL = (0.42, -0.48, 0.22)
"""Centres of the two wheels (m); their axes are vertical."""
WHEEL_RADIUS = 0.075
KNOB_CIRCLE = 0.06
"""Radius of the circle on which the knob travels (m). At wheel angle a the knob stands at
centre + (KNOB_CIRCLE cos a, KNOB_CIRCLE sin a)."""
KNOB_RADIUS = 0.011
KNOB_HEIGHT = 0.057
"""Height of a good grip point on the knob above the wheel's centre (m). The knob spins freely about its own vertical
axis, so the hand need not turn with the wheel. It reaches from 0.015 to 0.075 m above the centre."""

# ---- brake and trigger ---------------------------------------------------------------------------------------------
BRAKE_HINGE = (0.56, 0.22, 0.23)
"""Hinge of the brake lever (m); axis vertical."""
BRAKE_LENGTH = 0.07
"""The lever's post (radius 0.008 m, height 0.06 m) stands this far from the hinge: at lever angle b it is at
hinge + BRAKE_LENGTH * (-sin b, cos b)."""
BRAKE_RELEASED = -0.30
BRAKE_SET = 0.30
"""The brake is released when the lever angle goes below the first, set when it goes above the second (rad);
it keeps its state in between. It starts set, with the lever at BRAKE_START."""
BRAKE_START = 0.50
BRAKE_STOPS = (math.radians(-35), math.radians(35))
TRIGGER = (0.53, -0.27, 0.25)
"""Centre of the trigger paddle's top face (m); pressing it down fires."""
TRIGGER_HALF = (0.045, 0.035)
TRIGGER_HINGE_X = 0.05
"""The paddle hinges this far beyond its centre (along x)."""
TRIGGER_FIRES = 0.20
"""Paddle angle at which the sear lets go (rad)."""
TRIGGER_REARMS = 0.05
"""After a launch the latch works again once the paddle is below this angle (rad) while the draw is less than 5 mm. The
carriage need not rest: after a hard launch it may bounce back from there to RATCHET_START and latch (see there)."""

# ---- ammunition ----------------------------------------------------------------------------------------------------
PICK = (0.30, -0.62, 0.22)
"""Centre of a reference-radius projectile at the lower end of the tray, where the next one always lies; a projectile
of radius r rests PICK_SLOPE * (r - REFERENCE_RADIUS) higher and the same distance r from the end stop."""
TRAY_TILT = math.radians(7)
"""The tray is a shallow groove along -y that rises outward from the pick point."""
TRAY_GROOVE = math.radians(20)
"""Slope of each side of the tray's groove from the horizontal."""
FLOOR_PICK = (0.30, -0.32)
"""In ground mode the first projectile lies here on the floor (x, y; m) instead of in the barrel; a condition moves it
as it moves the tray."""
PICK_SLOPE = 1 / math.cos(TRAY_GROOVE)
TRAY_STOP = REFERENCE_RADIUS
"""Distance along the tray from PICK to the end stop (m)."""

PROJECTILES = {
    "light": {"mass": 0.012, "radius": 0.016},
    "standard": {"mass": 0.015, "radius": 0.018},
    "heavy": {"mass": 0.030, "radius": 0.020},
}
"""Kinds of projectile: mass (kg, times the condition's mass factor) and radius (m)."""


def parameters() -> dict[str, Any]:
    """Every constant above under its own name in lower case, as JSON."""
    return {
        name.lower(): _plain(value)
        for name, value in globals().items()
        if name.isupper() and isinstance(value, int | float | str | tuple | dict)
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
