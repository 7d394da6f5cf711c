"""A scene's plan: which point to hit, in which arc, and what that shot is for (``plans/*.json``)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from images.client.strict import unique
from images.mujoco.launcher.reference.aiming import Aim, Limits, NoAim, passing
from images.mujoco.launcher.reference.ballistics import Ballistics, Projectile

Array = np.ndarray
PLANS = Path(__file__).parent / "plans"
ARC = np.radians(4.0)  # the elevation may differ by this from the planned one


@dataclass(frozen=True)
class Stage:
    """One intended shot: the projectile's centre shall pass ``offset`` (3,) (m, along the world's axes) from the centre
    of element ``hit``, with the barrel near ``elevation`` (rad). It is repeated until every field of ``until`` is true;
    a stage without any is shot once."""

    hit: str
    offset: Array
    elevation: float
    until: tuple[str, ...] = ()

    def aim(self, ballistics: Ballistics, projectile: Projectile, centre: Array, limits: Limits) -> Aim:
        """The aim for the element's present ``centre`` (3,). Raises NoAim."""
        return through(ballistics, projectile, centre + self.offset, self.elevation, limits)


def read(case: str) -> list[Stage]:
    """The stages of a scene's plan; empty without one."""
    path = PLANS / f"{case}.json"
    if not path.is_file():
        return []
    content = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique)
    return [
        Stage(item["hit"], np.array(item["offset"]), float(np.radians(item["elevation"])), tuple(item.get("until", ())))
        for item in content["shots"]
    ]


def through(ballistics: Ballistics, projectile: Projectile, point: Array, elevation: float, limits: Limits) -> Aim:
    """The aim whose parabola passes ``point`` (3,) with the elevation nearest to ``elevation`` (rad); draws are whole
    teeth of the ratchet. Raises NoAim."""
    flat = point - ballistics.pivot
    azimuth = float(np.arctan2(flat[1], flat[0])) - ballistics.calibration.azimuth
    if not limits.azimuth[0] <= azimuth <= limits.azimuth[1]:
        raise NoAim(f"the point lies at azimuth {np.degrees(azimuth):.1f} degrees, outside the limits")
    arc = (max(limits.elevation[0], elevation - ARC), min(limits.elevation[1], elevation + ARC))
    distance = float(np.hypot(*flat[:2]))
    angles, draws = passing(ballistics, projectile, distance, float(flat[2]), Limits(limits.azimuth, arc, limits.draw))
    if not len(angles):
        raise NoAim(f"no draw reaches the point at an elevation of {np.degrees(elevation):.0f} degrees")
    best = int(np.argmin(np.abs(angles - elevation)))
    return Aim(azimuth, float(angles[best]), float(draws[best]), 0.0, 0.0, 1.0)
