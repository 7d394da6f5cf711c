"""What all elements share when they become MJCF: numbers as text, turns, surfaces, and the record of what was built."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from images.mujoco.launcher.kinds import MATERIALS

Array = np.ndarray
GAP = 2e-5  # m: free bodies start this far above what carries them, so that nothing starts in penetration
BOUNCE = 500.0  # rad/s: frequency of the contact of a bouncing material
LOOK = 'contype="0" conaffinity="0" mass="0"'  # of a geom that is only seen


@dataclass
class Built:
    """One element in the model: its free, hinged or fixed bodies, and for a pane its sheet and shards."""

    name: str
    kind: str
    bodies: list[str]
    geoms: list[str]
    shards: list[str] = field(default_factory=list)


def vec(values: Iterable[float]) -> str:
    """Numbers as an MJCF attribute."""
    return " ".join(f"{float(v):.9g}" for v in values)


def turn(*turns: tuple[str, float]) -> Array:
    """Rotation matrix (3, 3) of successive turns about the axes that the turns before have carried along (degrees)."""
    out = np.eye(3)
    for axis, degrees in turns:
        c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
        step = np.eye(3)
        step[i, i], step[i, j], step[j, i], step[j, j] = c, -s, s, c
        out = out @ step
    return out


def axes(rotation: Array) -> str:
    """A rotation matrix as an MJCF attribute."""
    return f'xyaxes="{vec((*rotation[:, 0], *rotation[:, 1]))}"'


def height_of(half: Array, rotation: Array) -> float:
    """Height of a turned box's centre above its lowest point (m)."""
    return float(np.abs(rotation[2]) @ half)


def surface(material: str) -> str:
    """Friction and restitution; a bouncing material decides the contact alone (MuJoCo's priority).

    A bounce is half a swing of a damped spring. Its frequency is low enough for the swing to last several steps of the
    physics, or else it would depend on when within a step two bodies meet."""
    m = MATERIALS[material]
    friction = f'friction="{m.friction} .005 .0005" condim="6" conaffinity="33"'
    if m.restitution == 0:
        return friction
    log = math.log(m.restitution)
    ratio = -log / math.sqrt(math.pi**2 + log * log)
    return f'{friction} priority="1" solref="{1 / (BOUNCE * ratio):.5f} {ratio:.4f}"'
