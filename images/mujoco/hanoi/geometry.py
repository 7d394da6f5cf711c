"""Public geometry of the Hanoi board: what every agent is told, whatever robot it has.

Lengths in metres, masses in kilograms, angles in radians, times in seconds; the world has x away from the robot, y to
its left, z up, and its origin on the floor below the robot. ``parameters()`` is the same table as JSON, disclosed by
``describe`` at every access level. What differs from board to board is in ``board.py``.
"""

from __future__ import annotations

from typing import Any

# ---- time ----------------------------------------------------------------------------------------------------------
PHYSICS_HZ = 120
"""Rate at which rings and joint speeds are judged (1/s); contacts are in every integration step."""
SUBSTEPS = 4
"""Integration steps in each of them: 1/480 s."""
PHYSICS_DT = 1 / PHYSICS_HZ
TIMESTEP = PHYSICS_DT / SUBSTEPS
SAMPLES = 4
"""Judged physics steps per action: control at 30 Hz."""
CONTROL_DT = PHYSICS_DT * SAMPLES

# ---- rings ---------------------------------------------------------------------------------------------------------
RINGS = 5
RADII = (0.062, 0.055, 0.048, 0.041, 0.034)
"""Distance from the axis to each of the six flat sides of a ring, largest ring first; rings are numbered 1 to 5."""
RING_HEIGHT = 0.020
"""Distance between the rings of a stack. A ring's frame is in its middle, z along its axis, x towards its handle."""
FOOT_RADIUS = 0.004
FOOT_SHARE = 0.80
"""Each ring stands on three feet, parts of spheres, at this share of its radius, on the axes of its sides at 0, 120 and
240 degrees."""
FOOT_GAP = 0.0003
"""How far they stick out below it."""
HANDLE = (0.038, 0.016, 0.018)
"""Length, width and height of a handle."""
NECK_WIDTH = 0.008

# ---- pegs and supports ---------------------------------------------------------------------------------------------
PEGS = ("A", "B", "C")
PEG_RADIUS = 0.010
"""A peg is round and has a round tip; ``length`` is from its support to the top of the tip."""
PEG_FRICTION = 0.1
SUPPORT_HALF = 0.076
"""Supports are square; half their width."""
CENTRE = (0.50, 0.0)
"""Middle of the board, about which a condition turns it."""
HANDLE_AZIMUTH = 3.141592653589793
"""Handles point to the robot at first (azimuth of a ring's x axis), but for the offsets of a condition."""
WORKSPACE = ((0.10, 0.90), (-0.50, 0.50), (0.0, 0.80))
"""x, y, z: a ring whose centre is outside is lost."""


def parameters() -> dict[str, Any]:
    """Every constant above under its own name in lower case, as JSON."""
    return {
        name.lower(): _plain(value)
        for name, value in globals().items()
        if name.isupper() and isinstance(value, int | float | tuple)
    }


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
