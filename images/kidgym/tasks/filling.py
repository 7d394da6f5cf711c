"""Puzzle, Filling and Memory Filling: pieces from the backpack complete a picture of 2 x 2 parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from images.kidgym.rules import LETTERS, MEMORY, NUMERALS, Action, Cell, Mark, Move, Scene, State, Task, Thing

FRAME: tuple[Cell, ...] = ((1, 1), (2, 1), (1, 2), (2, 2))
"""The cells of the four quarters: top left, top right, bottom left, bottom right."""

RULE = (
    "You need to fill the correct piece(s) from the backpack to complete the missing part(s) of the frame in the "
    "scene, ensuring they match and align with the target item."
)


@dataclass(frozen=True, kw_only=True)
class Puzzle(Task):
    """PU: a pattern of four tiles. State: the piece in each gap (None: empty)."""

    code: ClassVar[str] = "PU"
    whole: tuple[Thing, ...]  # the four quarters as they should be
    gaps: tuple[int, ...]  # quarters that are missing; their order gives the numerals
    pieces: tuple[tuple[Thing, int | None], ...]  # what lies in each backpack slot, the gap that it fills
    agent: Cell

    @property
    def goal(self) -> str:
        return f"There is a target item shown on the left margin. {RULE}"

    @property
    def opening(self) -> State:
        return (None,) * len(self.gaps)

    def choices(self, state: State) -> list[Action]:
        return [
            Action(
                f"place the piece from backpack {LETTERS[slot]} into the grid at position {NUMERALS[gap]}", (slot, gap)
            )
            for slot in range(len(self.pieces))
            if slot not in state
            for gap, filled in enumerate(state)
            if filled is None
        ]

    def moved(self, state: State, move: Move) -> State:
        slot, gap = move
        return (*state[:gap], slot, *state[gap + 1 :])

    def judge(self, state: State) -> Literal[True, False] | None:
        if any(slot is not None and self.pieces[slot][1] != gap for gap, slot in enumerate(state)):
            return False
        return True if None not in state else None

    def view(self, state: State) -> Scene:
        return self._picture(state, self.whole)

    def _picture(self, state: State, whole: tuple[Thing, ...]) -> Scene:
        things: list[tuple[Cell, Thing | Mark]] = []
        for quarter, thing in enumerate(self.whole):
            gap = self.gaps.index(quarter) if quarter in self.gaps else None
            if gap is None:
                things.append((FRAME[quarter], thing))
            elif state[gap] is None:
                things.append((FRAME[quarter], Mark(gap)))
            else:
                things.append((FRAME[quarter], self.pieces[state[gap]][0]))
        backpack = tuple(None if slot in state else piece for slot, (piece, _) in enumerate(self.pieces))
        return Scene(tuple(things), backpack, self.agent, whole=whole)


@dataclass(frozen=True, kw_only=True)
class Filling(Puzzle):
    """FI: as the puzzle, with an animal cut into four."""

    code: ClassVar[str] = "FI"


@dataclass(frozen=True, kw_only=True)
class MemoryFilling(Puzzle):
    """MFI: the animal is shown first and hidden later."""

    code: ClassVar[str] = "MFI"
    memory: ClassVar[bool] = True

    @property
    def goal(self) -> str:
        return (
            "In the first image, a target item will be shown on the left margin that you need to remember. In the "
            f"following images, the target item will not be shown. {RULE} {MEMORY}"
        )

    def shown(self) -> Scene:
        return Scene((), agent=self.agent, whole=self.whole)

    def view(self, state: State) -> Scene:
        return self._picture(state, ())
