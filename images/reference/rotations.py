"""Rotation matrices (3, 3), world from what is turned, in plain NumPy."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def rotation_about(axis: Array, angle: float) -> Array:
    """Rotation matrix about the unit vector ``axis`` (Rodrigues' formula)."""
    x, y, z = axis
    c, s = np.cos(angle), np.sin(angle)
    t = 1 - c
    return np.array(
        [
            [t * x * x + c, t * x * y - s * z, t * x * z + s * y],
            [t * x * y + s * z, t * y * y + c, t * y * z - s * x],
            [t * x * z - s * y, t * y * z + s * x, t * z * z + c],
        ]
    )


def rotation_vector(start: Array, end: Array) -> Array:
    """The vector along whose direction, by whose length, ``start`` turns into ``end`` (world frame)."""
    turn = end @ start.T
    twist = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    sine, cosine = float(np.sqrt(twist @ twist)) / 2, (turn[0, 0] + turn[1, 1] + turn[2, 2] - 1) / 2
    if sine > 1e-6:
        return twist * (np.arctan2(sine, cosine) / (2 * sine))
    if cosine > 0:
        return twist / 2
    column = (turn + np.eye(3))[:, int(np.argmax(np.diag(turn)))]  # half a turn: the axis is a column of R + I
    return np.pi * column / np.sqrt(column @ column)


def quaternion_matrix(q: Array) -> Array:
    """Rotation matrix (3, 3) of the unit quaternion (w, x, y, z)."""
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
