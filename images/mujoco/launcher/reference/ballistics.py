"""The ballistic proxy: spring energy into muzzle speed, then a parabola, against boxes.

The proxy knows gravity along the bore, sliding friction in the groove and gravity in flight; it knows no bounce. All
of it works on many shots at once: angles, speeds and positions are arrays over candidates. Units: m, kg, s, rad.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from images.mujoco.launcher.reference.mechanism import Mechanism

Array = np.ndarray
GRAVITY = 9.81
TIME_STEP = 0.004  # s between samples of a trajectory


@dataclass(frozen=True)
class Projectile:
    """One piece of ammunition. Mass in kg, radius in m."""

    kind: str
    mass: float
    radius: float


@dataclass(frozen=True)
class Box:
    """A box in the world: centre (3,), half sizes (3,) and rotation (3, 3, world from box)."""

    name: str
    centre: Array
    half: Array
    rotation: Array

    def distance(self, points: Array) -> Array:
        """Distance of ``points`` (..., 3) from the surface; 0 inside."""
        local = np.abs((points - self.centre) @ self.rotation) - self.half
        outside = np.maximum(local, 0.0)
        return np.sqrt((outside * outside).sum(axis=-1))


@dataclass(frozen=True)
class Calibration:
    """What watching shots has taught: factor of the muzzle speed, additions to azimuth and elevation (rad)."""

    speed: float = 1.0
    azimuth: float = 0.0
    elevation: float = 0.0


class Ballistics:
    """Shots of one launcher: ``stiffness`` of its spring (N/m) and its ``pivot`` (3,)."""

    def __init__(self, mechanism: Mechanism, stiffness: float, pivot: Array) -> None:
        self.mechanism, self.stiffness, self.pivot = mechanism, stiffness, pivot
        self.calibration = Calibration()

    def muzzle_speed(self, projectile: Projectile, draw: Array, elevation: Array) -> Array:
        """Speed (m/s) at the muzzle; 0 where the spring does not get the projectile out.

        The spring moves carriage and projectile over ``draw``; the projectile then slides on to the muzzle alone.
        Two walls that lean by the groove angle multiply the friction by one over its sine.
        """
        m = self.mechanism
        moved = projectile.mass + m.carriage_mass
        friction = m.bore_friction / np.sin(m.groove_angle) * np.cos(elevation)
        alone = m.barrel_muzzle - m.pusher_front - projectile.radius
        square = self.stiffness * draw**2 / moved
        square = square - 2 * GRAVITY * draw * (np.sin(elevation) + friction * projectile.mass / moved)
        square = square - 2 * GRAVITY * alone * (np.sin(elevation) + friction)
        return np.sqrt(np.maximum(square, 0.0)) * self.calibration.speed

    def release(self, projectile: Projectile, azimuth: Array, elevation: Array) -> tuple[Array, Array]:
        """Where the projectile's centre leaves the barrel (..., 3), and the unit direction of its flight (..., 3)."""
        m = self.mechanism
        along, above = m.rest + m.barrel_muzzle, m.groove_height(projectile.radius)
        az, el = azimuth + self.calibration.azimuth, elevation + self.calibration.elevation
        level = np.cos(el) * along - np.sin(el) * above
        height = np.sin(el) * along + np.cos(el) * above
        place = np.stack([np.cos(az) * level, np.sin(az) * level, height], axis=-1) + self.pivot
        direction = np.stack([np.cos(az) * np.cos(el), np.sin(az) * np.cos(el), np.sin(el)], axis=-1)
        return place, direction

    def fly(self, place: Array, velocity: Array, seconds: float) -> Array:
        """Positions (candidates, samples, 3) of parabolas sampled every TIME_STEP."""
        t = np.arange(1, round(seconds / TIME_STEP) + 1) * TIME_STEP
        path = place[:, None, :] + velocity[:, None, :] * t[None, :, None]
        path[:, :, 2] -= 0.5 * GRAVITY * t * t
        return path


def first_contacts(path: Array, radius: float, boxes: Sequence[Box]) -> tuple[Array, Array]:
    """For each parabola of ``path`` (candidates, samples, 3): the index of the first box that a sphere of ``radius``
    touches (-1 for none before the floor, which is -2) and the sample at which it does."""
    candidates, samples = path.shape[:2]
    best = np.full(candidates, samples)
    which = np.full(candidates, -1)
    for index, touching in enumerate([path[:, :, 2] < radius, *(_near(box, path, radius) for box in boxes)]):
        at = np.where(touching.any(axis=1), touching.argmax(axis=1), samples)
        earlier = at < best
        best[earlier], which[earlier] = at[earlier], index - 1 if index else -2
    return which, best


def _near(box: Box, path: Array, radius: float) -> Array:
    return box.distance(path) <= radius
