"""How many runs of a setting solve each planned condition: counts of outcomes that scoring decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leaderboard.source import Entry, selection_for
from scoring.selection import Task

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Tally:
    """``solved`` and ``known`` [slots] count runs by condition, ``first`` [tasks] is the first slot of each task;
    ``solvers`` [tasks] counts runs that solve at least one condition of it, ``everywhere`` all of them."""

    runs: int
    tasks: tuple[Task, ...]
    first: Counts
    solved: Counts
    known: Counts
    solvers: Counts
    everywhere: Counts

    def of_task(self, number: int) -> list[tuple[int, int]]:
        """(solved, known) of each condition of a task."""
        start = int(self.first[number])
        slots = range(start, start + self.tasks[number].conditions)
        return [(int(self.solved[slot]), int(self.known[slot])) for slot in slots]


def tally(entries: Sequence[Entry]) -> Tally:
    """Of runs of one setting, at least one."""
    tasks = selection_for(entries[0].setting, entries[0].run).tasks
    sizes = np.array([task.conditions for task in tasks])
    first = np.cumsum(sizes) - sizes
    signs = np.frombuffer("".join(entry.slots for entry in entries).encode(), np.uint8).reshape(len(entries), -1)
    solved = (signs >= ord("1")) & (signs <= ord("9"))
    known = solved | (signs == ord("f"))
    by_task = np.add.reduceat(solved, first, axis=1, dtype=np.int64)
    return Tally(
        runs=len(entries),
        tasks=tasks,
        first=first,
        solved=solved.sum(axis=0),
        known=known.sum(axis=0),
        solvers=(by_task > 0).sum(axis=0),
        everywhere=(by_task == sizes).sum(axis=0),
    )
