"""The five-finger hand on an FR3 arm that stands at the world's origin, facing +x (``embodiment.Embodiment``)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from images.gateway.environment import Control
from images.mujoco import fr3, hand
from images.mujoco.embodiment import Joint, Mjcf, Mount, Part, Sense

HOME = (0.0, -0.54, 0.0, -2.11, 0.0, 1.57, 0.0)  # rad; the hand points down, its index finger away from the base
ADAPTER = 0.085  # m: flange to the middle of the palm, along the flange's z axis
ADAPTER_RADIUS, ADAPTER_MASS = 0.032, 0.15  # m, kg
PALM_TURN = (0.0, 1.0, 0.0, 0.0)  # quaternion, flange from palm: half a turn about x, so the fingers point along +z
WRIST = Mount(hand.PALM, (-0.05, 0.12, 0.03), (0.05, 0.045, -0.12), (1.0, 0.0, 0.0), 80.0)
"""Before the palm, above the thumb, looking down along the fingers."""


class Fr3Sharpa:
    """Action: seven angles of the arm, then 22 of the hand (rad)."""

    name = "fr3-sharpa"
    joints: tuple[Joint, ...] = (*fr3.joints(HOME), *hand.joints())
    parts: Mapping[str, Part] = {**fr3.PARTS, **hand.BODIES}
    wrist = WRIST

    impratio = hand.IMPRATIO
    slew = (math.inf,) * len(joints)

    def controls(self) -> list[Control]:
        text = "target angle of the joint's position servo"
        arm = [Control(j.name, j.unit, j.low, j.high, text) for j in self.joints[: len(HOME)]]
        return [*arm, *hand.controls()]

    def mjcf(self, camera: str) -> Mjcf:
        turn = " ".join(str(value) for value in PALM_TURN)
        top = hand.PALM_SIZE[2]
        adapter = (
            f'<geom class="sharpa_palm" type="cylinder" size="{ADAPTER_RADIUS}" mass="{ADAPTER_MASS}" '
            f'fromto="0 0 {top} 0 0 {ADAPTER}"/>'
        )
        palm = hand.body(f'pos="0 0 {fr3.FLANGE + ADAPTER}" quat="{turn}"', adapter + camera)
        return Mjcf(
            assets=fr3.assets() + hand.assets(),
            defaults=fr3.defaults() + hand.defaults(),
            bodies=fr3.arm(palm),
            exclusions=hand.exclusions(),
            tendons="",
            equalities="",
            actuators=fr3.actuators() + hand.actuators(),
        )

    def start(self) -> dict[str, float]:
        return {joint.name: joint.start for joint in self.joints}

    def rest(self) -> np.ndarray:
        return np.array([joint.start for joint in self.joints])

    def senses(self, model: Any) -> list[Sense]:
        return hand.senses(model)

    def parameters(self) -> dict[str, Any]:
        return {
            **fr3.parameters(),
            "palm": {"position": [0.0, 0.0, ADAPTER], "quaternion": list(PALM_TURN), "frame": "flange from palm"},
            "hand": hand.parameters(),
            "start": self.rest().tolist(),
        }
