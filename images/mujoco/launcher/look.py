"""Materials, lights, the four backgrounds and the cameras of a launcher scene."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from images.gateway.environment import Camera

SIZE = 512  # pixels: native width and height of every camera

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
    "standard": (".95 .35 .08 1", 0.3, 0.4),
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


@dataclass(frozen=True)
class Background:
    """Sky from top to bottom, two floor colours, sun colour and direction, ambient light."""

    sky: tuple[str, str]
    floor: tuple[str, str]
    sun: str
    direction: str
    ambient: str


BACKGROUNDS = {
    "courtyard": Background(
        (".55 .7 .9", ".86 .9 .93"), (".62 .58 .52", ".56 .52 .46"), ".75 .72 .66", ".35 .4 -1", ".34 .34 .36"
    ),
    "meadow": Background(
        (".36 .6 .88", ".8 .9 .95"), (".38 .54 .28", ".34 .49 .25"), ".78 .76 .68", ".5 -.3 -1", ".32 .35 .34"
    ),
    "dusk": Background(
        (".16 .17 .34", ".86 .52 .36"), (".4 .36 .38", ".35 .31 .34"), ".72 .54 .4", ".3 .75 -.8", ".3 .28 .36"
    ),
    "workshop": Background(
        (".72 .73 .74", ".84 .84 .83"), (".46 .48 .5", ".42 .44 .46"), ".66 .66 .66", ".1 .2 -1", ".4 .4 .4"
    ),
}


def assets(background: str) -> str:
    """Textures and materials of one of the four backgrounds. Raises KeyError for another name."""
    b = BACKGROUNDS[background]
    out = [
        f'<texture type="skybox" builtin="gradient" rgb1="{b.sky[0]}" rgb2="{b.sky[1]}" width="64" height="384"/>',
        f'<texture name="floor" type="2d" builtin="checker" rgb1="{b.floor[0]}" rgb2="{b.floor[1]}" width="256" '
        'height="256"/>',
        '<material name="floor" texture="floor" texrepeat="2 2" texuniform="true" specular=".1" shininess=".1"/>',
    ]
    for name, (rgba, specular, shininess) in _MATERIALS.items():
        out.append(f'<material name="{name}" rgba="{rgba}" specular="{specular}" shininess="{shininess}"/>')
    for name, (light, dark) in _TEXTURED.items():
        first, second = " ".join(map(str, light)), " ".join(map(str, dark))
        out.append(
            f'<texture name="{name}" type="cube" builtin="gradient" rgb1="{first}" rgb2="{second}" width="64" '
            'height="64"/>'
            f'<material name="{name}" texture="{name}" specular=".1" shininess=".1"/>'
        )
    return "".join(out)


def visual(background: str) -> str:
    """Render settings: frames up to 1024 x 1024 without multisampling, which doubles the time in software."""
    ambient = BACKGROUNDS[background].ambient
    return (
        '<global offwidth="1024" offheight="1024" fovy="45"/><quality shadowsize="2048" offsamples="0"/>'
        f'<headlight ambient="{ambient}" diffuse=".25 .25 .25" specular=".1 .1 .1"/>'
        '<map znear=".02" zfar="8" shadowclip=".9"/>'
    )


def lights(background: str) -> str:
    """A sun that casts shadows, placed so that its shadow map covers arms and range."""
    b = BACKGROUNDS[background]
    direction = np.array([float(v) for v in b.direction.split()])
    x, y, z = np.array([1.3, 0.0, 0.3]) - direction * 3.0 / np.linalg.norm(direction)
    return (
        f'<light type="directional" pos="{x:.4f} {y:.4f} {z:.4f}" dir="{b.direction}" diffuse="{b.sun}" '
        'specular=".25 .25 .25" castshadow="true"/>'
    )


UP = (0.0, 0.0, 1.0)
# name: position, look-at point (m), vertical field of view (degrees), text
_CAMERAS = {
    "wide": ((-1.15, -1.75, 1.55), (0.95, 0.0, 0.2), 52.0, "arms, launcher and range from behind on the right"),
    "range": ((0.1, 0.0, 1.35), (2.3, 0.0, 0.15), 48.0, "the range from above the launcher"),
    "mechanism": ((1.3, -0.7, 0.95), (0.45, 0.0, 0.25), 50.0, "launcher, wheels, brake and tray from the front"),
    "side": ((2.0, -2.9, 0.9), (2.0, 0.0, 0.25), 48.0, "the range from the right"),
}


# On each hand, in the hand's frame (m): beside the fingers' plane, looking at what they hold.
WRIST = ((0.078, 0.0, 0.03), (0.01, 0.0, 0.16), 75.0)
WRISTS = ("left_wrist", "right_wrist")


def _rotation(
    position: tuple[float, float, float], target: tuple[float, float, float], upwards: tuple[float, float, float]
) -> np.ndarray:
    """Parent from camera, columns right, down, forward."""
    forward = np.subtract(target, position)
    forward = forward / np.linalg.norm(forward)
    right = np.cross(forward, upwards)
    right = right / np.linalg.norm(right)
    return np.stack([right, np.cross(forward, right), forward], axis=1)


def _camera(name: str, position: tuple[float, float, float], rotation: np.ndarray, fovy: float) -> str:
    axes = " ".join(f"{v:.9g}" for v in (*rotation[:, 0], *-rotation[:, 1]))
    return f'<camera name="{name}" pos="{" ".join(map(str, position))}" xyaxes="{axes}" fovy="{fovy}"/>'


def wrist_camera(arm: str) -> str:
    """The camera on the hand of ``arm`` as MJCF."""
    position, target, fovy = WRIST
    return _camera(f"{arm}_wrist", position, _rotation(position, target, (1.0, 0.0, 0.0)), fovy)


def cameras() -> str:
    """The fixed cameras as MJCF."""
    return "".join(
        _camera(name, position, _rotation(position, target, UP), fovy)
        for name, (position, target, fovy, _) in _CAMERAS.items()
    )


def calibration(wrists: dict[str, np.ndarray]) -> list[Camera]:
    """Intrinsics and poses of all cameras at their native size (public at every access level); ``wrists`` has the
    poses (4, 4) of those on the hands now."""
    out = []
    for name, (position, target, fovy, text) in _CAMERAS.items():
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = _rotation(position, target, UP), position
        out.append(_calibrated(name, pose, fovy, text))
    for name, pose in wrists.items():
        text = (
            f"on the {name.split('_')[0]} hand; this is its pose at the start, camera_pose/{name} has the present one"
        )
        out.append(_calibrated(name, pose, WRIST[2], text))
    return out


def _calibrated(name: str, pose: np.ndarray, fovy: float, text: str) -> Camera:
    focal = SIZE / 2 / math.tan(math.radians(fovy) / 2)
    rows = tuple((float(a), float(b), float(c), float(d)) for a, b, c, d in pose)
    return Camera(name, SIZE, SIZE, (focal, focal, SIZE / 2, SIZE / 2), rows, text)
