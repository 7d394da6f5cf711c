"""Why an action of a solution is right, in one sentence: the reasons of the worked example (text: 'ICL evaluation')."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from images.kidgym.rules import CONTINUE, LETTERS, NUMERALS, SHOWN, Action, Move, State, Task, number_of
from images.kidgym.tasks.placing import COMPASS

QUARTERS = ("top left", "top right", "bottom left", "bottom right")


def reason(task: Task, state: State, action: Action) -> str:
    """The reason for an action of a shortest solution in ``state``."""
    if state == SHOWN:
        return f"{_SHOWN[task.code](task)} The only action is '{CONTINUE}'."
    return _REASONS[task.code](task, state, action.move)


# ---- what a first picture says --------------------------------------------------------------------------------------
def _shown_items(task: Any) -> str:
    kinds = [kind for _, kind, _ in task.items[: task.wanted]]
    return f"I have to remember the {_and(kinds)} on the left margin."


def _shown_pairs(task: Any) -> str:
    pairs = [f"the {task.pairs[index][0]} belongs to the {task.items[task.pairs[index][1]][1]}" for index in task.told]
    return f"I have to remember the pairs on the left margin: {_and(pairs)}."


def _shown_whole(task: Any) -> str:
    return f"I have to remember the {task.whole[0].kind} on the left margin."


def _shown_diamond(task: Any) -> str:
    column, row = task.map.diamond
    return f"I have to remember where the diamond is: column {column + 1}, row {row + 1} of the play area."


# ---- the play -------------------------------------------------------------------------------------------------------
def _classification(task: Any, state: State, move: Move) -> str:
    what, first, *rest = move
    if what == "pick":
        _, kind, label = task.items[first]
        return f"The item with label {label} is the {task.kinds[kind]}; it has to be picked up before it can be placed."
    kind = task.items[state[1][first]][1]
    return (
        f"Backpack {LETTERS[first]} holds the {task.kinds[kind]}, which belongs in the {task.colours[kind]} basket; "
        f"that basket has label {task.baskets[rest[0]][1]}."
    )


def _counting(task: Any, state: State, move: Move) -> str:
    have = sum(task.piles[index][1] for index in state[0])
    if move == "done":
        return f"I have exactly {have} {number_of(task.kind, have)}, which is what was asked for."
    _, size, label = task.piles[move]
    total = have + size
    return (
        f"Label {label} has {size} {number_of(task.kind, size)}; with the {have} that I have this makes {total} of "
        f"{task.wanted}."
    )


def _selection(task: Any, state: State, move: Move) -> str:
    _, kind, label = task.items[move]
    return f"The first image showed the {kind}; it has label {label} now."


def _memory_decode(task: Any, state: State, move: Move) -> str:
    asked, answer = task.pairs[state]
    _, kind, label = task.items[answer]
    return f"The black box shows the {asked}, and the first image joined it with the {kind}; it has label {label}."


def _sorting(task: Any, state: State, move: Move) -> str:
    slot, position = move
    rank = task.ranks[slot]
    return (
        f"Backpack {LETTERS[slot]} holds the {task.animals[slot]}; by the rule {rank} of the others are "
        f"{task.adjective}, so it belongs at position {NUMERALS[position]}."
    )


def _placement(task: Any, state: State, move: Move) -> str:
    opposite = COMPASS[(task.told + 4) % 8]
    there = COMPASS[task.sides[move]]
    turned = {0: "", 1: f"; one grid clockwise from there is {there}", -1: f"; one grid counterclockwise is {there}"}
    return (
        f"The opposite of {COMPASS[task.told]} is {opposite}{turned[task.turn]}. Position {NUMERALS[move]} lies there, "
        f"{there} of the {task.centre}."
    )


def _filling(task: Any, state: State, move: Move) -> str:
    slot, gap = move
    return (
        f"Position {NUMERALS[gap]} is the {QUARTERS[task.gaps[gap]]} part of the target, and the piece in backpack "
        f"{LETTERS[slot]} is that part."
    )


def _maze(task: Any, state: State, move: Move) -> str:
    what, index, *rest = move
    maze = task.map
    if what == "key":
        _, colour, label = maze.keys[index]
        door = maze.doors[maze.opens[index]]
        return (
            f"The {colour} key has label {label}, the way to it is free, and it opens the {door[1]} door with label "
            f"{door[2]}{_by_hint(task)}."
        )
    if what == "use":
        _, colour, label = maze.doors[rest[0]]
        key = maze.keys[state[0][index]][1]
        return (
            f"Backpack {LETTERS[index]} holds the {key} key, which opens the {colour} door with label {label}"
            f"{_by_hint(task)}, and the way to that door is free."
        )
    if task.memory:
        return f"The box with label {maze.label} stands where the diamond was, and the way to it is free."
    return f"The diamond has label {maze.label}, and the way to it is free."


def _by_hint(task: Task) -> str:
    return " by the hint panel" if task.code == "DMA" else ""


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


_SHOWN: dict[str, Callable[[Any], str]] = {
    "SE": _shown_items,
    "MDE": _shown_pairs,
    "MFI": _shown_whole,
    "MMA": _shown_diamond,
}
_REASONS: dict[str, Callable[[Any, State, Move], str]] = {
    "CL": _classification,
    "CO": _counting,
    "SE": _selection,
    "MDE": _memory_decode,
    "SO": _sorting,
    "PL": _placement,
    "FI": _filling,
    "PU": _filling,
    "MFI": _filling,
    "MA": _maze,
    "DMA": _maze,
    "MMA": _maze,
}
