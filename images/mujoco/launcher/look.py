"""Materials, lights, the four backgrounds and the cameras of a launcher scene."""

from __future__ import annotations

import numpy as np

from images.gateway.environment import Camera
from images.mujoco import cameras as shared
from images.mujoco import surroundings
from images.mujoco.cameras import View
from images.mujoco.embodiment import Mount
from images.mujoco.surroundings import BACKGROUNDS

# name: rgba, specular, shininess, reflectance
_MATERIALS = {
    "barrel": (".33 .45 .72 1", 0.5, 0.5),
    "brass": (".83 .62 .24 1", 0.7, 0.6),
    "steel": (".55 .57 .6 1", 0.6, 0.5),
    "stand": (".36 .38 .42 1", 0.3, 0.3),
    "dark": (".09 .09 .1 1", 0.4, 0.4),
    "white": (".96 .96 .94 1", 0.2, 0.2),
    "red": (".78 .14 .12 1", 0.4, 0.4),
    "blue": (".16 .33 .72 1", 0.4, 0.4),
    "yellow": (".93 .74 .1 1", 0.4, 0.4),
    "light": (".95 .85 .3 1", 0.3, 0.4),
    "standard": (".2 .75 .85 1", 0.3, 0.4),
    "heavy": (".35 .2 .55 1", 0.5, 0.5),
    "target": (".92 .42 .08 1", 0.2, 0.3),
    "protected": (".12 .58 .3 1", 0.2, 0.3),
    "glass": (".66 .86 .95 .26", 0.9, 0.9),
    "target_glass": (".98 .62 .3 .5", 0.9, 0.9),
    "protected_glass": (".3 .8 .5 .45", 0.9, 0.9),
    "frame": (".3 .26 .22 1", 0.2, 0.2),
    "rubber": (".18 .18 .2 1", 0.1, 0.1),
}
_TEXTURED = {
    "timber": ((0.55, 0.43, 0.31), (0.46, 0.35, 0.24)),
    "balsa": ((0.86, 0.76, 0.58), (0.8, 0.68, 0.49)),
    "stone": ((0.6, 0.6, 0.58), (0.5, 0.5, 0.49)),
    "wood_light": ((0.8, 0.68, 0.48), (0.74, 0.6, 0.4)),
}

_CAMERAS = {
    "wide": View((-1.15, -1.75, 1.55), (0.95, 0.0, 0.2), 52.0, "arms, launcher and range from behind on the right"),
    "range": View((0.1, 0.0, 1.35), (2.3, 0.0, 0.15), 48.0, "the range from above the launcher"),
    "mechanism": View((1.3, -0.7, 0.95), (0.45, 0.0, 0.25), 50.0, "launcher, wheels, brake and tray from the front"),
    "side": View((2.0, -2.9, 0.9), (2.0, 0.0, 0.25), 48.0, "the range from the right"),
}
WRISTS = ("left_wrist", "right_wrist")


def _mount(arm: str) -> Mount:
    """Beside the fingers' plane, looking at what the hand holds."""
    return Mount(f"{arm}_hand", (0.078, 0.0, 0.03), (0.01, 0.0, 0.16), (1.0, 0.0, 0.0), 75.0)


def assets(background: str) -> str:
    """Textures and materials of one of the four backgrounds. Raises KeyError for another name."""
    scenery = surroundings.assets(BACKGROUNDS[background])
    return scenery + surroundings.materials(_MATERIALS) + surroundings.textured(_TEXTURED)


def visual(background: str) -> str:
    """Render settings."""
    return surroundings.visual(BACKGROUNDS[background])


def lights(background: str) -> str:
    """A sun whose shadow map covers arms and range."""
    return surroundings.sun(BACKGROUNDS[background], (1.3, 0.0, 0.3), 3.0)


def wrist_camera(arm: str) -> str:
    """The camera on the hand of ``arm`` as MJCF."""
    return shared.mounted(f"{arm}_wrist", _mount(arm))


def cameras() -> str:
    """The fixed cameras as MJCF."""
    return shared.standing(_CAMERAS)


def calibration(wrists: dict[str, np.ndarray]) -> list[Camera]:
    """Intrinsics and poses of all cameras at their native size (public at every access level); ``wrists`` has the
    poses (4, 4) of those on the hands now."""
    fixed = [shared.calibrated(name, view) for name, view in _CAMERAS.items()]
    arms = {name: name.split("_")[0] for name in wrists}
    moving = [
        shared.calibrated_mount(name, _mount(arms[name]), pose, f"{arms[name]} hand") for name, pose in wrists.items()
    ]
    return fixed + moving
