"""One row of numbers for any set of slots: the whole selection, a suite, a type, a condition ..."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import metrics, plain
from .eligibility import Eligibility
from .metrics import Mask
from .plain import metric_key
from .selection import Layout, Selection, Task
from .uncertainty import exact_bound, intervals
from .window import UNKNOWN, Status

LABELS = ("type", "split", "embodiment", "family", "engine", "level", "difficulty")
BREAKDOWNS = ("suite", "type", "split", "subset", "embodiment", "condition", "engine", "level")
DIMENSIONS = ("suite", "subset", "condition", "task", "capability", *LABELS)


def parts(judged: Eligibility, dimension: str) -> Iterator[tuple[str, Mask]]:
    """The values of a dimension over a judged ledger, see :func:`parts_of`."""
    return parts_of(judged.selection, judged.layout, dimension)


def parts_of(selection: Selection, layout: Layout, dimension: str) -> Iterator[tuple[str, Mask]]:
    """The values of a dimension in catalog order, each with its slots. Tasks without the label are in no part.

    Of the subsets, those that lie wholly inside the selection. A task is in the part of each of its capabilities.
    Raises ValueError for an unknown dimension.
    """
    tasks = layout.tasks
    if dimension not in DIMENSIONS:
        raise ValueError(f"breakdown {dimension!r} is not one of {', '.join(DIMENSIONS)}")
    if dimension == "condition":
        for index in range(max(task.conditions for task in tasks)):
            yield str(index), layout.condition == index
        return
    if dimension == "subset":
        planned = {task.environment_id for task in tasks}
        for name, members in selection.subsets.items():
            if members <= planned:
                yield name, np.array([task.environment_id in members for task in tasks])[layout.task]
        return
    values = [_values(task, dimension) for task in tasks]
    for value in dict.fromkeys(value for several in values for value in several):
        yield value, np.array([value in several for several in values])[layout.task]


def row(judged: Eligibility, label: str, slots: Mask, seed: int, resamples: int) -> dict[str, Any]:
    """Every number of one set of slots. ``planned`` to ``missing`` count conditions, ``attempts`` counts attempts.

    ``groups_complete`` counts groups whose slots in the set all have valid terminal outcomes; ``coverage`` is their
    share.
    """
    layout = judged.layout
    states = Counter(judged.states[slot][0] for slot in np.flatnonzero(slots))
    unfinished = np.unique(layout.group[slots & (judged.window.closer < 0)])
    groups = len(np.unique(layout.group[slots]))
    status = judged.window.status[slots[judged.slot]]
    return {
        "label": label,
        "tasks": len(np.unique(layout.task[slots])),
        "groups": groups,
        "groups_complete": groups - len(unfinished),
        "coverage": (groups - len(unfinished)) / groups,
        "planned": int(slots.sum()),
        "scored": states["success"] + states["failure"],
        "successes": states["success"],
        "failures": states["failure"],
        "invalid": states["invalid"],
        "candidate": states["candidate"],
        "missing": states["missing"],
        "attempts": {state.name.lower(): int((status == state).sum()) for state in Status},
        "metrics": _metrics(judged, slots, seed, resamples),
        "tasks_solved": {
            str(k): {
                "at_least_one": plain.count(metrics.tasks_solved(judged, k, slots, everywhere=False)),
                "all": plain.count(metrics.tasks_solved(judged, k, slots, everywhere=True)),
            }
            for k in judged.rules.pass_at
        },
        "time_at_success_s": plain.efficiency(metrics.seconds_at_success(judged, slots)),
        "tokens_at_success": plain.efficiency(metrics.tokens_at_success(judged, slots)),
        "codes": metrics.failure_codes(judged, slots),
    }


def rates(judged: Eligibility, slots: Mask) -> dict[str, metrics.Rate]:
    """Every metric of one set of slots by its key. All-four only where the set holds whole groups."""
    found = {}
    for k in judged.rules.pass_at:
        found[metric_key("pass", k)] = metrics.pass_at(judged, k, slots)
        if metrics.whole_groups(judged, slots):
            found[metric_key("all_four", k)] = metrics.all_conditions(judged, k, slots)
    return found


def unit_rates(judged: Eligibility, slots: Mask) -> tuple[np.ndarray, np.ndarray]:
    """The same metrics per unit that is resampled [units, metrics], and the stratum of each unit, in the order of
    environment ids: tasks within their suites, or episodes within their tasks."""
    return _by_task(judged, slots) if judged.selection.resampled == "tasks" else _by_episode(judged, slots)


def _by_task(judged: Eligibility, slots: Mask) -> tuple[np.ndarray, np.ndarray]:
    tasks = judged.layout.tasks
    order = sorted(np.unique(judged.layout.task[slots]), key=lambda task: tasks[task].environment_id)
    columns = []
    for k in judged.rules.pass_at:
        columns.append(metrics.task_values(judged, k, slots))
        if metrics.whole_groups(judged, slots):
            columns.append(metrics.task_values(judged, k, slots, all_four=True))
    return np.stack(columns, axis=1)[order], np.array([tasks[task].suite for task in order])


def _by_episode(judged: Eligibility, slots: Mask) -> tuple[np.ndarray, np.ndarray]:
    """All NaN where suites hold different numbers of tasks, since tasks then do not weigh alike; so are the columns of
    all-four, which a single episode does not have."""
    tasks, known = judged.layout.tasks, judged.window.known[slots]
    ids = np.array([task.environment_id for task in tasks])[judged.layout.task[slots]]
    suites = [tasks[task].suite for task in np.unique(judged.layout.task[slots])]
    alike = len(set(Counter(suites).values())) == 1
    columns = []
    for k in judged.rules.pass_at:
        found = known[:, k - 1]
        columns.append(np.where((found == UNKNOWN) | (not alike), np.nan, found))
        if metrics.whole_groups(judged, slots):
            columns.append(np.full(len(found), np.nan))
    order = np.argsort(ids, kind="stable")
    return np.stack(columns, axis=1)[order], ids[order]


def _metrics(judged: Eligibility, slots: Mask, seed: int, resamples: int) -> dict[str, Any]:
    values, suites = unit_rates(judged, slots)
    found = zip(intervals(values, suites, seed, resamples), values.T, strict=True)
    pairs = zip(rates(judged, slots).items(), found, strict=True)
    return {key: plain.rate(rate, interval, exact_bound(own, suites)) for (key, rate), (interval, own) in pairs}


def _values(task: Task, dimension: str) -> tuple[str, ...]:
    if dimension in LABELS:
        return (task.labels[dimension],) if dimension in task.labels else ()
    return {"suite": (task.suite,), "capability": task.capabilities}.get(dimension, (task.environment_id,))
