"""What stands down range: the scene's elements as boxes at their present poses, and what has happened to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from images.client.results import Event
from images.mujoco.launcher.reference.ballistics import Box
from images.reference.rotations import quaternion_matrix

Array = np.ndarray
FRAME_BAR = 0.012  # m, width of the bars around a framed pane
FRAME_DEPTH = 0.02  # m


class Range:
    """The elements of ``parameters["elements"]`` with their L3 fields. ``refresh`` takes values of ``fields``."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self.elements = {element["name"]: element for element in parameters["elements"]}
        self._required = {item["element"]: item["goal"] for item in parameters["required"]}
        self._panes = [name for name, element in self.elements.items() if element["kind"] == "pane"]
        self._struck: dict[int, set[str]] = {}
        self._values: Mapping[str, Array] = {}

    @property
    def fields(self) -> list[str]:
        """Names of the fields that describe the range."""
        return [
            *(f"pose/{name}" for name in self.elements),
            *(f"fractured/{name}" for name in self._panes),
            *(f"reached/{name}" for name in self._required),
        ]

    def refresh(self, values: Mapping[str, Array], events: Sequence[Event]) -> None:
        """Take new field values, and the events that happened since the last time."""
        self._values = values
        for event in events:
            if event.kind == "struck":
                self._struck.setdefault(int(event.data["shot"]), set()).add(event.data["element"])

    def reached(self, name: str) -> bool:
        """Whether the required target ``name`` has reached its goal."""
        return bool(self._values[f"reached/{name}"])

    def struck(self, shot: int) -> set[str]:
        """Names of the elements that the projectile of ``shot`` (1, 2, ...) has touched."""
        return self._struck.get(shot, set())

    def happened(self, name: str, event: str) -> bool:
        """Whether a step of a damage path is done. ``struck`` must happen in the shot that clears the target, so it is
        never done beforehand; the others are asked of the fields where these exist."""
        if event == "fractured":
            return bool(self._values[f"fractured/{name}"])
        return name in self._required and event != "struck" and self.reached(name)

    def is_pane(self, name: str) -> bool:
        return name in self._panes

    def threshold(self, name: str) -> float:
        """Impulse (N s) that breaks the pane ``name``."""
        return float(self.elements[name]["threshold"])

    # ---- geometry ---------------------------------------------------------------------------------------------------
    def solid(self, name: str) -> Box:
        """The box of the element itself: of a pane its sheet, of several bodies the first."""
        return self._boxes_of(name)[0]

    def position(self, name: str) -> Array:
        """Where the element's first body is (3,); of a pane the centre of its sheet."""
        if self.is_pane(name):
            return self.solid(name).centre
        return np.array(np.atleast_2d(self._values[f"pose/{name}"])[0, :3])

    def done(self, until: Sequence[str]) -> bool:
        """Whether all of these fields (``reached/NAME``, ``fractured/NAME``) are true."""
        return all(bool(self._values[name]) for name in until)

    def boxes(self) -> list[Box]:
        """Everything that a projectile can hit now; a fractured pane leaves its frame."""
        found = []
        for name in self.elements:
            boxes = self._boxes_of(name)
            gone = self.is_pane(name) and self.happened(name, "fractured")
            found.extend(boxes[1:] if gone else boxes)
        return found

    def panes_towards(self, name: str, origin: Array) -> list[str]:
        """Intact panes whose sheet the straight line from ``origin`` to ``name`` crosses, nearest first."""
        goal = self.solid(name).centre
        found = []
        for pane in self._panes:
            if pane == name or self.happened(pane, "fractured"):
                continue
            sheet = self.solid(pane)
            line = origin + np.linspace(0, 1, 400)[:, None] * (goal - origin)
            line[:, 2] = sheet.centre[2]  # lobs count too: only the plan view decides
            near = np.nonzero(sheet.distance(line) < 0.05)[0]
            if len(near):
                found.append((int(near[0]), pane))
        return [pane for _, pane in sorted(found)]

    def _boxes_of(self, name: str) -> list[Box]:
        element, poses = self.elements[name], np.atleast_2d(self._values[f"pose/{name}"])
        if element["kind"] == "pane":
            return self._pane(element, poses[0])
        if element["kind"] == "well":
            return _plates(element, poses[0])
        half, turn = _half_sizes(element)
        return [Box(name, pose[:3], half, quaternion_matrix(pose[3:]) @ turn) for pose in poses]

    def _pane(self, element: Mapping[str, Any], pose: Array) -> list[Box]:
        """The sheet, then the bars of its frame."""
        rotation, width, height = quaternion_matrix(pose[3:]), element["width"], element["height"]
        bar = FRAME_BAR if element["frame"] else 0.0

        def box(name: str, y: float, z: float, *size: float) -> Box:
            return Box(name, pose[:3] + rotation @ np.array([0.0, y, z]), np.array(size) / 2, rotation)

        sheet = box(element["name"], 0, bar + height / 2, element["thickness"], width, height)
        if not bar:
            return [sheet]
        frame = f"{element['name']}/frame"
        outer, side = width + 2 * bar, (width + bar) / 2
        return [
            sheet,
            box(frame, 0, bar / 2, FRAME_DEPTH, outer, bar),
            box(frame, 0, height + 1.5 * bar, FRAME_DEPTH, outer, bar),
            box(frame, side, bar + height / 2, FRAME_DEPTH, bar, height),
            box(frame, -side, bar + height / 2, FRAME_DEPTH, bar, height),
        ]


def _half_sizes(element: Mapping[str, Any]) -> tuple[Array, Array]:
    """Half sizes (3,) of the box around an element's body, and its rotation in the body's frame."""
    if element["kind"] == "roller":
        r, half_length = element["radius"], element["length"] / 2
        half = np.full(3, r)
        if element["shape"] == "cylinder":
            half["xyz".index(element["axis"])] = half_length
        return half, np.eye(3)
    if element["kind"] == "arch":
        outer = element["radius"] + element["thickness"]
        return np.array([element["depth"], element["thickness"], element["thickness"] + 0.2 * outer]) / 2, np.eye(3)
    half = np.array(element["size"], dtype=float) / 2
    if element["kind"] == "beam":
        c, s = np.cos(np.radians(element["pitch"])), np.sin(np.radians(element["pitch"]))
        return half, np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    return half, np.eye(3)


def _plates(element: Mapping[str, Any], pose: Array) -> list[Box]:
    """The wall of a well."""
    rotation, step = quaternion_matrix(pose[3:]), 2 * np.pi / element["sides"]
    thick, height = element["thickness"], element["height"]
    half = np.array([thick, 2 * (element["radius"] + thick) * np.tan(step / 2), height]) / 2
    found = []
    for angle in step * np.arange(element["sides"]):
        c, s = np.cos(angle), np.sin(angle)
        place = (element["radius"] + thick / 2) * np.array([c, s, 0]) + [0, 0, height / 2]
        turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        found.append(Box(element["name"], pose[:3] + rotation @ place, half, rotation @ turn))
    return found
