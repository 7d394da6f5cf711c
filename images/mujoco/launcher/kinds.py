"""The kinds of element that a launcher scene may hold, their materials, sizes (``elements.py`` makes bodies of them).

Lengths in metres, angles in degrees. ``at`` is the point on which the element stands (below its centre, at its lowest
height), ``yaw`` turns it about the vertical. x points down range from the arms, y to the left, z up.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Angle = Annotated[float, Field(ge=-360, le=360, allow_inf_nan=False)]
Size = tuple[Positive, Positive, Positive]
Point = tuple[Finite, Finite, Finite]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,30}$")]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Material(Strict):
    """Density (kg/m^3), sliding friction, and the restitution of a bounce off a fixed body at 2 to 3 m/s, 0 for none;
    two bodies that bounce both part a little faster."""

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
    yaw: Angle = 0.0
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
    pitch: Angle = 0.0


class Roller(Placed):
    """A free cylinder, upright or lying along x or y, or a sphere, that may roll."""

    kind: Literal["roller"]
    shape: Literal["cylinder", "sphere"]
    radius: Positive
    length: Positive = 0.1
    axis: Literal["x", "y", "z"] = "y"


class Dominoes(Placed):
    """A row of ``count`` free upright boxes that starts at ``at`` and runs along ``yaw``; each next one is turned by
    ``bend`` more, so that the row is a part of a circle."""

    kind: Literal["dominoes"]
    size: Size
    count: Annotated[int, Field(ge=2, le=30)]
    spacing: Positive
    bend: Annotated[float, Field(ge=-30, le=30, allow_inf_nan=False)] = 0.0


class Arch(Placed):
    """A round arch of ``stones`` loose wedges across the range: it spans its own y axis, and shots fly through it along
    its own x axis. ``radius`` is that of the opening. ``part`` says which of the wedges this element is: two elements
    with the same numbers, ``ring`` and ``crown``, make one arch whose middle stone has a name and a role of its own."""

    kind: Literal["arch"]
    stones: Annotated[int, Field(ge=5, le=15)]
    radius: Positive
    thickness: Positive
    depth: Positive
    part: Literal["whole", "ring", "crown"] = "whole"

    @model_validator(mode="after")
    def _odd(self) -> Arch:
        if self.stones % 2 == 0:
            raise ValueError(f"stones: {self.stones} is even, and an arch needs one stone at its crown")
        if self.thickness < 0.2 * self.radius:
            raise ValueError(f"thickness: {self.thickness} is less than 0.2 times the radius; the arch would not stand")
        return self


class Pane(Placed):
    """A vertical sheet of pre-fractured glass, its faces along its own x, in a fixed frame when ``frame`` is true.

    It breaks when the normal impulse of one contact with one projectile, or with one of the bodies ``breakers``,
    reaches ``threshold`` (N s). Until then it carries what stands on it."""

    kind: Literal["pane"]
    width: Positive
    height: Positive
    thickness: Positive = 0.004
    threshold: Positive
    cells: tuple[Annotated[int, Field(ge=2, le=8)], Annotated[int, Field(ge=2, le=8)]] = (5, 5)
    pattern: Annotated[int, Field(ge=0, le=10_000)] = 0
    frame: bool = True
    breakers: tuple[Name, ...] = ()


class Bank(Placed):
    """A fixed plate: a return bank, a ramp, a side of a channel. ``pitch`` turns it about its own y axis (positive: the
    near end of a lying plate rises, the top of a standing one leans down range), ``roll`` then about its own x axis."""

    kind: Literal["bank"]
    size: Size
    pitch: Angle = 0.0
    roll: Angle = 0.0


class Fixed(Placed):
    """A fixed box: wall, platform, frame, bunker."""

    kind: Literal["fixed"]
    size: Size


class Well(Placed):
    """A fixed round wall of ``sides`` plates, open at the top; ``radius`` is that of the opening."""

    kind: Literal["well"]
    radius: Positive
    height: Positive
    thickness: Positive = 0.02
    sides: Annotated[int, Field(ge=5, le=16)] = 8


class Pendulum(Placed):
    """A bob that hangs ``length`` below a fixed gallows and swings along its own x axis. ``at`` is the point on which
    the gallows stands, under the bob; ``clearance`` is the height of the bob's lowest point above it."""

    kind: Literal["pendulum"]
    shape: Literal["ball", "box"] = "ball"
    size: Size  # full lengths of the bob; a ball: its diameter three times
    length: Positive
    clearance: Positive
    span: Positive = 0.3  # distance of the posts
    damping: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.0005  # N m s/rad


class Flap(Placed):
    """A plate on a hinge along its top, bottom or left edge, or upright through its middle (a revolving door), with a
    return spring (N m/rad) about its rest angle."""

    kind: Literal["flap"]
    size: Size
    hinge: Literal["top", "bottom", "left", "middle"]
    stiffness: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    damping: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.002
    range: tuple[Angle, Angle]


class Seesaw(Placed):
    """A plank on a fixed pivot at its middle; it turns about its own y axis within ``range``."""

    kind: Literal["seesaw"]
    size: Size
    pivot_height: Positive
    range: tuple[Angle, Angle]


Element = Annotated[
    Target | Block | Beam | Roller | Dominoes | Arch | Pane | Bank | Fixed | Well | Pendulum | Flap | Seesaw,
    Field(discriminator="kind"),
]
FREE = (Target, Block, Beam, Roller, Dominoes, Arch)
MOVING = (*FREE, Pendulum, Flap, Seesaw)
GROUPS = (Dominoes, Arch)
"""Elements of several bodies; a goal says which share of them must reach it."""
