"""95 % intervals by a task-clustered bootstrap stratified by suite, and paired differences of two runs.

Tasks are resampled with replacement within their suite, each with all of its conditions, since the conditions of a task
are not independent. An interval is None where a task is undefined, or where a suite has a single task: resampling one
task shows no spread, and a width of zero would pass for certainty. Where all tasks agree it has no width either, and an
exact one-sided bound stands beside it.

On a board whose tasks are all that there are, and whose conditions are drawn, the episodes of each task are resampled
instead: read 'episodes within their task' for 'tasks within their suite'.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

METHODS = {"tasks": "tasks within suites", "episodes": "episodes within tasks"}  # what is resampled
RESAMPLES = 2000
LEVEL = 0.95

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """Percentile interval of a rate or difference, as fractions of 1."""

    lower: float
    upper: float


@dataclass(frozen=True)
class Difference:
    """Second run minus first on the same tasks: suite-balanced ``mean``, its interval, the exact bounds where all tasks
    changed alike, and tasks by sign."""

    mean: float
    interval: Interval | None
    exact: Interval | None
    better: int
    equal: int
    worse: int


def resampled_means(values: Floats, suites: npt.NDArray[np.str_], seed: int, resamples: int = RESAMPLES) -> Floats:
    """Suite-balanced means [resamples, metrics] of ``values`` [tasks, metrics] with the suite of each task [tasks].

    Tasks are taken in the order given: pass them in a fixed order, and the same seed gives the same result.
    """
    names, sizes = np.unique(suites, return_counts=True)
    total = np.zeros((resamples, values.shape[1]))
    for name, counts in zip(names, _draws(tuple(sizes.tolist()), seed, resamples), strict=True):
        inside = values[suites == name]
        total += counts @ inside / len(inside)
    return total / len(names)


@lru_cache(maxsize=64)
def _draws(sizes: tuple[int, ...], seed: int, resamples: int) -> tuple[Floats, ...]:
    """How often each task is drawn in each resample, for every suite [resamples, tasks of the suite]. All runs of one
    selection share them."""
    generator = np.random.Generator(np.random.PCG64(seed))
    found = []
    for size in sizes:
        drawn = (generator.random((resamples, size)) * size).astype(np.int64)
        cells = drawn + size * np.arange(resamples)[:, None]
        counts = np.bincount(cells.ravel(), minlength=resamples * size).reshape(resamples, -1)
        found.append(counts.astype(np.float64))
    return tuple(found)


def intervals(
    values: Floats, suites: npt.NDArray[np.str_], seed: int, resamples: int = RESAMPLES
) -> list[Interval | None]:
    """One interval per metric (column of ``values`` [tasks, metrics]); NaN marks an undefined task."""
    defined = np.logical_not(np.isnan(values).any(axis=0))
    if np.unique(suites, return_counts=True)[1].min() < 2 or not defined.any():
        return [None] * values.shape[1]
    means = resampled_means(np.where(defined, values, 0.0), suites, seed, resamples)
    tail = (1 - LEVEL) / 2
    lower, upper = np.quantile(means, (tail, 1 - tail), axis=0)
    return [
        Interval(float(low), float(high)) if ok else None
        for low, high, ok in zip(lower, upper, defined.tolist(), strict=True)
    ]


def exact_bound(values: Floats, suites: npt.NDArray[np.str_]) -> Interval | None:
    """What a resample cannot say where every task of ``values`` [tasks] is 1, or every one 0: the one-sided bound of
    the suite-balanced mean at ``LEVEL``, with the other end at the mean itself. None for all other values.

    The bound is the least mean of chances of success with which all tasks succeed together with probability
    1 - ``LEVEL`` or more. In a single suite of n tasks it is that of Clopper and Pearson, (1 - LEVEL)^(1/n).
    """
    if not (np.all(values == 1) or np.all(values == 0)):
        return None
    least = _least_mean(tuple(np.unique(suites, return_counts=True)[1].tolist()))
    return Interval(least, 1.0) if values[0] == 1 else Interval(0.0, 1.0 - least)


def exact_difference(change: Floats, suites: npt.NDArray[np.str_]) -> Interval | None:
    """The same for the changes of tasks [tasks] where all are one value c: the bounds of the suite-balanced mean at
    ``LEVEL``, both at once. None for all other changes.

    By the bound above a task changes by c with a mean chance of q at the least, and what it does otherwise lies between
    -1 and 1: the mean lies within c q - (1 - q) and c q + (1 - q).
    """
    if not np.all(change == change[0]):
        return None
    least = _least_mean(tuple(np.unique(suites, return_counts=True)[1].tolist()))
    middle, rest = float(change[0]) * least, 1 - least
    return Interval(max(-1.0, middle - rest), min(1.0, middle + rest))


@lru_cache(maxsize=256)
def _least_mean(tasks: tuple[int, ...]) -> float:
    """The least mean over suites of chances p with the product of p^n at 1 - ``LEVEL``, n in ``tasks`` [suites].

    By Lagrange's rule p is in proportion to n, where it is below 1; the factor is found by halving.
    """
    sizes = np.array(tasks, dtype=np.float64)
    wanted, low, high = np.log(1 - LEVEL), 0.0, 1 / sizes.min()
    for _ in range(100):
        middle = (low + high) / 2
        together = float((sizes * np.log(np.minimum(1.0, middle * sizes))).sum()) if middle > 0 else -np.inf
        low, high = (middle, high) if together < wanted else (low, middle)
    return float(np.minimum(1.0, high * sizes).mean())


def paired_difference(
    first: Floats, second: Floats, suites: npt.NDArray[np.str_], seed: int, resamples: int = RESAMPLES
) -> Difference | None:
    """The difference of two runs from their task rates [tasks], in the same task order; None where a task is undefined.

    Both runs share each resample, so that what makes a task hard for both cancels.
    """
    if first.shape != second.shape or first.shape != suites.shape:
        raise ValueError(
            f"shapes {first.shape}, {second.shape} and {suites.shape} differ; compare runs over the same tasks"
        )
    change = second - first
    if np.isnan(change).any():
        return None
    mean = float(np.mean([change[suites == name].mean() for name in np.unique(suites)]))
    (interval,) = intervals(change[:, None], suites, seed, resamples)
    better, worse = int((change > 0).sum()), int((change < 0).sum())
    exact = exact_difference(change, suites)
    return Difference(mean, interval, exact, better, len(change) - better - worse, worse)
