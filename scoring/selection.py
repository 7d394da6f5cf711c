"""What a score is over: the planned tasks, their labels, and the slots (group x condition) that each must fill."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from .window import Ints

Resampled = Literal["tasks", "episodes"]


@dataclass(frozen=True)
class Task:
    """A planned environment. ``labels`` names its value in each further breakdown, such as type, split, engine;
    ``capabilities`` are all those that it counts for."""

    environment_id: str
    suite: str
    labels: Mapping[str, str] = field(default_factory=dict)
    conditions: int = 4
    capabilities: tuple[str, ...] = ()


@dataclass(frozen=True)
class Selection:
    """The planned tasks of a score.

    ``ranked`` is False for a choice by task names: it shows its own rates and never a headline. ``subsets`` holds the
    members of further subsets; those that lie wholly inside get rows of their own. ``groups`` are the keys of the
    registered groups of every task; None stands for the one key that all attempts share. ``resampled`` says what
    intervals are made of: of tasks that stand for others, or of the episodes (conditions) of each task.
    """

    name: str
    tasks: tuple[Task, ...]
    ranked: bool
    subsets: Mapping[str, frozenset[str]] = field(default_factory=dict)
    groups: tuple[str, ...] | None = None
    resampled: Resampled = "tasks"

    def __post_init__(self) -> None:
        ids = [task.environment_id for task in self.tasks]
        if not ids:
            raise ValueError(f"selection {self.name!r} has no task")
        if len(set(ids)) != len(ids):
            twice = next(name for name in ids if ids.count(name) > 1)
            raise ValueError(f"selection {self.name!r} lists {twice} twice")

    def restricted(self, name: str, members: Iterable[str], *, ranked: bool) -> Selection:
        """The same tasks, only those of ``members``."""
        chosen = frozenset(members)
        tasks = tuple(task for task in self.tasks if task.environment_id in chosen)
        if len(tasks) != len(chosen):
            unknown = sorted(chosen - {task.environment_id for task in tasks})[0]
            raise ValueError(f"{name!r} asks for {unknown}, which is not in {self.name!r}")
        return Selection(name, tasks, ranked, self.subsets, self.groups, self.resampled)


@dataclass(frozen=True)
class Layout:
    """Numbers for tasks, groups and slots: groups in task order, the slots of a group in condition order.

    ``task`` and ``condition`` [slots]; ``group`` [slots]: group number; ``group_task`` [groups].
    """

    tasks: tuple[Task, ...]
    keys: tuple[str, ...]

    @cached_property
    def group_task(self) -> Ints:
        return np.repeat(np.arange(len(self.tasks)), len(self.keys))

    @cached_property
    def sizes(self) -> Ints:
        """Conditions per group."""
        return np.array([task.conditions for task in self.tasks], dtype=np.int64)[self.group_task]

    @cached_property
    def group(self) -> Ints:
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def task(self) -> Ints:
        return self.group_task[self.group]

    @cached_property
    def condition(self) -> Ints:
        return np.arange(self.slots) - self._starts[self.group]

    @property
    def slots(self) -> int:
        return int(self.sizes.sum())

    @cached_property
    def _starts(self) -> Ints:
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def first_slot(self) -> dict[tuple[str, str], int]:
        """The slot of condition 0 by environment id and group key."""
        names = ((task.environment_id, key) for task in self.tasks for key in self.keys)
        return dict(zip(names, self._starts.tolist(), strict=True))
