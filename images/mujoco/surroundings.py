"""What is around a scene: sky, floor, sun, and materials as MJCF."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

Colour = tuple[float, float, float]


@dataclass(frozen=True)
class Background:
    """Sky from top to bottom, two floor colours, sun colour and direction, ambient light. The sun shines along x or y:
    where its light falls askew to both, the engine draws specks of shadow on the open floor."""

    sky: tuple[str, str]
    floor: tuple[str, str]
    sun: str
    direction: str
    ambient: str


BACKGROUNDS = {
    "courtyard": Background(
        (".55 .7 .9", ".86 .9 .93"), (".62 .58 .52", ".56 .52 .46"), ".75 .72 .66", "0 .5 -1", ".34 .34 .36"
    ),
    "meadow": Background(
        (".36 .6 .88", ".8 .9 .95"), (".38 .54 .28", ".34 .49 .25"), ".78 .76 .68", ".5 0 -1", ".32 .35 .34"
    ),
    "dusk": Background(
        (".16 .17 .34", ".86 .52 .36"), (".4 .36 .38", ".35 .31 .34"), ".72 .54 .4", "0 .75 -.8", ".3 .28 .36"
    ),
    "workshop": Background(
        (".72 .73 .74", ".84 .84 .83"), (".46 .48 .5", ".42 .44 .46"), ".66 .66 .66", "0 .2 -1", ".4 .4 .4"
    ),
}


FLOOR = "20 20 4"
"""Half sizes of the floor as it is drawn, and of its tiles for shading (m): out to the far clipping plane. Physics
knows no edge of a plane; one without an edge takes a third more time to draw, and has a white glow at the horizon."""


def assets(background: Background) -> str:
    """Sky and floor."""
    b = background
    return (
        f'<texture type="skybox" builtin="gradient" rgb1="{b.sky[0]}" rgb2="{b.sky[1]}" width="64" height="384"/>'
        f'<texture name="floor" type="2d" builtin="checker" rgb1="{b.floor[0]}" rgb2="{b.floor[1]}" width="256" '
        'height="256"/>'
        '<material name="floor" texture="floor" texrepeat="2 2" texuniform="true" specular=".1" shininess=".1"/>'
    )


def materials(table: Mapping[str, tuple[str, float, float]]) -> str:
    """Plain materials: rgba, specular, shininess by name."""
    return "".join(
        f'<material name="{name}" rgba="{rgba}" specular="{specular}" shininess="{shininess}"/>'
        for name, (rgba, specular, shininess) in table.items()
    )


def textured(table: Mapping[str, tuple[Colour, Colour]]) -> str:
    """Materials that shade from one colour to another."""
    out = []
    for name, (light, dark) in table.items():
        first, second = " ".join(map(str, light)), " ".join(map(str, dark))
        out.append(
            f'<texture name="{name}" type="cube" builtin="gradient" rgb1="{first}" rgb2="{second}" width="64" '
            'height="64"/>'
            f'<material name="{name}" texture="{name}" specular=".1" shininess=".1"/>'
        )
    return "".join(out)


def visual(background: Background, intensity: float = 1.0) -> str:
    """Render settings: frames up to 1024 x 1024 without multisampling, which doubles the time in software. All light is
    multiplied by ``intensity``."""
    ambient, head = _scaled(background.ambient, intensity), _scaled(".25 .25 .25", intensity)
    return (
        '<global offwidth="1024" offheight="1024" fovy="45"/><quality shadowsize="1024" offsamples="0"/>'
        f'<headlight ambient="{ambient}" diffuse="{head}" specular=".1 .1 .1"/>'
        '<map znear=".02" zfar="8" shadowclip=".9"/>'
    )


def sun(background: Background, middle: tuple[float, float, float], distance: float, intensity: float = 1.0) -> str:
    """A sun that casts shadows, placed ``distance`` (m) from ``middle`` so that its shadow map covers what stands
    there."""
    b = background
    direction = np.array([float(v) for v in b.direction.split()])
    x, y, z = np.array(middle) - direction * distance / np.linalg.norm(direction)
    return (
        f'<light type="directional" pos="{x:.4f} {y:.4f} {z:.4f}" dir="{b.direction}" '
        f'diffuse="{_scaled(b.sun, intensity)}" specular=".25 .25 .25" castshadow="true"/>'
    )


def _scaled(colour: str, intensity: float) -> str:
    return colour if intensity == 1 else " ".join(f"{float(v) * intensity:.4g}" for v in colour.split())
