"""Classification and Counting: things are picked up, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from images.kidgym.rules import LETTERS, SLOTS, Action, Cell, Move, Scene, State, Task, Thing, number_of, plural

WAITING, CARRIED, RIGHT, WRONG = range(4)


@dataclass(frozen=True, kw_only=True)
class Classification(Task):
    """CL: two kinds of items go into two baskets. State: where each item is, and the item in each backpack slot."""

    code: ClassVar[str] = "CL"
    kinds: tuple[str, str]
    colours: tuple[str, str]  # of the basket for the first and for the second kind
    items: tuple[tuple[Cell, int, int], ...]  # cell, kind (0 or 1), label
    baskets: tuple[tuple[Cell, int], ...]  # cell, label; the first takes kind 0
    agent: Cell

    @property
    def goal(self) -> str:
        count = len(self.items) // 2
        first, second = (number_of(kind, count) for kind in self.kinds)
        return (
            f"Place the {first} in the {self.colours[0]} basket and the {second} in the {self.colours[1]} basket "
            "respectively."
        )

    @property
    def opening(self) -> State:
        return (WAITING,) * len(self.items), (None,) * SLOTS

    def choices(self, state: State) -> list[Action]:
        places, slots = state
        picks = [
            Action(f"pick up the item with label {label}", ("pick", index))
            for index, (_, _, label) in enumerate(self.items)
            if places[index] == WAITING
        ]
        puts = [
            Action(
                f"put the item from backpack {LETTERS[slot]} into the basket with label {label}", ("put", slot, basket)
            )
            for slot, index in enumerate(slots)
            if index is not None
            for basket, (_, label) in enumerate(self.baskets)
        ]
        return picks + puts

    def moved(self, state: State, move: Move) -> State:
        places, slots = list(state[0]), list(state[1])
        what, first, *rest = move
        if what == "pick":
            places[first], slots[slots.index(None)] = CARRIED, first
        else:
            index, slots[first] = slots[first], None
            places[index] = RIGHT if self.items[index][1] == rest[0] else WRONG
        return tuple(places), tuple(slots)

    def judge(self, state: State) -> Literal[True, False] | None:
        if WRONG in state[0]:
            return False
        return True if all(place == RIGHT for place in state[0]) else None

    def alike(self, state: State) -> State:
        """Items of one kind, and slots, are alike."""
        counts = [0] * 8
        for place, (_, kind, _) in zip(state[0], self.items, strict=True):
            counts[kind * 4 + place] += 1
        places = [place for kind in (0, 1) for place in range(4) for _ in range(counts[kind * 4 + place])]
        order = sorted(range(len(self.items)), key=lambda index: self.items[index][1])
        folded = [WAITING] * len(self.items)
        for index, place in zip(order, places, strict=True):
            folded[index] = place
        carried = [index for index, place in enumerate(folded) if place == CARRIED]
        return tuple(folded), tuple(carried + [None] * (SLOTS - len(carried)))

    def least(self, state: State) -> int:
        return sum(2 if place == WAITING else 1 for place in state[0] if place != RIGHT)

    def view(self, state: State) -> Scene:
        places, slots = state
        things = [
            (cell, Thing(self.kinds[kind], label=label))
            for (cell, kind, label), place in zip(self.items, places, strict=True)
            if place == WAITING
        ]
        baskets = [
            (cell, Thing("basket", self.colours[index], label)) for index, (cell, label) in enumerate(self.baskets)
        ]
        backpack = tuple(None if index is None else Thing(self.kinds[self.items[index][1]]) for index in slots)
        return Scene((*things, *baskets), backpack, self.agent)


@dataclass(frozen=True, kw_only=True)
class Counting(Task):
    """CO: collect exactly ``wanted`` items from piles of one to three. State: the piles taken, whether it was said."""

    code: ClassVar[str] = "CO"
    kind: str
    wanted: int
    piles: tuple[tuple[Cell, int, int], ...]  # cell, items, label
    agent: Cell

    @property
    def goal(self) -> str:
        things = number_of(self.kind, self.wanted)
        return (
            f"Collect {self.wanted} {things}. Make sure you have gathered exactly this amount, no more and no less. "
            f"One grid may hold 1 to 3 {plural(self.kind)}. Once you have collected this number of {things}, select "
            f'the action: "{self._done}".'
        )

    @property
    def _done(self) -> str:
        return f"I have already collected {self.wanted} {number_of(self.kind, self.wanted)}"

    @property
    def opening(self) -> State:
        return frozenset(), False

    def choices(self, state: State) -> list[Action]:
        taken, _ = state
        picks = [
            Action(f"pick up {plural(self.kind)} with label {label}", index)
            for index, (_, _, label) in enumerate(self.piles)
            if index not in taken
        ]
        return [*picks, Action(self._done, "done")]

    def moved(self, state: State, move: Move) -> State:
        taken, _ = state
        return (taken, True) if move == "done" else (taken | {move}, False)

    def judge(self, state: State) -> Literal[True, False] | None:
        taken, said = state
        return sum(self.piles[index][1] for index in taken) == self.wanted if said else None

    def view(self, state: State) -> Scene:
        taken, _ = state
        things = [
            (cell, Thing(self.kind, label=label, count=count))
            for index, (cell, count, label) in enumerate(self.piles)
            if index not in taken
        ]
        bag = tuple(Thing(self.kind, count=self.piles[index][1]) for index in sorted(taken))
        return replace(Scene(tuple(things)), backpack=bag, agent=self.agent)
