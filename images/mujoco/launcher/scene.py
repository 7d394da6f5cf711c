"""What a launcher scene may say: elements, materials, ammunition and the task, as strict data (``scenes/*.json``).

Lengths in metres, angles in degrees, masses from density. ``at`` is the point of the element's base on which it
stands (its lowest point below its centre), ``yaw`` turns it about the vertical. x points down range from the arms.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from images.mujoco.launcher import geometry

SCENES = Path(__file__).parent / "scenes"
REACH = 1.15  # m: elements start beyond the reach of the arms
WORKSPACE = ((-1.5, 6.5), (-2.5, 2.5), (-0.05, 4.0))  # m: x, y, z; a task object outside it is lost

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Size = tuple[Positive, Positive, Positive]
Point = tuple[Finite, Finite, Finite]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,30}$")]


class SceneError(ValueError):
    """A scene file that cannot be used; the text names file, key and value."""


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Material(Strict):
    """Density (kg/m^3), sliding friction, and the restitution of a bounce between 0 (none) and 0.9."""

    density: Positive
    friction: Annotated[float, Field(gt=0, le=2)]
    restitution: Annotated[float, Field(ge=0, le=0.9)] = 0.0


MATERIALS: dict[str, Material] = {
    "timber": Material(density=550, friction=0.45),
    "balsa": Material(density=160, friction=0.45),
    "stone": Material(density=2300, friction=0.6),
    "rubber": Material(density=1100, friction=0.9, restitution=0.7),
    "steel": Material(density=7800, friction=0.3, restitution=0.3),
    "glass": Material(density=2500, friction=0.4),
}
MaterialName = Literal["timber", "balsa", "stone", "rubber", "steel", "glass"]


class Placed(Strict):
    name: Name
    at: Point
    yaw: Finite = 0.0
    material: MaterialName = "timber"


class Target(Placed):
    """A marked body to be cleared: a board (box), a pin (upright cylinder) or a ball."""

    kind: Literal["target"]
    shape: Literal["board", "pin", "ball"] = "board"
    size: Size  # full lengths along x, y, z; pin and ball: x is the diameter, and y must equal it


class Block(Placed):
    """A free box."""

    kind: Literal["block"]
    size: Size


class Beam(Placed):
    """A free long box that rests on supports or stands; ``pitch`` tilts it about its own y axis."""

    kind: Literal["beam"]
    size: Size
    pitch: Finite = 0.0


class Roller(Placed):
    """A free cylinder, upright or lying along x or y, or a sphere, that may roll."""

    kind: Literal["roller"]
    shape: Literal["cylinder", "sphere"]
    radius: Positive
    length: Positive = 0.1
    axis: Literal["x", "y", "z"] = "y"


class Dominoes(Placed):
    """A row of ``count`` free upright boxes that starts at ``at`` and runs along ``yaw``."""

    kind: Literal["dominoes"]
    size: Size
    count: Annotated[int, Field(ge=2, le=30)]
    spacing: Positive


class Pane(Placed):
    """A vertical sheet of pre-fractured glass, its faces along its own x, in a fixed frame when ``frame`` is true.

    It breaks when the normal impulse of one contact with one projectile reaches ``threshold`` (N s)."""

    kind: Literal["pane"]
    width: Positive
    height: Positive
    thickness: Positive = 0.004
    threshold: Positive
    cells: tuple[Annotated[int, Field(ge=2, le=8)], Annotated[int, Field(ge=2, le=8)]] = (5, 5)
    pattern: Annotated[int, Field(ge=0, le=10_000)] = 0
    frame: bool = True


class Bank(Placed):
    """A fixed plate that returns projectiles; ``pitch`` leans it back about its own y axis."""

    kind: Literal["bank"]
    size: Size
    pitch: Finite = 0.0


class Fixed(Placed):
    """A fixed box: wall, platform, frame, bunker."""

    kind: Literal["fixed"]
    size: Size


class Flap(Placed):
    """A plate on a hinge along its top, bottom or left edge, with a return spring (N m/rad) about its rest angle."""

    kind: Literal["flap"]
    size: Size
    hinge: Literal["top", "bottom", "left"]
    stiffness: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    damping: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.002
    range: tuple[Finite, Finite]


class Seesaw(Placed):
    """A plank on a fixed pivot at its middle; it turns about its own y axis within ``range``."""

    kind: Literal["seesaw"]
    size: Size
    pivot_height: Positive
    range: tuple[Finite, Finite]


Element = Annotated[
    Target | Block | Beam | Roller | Dominoes | Pane | Bank | Fixed | Flap | Seesaw, Field(discriminator="kind")
]
FREE = (Target, Block, Beam, Roller, Dominoes)


class Step(Strict):
    """Something that must have happened to ``element`` before a target counts."""

    element: Name
    event: Literal["fractured", "struck", "toppled", "cleared"]


class Required(Strict):
    """One required target. ``after`` is its damage path: clearing it before one of these steps breaks a rule."""

    element: Name
    goal: Literal["cleared", "toppled", "fractured"] = "cleared"
    after: tuple[Step, ...] = ()


class Task(Strict):
    """``order`` names required targets in the order in which they must be cleared; ``protected`` elements must not be
    struck, moved or broken."""

    required: Annotated[tuple[Required, ...], Field(min_length=1)]
    order: tuple[Name, ...] = ()
    protected: tuple[Name, ...] = ()


class Scene(Strict):
    """One authored case. ``projectiles`` lists the ammunition in loading order; the first one is preloaded, and their
    number is the shot budget. ``d_level`` 1 to 5 says how small the share of aims is that clears the first target."""

    version: Literal[1]
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
        required = [item.element for item in self.task.required]
        for index, item in enumerate(self.task.required):
            where = f"task.required.{index}"
            _need(known, f"{where}.element", item.element)
            if (item.goal == "fractured") != isinstance(known[item.element], Pane):
                raise ValueError(f"{where}.goal: {item.goal!r} does not fit a {known[item.element].kind}")
            for number, step in enumerate(item.after):
                _need(known, f"{where}.after.{number}.element", step.element)
                _check_step(f"{where}.after.{number}.event", step, known[step.element])
            if isinstance(known[item.element], Bank | Fixed | Dominoes):
                raise ValueError(f"{where}.element: a {known[item.element].kind} cannot be a target")
        if len(set(required)) != len(required):
            raise ValueError(f"task.required: {required} names an element twice")
        for index, name in enumerate(self.task.order):
            if name not in required:
                raise ValueError(f"task.order.{index}: {name!r} is not a required target")
        for index, name in enumerate(self.task.protected):
            _need(known, f"task.protected.{index}", name)
            if name in required:
                raise ValueError(f"task.protected.{index}: {name!r} is required and cannot be protected too")
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


def _check_step(where: str, step: Step, element: Any) -> None:
    if (step.event == "fractured") != isinstance(element, Pane) and step.event != "struck":
        raise ValueError(f"{where}: {step.event!r} cannot happen to a {element.kind}")
    if step.event in ("toppled", "cleared") and not isinstance(element, FREE):
        raise ValueError(f"{where}: a {element.kind} cannot be {step.event}")


def _check_element(where: str, element: Any) -> None:
    allowed = ((REACH, WORKSPACE[0][1]), WORKSPACE[1], (0.0, WORKSPACE[2][1]))
    if not all(low <= value <= high for value, (low, high) in zip(element.at, allowed, strict=True)):
        ranges = ", ".join(f"{axis} {low}..{high}" for axis, (low, high) in zip("xyz", allowed, strict=True))
        raise ValueError(f"{where}.at: {list(element.at)} is outside the range ({ranges})")
    if isinstance(element, Pane) and element.material != "glass":
        raise ValueError(f"{where}.material: a pane is made of 'glass', not {element.material!r}")
    if isinstance(element, Target) and element.shape != "board" and element.size[0] != element.size[1]:
        raise ValueError(f"{where}.size: a {element.shape} is round; {element.size[0]} and {element.size[1]} differ")
    if isinstance(element, Flap | Seesaw) and not element.range[0] < element.range[1]:
        raise ValueError(f"{where}.range: {list(element.range)} is not low < high")


def parse(text: str, source: str) -> Scene:
    """The scene in JSON ``text``. Raises SceneError naming ``source``, the path of the key and the value."""
    try:
        return Scene.model_validate(json.loads(text, parse_constant=_no_constant))
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(str(part) for part in first["loc"])
        value = "" if first["type"] == "missing" or not path else f" (value {first['input']!r:.80})"
        raise SceneError(f"{source}: {path + ': ' if path else ''}{first['msg']}{value}") from None
    except ValueError as error:
        raise SceneError(f"{source}: not JSON: {error}") from None


def load(case: str) -> Scene:
    """The authored scene ``case`` (``A007``). Raises SceneError."""
    path = SCENES / f"{case}.json"
    if not path.is_file():
        raise SceneError(f"launcher case {case!r} has no scene; there are: {', '.join(cases())}")
    return parse(path.read_text(encoding="utf-8"), path.name)


def cases() -> list[str]:
    """Ids of all authored scenes."""
    return sorted(path.stem for path in SCENES.glob("A*.json"))


def projectile_names(scene: Scene) -> list[str]:
    """Body names of the ammunition in loading order."""
    return [f"projectile_{index + 1}" for index in range(len(scene.projectiles))]


def projectile(scene: Scene, index: int) -> dict[str, float]:
    """Nominal mass (kg) and radius (m) of one projectile."""
    return geometry.PROJECTILES[scene.projectiles[index]]


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not a number")
