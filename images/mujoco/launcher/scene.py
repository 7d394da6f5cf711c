"""What a launcher scene may say: elements, materials, ammunition and the task, as strict data (``scenes/*.json``).

Lengths in metres, angles in degrees, masses from density. ``at`` is the point of the element's base on which it
stands (its lowest point below its centre), ``yaw`` turns it about the vertical. x points down range from the arms.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from images.mujoco import authored
from images.mujoco.launcher import geometry
from images.mujoco.launcher.kinds import (
    GROUPS,
    MOVING,
    Element,
    Flap,
    Name,
    Pane,
    Pendulum,
    Seesaw,
    Strict,
    Target,
)
from images.mujoco.launcher.possible import check_task

SCENES = Path(__file__).parent / "scenes"
REACH = 1.15  # m: elements start beyond the reach of the arms
WORKSPACE = ((-1.5, 6.5), (-2.5, 2.5), (-0.05, 4.0))  # m: x, y, z; a task object outside it is lost


class SceneError(authored.AuthoredError):
    """A scene file that cannot be used; the text names file, key and value."""


class Step(Strict):
    """Something that must have happened to ``element`` before a target counts."""

    element: Name
    event: Literal["fractured", "struck", "toppled", "cleared"]


class Required(Strict):
    """One required target. ``after`` is its damage path: clearing it before one of these steps breaks a rule. Of an
    element of several bodies at least the ``share`` must reach the goal."""

    element: Name
    goal: Literal["cleared", "toppled", "fractured"] = "cleared"
    after: tuple[Step, ...] = ()
    share: Annotated[float, Field(ge=0.01, le=1)] = 1.0


class Task(Strict):
    """``order`` names required targets in the order in which they must be cleared; ``protected`` elements must not be
    struck, moved or broken; no shard of glass may touch a ``shard_free`` element."""

    required: Annotated[tuple[Required, ...], Field(min_length=1)]
    order: tuple[Name, ...] = ()
    protected: tuple[Name, ...] = ()
    shard_free: tuple[Name, ...] = ()


class Scene(Strict):
    """One authored case. ``projectiles`` lists the ammunition in loading order; the first one is preloaded, and their
    number is the shot budget. ``d_level`` 1 to 5 says how small the share of aims is that clears the first target."""

    version: Annotated[int, Field(ge=1, le=1)]
    case: Annotated[str, Field(pattern=r"^A\d{3}$")]
    title: Annotated[str, Field(min_length=3, max_length=80)]
    brief: Annotated[str, Field(min_length=10)]
    tier: Annotated[int, Field(ge=1, le=5)]
    d_level: Annotated[int, Field(ge=1, le=5)]
    projectiles: Annotated[tuple[Literal["light", "standard", "heavy"], ...], Field(min_length=1, max_length=6)]
    elements: Annotated[tuple[Element, ...], Field(min_length=1)]
    task: Task

    @model_validator(mode="after")
    def _consistent(self) -> Scene:
        names = [element.name for element in self.elements]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"elements: name {name!r} is used {names.count(name)} times; give each its own")
        for index, element in enumerate(self.elements):
            _check_element(f"elements.{index}", element)
        known = {element.name: element for element in self.elements}
        for index, item in enumerate(self.task.required):
            _need(known, f"task.required.{index}.element", item.element)
            for number, step in enumerate(item.after):
                _need(known, f"task.required.{index}.after.{number}.element", step.element)
        for index, name in enumerate(self.task.protected):
            _need(known, f"task.protected.{index}", name)
        for index, name in enumerate(self.task.shard_free):
            _need(known, f"task.shard_free.{index}", name)
        check_task(self)
        _check_breakers(self.elements, known)
        return self

    def element(self, name: str) -> Any:
        """The element of that name. Raises KeyError."""
        return {element.name: element for element in self.elements}[name]

    def required(self, name: str) -> Required:
        """The task entry of a required target. Raises KeyError."""
        return {item.element: item for item in self.task.required}[name]


def _need(known: dict[str, Any], where: str, name: str) -> None:
    if name not in known:
        raise ValueError(f"{where}: no element is named {name!r}")


def _check_breakers(elements: tuple[Any, ...], known: dict[str, Any]) -> None:
    for index, element in enumerate(elements):
        for number, name in enumerate(getattr(element, "breakers", ())):
            where = f"elements.{index}.breakers.{number}"
            _need(known, where, name)
            if not isinstance(known[name], MOVING) or isinstance(known[name], GROUPS):
                raise ValueError(f"{where}: a {known[name].kind} cannot break a pane; name a single moving body")


def _check_element(where: str, element: Any) -> None:
    allowed = ((REACH, WORKSPACE[0][1]), WORKSPACE[1], (0.0, WORKSPACE[2][1]))
    if not all(low <= value <= high for value, (low, high) in zip(element.at, allowed, strict=True)):
        ranges = ", ".join(f"{axis} {low}..{high}" for axis, (low, high) in zip("xyz", allowed, strict=True))
        raise ValueError(f"{where}.at: {list(element.at)} is outside the range ({ranges})")
    if isinstance(element, Pane) and element.material != "glass":
        raise ValueError(f"{where}.material: a pane is made of 'glass', not {element.material!r}")
    if isinstance(element, Target) and element.shape != "board" and element.size[0] != element.size[1]:
        raise ValueError(f"{where}.size: a {element.shape} is round; {element.size[0]} and {element.size[1]} differ")
    if isinstance(element, Pendulum) and element.shape == "ball" and len(set(element.size)) > 1:
        raise ValueError(f"{where}.size: a ball is round; {list(element.size)} differ")
    if isinstance(element, Flap | Seesaw) and not element.range[0] <= 0.0 <= element.range[1]:
        raise ValueError(f"{where}.range: {list(element.range)} does not hold 0, where it starts")
    if isinstance(element, Flap | Seesaw) and not element.range[0] < element.range[1]:
        raise ValueError(f"{where}.range: {list(element.range)} is not low < high")


def parse(text: str, source: str) -> Scene:
    """The scene in JSON ``text``. Raises SceneError naming ``source``, the path of the key and the value."""
    return authored.parse(Scene, text, source, SceneError)


def load(case: str) -> Scene:
    """The authored scene ``case`` (``A007``). Raises SceneError."""
    path = SCENES / f"{case}.json"
    if not path.is_file():
        raise SceneError(f"launcher case {case!r} has no scene; there are: {', '.join(cases())}")
    scene = parse(path.read_text(encoding="utf-8"), path.name)
    if scene.case != case:
        raise SceneError(f"{path.name}: case: {scene.case!r} is not the name of its file")
    return scene


def cases() -> list[str]:
    """Ids of all authored scenes."""
    return sorted(path.stem for path in SCENES.glob("A*.json"))


def projectile_names(scene: Scene) -> list[str]:
    """Body names of the ammunition in loading order."""
    return [f"projectile_{index + 1}" for index in range(len(scene.projectiles))]


def projectile(scene: Scene, index: int) -> dict[str, float]:
    """Nominal mass (kg) and radius (m) of one projectile."""
    return geometry.PROJECTILES[scene.projectiles[index]]
