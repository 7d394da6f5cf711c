"""A five-finger hand of 22 driven joints as MJCF: thumb 5, index, middle and ring finger 4 each, little finger 5.

It stands in for the Sharpa Wave of the specification, of which no public model exists: number and kind of joints are
that hand's, sizes, masses, ranges and drives are our own, and every phalanx is a capsule. Frame: the origin is the
middle of the palm, straight fingers point along -z, the palm faces +y, the thumb and the index finger are at +x.

Each joint has a proportional servo that saturates at a torque, and viscous drag; a joint therefore never gets faster
than torque over drag, whatever is commanded, and follows its command with a lag of drag over stiffness. The hand's own
weight is compensated, as the controllers of real hands and arms do.

Collision bits of the contract in ``embodiment.py``: 4 and 8 are the thumb and the fingers, which meet each other and
the palm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from images.gateway.environment import Control, Field
from images.mujoco.embodiment import Joint, Part, Sense

Vector = tuple[float, float, float]

PALM = "palm"
PALM_SIZE, PALM_MASS = (0.043, 0.013, 0.048), 0.6  # m (half lengths), kg
RADIUS = 0.008  # m, of every phalanx
STIFFNESS, DRAG = 20.0, 0.25  # N m/rad, N m s/rad
FINGER_TORQUE, THUMB_TORQUE = 2.0, 3.0  # N m
ARMATURE = 0.002  # kg m^2
IMPRATIO = 100.0  # for :attr:`Embodiment.impratio`
_AXES: dict[str, Vector] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


@dataclass(frozen=True)
class Hinge:
    """One driven joint: its axis in the frame of its body, its range and where it starts (rad)."""

    name: str
    axis: str
    low: float
    high: float
    start: float

    @property
    def torque(self) -> float:
        return THUMB_TORQUE if self.name.startswith("thumb") else FINGER_TORQUE


@dataclass(frozen=True)
class Phalanx:
    """One body: where it sits in its parent (m), its hinges from the outermost inwards, its length along -z (m), its
    mass (kg). With all hinges at zero its frame is parallel to the palm's."""

    body: str
    parent: str
    at: Vector
    hinges: tuple[Hinge, ...]
    length: float
    mass: float


def _thumb() -> tuple[Phalanx, ...]:
    return (
        Phalanx(
            "thumb_metacarpal",
            PALM,
            (0.036, 0.020, -0.025),
            (Hinge("thumb_cmc_abduction", "z", -0.6, 1.6, 0.3), Hinge("thumb_cmc_flexion", "x", -0.3, 1.5, 0.9)),
            0.048,
            0.04,
        ),
        Phalanx(
            "thumb_proximal",
            "thumb_metacarpal",
            (0.0, 0.0, -0.048),
            (Hinge("thumb_mcp_abduction", "y", -0.7, 0.9, 0.0), Hinge("thumb_mcp_flexion", "x", -1.6, 0.6, -0.6)),
            0.040,
            0.03,
        ),
        Phalanx(
            "thumb_distal",
            "thumb_proximal",
            (0.0, 0.0, -0.040),
            (Hinge("thumb_ip_flexion", "x", -1.5, 0.3, -0.5),),
            0.030,
            0.02,
        ),
    )


def _finger(name: str, root: Vector, parent: str, curl: Vector) -> tuple[Phalanx, ...]:
    """Three phalanges; ``curl`` is where the flexion of the three joints starts (rad)."""
    return (
        Phalanx(
            f"{name}_proximal",
            parent,
            root,
            (
                Hinge(f"{name}_mcp_abduction", "y", -0.35, 0.35, 0.0),
                Hinge(f"{name}_mcp_flexion", "x", -0.55, 1.7, curl[0]),
            ),
            0.045,
            0.035,
        ),
        Phalanx(
            f"{name}_middle",
            f"{name}_proximal",
            (0.0, 0.0, -0.045),
            (Hinge(f"{name}_pip_flexion", "x", 0.0, 1.8, curl[1]),),
            0.028,
            0.025,
        ),
        Phalanx(
            f"{name}_distal",
            f"{name}_middle",
            (0.0, 0.0, -0.028),
            (Hinge(f"{name}_dip_flexion", "x", 0.0, 1.4, curl[2]),),
            0.024,
            0.018,
        ),
    )


PHALANGES: tuple[Phalanx, ...] = (
    *_thumb(),
    *_finger("index", (0.031, 0.0, -0.05), PALM, (0.2, 0.5, 0.3)),
    *_finger("middle", (0.0105, 0.0, -0.05), PALM, (0.2, 0.5, 0.3)),
    *_finger("ring", (-0.0105, 0.0, -0.05), PALM, (0.4, 0.8, 0.5)),
    Phalanx(
        "little_metacarpal",
        PALM,
        (-0.031, 0.0, -0.01),
        (Hinge("little_cmc_flexion", "x", 0.0, 0.4, 0.0),),
        0.04,
        0.02,
    ),
    *_finger("little", (0.0, 0.0, -0.04), "little_metacarpal", (0.4, 0.8, 0.5)),
)
"""Every moving body, parents before children."""
HINGES: tuple[Hinge, ...] = tuple(hinge for phalanx in PHALANGES for hinge in phalanx.hinges)
"""The 22 driven joints in the order of the action vector."""
FINGERS = ("thumb", "index", "middle", "ring", "little")
BODIES: dict[str, Part] = {PALM: "hand", **{phalanx.body: "finger" for phalanx in PHALANGES}}
"""What may touch something, for :attr:`Embodiment.parts`."""


def body(pose: str, root: str = "") -> str:
    """The tree from the palm on. ``pose`` are the palm's position and orientation as MJCF attributes, ``root`` what
    else the palm holds (joints of its base, the wrist camera, an adapter)."""
    half = _numbers(PALM_SIZE)
    palm = (
        f'<body name="{PALM}" {pose} gravcomp="1">{root}'
        f'<geom class="sharpa_palm" type="box" size="{half}" mass="{PALM_MASS}"/>'
    )
    return f"{palm}{''.join(_phalanx(p) for p in PHALANGES if p.parent == PALM)}</body>"


def _phalanx(phalanx: Phalanx) -> str:
    joints = "".join(
        f'<joint name="{h.name}" class="sharpa_joint" axis="{_numbers(_AXES[h.axis])}" range="{h.low} {h.high}"/>'
        for h in phalanx.hinges
    )
    end = f"0 0 {-phalanx.length}"
    shape = "sharpa_thumb" if phalanx.body.startswith("thumb") else "sharpa_finger"
    distal = phalanx.body.endswith("distal")
    tip = f'<site name="{_tip(phalanx)}" pos="{end}" size=".003" group="4"/>' if distal else ""
    skin = "sharpa_pad" if distal else "sharpa_shell"
    children = "".join(_phalanx(p) for p in PHALANGES if p.parent == phalanx.body)
    return (
        f'<body name="{phalanx.body}" pos="{_numbers(phalanx.at)}" gravcomp="1">{joints}'
        f'<geom class="{shape}" type="capsule" size="{RADIUS}" fromto="0 0 0 {end}" mass="{phalanx.mass}" '
        f'material="{skin}"/>{tip}{children}</body>'
    )


def _tip(phalanx: Phalanx) -> str:
    return f"{phalanx.body.split('_')[0]}_tip"


def assets() -> str:
    """Materials."""
    return (
        '<material name="sharpa_shell" rgba=".86 .86 .84 1" specular=".4" shininess=".4"/>'
        '<material name="sharpa_pad" rgba=".20 .21 .24 1" specular=".2" shininess=".2"/>'
    )


def defaults() -> str:
    """Default classes of the hand's joints and geoms."""
    return (
        f'<default class="sharpa_joint"><joint armature="{ARMATURE}" damping="{DRAG}"/></default>'
        '<default class="sharpa_palm"><geom material="sharpa_shell" contype="18" conaffinity="45"/></default>'
        '<default class="sharpa_thumb"><geom contype="6" conaffinity="33"/></default>'
        '<default class="sharpa_finger"><geom contype="10" conaffinity="45"/></default>'
    )


def exclusions() -> str:
    """The palm never meets what is hinged to it, nor the phalanx after that, which bends clear of it."""
    near = {phalanx.body for phalanx in PHALANGES if not phalanx.body.endswith("distal")}
    pairs = "".join(f'<exclude body1="{PALM}" body2="{name}"/>' for name in sorted(near))
    return pairs + '<exclude body1="ring_proximal" body2="little_metacarpal"/>'


def actuators() -> str:
    """One servo for each hinge, in the order of :data:`HINGES`."""
    return "".join(
        f'<general name="{h.name}" joint="{h.name}" biastype="affine" gainprm="{STIFFNESS}" '
        f'biasprm="0 {-STIFFNESS} 0" forcerange="{-h.torque} {h.torque}" ctrlrange="{h.low} {h.high}"/>'
        for h in HINGES
    )


def joints() -> tuple[Joint, ...]:
    """The 22 joints as they are disclosed and judged; the rated speed is the torque over the drag."""
    return tuple(Joint(h.name, "rad", h.low, h.high, h.torque / DRAG, h.torque, h.start) for h in HINGES)


def controls() -> list[Control]:
    """Target angles of the 22 joints."""
    text = "target angle of the joint's position servo"
    return [Control(h.name, "rad", h.low, h.high, text) for h in HINGES]


def start() -> dict[str, float]:
    """Half-open fingers."""
    return {h.name: h.start for h in HINGES}


def senses(model: Any) -> list[Sense]:
    """The fingertips and the palm by the robot's own kinematics."""
    tips = np.array([model.site(f"{finger}_tip").id for finger in FINGERS])
    palm = model.body(PALM).id
    return [
        Sense(
            Field("fingertips", "m", (len(FINGERS), 3), "L0", f"positions of the fingertips: {', '.join(FINGERS)}"),
            lambda data: data.site_xpos[tips],
        ),
        Sense(
            Field("palm_pose", "m, 1", (7,), "L0", "position of the middle of the palm, quaternion w x y z"),
            lambda data: np.concatenate([data.xpos[palm], data.xquat[palm]]),
        ),
    ]


def parameters() -> dict[str, Any]:
    """Public: the tree of hinges and tips, and the servos.

    A joint turns about ``axis`` through ``origin`` (m, from its parent's origin); all frames are parallel to the palm's
    while all joints are at zero. ``parent`` None is the palm itself.
    """
    tree: list[dict[str, Any]] = []
    last: dict[str, str | None] = {PALM: None}
    for phalanx in PHALANGES:
        parent, origin = last[phalanx.parent], phalanx.at
        for hinge in phalanx.hinges:
            tree.append({"name": hinge.name, "parent": parent, "origin": list(origin), "axis": list(_AXES[hinge.axis])})
            parent, origin = hinge.name, (0.0, 0.0, 0.0)
        last[phalanx.body] = parent
    tips = {
        phalanx.body.split("_")[0]: {"joint": last[phalanx.body], "offset": [0.0, 0.0, -phalanx.length]}
        for phalanx in PHALANGES
        if phalanx.body.endswith("distal")
    }
    return {
        "frame": "origin in the middle of the palm, fingers along -z, palm faces +y, index finger at +x",
        "palm_half_size": list(PALM_SIZE),
        "finger_radius": RADIUS,
        "joints": tree,
        "tips": tips,
        "stiffness": STIFFNESS,
        "drag": DRAG,
        "lag": DRAG / STIFFNESS,
        "torque": [hinge.torque for hinge in HINGES],
    }


def _numbers(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:.6g}" for value in values)
