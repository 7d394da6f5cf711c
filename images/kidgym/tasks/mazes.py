"""Maze, Decode Maze and Memory Maze: keys open doors on the way to a diamond."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from images.kidgym.rules import LETTERS, MEMORY, PLAY, Action, Cell, Move, Row, Scene, State, Task, Thing

STEPS: tuple[Cell, ...] = ((0, -1), (1, 0), (0, 1), (-1, 0))
KEYS = "You must pick up the key first before you can use it to unlock doors."


@dataclass(frozen=True)
class Map:
    """A maze of one-cell corridors without loops. Keys and doors are (cell, colour, label); the key with index i opens
    ``opens[i]`` (a door's index, None for a key that opens nothing)."""

    floor: frozenset[Cell]
    agent: Cell
    doors: tuple[tuple[Cell, str, int], ...]
    keys: tuple[tuple[Cell, str, int], ...]
    opens: tuple[int | None, ...]
    diamond: Cell
    label: int  # of the diamond, or of the box on its place
    boxes: tuple[tuple[Cell, int], ...] = ()  # empty ones

    @property
    def walls(self) -> frozenset[Cell]:
        return frozenset((x, y) for x in range(PLAY) for y in range(PLAY)) - self.floor

    def reachable(self, opened: frozenset[int]) -> frozenset[Cell]:
        """The cells that the agent can walk to with these doors open."""
        closed = {cell for index, (cell, _, _) in enumerate(self.doors) if index not in opened}
        found, front = {self.agent}, [self.agent]
        while front:
            column, row = front.pop()
            for across, down in STEPS:
                cell = column + across, row + down
                if cell in self.floor and cell not in closed and cell not in found:
                    found.add(cell)
                    front.append(cell)
        return frozenset(found)


@dataclass(frozen=True, kw_only=True)
class Maze(Task):
    """MA: a key opens the door of its colour. State: keys in the backpack by slot, keys used, doors open, the end.

    What cannot be reached, and a key that does not fit, uses up a step and changes nothing."""

    code: ClassVar[str] = "MA"
    map: Map

    @property
    def goal(self) -> str:
        return (
            "There is a diamond shown in the scene, and you need to obtain the diamond. When your path is blocked by a "
            f"door, you can use a key of the same color to unlock it. Note: {KEYS}"
        )

    @property
    def opening(self) -> State:
        return (), frozenset(), frozenset(), None

    def choices(self, state: State) -> list[Action]:
        slots, used, opened, end = state
        if end is not None:
            return []
        taken = used.union(slots)
        items = [(label, ("key", i)) for i, (_, _, label) in enumerate(self.map.keys) if i not in taken]
        items += [(self.map.label, ("diamond", 0))]
        items += [(label, ("box", index)) for index, (_, label) in enumerate(self.map.boxes)]
        obtain = [Action(f"obtain item with label {label}", move) for label, move in items]
        use = [
            Action(f"use the key in backpack {LETTERS[slot]} to unlock door with label {label}", ("use", slot, door))
            for slot, key in enumerate(slots)
            if key is not None
            for door, (_, _, label) in enumerate(self.map.doors)
            if door not in opened
        ]
        return obtain + use

    def moved(self, state: State, move: Move) -> State:
        slots, used, opened, _ = state
        what, index, *rest = move
        if what == "use":
            return self._use(state, index, rest[0])
        cell = {"key": self.map.keys, "box": self.map.boxes}[what][index][0] if what != "diamond" else self.map.diamond
        if cell not in self.map.reachable(opened):
            return state
        if what == "key":
            return _put(slots, index), used, opened, None
        return slots, used, opened, what == "diamond"

    def _use(self, state: State, slot: int, door: int) -> State:
        slots, used, opened, end = state
        key = slots[slot]
        way = self.map.reachable(opened)
        column, row = self.map.doors[door][0]
        near = any((column + across, row + down) in way for across, down in STEPS)
        if self.map.opens[key] != door or not near:
            return state
        return (*slots[:slot], None, *slots[slot + 1 :]), used | {key}, opened | {door}, end

    def judge(self, state: State) -> Literal[True, False] | None:
        end: Literal[True, False] | None = state[3]
        return end

    def alike(self, state: State) -> State:
        """The slots in which keys lie do not matter."""
        slots, used, opened, end = state
        return tuple(sorted(key for key in slots if key is not None)), used, opened, end

    def least(self, state: State) -> int:
        """Every door has to be opened, with a key that has to be picked up."""
        slots, _, opened, end = state
        held = {self.map.opens[key] for key in slots if key is not None}
        closed = set(range(len(self.map.doors))) - opened
        return 0 if end else 1 + len(closed) + len(closed - held)

    def view(self, state: State) -> Scene:
        slots, used, opened, end = state
        taken = used.union(key for key in slots if key is not None)
        keys = [(cell, Thing("key", c, n)) for i, (cell, c, n) in enumerate(self.map.keys) if i not in taken]
        doors = [(cell, Thing("door", c, n)) for i, (cell, c, n) in enumerate(self.map.doors) if i not in opened]
        treasure = [] if end else self._treasure()
        backpack = tuple(None if key is None else Thing("key", self.map.keys[key][1]) for key in slots)
        return Scene((*keys, *doors, *treasure), backpack, self.map.agent, self.map.walls, self._hint())

    def _treasure(self) -> list[tuple[Cell, Thing]]:
        return [(self.map.diamond, Thing("diamond", label=self.map.label))]

    def _hint(self) -> tuple[Row, ...]:
        return ()


def _put(slots: tuple[int | None, ...], key: int) -> tuple[int | None, ...]:
    """Into the first free slot."""
    if None in slots:
        free = slots.index(None)
        return (*slots[:free], key, *slots[free + 1 :])
    return (*slots, key)


@dataclass(frozen=True, kw_only=True)
class DecodeMaze(Maze):
    """DMA: the hint block says which colour of key opens which colour of door."""

    code: ClassVar[str] = "DMA"

    @property
    def goal(self) -> str:
        return (
            "There is a diamond in the scene, and your goal is to obtain it in as few steps as possible. Some paths "
            "are blocked by doors, and the key required to unlock each door color is shown in the left hint panel. You "
            f"must consult the hint panel and use the specified key to open the corresponding door. Note: {KEYS}"
        )

    def _hint(self) -> tuple[Row, ...]:
        pairs = sorted((door, key) for key, door in enumerate(self.map.opens) if door is not None)
        doors, keys = self.map.doors, self.map.keys
        return tuple(Row(Thing("key", keys[key][1]), Thing("door", doors[door][1])) for door, key in pairs)


@dataclass(frozen=True, kw_only=True)
class MemoryMaze(Maze):
    """MMA: the diamond is shown first; later boxes stand on its place and on others. State: as the maze."""

    code: ClassVar[str] = "MMA"
    memory: ClassVar[bool] = True

    @property
    def goal(self) -> str:
        return (
            "In the first image, a diamond will be shown in the scene that you need to remember its location. In the "
            "following images, the diamond will not be shown and several treasure boxes will be generated in the "
            "scene. You must choose to open the treasure box located at the diamond's original position to obtain the "
            "diamond. When your path is blocked by a door, you can use a key of the same color to unlock it. "
            f"Note: {KEYS} {MEMORY}"
        )

    def shown(self) -> Scene:
        keys = tuple((cell, Thing("key", colour)) for cell, colour, _ in self.map.keys)
        doors = tuple((cell, Thing("door", colour)) for cell, colour, _ in self.map.doors)
        return Scene((*keys, *doors, (self.map.diamond, Thing("diamond"))), (), self.map.agent, self.map.walls)

    def _treasure(self) -> list[tuple[Cell, Thing]]:
        boxes = [(cell, Thing("box", label=label)) for cell, label in self.map.boxes]
        return [*boxes, (self.map.diamond, Thing("box", label=self.map.label))]
