"""The field values that the motion primitives look at, by what they mean."""

from __future__ import annotations

import numpy as np

from images.reference.motion import Arm, Crew

Array = np.ndarray
FIELDS = ("joint_positions", "azimuth", "elevation", "draw", "brake_angle", "wheel_angles")
WHEELS = ("elevation", "azimuth")
ARMS = ("left", "right")


class Readings:
    """The latest values that ``crew`` has read (angles in rad, lengths in m, time in s). ``follow`` chooses the
    projectile whose position is read along; ``pivot`` (3,) is where azimuth and elevation axes cross."""

    def __init__(self, crew: Crew, projectiles: list[str]) -> None:
        self._crew, self._projectiles = crew, projectiles
        self.pivot: Array = crew.read(("pose/barrel",))["pose/barrel"][:3]
        self.follow(0)

    def follow(self, index: int) -> None:
        """Read the position of projectile ``index`` along with everything else from now on."""
        self._followed = f"pose/{self._projectiles[index]}"
        self._crew.watch((*FIELDS, self._followed))

    @property
    def time(self) -> float:
        return self._crew.time

    @property
    def azimuth(self) -> float:
        return float(self._crew.world["azimuth"])

    @property
    def elevation(self) -> float:
        return float(self._crew.world["elevation"])

    @property
    def draw(self) -> float:
        return float(self._crew.world["draw"])

    @property
    def brake(self) -> float:
        return float(self._crew.world["brake_angle"])

    @property
    def projectile(self) -> Array:
        """Centre (3,) of the followed projectile."""
        return self._crew.world[self._followed][:3]

    def wheel(self, axis: str) -> float:
        """Angle of the handwheel of ``axis``, ``elevation`` or ``azimuth``."""
        return float(self._crew.world["wheel_angles"][WHEELS.index(axis)])

    def hand(self, arm: Arm) -> Array:
        """Grip point (3,) of ``arm`` where its measured joint angles put it."""
        first = 7 * ARMS.index(arm.name)
        return arm.kinematics.forward(self._crew.world["joint_positions"][first : first + 7])[0]
