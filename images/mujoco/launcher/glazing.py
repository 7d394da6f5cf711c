"""Panes as MJCF: one fixed sheet that takes the impulse, its frame, and the shards that wait in place for the break."""

from __future__ import annotations

import numpy as np

from images.mujoco.launcher.kinds import MATERIALS, Pane
from images.mujoco.launcher.marks import Marks
from images.mujoco.launcher.shapes import Built, axes, turn, vec

BAR = 0.012  # m: width of a frame's bars


def pane(element: Pane, marks: Marks) -> tuple[str, str, Built]:
    """Assets, bodies and record. Shards wait asleep, unseen and without contact."""
    rotation = turn(("z", element.yaw))
    bar = BAR if element.frame else 0.0
    width, height, thick = element.width, element.height, element.thickness
    look = marks.glass(element.name)
    sheet = (
        f'<geom name="{element.name}" type="box" size="{vec((thick / 2, width / 2, height / 2))}" material="{look}" '
        f'friction="{MATERIALS["glass"].friction} .005 .0005" condim="6" pos="0 0 {bar + height / 2}"/>'
    )
    dots = marks.pane(element.name, np.array([thick, width, height]) / 2, f'pos="{vec((0, 0, bar + height / 2))}"')
    pose = f'pos="{vec(element.at)}" {axes(rotation)}'
    bodies = [f'<body name="{element.name}" {pose}>{sheet}{dots}{_frame(element)}</body>']
    assets, names = [], []
    for i, (centre, corners) in enumerate(shards(element)):
        name = f"{element.name}_{i + 1}"
        names.append(name)
        vertices = " ".join(f"{s * thick / 2:.6f} {a:.6f} {b:.6f}" for s in (-1, 1) for a, b in corners)
        assets.append(f'<mesh name="{name}" vertex="{vertices}"/>')
        place = np.add(element.at, (0, 0, bar)) + rotation @ np.array([0, centre[0], centre[1]])
        bodies.append(
            f'<body name="{name}" pos="{vec(place)}" {axes(rotation)} sleep="init"><freejoint name="{name}"/>'
            f'<geom name="{name}" type="mesh" mesh="{name}" density="{MATERIALS["glass"].density}" material="{look}" '
            f'contype="0" conaffinity="0" rgba="0 0 0 0" friction="{MATERIALS["glass"].friction} .005 .0005" '
            'solref=".004 1"/></body>'
        )
    return "".join(assets), "".join(bodies), Built(element.name, "pane", [element.name], [element.name], names)


def _frame(element: Pane) -> str:
    if not element.frame:
        return ""
    width, height = element.width, element.height
    out = []
    for size, place in (
        ((0.01, width / 2 + BAR, BAR / 2), (0, 0, BAR / 2)),
        ((0.01, width / 2 + BAR, BAR / 2), (0, 0, height + 1.5 * BAR)),
        ((0.01, BAR / 2, height / 2), (0, width / 2 + BAR / 2, BAR + height / 2)),
        ((0.01, BAR / 2, height / 2), (0, -width / 2 - BAR / 2, BAR + height / 2)),
    ):
        out.append(f'<geom type="box" size="{vec(size)}" pos="{vec(place)}" material="frame"/>')
    return "".join(out)


def shards(element: Pane) -> list[tuple[np.ndarray, np.ndarray]]:
    """Convex cells of a pane: centre (y, z of the sheet, z from its lower edge; m) and corners relative to it."""
    ny, nz = element.cells
    rng = np.random.default_rng(element.pattern)
    grid = np.stack(
        np.meshgrid(
            np.linspace(-element.width / 2, element.width / 2, ny + 1),
            np.linspace(0, element.height, nz + 1),
            indexing="ij",
        ),
        axis=-1,
    )
    cell = np.array([element.width / ny, element.height / nz])
    grid[1:-1, 1:-1] += rng.uniform(-0.2, 0.2, (ny - 1, nz - 1, 2)) * cell
    out = []
    for i in range(ny):
        for j in range(nz):
            corners = np.array([grid[i, j], grid[i + 1, j], grid[i + 1, j + 1], grid[i, j + 1]])
            centre = corners.mean(axis=0)
            out.append((centre, (corners - centre) * 0.99))
    return out
