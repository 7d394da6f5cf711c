"""What a Hanoi board may say, as strict data (``boards/*.json``): arrangement, pegs, rings, barriers.

Lengths in metres, angles in degrees, masses in kilograms. An arrangement is five letters, the peg of each ring from the
largest to the smallest. Keys that a file leaves out have the values of the standard board (H01 to H04).
"""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from images.mujoco import authored
from images.mujoco.hanoi import geometry as g

BOARDS = Path(__file__).parent / "boards"
MOVES = {1: 1, 2: 3, 3: 9, 4: 31}
"""Shortest legal solution of each native level."""
THEMES = (
    "state decomposition",
    "planar layout",
    "support height",
    "insertion clearance",
    "mass distribution",
    "friction",
    "handle orientation",
    "path obstacles",
    "peg length",
    "combined constraints",
)
"""The ten groups of four, in order of the case numbers."""
REACH = ((0.36, 0.64), (-0.24, 0.24))
SPACE = ((0.25, 0.75), (-0.40, 0.40))
"""x and y within which barriers stand: before the robot's base, and where rings are carried."""
TALLEST = 0.30

Arrangement = Annotated[str, Field(pattern="^[ABC]{5}$")]
Mass = Annotated[float, Field(ge=0.01, le=0.3)]
Clearance = Annotated[float, Field(ge=0.0008, le=0.004)]
Friction = Annotated[float, Field(ge=0.3, le=1.5)]
Yaw = Annotated[float, Field(ge=-45, le=45)]
Length = Annotated[float, Field(gt=0.005, le=0.5)]


class BoardError(authored.AuthoredError):
    """A board file that cannot be used; the text names file, key and value."""


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Peg(Strict):
    """``at`` is its axis (x, y), ``support`` the height of what its rings lie on, ``length`` from there to its tip."""

    at: tuple[float, float]
    support: Annotated[float, Field(ge=0.015, le=0.09)] = 0.02
    length: Annotated[float, Field(ge=0.112, le=0.2)] = 0.115


class Barrier(Strict):
    """A box that stands on the floor; ``at`` is the middle of its base (x, y), ``size`` its whole lengths."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z_]*$")]
    at: tuple[float, float]
    size: tuple[Length, Length, Annotated[float, Field(gt=0, le=TALLEST)]]


class Board(Strict):
    """One authored case. Lists of five are per ring, the largest first. ``handle_reach`` is from the side of a ring to
    the middle of its handle, about which ``handle_yaws`` turn the handle."""

    version: Annotated[int, Field(ge=1, le=1)]
    case: Annotated[str, Field(pattern=r"^H\d{2}$")]
    title: Annotated[str, Field(min_length=3, max_length=80, pattern=r"^\S.*\S$")]
    brief: Annotated[str, Field(min_length=10, pattern=r"^\S.*\S$")]
    theme: Literal[THEMES]  # type: ignore[valid-type]
    level: Annotated[int, Field(ge=1, le=4)]
    start: Arrangement
    goal: Arrangement
    pegs: tuple[Peg, Peg, Peg] = (Peg(at=(0.5, 0.18)), Peg(at=(0.5, 0.0)), Peg(at=(0.5, -0.18)))
    masses: tuple[Mass, Mass, Mass, Mass, Mass] = (0.16, 0.13, 0.10, 0.08, 0.06)
    clearances: tuple[Clearance, Clearance, Clearance, Clearance, Clearance] = (0.002,) * 5
    frictions: tuple[Friction, Friction, Friction, Friction, Friction] = (0.8,) * 5
    handle_yaws: tuple[Yaw, Yaw, Yaw, Yaw, Yaw] = (0.0,) * 5
    handle_reach: Annotated[float, Field(ge=0.019, le=0.045)] = 0.019
    barriers: tuple[Barrier, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Board:
        if self.start == self.goal:
            raise ValueError(f"goal: {self.goal!r} is the start")
        group, place = divmod(int(self.case[1:]) - 1, len(MOVES))
        if not 0 <= group < len(THEMES):
            raise ValueError(f"case: {self.case!r} is not H01 to H{len(THEMES) * len(MOVES)}")
        if (self.theme, self.level) != (THEMES[group], place + 1):
            raise ValueError(f"theme, level: {self.case} is level {place + 1} of {THEMES[group]!r}")
        if (moves := distance(self.start, self.goal)) != self.moves:
            raise ValueError(f"goal: {moves} moves from the start, and level {self.level} has {self.moves}")
        for letter, peg in zip(g.PEGS, self.pegs, strict=True):
            if not all(low <= value <= high for value, (low, high) in zip(peg.at, REACH, strict=True)):
                raise ValueError(f"pegs.{letter}.at: {list(peg.at)} is outside x {REACH[0]}, y {REACH[1]}")
        for (first, a), (second, b) in combinations(zip(g.PEGS, self.pegs, strict=True), 2):
            if max(abs(a.at[0] - b.at[0]), abs(a.at[1] - b.at[1])) < 2 * g.SUPPORT_HALF:
                raise ValueError(
                    f"pegs: the supports of {first} and {second} overlap; set them {2 * g.SUPPORT_HALF} m apart"
                )
        if self.handle_reach < 0.032 and any(self.handle_yaws):
            raise ValueError("handle_reach: turned handles need 0.032 m, or fingers meet the ring")
        names = [barrier.name for barrier in self.barriers]
        if len(set(names)) < len(names):
            raise ValueError(f"barriers: {names} has a name twice")
        for one, two in combinations(self.barriers, 2):
            apart = [
                abs(a - b) - (length + other) / 2
                for a, b, length, other in zip(one.at, two.at, one.size, two.size, strict=False)
            ]
            if max(apart) < -1e-9:
                raise ValueError(f"barriers: {one.name} and {two.name} overlap")
        for barrier in self.barriers:
            if not all(low <= value <= high for value, (low, high) in zip(barrier.at, SPACE, strict=True)):
                raise ValueError(
                    f"barriers.{barrier.name}.at: {list(barrier.at)} is outside x {SPACE[0]}, y {SPACE[1]}"
                )
            for letter, peg in zip(g.PEGS, self.pegs, strict=True):
                room = [abs(a - b) - size / 2 for a, b, size in zip(barrier.at, peg.at, barrier.size, strict=False)]
                if math.hypot(*(max(0.0, r) for r in room)) < g.RADII[0] * 2 / math.sqrt(3):
                    raise ValueError(f"barriers.{barrier.name}: it meets the largest ring on peg {letter}")
        return self

    @property
    def moves(self) -> int:
        """Length of the shortest legal solution."""
        return MOVES[self.level]


def distance(start: str, goal: str) -> int:
    """Moves of the shortest legal solution between two arrangements, by breadth-first search."""
    front, known, moves = {start}, {start}, 0
    while goal not in known:
        front = {
            arrangement[:ring] + letter + arrangement[ring + 1 :]
            for arrangement in front
            for ring in range(g.RINGS)
            for letter in g.PEGS
            if not {arrangement[ring], letter} & set(arrangement[ring + 1 :])  # smaller rings are in its way on neither
        } - known
        known |= front
        moves += 1
    return moves


def parse(text: str, source: str) -> Board:
    """The board in JSON ``text``. Raises BoardError naming ``source``, the path of the key and the value."""
    return authored.parse(Board, text, source, BoardError)


def load(case: str) -> Board:
    """The authored board ``case`` (``H07``). Raises BoardError."""
    path = BOARDS / f"{case}.json"
    if not path.is_file():
        raise BoardError(f"Hanoi case {case!r} has no board; there are: {', '.join(cases())}")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BoardError(f"{path.name}: not UTF-8: {error.reason} at byte {error.start}") from None
    board = parse(text, path.name)
    if board.case != case:
        raise BoardError(f"{path.name}: case: a file is named as its case (value {board.case!r})")
    return board


def cases() -> list[str]:
    """Ids of all authored boards."""
    return sorted(path.stem for path in BOARDS.glob("H*.json"))
