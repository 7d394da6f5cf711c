"""The letters A, B, C on the floor before the pegs, as they are drawn: strokes that no physics knows.

A letter lies flat in front of its peg's support, on the side away from the robot, and is read from there: the cameras
``front``, ``top`` and ``wide`` look from that side.
"""

from __future__ import annotations

import math
from itertools import pairwise

from images.mujoco import render
from images.mujoco.hanoi import geometry as g

HEIGHT = 0.06
"""m; widths and strokes are shares of it."""
STROKE = 0.17
GAP = 0.01  # m between the support and the top of the letter
THICK = 0.0005  # m above the floor
LINES = {
    "A": (((0.0, 0.0), (0.36, 1.0), (0.72, 0.0)), ((0.14, 0.34), (0.58, 0.34))),
    "B": (
        ((0.0, 0.0), (0.0, 1.0), (0.44, 1.0), (0.6, 0.88), (0.6, 0.65), (0.44, 0.53), (0.0, 0.53)),
        ((0.44, 0.53), (0.66, 0.39), (0.66, 0.14), (0.48, 0.0), (0.0, 0.0)),
    ),
    "C": (((0.68, 0.78), (0.46, 1.0), (0.22, 1.0), (0.0, 0.76), (0.0, 0.24), (0.22, 0.0), (0.46, 0.0), (0.68, 0.22)),),
}
"""Polylines of each letter, to its right and upwards from its lower left, in shares of its height."""


def sites(letter: str) -> str:
    """Elements of the body of a support whose middle is above the frame's origin, x away from the robot."""
    lines = LINES[letter]
    middle = max(right for line in lines for right, _ in line) / 2
    far = g.SUPPORT_HALF + GAP + HEIGHT
    out = []
    for line in lines:
        points = [(far - HEIGHT * up, HEIGHT * (right - middle)) for right, up in line]
        for (x0, y0), (x1, y1) in pairwise(points):
            length = math.hypot(x1 - x0, y1 - y0) + 0.6 * STROKE * HEIGHT  # corners are closed
            out.append(
                f'<site type="box" pos="{(x0 + x1) / 2:.9g} {(y0 + y1) / 2:.9g} {THICK}" '
                f'euler="0 0 {math.atan2(y1 - y0, x1 - x0):.9g}" size="{length / 2:.9g} {STROKE * HEIGHT / 2:.9g} '
                f'{THICK}" material="letter" group="{render.DRAWN}"/>'
            )
    return "".join(out)
