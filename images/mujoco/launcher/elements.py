"""Scene elements as MJCF bodies, and what the plant and the evaluator must know about each."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from images.mujoco.launcher.scene import (
    MATERIALS,
    Bank,
    Beam,
    Block,
    Dominoes,
    Fixed,
    Flap,
    Pane,
    Roller,
    Scene,
    Seesaw,
    Target,
)

GAP = 2e-5  # m: free bodies start this far above what carries them, so that nothing starts in penetration


@dataclass
class Built:
    """One element in the model: its free or hinged bodies, and for a pane its sheet and shards."""

    name: str
    kind: str
    bodies: list[str]
    geoms: list[str]
    shards: list[str] = field(default_factory=list)


def _vec(values: Any) -> str:
    return " ".join(f"{float(v):.9g}" for v in values)


def _yaw(degrees: float) -> np.ndarray:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def _surface(material: str) -> str:
    """Friction and restitution; a bouncing material decides the contact alone (MuJoCo's priority)."""
    m = MATERIALS[material]
    friction = f'friction="{m.friction} .005 .0005" condim="6" conaffinity="33"'
    if m.restitution == 0:
        return friction
    log = math.log(m.restitution)
    ratio = -log / math.sqrt(math.pi**2 + log * log)
    return f'{friction} priority="1" solref=".006 {ratio:.4f}"'


class Builder:
    """Turns a scene into ``assets`` and ``bodies`` texts and a table ``built`` of its elements."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.assets: list[str] = []
        self.bodies: list[str] = []
        self.built: dict[str, Built] = {}
        self._order = {name: index + 1 for index, name in enumerate(scene.task.order)}
        self._required = {item.element for item in scene.task.required}
        for element in scene.elements:
            self.built[element.name] = self._add(element)

    def _look(self, element: Any) -> str:
        if element.name in self.scene.task.protected:
            return "protected"
        return "target" if element.name in self._required else element.material

    def _add(self, element: Any) -> Built:
        if isinstance(element, Pane):
            return self._pane(element)
        if isinstance(element, Dominoes):
            return self._dominoes(element)
        if isinstance(element, Flap | Seesaw):
            return self._hinged(element)
        if isinstance(element, Bank | Fixed):
            return self._fixed(element)
        return self._free(element)

    # ---- free bodies -----------------------------------------------------------------------------------------------
    def _shape(self, element: Any) -> tuple[str, str, float, str]:
        """Geom type, size text, height of the centre above the base, and quaternion of the geom in its body."""
        if isinstance(element, Target) and element.shape == "pin":
            return "cylinder", _vec((element.size[0] / 2, element.size[2] / 2)), element.size[2] / 2, "1 0 0 0"
        if isinstance(element, Target) and element.shape == "ball":
            return "sphere", _vec((element.size[0] / 2,)), element.size[0] / 2, "1 0 0 0"
        if isinstance(element, Roller) and element.shape == "sphere":
            return "sphere", _vec((element.radius,)), element.radius, "1 0 0 0"
        if isinstance(element, Roller):
            size = _vec((element.radius, element.length / 2))
            if element.axis == "z":
                return "cylinder", size, element.length / 2, "1 0 0 0"
            turn = "0.70710678 0 0.70710678 0" if element.axis == "x" else "0.70710678 0.70710678 0 0"
            return "cylinder", size, element.radius, turn
        half = np.array(element.size) / 2
        pitch = math.radians(element.pitch) if isinstance(element, Beam) else 0.0
        height = abs(half[0] * math.sin(pitch)) + abs(half[2] * math.cos(pitch))
        return "box", _vec(half), height, f"{math.cos(pitch / 2)} 0 {math.sin(pitch / 2)} 0"

    def _free(self, element: Target | Block | Beam | Roller) -> Built:
        kind, size, height, turn = self._shape(element)
        x, y, z = element.at
        self._body(element, element.name, (x, y, z + height + GAP), kind, size, turn)
        return Built(element.name, element.kind, [element.name], [element.name])

    def _body(self, element: Any, name: str, centre: Any, kind: str, size: str, turn: str) -> None:
        yaw = math.radians(element.yaw) / 2
        self.bodies.append(
            f'<body name="{name}" pos="{_vec(centre)}" quat="{math.cos(yaw)} 0 0 {math.sin(yaw)}" sleep="init">'
            f'<freejoint name="{name}"/><geom name="{name}" type="{kind}" size="{size}" quat="{turn}" '
            f'density="{MATERIALS[element.material].density}" material="{self._look(element)}" '
            f"{_surface(element.material)}/>{self._pips(element)}</body>"
        )

    def _pips(self, element: Any) -> str:
        """White dots on the face towards the arms: the place of a target in the required order."""
        if not isinstance(element, Target) or element.name not in self._order:
            return ""
        count, (length, width, height) = self._order[element.name], element.size
        step = min(width / (count + 1), 0.06)
        dots = []
        for i in range(count):
            place = (-length / 2 - 0.0005, (i - (count - 1) / 2) * step, height * 0.25)
            dots.append(
                f'<geom type="cylinder" size="{step * 0.4:.5f} .0008" pos="{_vec(place)}" quat="1 0 1 0" '
                'contype="0" conaffinity="0" mass="0" material="white"/>'
            )
        return "".join(dots)

    def _dominoes(self, element: Dominoes) -> Built:
        half = np.array(element.size) / 2
        along = _yaw(element.yaw)[:, 0]
        names = [f"{element.name}_{i + 1}" for i in range(element.count)]
        for i, name in enumerate(names):
            centre = np.array(element.at) + along * element.spacing * i + [0, 0, half[2] + GAP]
            self._body(element, name, centre, "box", _vec(half), "1 0 0 0")
        return Built(element.name, element.kind, names, names)

    # ---- fixed and hinged ------------------------------------------------------------------------------------------
    def _fixed(self, element: Bank | Fixed) -> Built:
        half = np.array(element.size) / 2
        pitch, yaw = math.radians(getattr(element, "pitch", 0.0)) / 2, math.radians(element.yaw) / 2
        height = abs(half[0] * math.sin(2 * pitch)) + abs(half[2] * math.cos(2 * pitch))
        x, y, z = element.at
        cy, sy, cp, sp = math.cos(yaw), math.sin(yaw), math.cos(pitch), math.sin(pitch)
        self.bodies.append(
            f'<body name="{element.name}" pos="{_vec((x, y, z + height))}" '
            f'quat="{cy * cp} {-sy * sp} {cy * sp} {sy * cp}">'
            f'<geom name="{element.name}" type="box" size="{_vec(half)}" material="{self._look(element)}" '
            f"{_surface(element.material)}/></body>"
        )
        return Built(element.name, element.kind, [element.name], [element.name])

    def _hinged(self, element: Flap | Seesaw) -> Built:
        half = np.array(element.size) / 2
        x, y, z = element.at
        axis, offset, height = "0 1 0", np.zeros(3), half[2]
        extra = ""
        if isinstance(element, Seesaw):
            height = element.pivot_height + half[2]
            extra = (
                f'<geom type="cylinder" size=".008 {half[1]}" pos="{_vec((x, y, z + element.pivot_height - 0.008))}" '
                'quat="1 1 0 0" material="steel" contype="0" conaffinity="0"/>'
            )
        elif element.hinge == "left":
            axis, offset = "0 0 1", np.array([0, half[1], 0])
        else:
            offset = np.array([0, 0, half[2] if element.hinge == "top" else -half[2]])
        low, high = np.radians(element.range)
        stiffness, damping = getattr(element, "stiffness", 0.0), getattr(element, "damping", 0.002)
        yaw = math.radians(element.yaw) / 2
        self.bodies.append(
            f'{extra}<body name="{element.name}" pos="{_vec((x, y, z + height))}" '
            f'quat="{math.cos(yaw)} 0 0 {math.sin(yaw)}" sleep="init">'
            f'<joint name="{element.name}" axis="{axis}" pos="{_vec(offset)}" range="{low} {high}" '
            f'stiffness="{stiffness}" damping="{damping}"/>'
            f'<geom name="{element.name}" type="box" size="{_vec(half)}" material="{self._look(element)}" '
            f'density="{MATERIALS[element.material].density}" {_surface(element.material)}/></body>'
        )
        return Built(element.name, element.kind, [element.name], [element.name])

    # ---- glass -----------------------------------------------------------------------------------------------------
    def _pane(self, element: Pane) -> Built:
        """One fixed sheet that takes the impulse, and its shards, which wait asleep in place without contact."""
        x, y, z = element.at
        turn, yaw = _yaw(element.yaw), math.radians(element.yaw) / 2
        quat = f"{math.cos(yaw)} 0 0 {math.sin(yaw)}"
        bar = 0.012 if element.frame else 0.0
        width, height, thick = element.width, element.height, element.thickness
        look = "protected_glass" if element.name in self.scene.task.protected else "glass"
        sheet = (
            f'<geom name="{element.name}" type="box" size="{_vec((thick / 2, width / 2, height / 2))}" '
            f'material="{look}" '
            f'friction="{MATERIALS["glass"].friction} .005 .0005" condim="6" pos="0 0 {bar + height / 2}"/>'
        )
        self.bodies.append(
            f'<body name="{element.name}" pos="{_vec((x, y, z))}" quat="{quat}">{sheet}{_frame(element, bar)}</body>'
        )
        names = []
        density = MATERIALS["glass"].density
        for i, (centre, corners) in enumerate(shards(element)):
            name = f"{element.name}_{i + 1}"
            names.append(name)
            vertices = " ".join(f"{s * thick / 2:.6f} {a:.6f} {b:.6f}" for s in (-1, 1) for a, b in corners)
            self.assets.append(f'<mesh name="{name}" vertex="{vertices}"/>')
            place = np.array([x, y, z + bar]) + turn @ np.array([0, centre[0], centre[1]])
            self.bodies.append(
                f'<body name="{name}" pos="{_vec(place)}" quat="{quat}" sleep="init"><freejoint name="{name}"/>'
                f'<geom name="{name}" type="mesh" mesh="{name}" density="{density}" material="{look}" contype="0" '
                f'conaffinity="0" rgba="0 0 0 0" friction="{MATERIALS["glass"].friction} .005 .0005" solref=".004 1"/>'
                "</body>"
            )
        return Built(element.name, element.kind, [element.name], [element.name], names)


def _frame(element: Pane, bar: float) -> str:
    if not bar:
        return ""
    width, height = element.width, element.height
    out = []
    for size, place in (
        ((0.01, width / 2 + bar, bar / 2), (0, 0, bar / 2)),
        ((0.01, width / 2 + bar, bar / 2), (0, 0, height + 1.5 * bar)),
        ((0.01, bar / 2, height / 2), (0, width / 2 + bar / 2, bar + height / 2)),
        ((0.01, bar / 2, height / 2), (0, -width / 2 - bar / 2, bar + height / 2)),
    ):
        out.append(f'<geom type="box" size="{_vec(size)}" pos="{_vec(place)}" material="frame"/>')
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
