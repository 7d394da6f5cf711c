"""Sorting and Placement: things go to numbered cells by a rule that is told."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

from images.kidgym.rules import LETTERS, NUMERALS, Action, Cell, Mark, Move, Scene, State, Task, Thing

COMPASS = ("north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest")
"""Clockwise, as directions on the map: north is up."""
OFFSETS: tuple[Cell, ...] = ((0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1))
WORDS = {
    "north": "above", "northeast": "to the upper right of", "east": "to the right of",
    "southeast": "to the lower right of", "south": "below", "southwest": "to the lower left of",
    "west": "to the left of", "northwest": "to the upper left of",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Sorting(Task):
    """SO: rank what is in the backpack by a rule, true or not. State: the animal at each position (None: empty)."""

    code: ClassVar[str] = "SO"
    animals: tuple[str, ...]  # as they lie in the backpack
    ranks: tuple[int, ...]  # the position that each must have
    adjective: str  # what the rule compares: "heavier"
    noun: str
    category: str
    cells: tuple[Cell, ...]  # of the positions I, II, ...
    agent: Cell

    @property
    def goal(self) -> str:
        order = sorted(range(len(self.animals)), key=lambda index: self.ranks[index])
        named = [self.animals[index] for index in order]
        rule = ", and ".join(f"the {first} is {self.adjective} than the {second}" for first, second in pairwise(named))
        places = ", ".join(NUMERALS[: len(named)])
        return (
            f"In this world {rule}. Rank the {self.category}s in the backpack by {self.noun} in position {places}: the "
            f"one that is {self.adjective} than all others comes to {NUMERALS[0]}."
        )

    @property
    def opening(self) -> State:
        return (None,) * len(self.animals)

    def choices(self, state: State) -> list[Action]:
        return [
            Action(
                f"place {self.category} from backpack {LETTERS[slot]} into the grid at position {NUMERALS[position]}",
                (slot, position),
            )
            for slot in range(len(self.animals))
            if slot not in state
            for position, filled in enumerate(state)
            if filled is None
        ]

    def moved(self, state: State, move: Move) -> State:
        slot, position = move
        return (*state[:position], slot, *state[position + 1 :])

    def judge(self, state: State) -> Literal[True, False] | None:
        if any(slot is not None and self.ranks[slot] != position for position, slot in enumerate(state)):
            return False
        return True if None not in state else None

    def view(self, state: State) -> Scene:
        things: list[tuple[Cell, Thing | Mark]] = [
            (cell, Mark(position) if slot is None else Thing(self.animals[slot]))
            for position, (cell, slot) in enumerate(zip(self.cells, state, strict=True))
        ]
        backpack = tuple(None if slot in state else Thing(kind) for slot, kind in enumerate(self.animals))
        return Scene(tuple(things), backpack, self.agent)


@dataclass(frozen=True, kw_only=True)
class Placement(Task):
    """PL: put an item on the opposite side of another, at level 3 one step further round. State: the chosen numeral."""

    code: ClassVar[str] = "PL"
    item: str
    centre: str
    told: int  # index into COMPASS
    turn: int  # steps clockwise after the opposite: -1, 0 or 1
    sides: tuple[int, ...]  # indices into COMPASS; their order gives the numerals
    at: Cell
    agent: Cell

    @property
    def goal(self) -> str:
        told = COMPASS[self.told]
        turned = {0: "", 1: ", turn one grid clockwise from there", -1: ", turn one grid counterclockwise from there"}
        return (
            f"The direction is {told} ({WORDS[told]}). Determine its opposite direction{turned[self.turn]}, and then "
            f"place the {self.item} in the corresponding location around the {self.centre}. North is up."
        )

    @property
    def opening(self) -> State:
        return None

    def choices(self, state: State) -> list[Action]:
        if state is not None:
            return []
        return [
            Action(f"place {self.item} into the grid at position {NUMERALS[index]}", index)
            for index in range(len(self.sides))
        ]

    def moved(self, state: State, move: Move) -> State:
        return move

    def judge(self, state: State) -> Literal[True, False] | None:
        return None if state is None else self.sides[state] == (self.told + 4 + self.turn) % 8

    def view(self, state: State) -> Scene:
        things: list[tuple[Cell, Thing | Mark]] = [(self.at, Thing(self.centre))]
        for index, side in enumerate(self.sides):
            cell = self.at[0] + OFFSETS[side][0], self.at[1] + OFFSETS[side][1]
            things.append((cell, Thing(self.item) if state == index else Mark(index)))
        return Scene(tuple(things), () if state is not None else (Thing(self.item),), self.agent)
