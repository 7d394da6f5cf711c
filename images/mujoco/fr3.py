"""The Franka Research 3 arm as MJCF with primitive shapes, from the maker's published description: link frames (those
of the Panda), joint ranges, rated speeds and torques, inertias, and reflected inertias of the drives.

Bodies ``link0`` .. ``link7``, joints ``joint1`` .. ``joint7``, servos of the same names: position servos with torque
limits; the arm's weight is compensated as the real controller does. What the flange carries is the caller's.

Collision bits of the contract in ``embodiment.py``: 16 is the base and the first three links, which a hand must not
strike; links from 5 on may meet the floor.
"""

from __future__ import annotations

from typing import Any

from images.mujoco import panda
from images.mujoco.embodiment import Joint, Part
from images.mujoco.panda import DH, FLANGE, LAG

JOINT_RANGE = (
    (-2.7437, 2.7437),
    (-1.7837, 1.7837),
    (-2.9007, 2.9007),
    (-3.0421, -0.1518),
    (-2.8065, 2.8065),
    (0.5445, 4.5169),
    (-3.0159, 3.0159),
)
SPEED = (2.62, 2.62, 2.62, 2.62, 5.26, 4.18, 5.26)  # rad/s, rated
TORQUE = (87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0)
ARMATURE = (0.6057, 0.6057, 0.4625, 0.4625, 0.2055, 0.2055, 0.2055)  # kg m^2, drives seen at the joints
DAMPING = 0.1  # N m s/rad
KP = (4500.0, 4500.0, 3500.0, 3500.0, 2000.0, 2000.0, 2000.0)

# Mass (kg), centre of mass (m), inertia (xx yy zz xy xz yz, kg m^2) of each link in its own frame.
INERTIAS = (
    (2.3966, "-.0172 .0004 .0745", ".0090 .0115 .0085 0 .0020 0"),
    (2.927465, "4.128e-7 -.018125 -.038604", ".023927 .022482 .006350 1.3318e-5 -.000114 -.001995"),
    (2.935537, ".003183 -.074322 .008815", ".041939 .025145 .061702 .000203 .004078 -.004225"),
    (2.244901, ".040702 -.004820 -.028973", ".024101 .019741 .019044 .002405 -.002856 -.002104"),
    (2.615596, "-.045910 .063049 -.008519", ".034530 .028882 .041255 .013226 .010151 -.000976"),
    (2.327121, "-.001604 .029254 -.097297", ".051610 .047877 .016424 -.005715 -.003567 .010674"),
    (1.817038, ".059713 -.041029 -.010169", ".005412 .014058 .016081 .006193 .001422 -.001314"),
    (0.627143, ".004523 .008626 -.016163", ".000210924 .000177186 .0000599319 -.0000243330 .0000456448 .0000874407"),
)
# Capsules of each link in its own frame: both ends (m) and the radius (m).
SHAPES: tuple[tuple[tuple[str, float], ...], ...] = (
    (("-.09 0 .05 0 0 .05", 0.05), ("0 0 .06 0 0 .10", 0.06)),
    (("0 0 -.192 0 0 0", 0.06),),
    (("0 0 -.06 0 0 .06", 0.06), ("0 -.06 0 0 -.19 0", 0.055)),
    (("0 0 -.11 0 0 0", 0.055), ("0 0 0 .0825 0 0", 0.055)),
    (("0 0 -.055 0 0 .055", 0.055), ("-.02 .01 0 -.0825 .07 0", 0.055), ("-.0825 .07 0 -.0825 .11 0", 0.055)),
    (("0 0 -.255 0 .015 -.12", 0.05), ("0 .045 -.12 0 .045 -.04", 0.04)),
    (("0 0 -.045 0 0 .04", 0.05), ("0 0 0 .06 0 0", 0.045)),
    (("0 0 0 0 0 .065", 0.042),),
)
PARTS: dict[str, Part] = {f"link{i}": "arm" for i in range(8)}


def arm(carried: str) -> str:
    """The arm at the world's origin, facing +x; ``carried`` are the bodies on link 7."""
    out: list[str] = []
    for i, ((mass, centre, inertia), shapes) in enumerate(zip(INERTIAS, SHAPES, strict=True)):
        place, turn = panda.LINKS[i][:2]
        out.append(f'<body name="link{i}" pos="{place}" quat="{turn}" gravcomp="1">')
        out.append(f'<inertial mass="{mass}" pos="{centre}" fullinertia="{inertia}"/>')
        if i:
            low, high = JOINT_RANGE[i - 1]
            out.append(
                f'<joint name="joint{i}" axis="0 0 1" range="{low} {high}" '
                f'armature="{ARMATURE[i - 1]}" damping="{DAMPING}"/>'
            )
        bits = 'contype="2" conaffinity="17"' if i < 4 else f'contype="2" conaffinity="{1 if i < 5 else 33}"'
        material = "fr3_dark" if i == 7 else "fr3_white"
        out += [
            f'<geom class="fr3_link" type="capsule" size="{radius}" fromto="{ends}" {bits} material="{material}"/>'
            for ends, radius in shapes
        ]
    return "".join(out) + carried + "</body>" * len(INERTIAS)


def assets() -> str:
    """Materials."""
    return (
        '<material name="fr3_white" rgba=".94 .94 .92 1" specular=".5" shininess=".5"/>'
        '<material name="fr3_dark" rgba=".24 .25 .27 1" specular=".4" shininess=".4"/>'
    )


def defaults() -> str:
    """Default class of the links' geoms: shapes have no mass, the links' inertias are given."""
    return '<default class="fr3_link"><geom mass="0"/></default>'


def actuators() -> str:
    """Seven joint servos (rad)."""
    return "".join(
        f'<general name="joint{i}" joint="joint{i}" biastype="affine" gainprm="{kp}" '
        f'biasprm="0 {-kp} {-kp * LAG}" forcerange="{-torque} {torque}" ctrlrange="{low} {high}"/>'
        for i, (kp, torque, (low, high)) in enumerate(zip(KP, TORQUE, JOINT_RANGE, strict=True), 1)
    )


def joints(home: tuple[float, ...]) -> tuple[Joint, ...]:
    """The seven joints as they are disclosed and judged, starting at ``home`` (rad)."""
    limits = zip(JOINT_RANGE, SPEED, TORQUE, home, strict=True)
    return tuple(
        Joint(f"joint{i}", "rad", low, high, speed, torque, angle)
        for i, ((low, high), speed, torque, angle) in enumerate(limits, 1)
    )


def parameters() -> dict[str, Any]:
    """Public kinematics, limits and servo constants as JSON."""
    return {
        "base": [0.0, 0.0, 0.0],
        "dh": [list(row) for row in DH],
        "flange": FLANGE,
        "joint_limits": [list(pair) for pair in JOINT_RANGE],
        "joint_speed_limits": list(SPEED),
        "joint_torque_limits": list(TORQUE),
        "servo_kp": list(KP),
        "servo_lag": LAG,
    }
