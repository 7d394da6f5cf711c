"""Kinematics of a hand of hinges in plain NumPy: fingertips, their Jacobians, a damped solver, and pinch forces.

Everything is in the palm's frame, lengths in metres, angles in radians. The tree comes from ``describe``'s public
parameters (``robot.hand``): each hinge has a parent hinge (or the palm), an origin in its parent and an axis; all
frames are parallel while the angles are zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from images.reference.rotations import rotation_about

Array = np.ndarray


class Hand:
    """One hand. ``low`` and ``high`` (n,) are the ranges of its joints, ``stiffness`` (N m/rad) is that of its servos,
    ``torque`` (n,) where they saturate, ``radius`` (m) that of a fingertip."""

    def __init__(self, parameters: Mapping[str, Any], low: Array, high: Array) -> None:
        joints = parameters["joints"]
        self.names = [joint["name"] for joint in joints]
        index: dict[str | None, int] = {name: i for i, name in enumerate(self.names)} | {None: -1}
        self._parents = [index[joint["parent"]] for joint in joints]
        self._origins = np.array([joint["origin"] for joint in joints])
        self._axes = np.array([joint["axis"] for joint in joints])
        self._tips = {
            finger: (index[tip["joint"]], np.array(tip["offset"])) for finger, tip in parameters["tips"].items()
        }
        self.low, self.high = np.asarray(low, float), np.asarray(high, float)
        self.stiffness, self.torque = float(parameters["stiffness"]), np.array(parameters["torque"])
        self.radius = float(parameters["finger_radius"])

    def posture(self, angles: Mapping[str, float]) -> Array:
        """Joint angles (n,) by joint name; those that are not named are zero."""
        return np.array([angles.get(name, 0.0) for name in self.names])

    def tips(self, q: Array) -> dict[str, tuple[Array, Array]]:
        """Position (3,) and Jacobian (3, n) of each fingertip at the angles ``q`` (n,)."""
        count = len(self.names)
        origins, axes = np.empty((count, 3)), np.empty((count, 3))
        turned = np.empty((count, 3, 3))
        for i, parent in enumerate(self._parents):
            frame = np.eye(3) if parent < 0 else turned[parent]
            origins[i] = frame @ self._origins[i] + (0 if parent < 0 else origins[parent])
            axes[i] = frame @ self._axes[i]
            turned[i] = frame @ rotation_about(self._axes[i], float(q[i]))
        out = {}
        for finger, (joint, offset) in self._tips.items():
            position = origins[joint] + turned[joint] @ offset
            jacobian = np.zeros((3, count))
            while joint >= 0:
                jacobian[:, joint] = np.cross(axes[joint], position - origins[joint])
                joint = self._parents[joint]
            out[finger] = position, jacobian
        return out

    def reach(self, targets: Mapping[str, Array], rest: Array, q: Array | None = None) -> tuple[Array, float]:
        """Angles that bring the named fingertips to ``targets`` and keep everything else near ``rest``, and the largest
        error that is left (m). ``q`` is where the search begins (default: ``rest``)."""
        q = np.array(rest if q is None else q, dtype=float)
        error = np.inf
        for _ in range(300):
            tips = self.tips(q)
            missing = np.concatenate([goal - tips[finger][0] for finger, goal in targets.items()])
            error = float(np.abs(missing).max())
            jacobian = np.vstack([tips[finger][1] for finger in targets])
            drift = 0.3 * (rest - q)
            if error < 1e-6 and not drift.any():
                break
            gram = jacobian @ jacobian.T + 1e-6 * np.eye(len(missing))
            step = drift + jacobian.T @ np.linalg.solve(gram, missing - jacobian @ drift)
            largest = float(np.abs(step).max())
            if largest < 1e-6:
                break
            q = np.clip(q + step * min(1.0, 0.1 / largest), self.low, self.high)
        return q, error

    def pressing(self, forces: Mapping[str, Array], q: Array) -> Array:
        """Commands (n,) that make the fingertips push with ``forces`` (N) while contact holds the joints at ``q``."""
        tips = self.tips(q)
        torque = sum((tips[finger][1].T @ np.asarray(force) for finger, force in forces.items()), np.zeros(len(q)))
        torque = np.clip(torque, -self.torque, self.torque)
        return np.clip(q + torque / self.stiffness, self.low, self.high)
