"""Shortest solutions by search, and the exact chance of a player who chooses at random (dynamic programming)."""

from __future__ import annotations

from fractions import Fraction
from heapq import heappop, heappush
from itertools import count

from images.kidgym.catalog import budget
from images.kidgym.rules import Action, State, Task

_Waiting = tuple[int, int, int, State, tuple[Action, ...]]  # least steps, minus the depth, order, state, path


class Unsolvable(ValueError):
    """An episode without a solution within its budget."""


def solution(task: Task, state: State | None = None) -> list[Action]:
    """A shortest sequence of actions that succeeds from ``state``, or from the start (A* with the task's bound). Raises
    Unsolvable where none has as many steps as the budget or fewer."""
    limit, start = budget(task.code, task.level), task.start if state is None else state
    entered = count()
    waiting: list[_Waiting] = [(task.bound(start), 0, next(entered), start, ())]
    seen: set[State] = set()
    while waiting:
        _, back, _, state, path = heappop(waiting)
        if task.verdict(state):
            return list(path)
        folded = task.fold(state)
        if folded in seen:
            continue
        seen.add(folded)
        for action in task.actions(state):
            new = task.after(state, action.move)
            verdict, steps = task.verdict(new), len(path) + 1
            least = steps + (0 if verdict else task.bound(new))
            if verdict is not False and least <= limit:
                heappush(waiting, (least, back - 1, next(entered), new, (*path, action)))
    raise Unsolvable(f"{task.code} level {task.level} has no solution within {limit} steps")


def check(task: Task) -> list[Action]:
    """The solution, after looking for what an episode must not have: an end before the start, two equal options on
    the way. Raises ValueError naming it."""
    if task.verdict(task.start) is not None:
        raise ValueError(f"{task.code} level {task.level} is over before it starts")
    path, state = solution(task), task.start
    for action in path:
        texts = [option.text for option in task.actions(state)]
        if len(set(texts)) < len(texts):
            raise ValueError(f"{task.code} level {task.level} offers an option twice: {texts}")
        state = task.after(state, action.move)
    return path


def chance(task: Task) -> Fraction:
    """The exact probability that uniform choices succeed within the budget."""
    known: dict[tuple[State, int], Fraction] = {}

    def of(state: State, left: int) -> Fraction:
        verdict = task.verdict(state)
        if verdict is not None or left == 0:
            return Fraction(verdict is True)
        key = task.fold(state), left
        if key not in known:
            actions = task.actions(state)
            known[key] = sum((of(task.after(state, a.move), left - 1) for a in actions), Fraction(0)) / len(actions)
        return known[key]

    return of(task.start, budget(task.code, task.level))
