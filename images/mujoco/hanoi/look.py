"""Materials and cameras of a Hanoi board; light is multiplied as the condition says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from images.gateway.environment import Camera
from images.mujoco import cameras as shared
from images.mujoco import surroundings
from images.mujoco.cameras import View
from images.mujoco.embodiment import Embodiment

BACKGROUND = replace(surroundings.BACKGROUNDS["workshop"], direction="0 0 -1")
"""Light from straight above: what hangs over a peg throws its shadow there."""
_MATERIALS = {
    "support": (".55 .43 .31 1", 0.1, 0.1),
    "peg": (".86 .86 .82 1", 0.6, 0.6),
    "letter": (".97 .97 .94 1", 0.0, 0.0),
    "barrier": (".62 .16 .14 1", 0.2, 0.3),
    "ring_1": (".16 .33 .72 1", 0.3, 0.4),
    "ring_2": (".12 .58 .3 1", 0.3, 0.4),
    "ring_3": (".93 .74 .1 1", 0.3, 0.4),
    "ring_4": (".92 .42 .08 1", 0.3, 0.4),
    "ring_5": (".55 .2 .55 1", 0.3, 0.4),
}
VIEWS = {
    "front": View((1.5, 0.0, 0.66), (0.42, 0.0, 0.165), 36.0, "board and hand from ahead, pegs side by side"),
    "top": View((0.80, 0.0, 1.0), (0.5, 0.0, 0.03), 34.0, "the board from above"),
    "side": View((0.62, -1.15, 0.72), (0.40, 0.0, 0.2), 36.0, "board and hand from the robot's right"),
    "wide": View((1.4, 0.7, 0.85), (0.28, 0.0, 0.27), 43.0, "robot and board from ahead on the left"),
}
WRIST = "wrist"
STEP = 2e-5
"""The sides of a ring as they are drawn differ by this in height (m): faces in one plane are drawn with specks."""


def assets() -> str:
    """Textures and materials."""
    return surroundings.assets(BACKGROUND) + surroundings.materials(_MATERIALS)


def visual(lighting: float) -> str:
    """Render settings under a light that is multiplied by ``lighting``."""
    return surroundings.visual(BACKGROUND, lighting)


def lights(lighting: float) -> str:
    """A sun whose shadow map covers robot and board."""
    return surroundings.sun(BACKGROUND, (0.4, 0.0, 0.2), 2.0, lighting)


def cameras() -> str:
    """The standing cameras as MJCF."""
    return shared.standing(VIEWS)


def calibration(robot: Embodiment, wrist: np.ndarray) -> list[Camera]:
    """Intrinsics and poses of all cameras; ``wrist`` (4, 4) is where the one on the hand is now."""
    fixed = [shared.calibrated(name, view) for name, view in VIEWS.items()]
    return [*fixed, shared.calibrated_mount(WRIST, robot.wrist, wrist, "hand")]
