"""Rates over any set of slots: Pass@k and all-four, suite-balanced and pooled, with bounds (text: 'Evaluation
Metrics').

For one group, S is Pass@1 under protocol ``single`` and A is all-four within one attempt. What a slot holds is 1, 0 or
unknown for each k; a rate over slots of which one is unknown is undefined, and its bounds take the unknown ones as
failures and as successes. Sums are integers and fractions, so that a printed digit never depends on floating point.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from .eligibility import Eligibility, binding
from .exact import Estimate
from .window import UNKNOWN, Ints, Kind, Status

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Rate:
    """``balanced``: conditions within tasks, tasks within suites, suites equally. ``pooled``: every unit alike (a slot
    for Pass@k, a group for all-four). ``successes`` counts units that are known to succeed, of ``planned`` units."""

    balanced: Estimate
    pooled: Estimate
    successes: int
    known: int
    planned: int


@dataclass(frozen=True)
class TaskCount:
    """A number of tasks between ``lower`` and ``upper``; ``value`` is None while some task can still change it."""

    value: int | None
    lower: int
    upper: int


@dataclass(frozen=True)
class Efficiency:
    """A mean over scored successes; None without one, or when one of them is unknown."""

    mean: float | None
    successes: int
    unknown: int


def pass_at(judged: Eligibility, k: int, slots: Mask) -> Rate:
    """Success within the first ``k`` valid attempts over the chosen slots. There must be at least one."""
    known = judged.window.known[slots, k - 1]
    return _rate(judged, judged.layout.task[slots], known)


def all_conditions(judged: Eligibility, k: int, slots: Mask) -> Rate:
    """Whether every condition of a group succeeds within ``k`` attempts ('all-four'), over the groups of the chosen
    slots, which must be whole groups. A group with an unknown slot is undefined, also where a failure has decided
    it."""
    groups, lower, upper, complete = _groups(judged, k, slots)
    known = np.where(complete, lower, UNKNOWN)
    return _rate(judged, judged.layout.group_task[groups], known, lower, upper)


def tasks_solved(judged: Eligibility, k: int, slots: Mask, *, everywhere: bool) -> TaskCount:
    """Tasks solved within ``k`` attempts in at least one, or with ``everywhere`` in all, of their chosen slots."""
    task, known = judged.layout.task[slots], judged.window.known[slots, k - 1]
    size = len(judged.layout.tasks)
    planned = np.bincount(task, minlength=size)
    sure = np.bincount(task, weights=known == 1, minlength=size)
    possible = np.bincount(task, weights=known != 0, minlength=size)
    need = np.where(planned > 0, planned if everywhere else 1, np.inf)
    lower, upper = int((sure >= need).sum()), int((possible >= need).sum())
    return TaskCount(lower if lower == upper else None, lower, upper)


def seconds_at_success(judged: Eligibility, slots: Mask) -> Efficiency:
    """Time@S: mean seconds from the start of an attempt to its success event, over scored successes."""
    return _mean(judged.attempts[row].success_wall_s for row in _scored(judged, slots, Kind.SUCCESS))


def tokens_at_success(judged: Eligibility, slots: Mask) -> Efficiency:
    """Tok@S: mean tokens of scored successes, cached and uncached input together with output."""
    return _mean(judged.attempts[row].tokens for row in _scored(judged, slots, Kind.SUCCESS))


def failure_codes(judged: Eligibility, slots: Mask) -> dict[str, int]:
    """Scored failures by code, most frequent first; 'none' counts failures whose record names no code."""
    counts: dict[str, int] = {}
    for row in _scored(judged, slots, Kind.FAILURE):
        code = binding(judged.attempts[row], judged.rules)[1] or "none"
        counts[code] = counts.get(code, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def whole_groups(judged: Eligibility, slots: Mask) -> bool:
    """Whether the chosen slots are every condition of their groups."""
    chosen = np.bincount(judged.layout.group[slots], minlength=len(judged.layout.sizes))
    return bool(((chosen == 0) | (chosen == judged.layout.sizes)).all())


def task_values(judged: Eligibility, k: int, slots: Mask, *, all_four: bool = False) -> npt.NDArray[np.float64]:
    """The rate of each task [tasks] over the chosen slots; NaN for a task that is undefined or has no chosen slot.

    Means over resampled tasks are taken of these, see :mod:`scoring.uncertainty`.
    """
    if all_four:
        groups, lower, _, complete = _groups(judged, k, slots)
        task, known = judged.layout.group_task[groups], np.where(complete, lower, UNKNOWN)
    else:
        task, known = judged.layout.task[slots], judged.window.known[slots, k - 1]
    size = len(judged.layout.tasks)
    planned = np.bincount(task, minlength=size)
    defined = (planned > 0) & (np.bincount(task, weights=known == UNKNOWN, minlength=size) == 0)
    sums = np.bincount(task, weights=known == 1, minlength=size)
    return np.where(defined, sums / np.maximum(planned, 1), np.nan)


def _rate(
    judged: Eligibility, task: Ints, known: npt.NDArray[np.integer], low: Ints | None = None, high: Ints | None = None
) -> Rate:
    """The rate over units, each with its ``task`` and what is known of it: 1, 0 or unknown."""
    lower = (known == 1).astype(np.int64) if low is None else low
    upper = (known != 0).astype(np.int64) if high is None else high
    defined = bool((known != UNKNOWN).all())
    suites = _suite_numbers(judged)
    return Rate(
        balanced=_estimate(defined, _balanced(task, lower, suites), _balanced(task, upper, suites)),
        pooled=_estimate(defined, Fraction(int(lower.sum()), len(task)), Fraction(int(upper.sum()), len(task))),
        successes=int((known == 1).sum()),
        known=int((known != UNKNOWN).sum()),
        planned=len(task),
    )


def _estimate(defined: bool, lower: Fraction, upper: Fraction) -> Estimate:
    return Estimate(lower if defined else None, lower, upper)


def _balanced(task: Ints, values: Ints, suites: Ints) -> Fraction:
    """Mean over suites of the mean over tasks of the mean over units: sums of tasks with equally many units are
    integers."""
    planned = np.bincount(task, minlength=len(suites))
    sums = np.bincount(task, weights=values, minlength=len(suites)).astype(np.int64)
    means = []
    for suite in np.unique(suites[planned > 0]):
        inside = (suites == suite) & (planned > 0)
        parts = (Fraction(int(sums[inside & (planned == n)].sum()), int(n)) for n in np.unique(planned[inside]))
        means.append(sum(parts, Fraction()) / int(inside.sum()))
    return sum(means, Fraction()) / len(means)


def _suite_numbers(judged: Eligibility) -> Ints:
    """The suite of each task [tasks] as a number."""
    return np.unique([task.suite for task in judged.layout.tasks], return_inverse=True)[1].astype(np.int64)


def _groups(judged: Eligibility, k: int, slots: Mask) -> tuple[Ints, Ints, Ints, Mask]:
    """The chosen groups: their numbers, whether all slots are 1 at worst and at best, and whether all are known."""
    group, known = judged.layout.group[slots], judged.window.known[slots, k - 1]
    numbers, index = np.unique(group, return_inverse=True)
    size = np.bincount(index)
    if not whole_groups(judged, slots):
        raise ValueError("all-four needs every condition of a group")
    lower = (np.bincount(index, weights=known == 1) == size).astype(np.int64)
    upper = (np.bincount(index, weights=known != 0) == size).astype(np.int64)
    return numbers, lower, upper, np.bincount(index, weights=known == UNKNOWN) == 0


def _scored(judged: Eligibility, slots: Mask, kind: Kind) -> Ints:
    """Rows of the scored attempts of one kind in the chosen slots."""
    wanted = (judged.window.status == Status.SCORED) & (judged.kind == kind)
    return np.flatnonzero(wanted & slots[judged.slot])


def _mean(values: Iterable[float | None]) -> Efficiency:
    found = list(values)
    given = [value for value in found if value is not None]
    defined = bool(found) and len(given) == len(found)
    return Efficiency(math.fsum(given) / len(given) if defined else None, len(found), len(found) - len(given))
