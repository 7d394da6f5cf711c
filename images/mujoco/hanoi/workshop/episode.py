"""A Hanoi episode in this process."""

from __future__ import annotations

from typing import Any

from images.mujoco.hanoi.environment import MODE, PREFIXES
from images.mujoco.workshop import episode as shared

BUDGET = {"actions": 18000, "simulated_s": 600.0}
PREFIX = {robot: prefix for prefix, robot in PREFIXES.items()}


def environment_id(task: str) -> str:
    """Identifier of a task that is named by robot and case, ``panda/H07``."""
    robot, case = task.split("/")
    return f"{PREFIX[robot]}/{robot}/{case}"


def condition(task: str, index: int) -> dict[str, Any]:
    """One of the four prescribed initial conditions."""
    return shared.condition("hanoi_conditions.json", environment_id(task), index)


def start(
    task: str, index: int, level: str = "L3", parameters: dict[str, Any] | None = None, pictures: bool = False
) -> dict[str, Any]:
    """The specification of the host's ``start`` frame; ``parameters`` in place of the prescribed condition."""
    realized = parameters or condition(task, index)
    return shared.start(environment_id(task), index, realized, MODE, BUDGET, level, pictures)


class Episode(shared.Episode):
    """``choices`` are those of :func:`start`."""

    def __init__(self, task: str, index: int, **choices: Any) -> None:
        super().__init__(start(task, index, **choices))
