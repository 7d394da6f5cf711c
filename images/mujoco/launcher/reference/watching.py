"""What a watched shot tells: the flight's first metres against the proxy, as a calibration for the next shot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from images.mujoco.launcher.reference.ballistics import GRAVITY, Ballistics, Calibration, Projectile

Array = np.ndarray
STRAIGHT = 0.003  # m, largest residual of a parabola without contact
SAMPLES = 6
LARGEST = 0.1  # rad, and share of the speed: what strays further is something else


@dataclass(frozen=True)
class Flight:
    """Fitted state where the projectile left the barrel: speed (m/s), azimuth and elevation (rad) of its velocity."""

    speed: float
    azimuth: float
    elevation: float


def fit_flight(times: Array, positions: Array, pivot: Array, release: float) -> Flight | None:
    """Fit a parabola to ``positions`` (n, 3) at ``times`` (n,), which start in the barrel; ``release`` is how far from
    the pivot (m) the flight begins. None when fewer than three samples fly freely."""
    free = np.nonzero(np.sqrt(((positions - pivot) ** 2).sum(axis=1)) > release)[0]
    if len(free) < 3:
        return None
    first = int(free[0])
    for last in range(min(first + SAMPLES, len(times)), first + 2, -1):
        t, p = times[first:last] - times[first], positions[first:last].copy()
        p[:, 2] += 0.5 * GRAVITY * t * t
        basis = np.stack([np.ones_like(t), t], axis=1)
        (start, velocity), *_ = np.linalg.lstsq(basis, p, rcond=None)
        if np.abs(basis @ np.array([start, velocity]) - p).max() < STRAIGHT:
            return _at_release(start, velocity, pivot, release)
    return None


def _at_release(start: Array, velocity: Array, pivot: Array, release: float) -> Flight:
    """Follow the parabola back to where it was ``release`` away from the pivot."""
    t = 0.0
    for _ in range(8):
        place = start + velocity * t - np.array([0, 0, 0.5 * GRAVITY * t * t]) - pivot
        now = velocity - np.array([0, 0, GRAVITY * t])
        distance = float(np.sqrt(place @ place))
        t -= (distance - release) * distance / float(place @ now)
    now = velocity - np.array([0, 0, GRAVITY * t])
    level = float(np.hypot(now[0], now[1]))
    return Flight(float(np.sqrt(now @ now)), float(np.arctan2(now[1], now[0])), float(np.arctan2(now[2], level)))


class Experience:
    """What the watched flights say together. One flight strays by half a degree of elevation, because the carriage
    shakes the barrel when it stops; so the calibration is a mean in which some flights as predicted are counted in."""

    PRIOR_ANGLES = 2.0  # flights as predicted that angles start with
    PRIOR_SPEED = 0.5

    def __init__(self) -> None:
        self._observed: list[tuple[float, float, float]] = []

    def learn(
        self,
        ballistics: Ballistics,
        flight: Flight,
        projectile: Projectile,
        draw: float,
        azimuth: float,
        elevation: float,
    ) -> Calibration:
        """Add a ``flight`` of the aim that was really set, and return the calibration by which to correct the proxy."""
        modelled = float(ballistics.muzzle_speed(projectile, np.array(draw), np.array(elevation)))
        modelled /= ballistics.calibration.speed
        stray = (flight.speed / modelled - 1, flight.azimuth - azimuth, flight.elevation - elevation)
        self._observed.append(tuple(float(np.clip(value, -LARGEST, LARGEST)) for value in stray))  # type: ignore[arg-type]
        speed, azimuth_off, elevation_off = np.sum(self._observed, axis=0)
        count = len(self._observed)
        angles = count + self.PRIOR_ANGLES
        return Calibration(
            1 + float(speed) / (count + self.PRIOR_SPEED), float(azimuth_off) / angles, float(elevation_off) / angles
        )
