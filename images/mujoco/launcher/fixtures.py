"""Elements that are fixed to the world, or hinged to it, as MJCF bodies."""

from __future__ import annotations

import math

import numpy as np

from images.mujoco.launcher.kinds import MATERIALS, Bank, Fixed, Flap, Pendulum, Seesaw, Well
from images.mujoco.launcher.marks import Marks
from images.mujoco.launcher.shapes import LOOK, Built, axes, height_of, surface, turn, vec

POST = 0.012  # m: half width of a gallows' posts


def fixed(element: Bank | Fixed, marks: Marks) -> tuple[str, Built]:
    """A plate or box that cannot move."""
    half = np.array(element.size) / 2
    tilt = (("y", element.pitch), ("x", element.roll)) if isinstance(element, Bank) else ()
    rotation = turn(("z", element.yaw), *tilt)
    x, y, z = element.at
    text = (
        f'<body name="{element.name}" pos="{vec((x, y, z + height_of(half, rotation)))}" {axes(rotation)}>'
        f'<geom name="{element.name}" type="box" size="{vec(half)}" material="{element.material}" '
        f"{surface(element.material)}/>{marks.box(element.name, half)}</body>"
    )
    return text, Built(element.name, element.kind, [element.name], [element.name])


def well(element: Well, marks: Marks) -> tuple[str, Built]:
    """Plates around a regular polygon; their outer edges close the corners."""
    step = 2 * math.pi / element.sides
    outer = (element.radius + element.thickness) * math.tan(step / 2)
    half = np.array([element.thickness / 2, outer, element.height / 2])
    names, parts = [], []
    look = marks.role(element.name) or element.material
    for i in range(element.sides):
        angle, name = i * step, f"{element.name}_{i + 1}"
        names.append(name)
        middle = element.radius + element.thickness / 2
        place = (middle * math.cos(angle), middle * math.sin(angle), element.height / 2)
        parts.append(
            f'<geom name="{name}" type="box" size="{vec(half)}" pos="{vec(place)}" '
            f'{axes(turn(("z", math.degrees(angle))))} material="{look}" {surface(element.material)}/>'
        )
    text = (
        f'<body name="{element.name}" pos="{vec(element.at)}" {axes(turn(("z", element.yaw)))}>{"".join(parts)}</body>'
    )
    return text, Built(element.name, element.kind, [element.name], names)


def hinged(element: Flap | Seesaw, marks: Marks) -> tuple[str, Built]:
    """A plate or plank that turns about one axis; it starts asleep at its rest angle."""
    half = np.array(element.size) / 2
    x, y, z = element.at
    axis, offset, height, extra = "0 1 0", np.zeros(3), half[2], ""
    if isinstance(element, Seesaw):
        height = element.pivot_height + half[2]
        pin = vec((x, y, z + element.pivot_height - 0.008))
        extra = (
            f'<geom type="cylinder" size=".008 {half[1]}" pos="{pin}" '
            f'zaxis="{vec(turn(("z", element.yaw))[:, 1])}" material="steel" {LOOK}/>'
        )
    elif element.hinge == "left":
        axis, offset = "0 0 1", np.array([0, half[1], 0])
    elif element.hinge == "middle":
        axis = "0 0 1"
    else:
        offset = np.array([0, 0, half[2] if element.hinge == "top" else -half[2]])
    low, high = np.radians(element.range)
    stiffness, damping = getattr(element, "stiffness", 0.0), getattr(element, "damping", 0.002)
    text = (
        f'{extra}<body name="{element.name}" pos="{vec((x, y, z + height))}" {axes(turn(("z", element.yaw)))} '
        f'sleep="init"><joint name="{element.name}" axis="{axis}" pos="{vec(offset)}" range="{low} {high}" '
        f'stiffness="{stiffness}" damping="{damping}"/>'
        f'<geom name="{element.name}" type="box" size="{vec(half)}" material="{element.material}" '
        f'density="{MATERIALS[element.material].density}" {surface(element.material)}/>'
        f"{marks.box(element.name, half)}</body>"
    )
    return text, Built(element.name, element.kind, [element.name], [element.name])


def pendulum(element: Pendulum, marks: Marks) -> tuple[str, Built]:
    """A gallows of two posts and a bar across, and the bob on a rod that touches nothing."""
    half = np.array(element.size) / 2
    rotation, name = turn(("z", element.yaw)), element.name
    up = element.clearance + half[2]
    top = up + element.length
    posts = "".join(
        f'<geom type="box" size="{POST} {POST} {top / 2}" pos="0 {side * element.span / 2} {top / 2}" '
        'material="frame" conaffinity="33" condim="6"/>'
        for side in (-1, 1)
    )
    bar = (
        f'<geom type="box" size="{POST} {element.span / 2 + POST} {POST}" pos="0 0 {top + POST}" material="frame" '
        'conaffinity="33" condim="6"/>'
    )
    shape = ("sphere", vec(half[:1])) if element.shape == "ball" else ("box", vec(half))
    mark = marks.round(name, half[0], None) if element.shape == "ball" else marks.box(name, half)
    x, y, z = element.at
    text = (
        f'<body name="{name}_gallows" pos="{vec(element.at)}" {axes(rotation)}>{posts}{bar}</body>'
        f'<body name="{name}" pos="{vec((x, y, z + up))}" {axes(rotation)} sleep="init">'
        f'<joint name="{name}" axis="0 1 0" pos="0 0 {element.length}" damping="{element.damping}" range="-1.4 1.4"/>'
        f'<geom name="{name}" type="{shape[0]}" size="{shape[1]}" material="{element.material}" '
        f'density="{MATERIALS[element.material].density}" {surface(element.material)}/>'
        f'<geom type="capsule" size=".003" fromto="0 0 0 0 0 {element.length}" material="steel" {LOOK}/>{mark}</body>'
    )
    return text, Built(name, element.kind, [name], [name])
