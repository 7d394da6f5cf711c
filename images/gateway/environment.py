"""What a task family implements: the contract between the gateway and one simulated environment.

The gateway owns sockets, access levels, budgets, metering and the end of the episode. The environment owns physics,
observations and its private evaluator. One object serves one attempt and is never reset for another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

LEVELS = ("L0", "L1", "L2", "L3")


@dataclass(frozen=True)
class Control:
    """One component of the action vector. ``low``/``high`` are inclusive; outside them the action is rejected."""

    name: str
    unit: str
    low: float
    high: float
    text: str = ""


@dataclass(frozen=True)
class Field:
    """One named observation besides pictures. ``level`` is the lowest access level that may read it."""

    name: str
    unit: str
    shape: tuple[int, ...]
    level: str
    text: str
    dtype: str = "float64"


@dataclass(frozen=True)
class Camera:
    """One camera. ``intrinsics`` (fx, fy, cx, cy in pixels at width x height) and ``pose`` (4x4, world from camera,
    x right, y down, z forward, metres) are public calibration (section 'Access Levels', L0)."""

    name: str
    width: int
    height: int
    intrinsics: tuple[float, float, float, float]
    pose: tuple[tuple[float, float, float, float], ...]
    text: str = ""


@dataclass(frozen=True)
class Clause:
    """One disclosed rule or threshold that the evaluator checks. Every check has one (design: 'Disclosure').

    ``id`` is stable within a family (``L-07``); ``code`` is the failure code that a violation carries, or None for a
    clause of the goal; ``value``/``unit``/``tolerance`` are the numbers that the evaluator really uses.
    """

    id: str
    text: str
    value: float | int | str | list[Any] | None
    unit: str
    tolerance: float | None
    code: str | None


@dataclass(frozen=True)
class Event:
    """Something that happened during one control step and that the agent may know at its access level."""

    kind: str
    text: str
    data: dict[str, Any] = field(default_factory=dict)
    level: str = "L0"


@dataclass(frozen=True)
class Judgement:
    """The evaluator's final word. ``cause`` is an id of ``manifests/causes.json``; ``code`` is set for causes whose
    code is per violation; ``clause`` names the disclosed clause that was broken first."""

    cause: str
    code: str | None = None
    clause: str | None = None
    text: str = ""
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def success(self) -> bool:
        return self.cause == "goal_met"


class PhysicsSanityError(RuntimeError):
    """NaN, a solver warning, or success before the first action: a fault of the environment, not of the agent."""


class Environment(Protocol):
    """One episode. ``control_dt`` is the simulated time of one action in seconds."""

    control_dt: float

    def controls(self) -> list[Control]:
        """The action vector, in order; an action is float64 of this length."""

    def fields(self) -> list[Field]: ...

    def cameras(self) -> list[Camera]: ...

    def clauses(self) -> list[Clause]: ...

    def public(self) -> dict[str, Any]:
        """JSON: ``title``, ``task`` (text), ``parameters`` (public task and robot information, with units)."""

    def apply(self, action: np.ndarray) -> list[Event]:
        """Advance one control step. The action is validated already. Raises PhysicsSanityError."""

    def judge(self) -> Judgement | None:
        """The terminal judgement after the last ``apply`` (success latched, first violation binding), else None."""

    def finish(self) -> Judgement:
        """The judgement on the evidence so far when the episode ends from outside; no simulation happens.
        Returns ``quit`` when neither the goal nor a violation is on record."""

    def read(self, name: str) -> np.ndarray:
        """The present value of a field."""

    def render(self, camera: str, width: int, height: int) -> np.ndarray:
        """uint8 (height, width, 3), row 0 at the top. An environment whose pictures pack in a way of their own has an
        ``encode`` too: such an array to PNG."""

    def state(self) -> np.ndarray:
        """Compact state for recording, enough to render this instant later (float32 is enough)."""

    def redraw(self, state: np.ndarray, camera: str, width: int, height: int, *, shadows: bool) -> np.ndarray:
        """As ``render``, of a state that ``state`` gave in another process of the same specification. Called only in
        an environment that never steps, in any order of time. Without ``shadows`` it may leave out costly light."""

    def digest(self) -> str:
        """SHA-256 over the exact dynamic state."""

    def realized(self) -> dict[str, Any]:
        """The realized initialization (private; goes to the record)."""

    def scorer_log(self) -> list[dict[str, Any]]:
        """The evaluator's own events with simulated time (private; goes to the artifacts)."""

    def close(self) -> None: ...
