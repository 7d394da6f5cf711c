"""Scene elements as MJCF bodies, and what the plant and the evaluator must know about each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from images.mujoco.launcher import fixtures, glazing
from images.mujoco.launcher.kinds import (
    MATERIALS,
    Arch,
    Bank,
    Beam,
    Block,
    Dominoes,
    Fixed,
    Flap,
    Pane,
    Pendulum,
    Roller,
    Seesaw,
    Target,
    Well,
)
from images.mujoco.launcher.marks import Marks
from images.mujoco.launcher.scene import Scene
from images.mujoco.launcher.shapes import GAP, Built, axes, height_of, surface, turn, vec


class Builder:
    """Turns a scene into ``assets`` and ``bodies`` texts and a table ``built`` of its elements."""

    def __init__(self, scene: Scene) -> None:
        self.assets: list[str] = []
        self.bodies: list[str] = []
        self.built: dict[str, Built] = {}
        self._marks = Marks(scene)
        for element in scene.elements:
            self.built[element.name] = self._add(element)

    def _add(self, element: Any) -> Built:
        match element:
            case Pane():
                assets, text, built = glazing.pane(element, self._marks)
                self.assets.append(assets)
            case Dominoes():
                return self._dominoes(element)
            case Arch():
                return self._arch(element)
            case Flap() | Seesaw():
                text, built = fixtures.hinged(element, self._marks)
            case Pendulum():
                text, built = fixtures.pendulum(element, self._marks)
            case Well():
                text, built = fixtures.well(element, self._marks)
            case Bank() | Fixed():
                text, built = fixtures.fixed(element, self._marks)
            case _:
                return self._free(element)
        self.bodies.append(text)
        return built

    # ---- free bodies -----------------------------------------------------------------------------------------------
    def _free(self, element: Target | Block | Beam | Roller) -> Built:
        kind, size, rotation, height = _shape(element)
        x, y, z = element.at
        if kind == "box":
            mark = self._marks.box(element.name, np.array(element.size) / 2, axes(rotation))  # type: ignore[union-attr]
        else:
            mark = self._marks.round(element.name, size[0], size[1] if kind == "cylinder" else None, axes(rotation))
        geom = f'type="{kind}" size="{vec(size)}" {axes(rotation)}'
        self._body(element, element.name, (x, y, z + height + GAP), turn(("z", element.yaw)), geom, mark)
        return Built(element.name, element.kind, [element.name], [element.name])

    def _body(self, element: Any, name: str, centre: Any, rotation: np.ndarray, geom: str, mark: str) -> None:
        self.bodies.append(
            f'<body name="{name}" pos="{vec(centre)}" {axes(rotation)} sleep="init"><freejoint name="{name}"/>'
            f'<geom name="{name}" {geom} density="{MATERIALS[element.material].density}" material="{element.material}" '
            f"{surface(element.material)}/>{mark}</body>"
        )

    def _dominoes(self, element: Dominoes) -> Built:
        half = np.array(element.size) / 2
        names, place, yaw = [], np.add(element.at, (0, 0, half[2] + GAP)), element.yaw
        for i in range(element.count):
            name = f"{element.name}_{i + 1}"
            names.append(name)
            mark = self._marks.box(element.name, half, number=i == 0)
            self._body(element, name, place, turn(("z", yaw)), f'type="box" size="{vec(half)}"', mark)
            place = place + turn(("z", yaw + element.bend / 2))[:, 0] * element.spacing
            yaw += element.bend
        return Built(element.name, element.kind, names, names)

    def _arch(self, element: Arch) -> Built:
        """Wedges of equal angle; each touches the next, so nothing is left to settle."""
        step, crown = math.pi / element.stones, element.stones // 2
        chosen = {"whole": range(element.stones), "crown": [crown]}.get(
            element.part, [i for i in range(element.stones) if i != crown]
        )
        inner, outer, half = element.radius, element.radius + element.thickness, element.depth / 2
        rotation, names = turn(("z", element.yaw)), []
        stiff = "" if MATERIALS[element.material].restitution else 'solref=".003 1"'  # the crown sinks half as far
        for i in chosen:
            angles = np.array([i * step, (i + 1) * step])
            flat = np.array([(r * math.cos(a), r * math.sin(a)) for r in (inner, outer) for a in angles])
            centre = flat.mean(axis=0)
            name = f"{element.name}_{i + 1}"
            names.append(name)
            vertices = " ".join(f"{x:.9f} {a:.9f} {b:.9f}" for x in (-half, half) for a, b in flat - centre)
            self.assets.append(f'<mesh name="{name}" vertex="{vertices}"/>')
            place = np.array(element.at) + rotation @ np.array([0, centre[0], centre[1] + GAP])
            size = np.array([half, 0.35 * element.thickness, 0.35 * outer * step])
            tilt = np.degrees(angles.mean()) + 90
            mark = self._marks.box(element.name, size, axes(turn(("x", tilt - 90))), number=i == chosen[0])
            self._body(element, name, place, rotation, f'type="mesh" mesh="{name}" {stiff}', mark)
        return Built(element.name, element.kind, names, names)


def _shape(element: Any) -> tuple[str, tuple[float, ...], np.ndarray, float]:
    """Geom type, its sizes, the rotation of the geom in its body, and the height of the centre above the base."""
    upright = np.eye(3)
    if isinstance(element, Target) and element.shape == "pin":
        return "cylinder", (element.size[0] / 2, element.size[2] / 2), upright, element.size[2] / 2
    if isinstance(element, Target) and element.shape == "ball":
        return "sphere", (element.size[0] / 2,), upright, element.size[0] / 2
    if isinstance(element, Roller) and element.shape == "sphere":
        return "sphere", (element.radius,), upright, element.radius
    if isinstance(element, Roller):
        size = element.radius, element.length / 2
        if element.axis == "z":
            return "cylinder", size, upright, element.length / 2
        return "cylinder", size, turn(("y", 90) if element.axis == "x" else ("x", 90)), element.radius
    half = np.array(element.size) / 2
    rotation = turn(("y", element.pitch)) if isinstance(element, Beam) else upright
    return "box", tuple(half), rotation, height_of(half, rotation)
