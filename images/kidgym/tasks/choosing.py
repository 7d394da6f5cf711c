"""Selection and Memory Decode: something is shown first, remembered, and chosen later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from images.kidgym.catalog import CATEGORY
from images.kidgym.rules import MEMORY, Action, Cell, Move, Row, Scene, State, Task, Thing

LOST = "lost"


@dataclass(frozen=True, kw_only=True)
class Selection(Task):
    """SE: choose every item that the first picture showed. State: LOST or the items chosen."""

    code: ClassVar[str] = "SE"
    memory: ClassVar[bool] = True
    items: tuple[tuple[Cell, str, int], ...]  # cell, kind, label; the first ones are the wanted ones
    wanted: int
    agent: Cell

    @property
    def goal(self) -> str:
        what = "an item" if self.wanted == 1 else f"{self.wanted} items"
        it = "the one you recall" if self.wanted == 1 else "all those that you recall"
        return (
            f"In the first image, {what} will be shown on the left margin that you need to remember. In the following "
            f"images, several random items will be generated in the scene, and you need to select {it}. {MEMORY}"
        )

    @property
    def opening(self) -> State:
        return frozenset()

    def choices(self, state: State) -> list[Action]:
        return [
            Action(f"choose {CATEGORY[kind]} with label {label}", index)
            for index, (_, kind, label) in enumerate(self.items)
            if index not in state
        ]

    def moved(self, state: State, move: Move) -> State:
        return state | {move} if isinstance(move, int) and move < self.wanted else LOST

    def judge(self, state: State) -> Literal[True, False] | None:
        if state == LOST:
            return False
        return True if len(state) == self.wanted else None

    def alike(self, state: State) -> State:
        """Wanted items are alike."""
        return state if state == LOST else frozenset(range(len(state)))

    def shown(self) -> Scene:
        return Scene((), agent=self.agent, hint=tuple(Row(Thing(kind)) for _, kind, _ in self.items[: self.wanted]))

    def view(self, state: State) -> Scene:
        left = state if state != LOST else frozenset()
        things = [(cell, Thing(kind, label=label)) for i, (cell, kind, label) in enumerate(self.items) if i not in left]
        return Scene(tuple(things), tuple(Thing(self.items[i][1]) for i in sorted(left)), self.agent)


@dataclass(frozen=True, kw_only=True)
class MemoryDecode(Task):
    """MDE: pairs are shown first; then each first half asks for its second. State: LOST or a count."""

    code: ClassVar[str] = "MDE"
    memory: ClassVar[bool] = True
    pairs: tuple[tuple[str, int], ...]  # what is asked, the item (index) that answers; in the order of asking
    items: tuple[tuple[Cell, str, int], ...]  # cell, kind, label
    told: tuple[int, ...]  # the order of the pairs in the hint block
    agent: Cell

    @property
    def goal(self) -> str:
        return (
            "In the first image, arrow-connected items with one-to-one correspondence(s) will be shown on the left "
            "margin that you need to remember. In the following images, the correspondence(s) will not be shown, and a "
            "target item will be generated in the black box in the upper left corner. You need to select the correct "
            f"corresponding item for the target based on the pairing you remembered in the first image. {MEMORY}"
        )

    @property
    def opening(self) -> State:
        return 0

    def choices(self, state: State) -> list[Action]:
        return [Action(f"choose item with label {label}", index) for index, (_, _, label) in enumerate(self.items)]

    def moved(self, state: State, move: Move) -> State:
        return state + 1 if move == self.pairs[state][1] else LOST

    def judge(self, state: State) -> Literal[True, False] | None:
        if state == LOST:
            return False
        return True if state == len(self.pairs) else None

    def shown(self) -> Scene:
        rows = [self.pairs[index] for index in self.told]
        hint = tuple(Row(Thing(asked), Thing(self.items[answer][1])) for asked, answer in rows)
        return Scene((), agent=self.agent, hint=hint)

    def view(self, state: State) -> Scene:
        things = tuple((cell, Thing(kind, label=label)) for cell, kind, label in self.items)
        asked = self.pairs[state][0] if state != LOST and state < len(self.pairs) else None
        return Scene(things, agent=self.agent, boxed=None if asked is None else Thing(asked))
