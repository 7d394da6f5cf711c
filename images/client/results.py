"""What the client SDK returns. Arrays are NumPy arrays, pictures PIL images; shapes and units are in ``describe``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from PIL import Image


@dataclass(slots=True)
class Control:
    """One component of an action; ``low`` and ``high`` are inclusive."""

    name: str
    unit: str
    low: float
    high: float
    text: str


@dataclass(slots=True)
class Field:
    """A readable observation."""

    name: str
    unit: str
    shape: tuple[int, ...]
    level: str
    text: str
    dtype: str


@dataclass(slots=True)
class Camera:
    """``intrinsics``: fx, fy, cx, cy in pixels at ``width`` x ``height``; ``pose``: (4, 4), world from camera, metres,
    x right, y down, z forward."""

    name: str
    width: int
    height: int
    intrinsics: tuple[float, float, float, float]
    pose: np.ndarray
    text: str


@dataclass(slots=True)
class Clause:
    """A rule or threshold that the evaluator checks. ``code`` is the failure code that breaking it carries."""

    id: str
    text: str
    value: Any
    unit: str
    tolerance: float | None
    code: str | None


@dataclass(slots=True)
class Description:
    """The public description of the environment; ``document`` is all of it as it came."""

    environment_id: str
    title: str
    task: str
    mode: str
    embodiment: str | None
    control_hz: float
    controls: list[Control]
    fields: dict[str, Field]
    cameras: dict[str, Camera]
    clauses: list[Clause]
    budgets: dict[str, Any]
    access: dict[str, Any]
    parameters: dict[str, Any]
    document: dict[str, Any]


@dataclass(slots=True)
class Terminal:
    """How the episode ended. ``clause`` names the clause in ``describe`` that decided, where one did."""

    cause: str
    code: str | None
    clause: str | None
    text: str

    @property
    def success(self) -> bool:
        return self.cause == "goal_met"


@dataclass(slots=True)
class Event:
    """Something that happened; ``index`` is the action of this call."""

    index: int
    kind: str
    text: str
    data: dict[str, Any]


@dataclass(slots=True)
class Observation:
    """``observation["name"]`` is a field; ``pictures`` are in the order in which they were asked for."""

    fields: dict[str, np.ndarray]
    pictures: list[Image.Image]
    simulated_s: float
    actions: int
    terminal: Terminal | None

    def __getitem__(self, name: str) -> np.ndarray:
        return self.fields[name]


@dataclass(slots=True)
class StepResult:
    """``applied`` actions of this call took place; ``actions`` and ``simulated_s`` (s) are totals of the episode;
    ``remaining`` has what is left of both. ``terminal`` is set by the call that ends the episode."""

    applied: int
    simulated_s: float
    actions: int
    remaining: dict[str, float]
    events: list[Event]
    terminal: Terminal | None
    fields: dict[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.fields[name]


def parse_description(document: dict[str, Any]) -> Description:
    keys = (
        "environment_id",
        "title",
        "task",
        "mode",
        "embodiment",
        "control_hz",
        "budgets",
        "access",
        "parameters",
    )
    fields = [Field(**{**item, "shape": tuple(item["shape"])}) for item in document["fields"]]
    cameras = [Camera(**{**item, "pose": np.array(item["pose"])}) for item in document["cameras"]]
    return Description(
        **{key: document[key] for key in keys},
        controls=[Control(**item) for item in document["controls"]],
        fields={field.name: field for field in fields},
        cameras={camera.name: camera for camera in cameras},
        clauses=[Clause(**item) for item in document["clauses"]],
        document=document,
    )


def parse_terminal(value: dict[str, Any] | None) -> Terminal | None:
    return None if value is None else Terminal(**value)
