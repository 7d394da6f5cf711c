"""What every task is made of: a fixed puzzle and a small hashable state that actions change.

A task never draws random numbers: chance ends with its making. So a state, not a history, decides what can be done,
solutions are found by search, and the chance of a random player is computed instead of sampled.
"""

from __future__ import annotations

import string
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from images.kidgym.catalog import PLURALS

State = Any  # hashable; its form is the task's own
Move = Any  # likewise: what an action does
Cell = tuple[int, int]  # column, row in the 5 x 5 play area, (0, 0) at the top left

PLAY = 5  # cells of the play area per side
SLOTS = 7  # of the backpack
NUMERALS = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII")
LETTERS = string.ascii_uppercase
CONTINUE = "continue"
SHOWN = "shown"  # the state of a memory task until `continue`
MEMORY = "If you understand the rules, select the 'continue' action to start the task."


@dataclass(frozen=True)
class Action:
    """One high-level action: its words, which an option shows, and what it does, which only the task reads."""

    text: str
    move: Move


@dataclass(frozen=True)
class Thing:
    """Something that is drawn: ``kind`` is the name of a picture, ``colour`` tints kinds that have one. ``label`` is
    the number that actions call it by, ``count`` how many lie there, ``quarter`` cuts out one of four parts."""

    kind: str
    colour: str | None = None
    label: int | None = None
    count: int = 1
    quarter: int | None = None


@dataclass(frozen=True)
class Mark:
    """A target cell with its Roman numeral (0 is I)."""

    numeral: int


@dataclass(frozen=True)
class Row:
    """One line of the hint block: a thing alone, or ``left`` -> ``right`` joined by an arrow."""

    left: Thing
    right: Thing | None = None


@dataclass(frozen=True)
class Scene:
    """What a picture shows. ``walls`` are impassable cells; ``floor`` None draws no maze. ``whole`` is a picture of
    2 x 2 quarters in the hint block; ``boxed`` a thing in the black box at its top."""

    things: tuple[tuple[Cell, Thing | Mark], ...]
    backpack: tuple[Thing | None, ...] = ()
    agent: Cell | None = None
    walls: frozenset[Cell] = frozenset()
    hint: tuple[Row, ...] = ()
    whole: tuple[Thing, ...] = ()
    boxed: Thing | None = None


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """One generated episode: its puzzle and its rules. ``theme`` numbers the background."""

    code: ClassVar[str]
    memory: ClassVar[bool] = False  # begins with a picture that `continue` hides; the model gets the history

    level: int
    theme: int = 0

    # ---- what a task defines: its play ------------------------------------------------------------------------------
    @property
    @abstractmethod
    def goal(self) -> str:
        """The goal in words."""

    @property
    @abstractmethod
    def opening(self) -> State:
        """The state in which the play begins."""

    @abstractmethod
    def choices(self, state: State) -> list[Action]:
        """Every action that can be chosen now, in a fixed order; no two have the same words."""

    @abstractmethod
    def moved(self, state: State, move: Move) -> State:
        """The state that the move of one of the actions leads to."""

    @abstractmethod
    def judge(self, state: State) -> Literal[True, False] | None:
        """True for success, False when success has become impossible by a choice that cannot be undone, else None."""

    @abstractmethod
    def view(self, state: State) -> Scene: ...

    def shown(self) -> Scene:
        """The first picture of a memory task."""
        raise NotImplementedError(f"{self.code} is no memory task")

    def alike(self, state: State) -> State:
        """A state that has the same chances; searches visit one of each."""
        return state

    def least(self, state: State) -> int:
        """Steps that success needs from here at least: never more than it really needs. It makes the search short."""
        return 1

    # ---- what everybody else calls: the play, after the first picture of a memory task ------------------------------
    @property
    def start(self) -> State:
        return SHOWN if self.memory else self.opening

    def actions(self, state: State) -> list[Action]:
        return [Action(CONTINUE, CONTINUE)] if state == SHOWN else self.choices(state)

    def after(self, state: State, move: Move) -> State:
        return self.opening if state == SHOWN else self.moved(state, move)

    def verdict(self, state: State) -> Literal[True, False] | None:
        return None if state == SHOWN else self.judge(state)

    def scene(self, state: State) -> Scene:
        return self.shown() if state == SHOWN else self.view(state)

    def fold(self, state: State) -> State:
        return state if state == SHOWN else self.alike(state)

    def bound(self, state: State) -> int:
        return 1 + self.least(self.opening) if state == SHOWN else self.least(state)


def number_of(kind: str, count: int) -> str:
    """``pizza`` or ``pizzas``."""
    return kind if count == 1 else plural(kind)


def plural(kind: str) -> str:
    """The word for several, of every item of the catalog."""
    if kind in PLURALS:
        return PLURALS[kind]
    if kind.endswith("y") and kind[-2] not in "aeiou":
        return f"{kind[:-1]}ies"
    return f"{kind}es" if kind.endswith(("s", "sh", "ch", "x")) else f"{kind}s"
