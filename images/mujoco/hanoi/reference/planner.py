"""The symbolic puzzle: arrangements are tuples with the peg (0 to 2) of each ring, the largest first."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

Arrangement = tuple[int, ...]
Move = tuple[int, int]
"""Ring and the peg to which it goes."""
PEGS = (0, 1, 2)


def legal(arrangement: Arrangement) -> Iterator[Move]:
    """Moves of an exposed ring onto a peg without a smaller one."""
    for ring, peg in enumerate(arrangement):
        smaller = arrangement[ring + 1 :]
        if peg in smaller:
            continue
        for target in PEGS:
            if target != peg and target not in smaller:
                yield ring, target


def after(arrangement: Arrangement, move: Move) -> Arrangement:
    """The arrangement that a move makes."""
    ring, target = move
    return (*arrangement[:ring], target, *arrangement[ring + 1 :])


def shortest(start: Arrangement, goal: Arrangement) -> list[Move]:
    """A shortest legal solution by breadth-first search over all arrangements; they are all connected."""
    reached: dict[Arrangement, tuple[Arrangement, Move] | None] = {start: None}
    queue = deque([start])
    while goal not in reached:
        present = queue.popleft()
        for move in legal(present):
            following = after(present, move)
            if following not in reached:
                reached[following] = (present, move)
                queue.append(following)
    path: list[Move] = []
    step = reached[goal]
    while step is not None:
        arrangement, move = step
        path.append(move)
        step = reached[arrangement]
    return path[::-1]
