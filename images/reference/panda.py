"""Kinematics of the Franka Panda in plain NumPy: forward kinematics, Jacobian and a warm-started damped solver.

The numbers are the manufacturer's published link frames (modified Denavit-Hartenberg parameters). Lengths in metres,
angles in radians. Poses are a position (3,) and a rotation matrix (3, 3), world from tool.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from images.reference.rotations import rotation_vector

Array = np.ndarray

# (a, d, alpha) of the frame that precedes each joint: translate a along x, rotate alpha about x, translate d along z.
_LINKS = (
    (0.0, 0.333, 0.0),
    (0.0, 0.0, -np.pi / 2),
    (0.0, 0.316, np.pi / 2),
    (0.0825, 0.0, np.pi / 2),
    (-0.0825, 0.384, -np.pi / 2),
    (0.0, 0.0, np.pi / 2),
    (0.088, 0.0, np.pi / 2),
)
JOINT_RANGE = np.array(
    [
        (-2.8973, 2.8973),
        (-1.7628, 1.7628),
        (-2.8973, 2.8973),
        (-3.0718, -0.0698),
        (-2.8973, 2.8973),
        (-0.0175, 3.7525),
        (-2.8973, 2.8973),
    ]
)
FLANGE = 0.107  # joint 7 frame to flange, along z
GRASP_POINT = 0.1034  # flange to the point between the finger pads, along z


def _fixed_frames() -> Array:
    frames = np.zeros((7, 4, 4))
    for frame, (a, d, alpha) in zip(frames, _LINKS, strict=True):
        c, s = np.cos(alpha), np.sin(alpha)
        frame[:] = [[1, 0, 0, a], [0, c, -s, -s * d], [0, s, c, c * d], [0, 0, 0, 1]]
    return frames


_FRAMES = _fixed_frames()
_FRAMES_X, _FRAMES_Y = _FRAMES[:, :, 0].copy(), _FRAMES[:, :, 1].copy()


@dataclass
class PandaArm:
    """One arm with its base in the world and its tool on the flange.

    ``tool_offset`` is along the flange's z axis and ``tool_shift`` along its x and y axes (m), ``tool_yaw`` turns the
    tool about z; ``posture`` is where the redundant degree of freedom is drawn to, by ``posture_gain`` of the way in
    each control step but no joint by more than ``drift`` (rad); ``margin`` keeps solutions away from the ends of
    ``joint_range`` (7, 2). An FR3 has the same link frames and other ranges.
    """

    base_position: Array
    base_rotation: Array = field(default_factory=lambda: np.eye(3))
    tool_offset: float = FLANGE + GRASP_POINT
    tool_yaw: float = -np.pi / 4
    tool_shift: tuple[float, float] = (0.0, 0.0)
    posture: Array = field(default_factory=lambda: np.array([0.0, 0.1, 0.0, -2.2, 0.0, 2.3, -0.785]))
    joint_range: Array = field(default_factory=lambda: JOINT_RANGE)
    margin: float = 0.02
    damping: float = 1e-4
    posture_gain: float = 0.1
    drift: float = 0.008

    def __post_init__(self) -> None:
        self._base = np.eye(4)
        self._base[:3, :3], self._base[:3, 3] = self.base_rotation, self.base_position
        c, s = np.cos(self.tool_yaw), np.sin(self.tool_yaw)
        x, y = self.tool_shift
        self._tool = np.array([[c, -s, 0, x], [s, c, 0, y], [0, 0, 1, self.tool_offset], [0, 0, 0, 1]])
        self._low, self._high = self.joint_range[:, 0] + self.margin, self.joint_range[:, 1] - self.margin
        self._links = np.empty((7, 4, 4))
        self._links[:, :, 2:] = _FRAMES[:, :, 2:]
        self._damping = self.damping * np.eye(6)
        self._axes, self._origins, self._jacobian = np.empty((7, 3)), np.empty((7, 3)), np.empty((6, 7))

    def _chain(self, q: Array) -> Array:
        """The tool frame (4, 4); leaves joint axes and origins (7, 3) in the buffers."""
        c, s = np.cos(q)[:, None], np.sin(q)[:, None]
        links, frame = self._links, self._base
        links[:, :, 0] = _FRAMES_X * c + _FRAMES_Y * s
        links[:, :, 1] = _FRAMES_Y * c - _FRAMES_X * s
        for i in range(7):
            frame = frame.dot(links[i])
            self._axes[i], self._origins[i] = frame[:3, 2], frame[:3, 3]
        return frame.dot(self._tool)

    def forward(self, q: Array) -> tuple[Array, Array]:
        """Position (3,) and rotation (3, 3) of the tool at joint angles ``q`` (7,)."""
        frame = self._chain(np.asarray(q, dtype=float))
        return frame[:3, 3].copy(), frame[:3, :3].copy()

    def jacobian(self, q: Array) -> Array:
        """(6, 7): linear (m/rad) over angular (rad/rad) velocity of the tool in the world frame."""
        self._fill_jacobian(self._chain(np.asarray(q, dtype=float)))
        return self._jacobian.copy()

    def _fill_jacobian(self, tool: Array) -> None:
        z, r, out = self._axes, tool[:3, 3] - self._origins, self._jacobian
        out[0] = z[:, 1] * r[:, 2] - z[:, 2] * r[:, 1]
        out[1] = z[:, 2] * r[:, 0] - z[:, 0] * r[:, 2]
        out[2] = z[:, 0] * r[:, 1] - z[:, 1] * r[:, 0]
        out[3:] = z.T

    def track(
        self, q: Array, position: Array, rotation: Array, iterations: int = 4, tolerance: float = 2e-5
    ) -> tuple[Array, float]:
        """Joint angles near ``q`` whose tool pose is ``position``, ``rotation``, and the position error that is left.

        Meant for one control step: warm-started, so that one or two iterations reach ``tolerance`` (m and rad). Only
        the first iteration moves towards the posture, in the null space.
        """
        q = np.array(q, dtype=float)
        error = np.empty(6)
        for iteration in range(iterations + 1):
            tool = self._chain(q)
            error[:3] = position - tool[:3, 3]
            error[3:] = rotation_vector(tool[:3, :3], rotation)
            if iteration and (iteration == iterations or float(np.abs(error).max()) < tolerance):
                break
            self._fill_jacobian(tool)
            jacobian = self._jacobian
            gram = jacobian.dot(jacobian.T) + self._damping
            if iteration:
                step = jacobian.T.dot(np.linalg.solve(gram, error))
            else:
                drift = np.minimum(np.maximum(self.posture_gain * (self.posture - q), -self.drift), self.drift)
                step = drift + jacobian.T.dot(np.linalg.solve(gram, error - jacobian.dot(drift)))
            largest = float(np.abs(step).max())
            if largest > 0.2:
                step *= 0.2 / largest
            q = np.minimum(np.maximum(q + step, self._low), self._high)
        return q, float(np.sqrt(error[:3] @ error[:3]))

    def reach(self, q: Array, position: Array, rotation: Array, iterations: int = 200) -> tuple[Array, float]:
        """Like :meth:`track` from afar: iterates until the pose is reached and the posture has settled."""
        error = np.inf
        for _ in range(iterations):
            before = q
            q, error = self.track(q, position, rotation)
            if error < 1e-4 and float(np.abs(q - before).max()) < 1e-4:
                break
        return q, error
