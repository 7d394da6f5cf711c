"""The five-finger hand on a base of six ideal axes, without an arm (``embodiment.Embodiment``).

The base carries the middle of the palm: three slides along the world's axes, then yaw about z, pitch about the turned y
and roll about the twice turned x axis. Like the fingers' joints, each axis has a servo that saturates and viscous drag,
so that it never gets faster than force over drag. At zero angles the fingers point down and the index finger is at +x.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from images.gateway.environment import Control
from images.mujoco import hand
from images.mujoco.embodiment import Joint, Mjcf, Mount, Part, Sense
from images.mujoco.fr3_sharpa import WRIST


@dataclass(frozen=True)
class Axis:
    """One axis of the base: kind of joint, direction, range (m or rad), start, servo stiffness (N/m or N m/rad), force
    (N or N m), drag (N s/m or N m s/rad), moved mass or inertia of the drive (kg or kg m^2)."""

    name: str
    unit: str
    direction: str
    low: float
    high: float
    start: float
    stiffness: float
    force: float
    drag: float
    armature: float

    @property
    def speed(self) -> float:
        """Highest speed that the drive reaches."""
        return self.force / self.drag


def _slide(name: str, direction: str, low: float, high: float, start: float) -> Axis:
    return Axis(name, "m", direction, low, high, start, 6000.0, 240.0, 300.0, 0.5)


def _turn(name: str, direction: str, reach: float) -> Axis:
    return Axis(name, "rad", direction, -reach, reach, 0.0, 300.0, 24.0, 10.0, 0.01)


AXES = (
    _slide("base_x", "1 0 0", 0.10, 0.90, 0.30),
    _slide("base_y", "0 1 0", -0.50, 0.50, 0.0),
    _slide("base_z", "0 0 1", 0.10, 0.80, 0.48),
    _turn("base_yaw", "0 0 1", 3.3),
    _turn("base_pitch", "0 1 0", 0.8),
    _turn("base_roll", "1 0 0", 0.8),
)


class FloatingSharpa:
    """Action: position (m) and angles (rad) of the base, then 22 angles of the hand (rad)."""

    name = "floating-sharpa"
    joints: tuple[Joint, ...] = (
        *(Joint(a.name, a.unit, a.low, a.high, a.speed, a.force, a.start) for a in AXES),
        *hand.joints(),
    )
    parts: Mapping[str, Part] = hand.BODIES
    wrist: Mount = WRIST

    impratio = hand.IMPRATIO
    slew = (math.inf,) * len(joints)

    def controls(self) -> list[Control]:
        text = "target of the base's position servo"
        return [*(Control(a.name, a.unit, a.low, a.high, text) for a in AXES), *hand.controls()]

    def mjcf(self, camera: str) -> Mjcf:
        kinds = {"m": "slide", "rad": "hinge"}
        axes = "".join(
            f'<joint name="{a.name}" type="{kinds[a.unit]}" axis="{a.direction}" range="{a.low} {a.high}" '
            f'armature="{a.armature}" damping="{a.drag}"/>'
            for a in AXES
        )
        servos = "".join(
            f'<general name="{a.name}" joint="{a.name}" biastype="affine" gainprm="{a.stiffness}" '
            f'biasprm="0 {-a.stiffness} 0" forcerange="{-a.force} {a.force}" ctrlrange="{a.low} {a.high}"/>'
            for a in AXES
        )
        return Mjcf(
            assets=hand.assets(),
            defaults=hand.defaults(),
            bodies=hand.body('pos="0 0 0"', axes + camera),
            exclusions=hand.exclusions(),
            tendons="",
            equalities="",
            actuators=servos + hand.actuators(),
        )

    def start(self) -> dict[str, float]:
        return {joint.name: joint.start for joint in self.joints}

    def rest(self) -> np.ndarray:
        return np.array([joint.start for joint in self.joints])

    def senses(self, model: Any) -> list[Sense]:
        return hand.senses(model)

    def parameters(self) -> dict[str, Any]:
        return {
            "base_axes": [
                {
                    "name": a.name,
                    "direction": [float(value) for value in a.direction.split()],
                    "stiffness": a.stiffness,
                    "force": a.force,
                    "drag": a.drag,
                    "lag": a.drag / a.stiffness,
                    "speed": a.speed,
                }
                for a in AXES
            ],
            "hand": hand.parameters(),
            "start": self.rest().tolist(),
        }
