"""The small interface behind which a hand works: the strategy moves the point at which a handle is grasped."""

from __future__ import annotations

import numpy as np

from images.reference.motion import Effector, Program

Array = np.ndarray


class Tool(Effector):
    """One robot's hand. Its pose is that of the grasp point, the middle of the grasped handle: z along the fingers
    (down), x along the handle's long axis. Programs are those of ``images/reference/motion.py``.

    ``clearance`` is how high (m) the grasp point must pass above what an empty hand crosses; ``stuck`` how far (m)
    above its seat a lowered ring may stay before the strategy takes it as stuck.
    """

    clearance = 0.03
    stuck = 0.004

    def open(self) -> Program:
        """Fingers to a little wider than the handle, or off it."""
        raise NotImplementedError

    def close(self) -> Program:
        """Fingers to a firm grasp."""
        raise NotImplementedError

    def over(self, azimuth: float) -> Array:
        """The rotation that grasps a handle whose long axis points to ``azimuth`` (rad); of several the one nearest to
        the present one."""
        raise NotImplementedError


def downward(azimuth: float) -> Array:
    """Rotation whose z points down and whose x points to ``azimuth`` (rad)."""
    c, s = np.cos(azimuth), np.sin(azimuth)
    return np.array([[c, s, 0.0], [s, -c, 0.0], [0.0, 0.0, -1.0]])
