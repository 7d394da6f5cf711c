"""The search for an aim: the elevation, draw and azimuth that hit one box first, also when a little is off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from images.mujoco.launcher.reference.ballistics import GRAVITY, TIME_STEP, Ballistics, Box, Projectile, first_contacts

Array = np.ndarray
FINALISTS = 48
SLOWEST = 0.8  # m/s at the muzzle: a projectile that barely gets out may also stay in
# What may be off at once: azimuth and elevation (rad) and the factor of the speed. The first is the shot itself.
SPREAD = np.array(
    [
        (0, 0, 1),
        (0.006, 0, 1),
        (-0.006, 0, 1),
        (0, 0.012, 1),
        (0, -0.012, 1),
        (0, 0, 1.015),
        (0, 0, 0.985),
        (0, 0.012, 1.015),
        (0, -0.012, 0.985),
    ]
)
TURN_COST = 3.2 / (2 * np.pi)  # s per radian of a wheel


class NoAim(RuntimeError):
    """No permitted aim reaches the target."""


@dataclass(frozen=True)
class Aim:
    """Barrel azimuth and elevation (rad), draw (m), what the proxy expects (impact speed m/s, flight time s) and the
    share of the disturbed shots that still hit the target first."""

    azimuth: float
    elevation: float
    draw: float
    impact_speed: float
    flight_s: float
    robustness: float


@dataclass(frozen=True)
class Limits:
    """Where aims may lie: (low, high) of azimuth and elevation (rad) and of the draw (m)."""

    azimuth: tuple[float, float]
    elevation: tuple[float, float]
    draw: tuple[float, float]


@dataclass(frozen=True)
class Wish:
    """What a shot shall do: reach ``goal`` at ``point`` (world, m) before it touches anything else, except ``through``
    (boxes that may be touched: they are gone or break), at ``impact_speed`` (low, high; m/s) on arrival."""

    goal: Box
    point: Array
    through: frozenset[str] = frozenset()
    impact_speed: tuple[float, float] = (0.0, np.inf)
    elevation: tuple[float, float] = field(default=(-np.inf, np.inf))


def search(
    ballistics: Ballistics,
    projectile: Projectile,
    wish: Wish,
    boxes: Sequence[Box],
    limits: Limits,
    present: tuple[float, float],
) -> Aim:
    """The most robust aim, and among equals the one that is set quickest from the ``present`` (azimuth, elevation).

    Draws are whole ratchet teeth; for each tooth and each coarse elevation that passes near the point, the elevation is
    refined on the proxy. Raises NoAim.
    """
    flat = wish.point - ballistics.pivot
    azimuth = float(np.arctan2(flat[1], flat[0])) - ballistics.calibration.azimuth
    if not limits.azimuth[0] <= azimuth <= limits.azimuth[1]:
        raise NoAim(f"{wish.goal.name} lies at azimuth {np.degrees(azimuth):.1f} degrees, outside the limits")
    arc = (max(limits.elevation[0], wish.elevation[0]), min(limits.elevation[1], wish.elevation[1]))
    window = Limits(limits.azimuth, arc, limits.draw)
    elevation, draw = passing(ballistics, projectile, float(np.hypot(*flat[:2])), float(flat[2]), window)
    if not len(elevation):
        raise NoAim(f"no elevation and draw within the limits reach {wish.goal.name} with {projectile.kind}")
    turn = np.abs(elevation - present[1]) / ballistics.mechanism.gear * TURN_COST
    keep = np.argsort(turn + 6 * draw, kind="stable")[:: max(1, len(turn) // FINALISTS)][:FINALISTS]
    elevation, draw, turn = elevation[keep], draw[keep], turn[keep]
    hits, speed, flight = _try(ballistics, projectile, wish, boxes, azimuth, elevation, draw)
    fits = hits[:, 0] & (speed >= wish.impact_speed[0]) & (speed <= wish.impact_speed[1])
    if not fits.any():
        raise NoAim(f"every trajectory to {wish.goal.name} with {projectile.kind} is blocked or has the wrong speed")
    share = hits.mean(axis=1)
    best = int(np.argmax(np.where(fits, share - 0.01 * (turn + 6 * draw), -np.inf)))
    return Aim(
        azimuth, float(elevation[best]), float(draw[best]), float(speed[best]), float(flight[best]), float(share[best])
    )


def passing(
    ballistics: Ballistics, projectile: Projectile, distance: float, height: float, limits: Limits
) -> tuple[Array, Array]:
    """Elevations and draws whose parabola passes ``height`` above the pivot at ``distance`` from its axis."""
    m = ballistics.mechanism
    low, high = limits.elevation
    if low > high:
        return np.empty(0), np.empty(0)
    angles = np.linspace(low, high, max(2, round((high - low) / np.radians(0.5)) + 1))
    teeth = np.arange(
        np.ceil(limits.draw[0] / m.ratchet_pitch - 1e-6), np.floor(limits.draw[1] / m.ratchet_pitch + 1e-6) + 1
    )
    draws = teeth * m.ratchet_pitch
    miss = _height(ballistics, projectile, angles[:, None], draws[None, :], distance) - height
    rising = miss[:-1] * miss[1:] <= 0  # between two elevations the parabola sweeps over the point
    i, j = np.nonzero(rising & np.isfinite(miss[:-1]) & np.isfinite(miss[1:]))
    lower, upper, draw = angles[i], angles[i + 1], draws[j]
    sign = np.sign(miss[i + 1, j])
    for _ in range(20):
        middle = (lower + upper) / 2
        above = _height(ballistics, projectile, middle, draw, distance) - height
        over = above * sign > 0
        upper, lower = np.where(over, middle, upper), np.where(over, lower, middle)
    return (lower + upper) / 2, draw


def _height(ballistics: Ballistics, projectile: Projectile, elevation: Array, draw: Array, distance: float) -> Array:
    """Height above the pivot at which the parabola is ``distance`` from its axis; -inf where it may not get out."""
    elevation, draw = np.broadcast_arrays(elevation, draw)
    place, direction = ballistics.release(
        projectile, np.full_like(elevation, -ballistics.calibration.azimuth), elevation
    )
    speed = ballistics.muzzle_speed(projectile, draw, elevation)
    t = np.maximum(distance - (place[..., 0] - ballistics.pivot[0]), 0.0) / np.maximum(speed * direction[..., 0], 0.01)
    height = place[..., 2] - ballistics.pivot[2] + speed * direction[..., 2] * t - 0.5 * GRAVITY * t * t
    return np.where(speed > SLOWEST, height, -np.inf)


def _try(
    ballistics: Ballistics,
    projectile: Projectile,
    wish: Wish,
    boxes: Sequence[Box],
    azimuth: float,
    elevation: Array,
    draw: Array,
) -> tuple[Array, Array, Array]:
    """For each candidate: which disturbed shots hit the goal first (candidates, SPREAD), impact speed, flight time."""
    count, spread = len(elevation), len(SPREAD)
    az = azimuth + np.tile(SPREAD[:, 0], count)
    el = np.repeat(elevation, spread) + np.tile(SPREAD[:, 1], count)
    speed = ballistics.muzzle_speed(projectile, np.repeat(draw, spread), el) * np.tile(SPREAD[:, 2], count)
    place, direction = ballistics.release(projectile, az, el)
    velocity = direction * speed[:, None]
    level = np.hypot(*(wish.point - ballistics.pivot)[:2])
    seconds = float(1.3 * level / np.hypot(velocity[:, 0], velocity[:, 1]).min()) + 0.1
    solid = [wish.goal, *(box for box in boxes if box.name != wish.goal.name and box.name not in wish.through)]
    which, sample = first_contacts(ballistics.fly(place, velocity, seconds), projectile.radius, solid)
    flight = (sample[::spread] + 1) * TIME_STEP
    falling = velocity[::spread].copy()
    falling[:, 2] -= GRAVITY * flight
    return (which == 0).reshape(count, spread), np.sqrt((falling**2).sum(axis=1)), flight
