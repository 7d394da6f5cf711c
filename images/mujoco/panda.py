"""The Franka Panda with its hand as MJCF, from public parameters: kinematics and limits of the maker's documentation,
inertias of the published identification of the arm (Gaz et al., 2019). Meshes: see ``assets/panda/README.md``.

An arm is a prefix (``left_``) in front of every name: bodies ``link0`` .. ``link7``, ``hand``, ``finger1``,
``finger2``; joints ``joint1`` .. ``joint7``, ``slide1``, ``slide2``; actuators ``servo1`` .. ``servo7``, ``gripper``;
site ``grip`` between the pads. Joint servos are critically stiff position servos with torque limits, gravity of the
arm is compensated as the real controller does. The gripper is commanded by its opening in metres.

Collision bits: 1 is everything else, 2 and 4 are the first and the second arm, 8 and 16 their hands, 32 the floor. Arms
collide with the world and with each other, with the floor from link 5 on; within an arm only the hand collides, with
the base and the first three links. Pairs that cannot meet are left out because each costs time at every step.
"""

from __future__ import annotations

import math
from pathlib import Path

ASSETS = Path(__file__).parent / "assets" / "panda"

JOINT_RANGE = (
    (-2.8973, 2.8973),
    (-1.7628, 1.7628),
    (-2.8973, 2.8973),
    (-3.0718, -0.0698),
    (-2.8973, 2.8973),
    (-0.0175, 3.7525),
    (-2.8973, 2.8973),
)
SPEED = (2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61)  # rad/s, rated
TORQUE = (87, 87, 87, 87, 12, 12, 12)
KP = (4500, 4500, 3500, 3500, 2000, 2000, 2000)
LAG = 0.1  # s: damping over stiffness of every servo
ARMATURE, DAMPING = 0.1, (0.1, 0.1, 0.1, 0.1, 0.1, 0.01, 0.01)
DH = (
    (0.0, 0.333, 0.0),
    (0.0, 0.0, -math.pi / 2),
    (0.0, 0.316, math.pi / 2),
    (0.0825, 0.0, math.pi / 2),
    (-0.0825, 0.384, -math.pi / 2),
    (0.0, 0.0, math.pi / 2),
    (0.088, 0.0, math.pi / 2),
)  # modified Denavit-Hartenberg rows (a m, d m, alpha rad), Craig's convention
FLANGE = 0.107  # m: joint 7 frame to flange along z
HAND_ROTATION = -math.pi / 4  # rad: the hand about the flange's z axis; the fingers open along the hand's y axis
GRIP_POINT = 0.1034  # m: flange to the point between the finger pads along z
PAD_HALF = (0.0085, 0.0085)  # m: half width of a finger pad across and along the finger
GRIPPER_OPEN, GRIPPER_SQUEEZE = 0.08, -0.04  # m: range of the gripper's command, an opening
GRIPPER_STIFFNESS, GRIPPER_FORCE = 1000.0, 100.0  # N/m of opening less command, and N at most; both fingers together
GRIP_TEXT = (
    "opening that the gripper drives to; it pulls with 1000 N/m times (opening - command), at most 100 N, so a "
    "negative command squeezes harder what is held"
)

# Pose of each link in its parent, mass (kg), centre of mass (m), inertia (xx yy zz xy xz yz, kg m^2).
LINKS = (
    ("0 0 0", "1 0 0 0", 0.629769, "-0.041018 -0.00014 0.049974", "0.00315 0.00388 0.004285 8.29e-7 0.00015 8.23e-6"),
    (
        "0 0 .333",
        "1 0 0 0",
        4.970684,
        "0.003875 0.002081 -0.04762",
        "0.70337 0.70661 0.009117 -0.000139 0.006772 0.019169",
    ),
    (
        "0 0 0",
        "1 -1 0 0",
        0.646926,
        "-0.003141 -0.02872 0.003495",
        "0.007962 0.02811 0.025995 -0.003925 0.010254 0.000704",
    ),
    (
        "0 -.316 0",
        "1 1 0 0",
        3.228604,
        "0.027518 0.039252 -0.066502",
        "0.037242 0.036155 0.01083 -0.004761 -0.011396 -0.012805",
    ),
    (
        ".0825 0 0",
        "1 1 0 0",
        3.587895,
        "-0.05317 0.104419 0.027454",
        "0.025853 0.019552 0.028323 0.007796 -0.001332 0.008641",
    ),
    (
        "-.0825 .384 0",
        "1 -1 0 0",
        1.225946,
        "-0.011953 0.041065 -0.038437",
        "0.035549 0.029474 0.008627 -0.002117 -0.004037 0.000229",
    ),
    (
        "0 0 0",
        "1 1 0 0",
        1.666555,
        "0.060149 -0.014117 -0.010517",
        "0.001964 0.004354 0.005433 0.000109 -0.001158 0.000341",
    ),
    (
        ".088 0 0",
        "1 1 0 0",
        0.735522,
        "0.010517 -0.004252 0.061597",
        "0.012516 0.010027 0.004815 -0.000428 -0.001196 -0.000741",
    ),
)
HAND_MASS, FINGER_MASS = 0.73, 0.015
_PAD = 'friction="1.5 .05 .001" condim="4" solref=".004 1" solimp=".95 .99 .0005"'


def assets() -> str:
    """Meshes and materials, once for all arms of a model."""
    names = [f"link{i}" for i in range(8)] + ["hand", "finger"]
    visual = "".join(f'<mesh name="panda_{n}" file="{ASSETS}/{n}.stl" inertia="shell"/>' for n in names)
    hulls = "".join(f'<mesh name="panda_{n}_hull" file="{ASSETS}/{n}_hull.stl"/>' for n in names if n != "finger")
    return (
        visual
        + hulls
        + (
            '<material name="panda_white" rgba=".93 .93 .91 1" specular=".5" shininess=".5"/>'
            '<material name="panda_grey" rgba=".22 .23 .25 1" specular=".4" shininess=".4"/>'
            '<material name="panda_steel" rgba=".62 .64 .66 1" specular=".6" shininess=".6"/>'
        )
    )


def arm(prefix: str, position: tuple[float, float, float], index: int, on_hand: str = "") -> str:
    """The body tree of one arm (``index`` 0 or 1 picks its collision bits), standing at ``position`` (m), facing +x;
    ``on_hand`` is what else its hand carries."""
    own, other, hand = 2 << index, 4 >> index, 8 << index
    base = f'contype="{own}" conaffinity="{1 | other | hand}"'
    elbow, wrist = f'contype="{own}" conaffinity="{1 | other}"', f'contype="{own}" conaffinity="{33 | other}"'
    grip = f'contype="{own | hand}" conaffinity="{33 | other}"'
    out: list[str] = []
    for i, (pos, quat, mass, com, inertia) in enumerate(LINKS):
        where = f'pos="{position[0]} {position[1]} {position[2]}"' if i == 0 else f'pos="{pos}" quat="{quat}"'
        out.append(f'<body name="{prefix}link{i}" {where} gravcomp="1">')
        out.append(f'<inertial mass="{mass}" pos="{com}" fullinertia="{inertia}"/>')
        if i:
            low, high = JOINT_RANGE[i - 1]
            out.append(
                f'<joint name="{prefix}joint{i}" axis="0 0 1" range="{low} {high}" '
                f'armature="{ARMATURE}" damping="{DAMPING[i - 1]}"/>'
            )
        material = "panda_grey" if i == 7 else "panda_white"
        out.append(f'<geom type="mesh" mesh="panda_link{i}" class="panda_visual" material="{material}"/>')
        bits = base if i < 4 else elbow if i < 5 else wrist
        out.append(f'<geom type="mesh" mesh="panda_link{i}_hull" class="panda_hull" {bits}/>')
    out.append(f'<body name="{prefix}hand" pos="0 0 .107" quat="0.9238795 0 0 -0.3826834" gravcomp="1">')
    out.append(f'<inertial mass="{HAND_MASS}" pos="-.01 0 .03" diaginertia=".001 .0025 .0017"/>')
    out.append('<geom type="mesh" mesh="panda_hand" class="panda_visual" material="panda_white"/>')
    out.append(f'<geom type="mesh" mesh="panda_hand_hull" class="panda_hull" {grip}/>')
    out.append(f'<site name="{prefix}grip" pos="0 0 .1034" group="4"/>{on_hand}')
    for finger, quat in ((1, "1 0 0 0"), (2, "0 0 0 1")):
        out.append(f'<body name="{prefix}finger{finger}" pos="0 0 .0584" quat="{quat}" gravcomp="1">')
        out.append(f'<inertial mass="{FINGER_MASS}" pos="0 0 .02" diaginertia="2.4e-6 2.4e-6 7.5e-7"/>')
        out.append(
            f'<joint name="{prefix}slide{finger}" type="slide" axis="0 1 0" range="0 .04" armature=".1" damping="10"/>'
        )
        out.append('<geom type="mesh" mesh="panda_finger" class="panda_visual" material="panda_steel"/>')
        out.append(
            f'<geom name="{prefix}pad{finger}" class="panda_hull" type="box" size=".0085 .004 .0085" '
            'pos="0 .0055 .0445" '
            f"{_PAD} {grip}/>"
        )
        out.append(f'<geom class="panda_hull" type="box" size=".008 .005 .012" pos="0 .0115 .024" {grip}/></body>')
    return "".join(out) + "</body>" * 9


def defaults() -> str:
    """Default classes that the arms' geoms use."""
    return (
        '<default class="panda_visual"><geom contype="0" conaffinity="0" group="2" mass="0"/></default>'
        '<default class="panda_hull"><geom group="3" mass="0"/></default>'
    )


def exclusions(prefix: str) -> str:
    """The hand never collides with its own fingers."""
    pairs = [(f"{prefix}hand", f"{prefix}finger1"), (f"{prefix}hand", f"{prefix}finger2")]
    return "".join(f'<exclude body1="{a}" body2="{b}"/>' for a, b in pairs)


def tendons(prefix: str) -> str:
    """Half the opening of the gripper."""
    return (
        f'<fixed name="{prefix}half_opening"><joint joint="{prefix}slide1" coef=".5"/>'
        f'<joint joint="{prefix}slide2" coef=".5"/></fixed>'
    )


def equalities(prefix: str) -> str:
    """Both fingers move alike."""
    return f'<joint joint1="{prefix}slide1" joint2="{prefix}slide2" solimp=".95 .99 .001" solref=".005 1"/>'


def actuators(prefix: str) -> str:
    """Seven joint servos (rad), then the gripper (m of opening; total force 1000 N/m, at most 100 N)."""
    out = []
    for i, (kp, torque, (low, high)) in enumerate(zip(KP, TORQUE, JOINT_RANGE, strict=True), 1):
        out.append(
            f'<general name="{prefix}servo{i}" joint="{prefix}joint{i}" biastype="affine" gainprm="{kp}" '
            f'biasprm="0 {-kp} {-kp * LAG}" forcerange="{-torque} {torque}" ctrlrange="{low} {high}"/>'
        )
    out.append(
        f'<general name="{prefix}gripper" tendon="{prefix}half_opening" biastype="affine" gainprm="1000" '
        'biasprm="0 -2000 -60" forcerange="-100 100" ctrlrange="-.04 .08"/>'
    )
    return "".join(out)
