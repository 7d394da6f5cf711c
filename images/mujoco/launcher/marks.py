"""What a person sees of the task: orange panels on required targets, green ones on protected elements, and white dots
that number the targets of an order. Materials stay visible at the edges. None of it touches anything."""

from __future__ import annotations

import numpy as np

from images.mujoco.launcher.scene import Scene
from images.mujoco.launcher.shapes import LOOK, vec

PANEL = 0.84  # of a face's width and height
THICK = 0.0006  # m
DOT = 0.06  # m: largest distance of two dots


class Marks:
    """The marks of one scene."""

    def __init__(self, scene: Scene) -> None:
        self._place = {name: index + 1 for index, name in enumerate(scene.task.order)}
        self._required = {item.element for item in scene.task.required}
        self._protected = set(scene.task.protected)

    def role(self, name: str) -> str | None:
        """``target``, ``protected`` or nothing."""
        return "protected" if name in self._protected else "target" if name in self._required else None

    def glass(self, name: str) -> str:
        """Look of a pane."""
        return {"protected": "protected_glass", "target": "target_glass", None: "glass"}[self.role(name)]

    def box(self, name: str, half: np.ndarray, pose: str = "", number: bool = True) -> str:
        """Panels on the near, far and upper faces of a box geom of half sizes ``half`` (3,) placed by ``pose``."""
        role = self.role(name)
        if role is None:
            return ""
        out = []
        for axis, sides in ((0, (-1, 1)), (1, (-1, 1)), (2, (1,))):
            size, place = half * PANEL, np.zeros(3)
            size[axis] = THICK
            for side in sides:
                place[axis] = side * half[axis]
                out.append(f'<geom type="box" size="{vec(size)}" pos="{vec(place)}" material="{role}" {LOOK}/>')
        dots = self._dots(name, half) if number else []
        return f"<frame {pose}>{''.join(out + dots)}</frame>"

    def round(self, name: str, radius: float, half_length: float | None, pose: str = "") -> str:
        """A belt around a cylinder (``half_length`` along its own z) or a ball (None)."""
        role = self.role(name)
        if role is None:
            return ""
        belt = (radius * 1.012, 0.5 * half_length) if half_length else (radius * 1.006, 0.34 * radius)
        geom = f'<geom type="cylinder" size="{vec(belt)}" material="{role}" {LOOK}/>'
        dots = self._dots(name, np.array([belt[0], radius, 4 * belt[1] if half_length is None else 2 * belt[1]]))
        return f"<frame {pose}>{geom}{''.join(dots)}</frame>"

    def pane(self, name: str, half: np.ndarray, pose: str) -> str:
        """The dots of a sheet of half sizes ``half`` (3,) placed by ``pose``: geoms ``NAME_dot_1``, since they go with
        it when it breaks."""
        return f"<frame {pose}>{''.join(self._dots(name, half, f'{name}_dot'))}</frame>"

    def _dots(self, name: str, half: np.ndarray, called: str = "") -> list[str]:
        """White dots on the face towards the arms: the place of a target in the required order."""
        if name not in self._place:
            return []
        count = self._place[name]
        step = min(2 * half[1] / (count + 1), DOT)
        out = []
        for i in range(count):
            named = f'name="{called}_{i + 1}" ' if called else ""
            place = (-half[0] - 2 * THICK, (i - (count - 1) / 2) * step, 0.0)
            out.append(
                f'<geom {named}type="cylinder" size="{step * 0.4:.5f} {THICK}" pos="{vec(place)}" quat="1 0 1 0" '
                f'{LOOK} material="white"/>'
            )
        return out
