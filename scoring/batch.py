"""Many runs over one selection at once: columns in, arrays [runs, parts] out.

The window is judged for all runs in one call of the rule that scores a single run (:mod:`scoring.window`). What follows
are sums over slots, as one product of a [runs, slots] array with a [slots, parts] one per number. Balanced rates are
whole numbers over the part's own denominator, so that a printed digit never depends on floating point. A run has one
group per task; intervals, reasons and groups are left to :func:`scoring.report.score`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .columns import Columns, check
from .eligibility import binding, is_unknown, kind_of
from .parts import Parts, parts_of_selection
from .plain import metric_key
from .rows import BREAKDOWNS
from .rules import Rules
from .selection import Layout, Selection
from .window import Ints, Kind, State, Status, Window, judge

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rates:
    """A metric of every run and part: whole numbers [runs, parts].

    ``successes`` of ``planned`` [parts] units are known to succeed and ``failures`` to fail. The balanced rate is
    ``lower / denominator`` at worst and ``upper / denominator`` at best, ``denominator`` [parts]. ``known`` counts
    decided units; for all-four these are the groups of which every slot is known. ``offered`` [parts]: whether the
    metric exists for the part; all-four does not for a single condition.
    """

    successes: Ints
    failures: Ints
    known: Ints
    planned: Ints
    lower: Ints
    upper: Ints
    denominator: Ints
    offered: npt.NDArray[np.bool_]

    @cached_property
    def value(self) -> Floats:
        """The balanced rate [runs, parts], NaN where it is undefined."""
        defined = (self.known == self.planned) & self.offered
        return np.where(defined, self.lower / self.denominator, np.nan)


@dataclass(frozen=True)
class Solved:
    """Tasks solved [runs, parts] in at least one and in all of their conditions, at worst and at best."""

    one_lower: Ints
    one_upper: Ints
    all_lower: Ints
    all_upper: Ints


@dataclass(frozen=True)
class Means:
    """A mean over scored successes [runs, parts]: NaN without one, or when ``unknown`` of them are not known."""

    mean: Floats
    successes: Ints
    unknown: Ints


@dataclass(frozen=True)
class Batch:
    """Every number of every run. ``attempts`` [statuses, runs, parts] by :class:`Status`, ``states`` [states, runs,
    parts] conditions by :class:`State`, ``complete`` [runs, parts] groups without an open condition, ``codes`` [codes,
    runs, parts] scored failures by ``code_names``; ``outside`` and ``unknown_causes`` [runs] attempts. ``rates`` by
    metric key, ``solved`` by k."""

    rules: Rules
    parts: Parts
    attempts: Ints
    states: Ints
    complete: Ints
    rates: dict[str, Rates]
    solved: dict[int, Solved]
    time_at_success_s: Means
    tokens_at_success: Means
    codes: Ints
    code_names: tuple[str, ...]
    outside: Ints
    unknown_causes: Ints


def score_batch(columns: Columns, selection: Selection, rules: Rules, *, by: Sequence[str] = BREAKDOWNS) -> Batch:
    """Judge and score all runs. Raises LedgerError as :func:`scoring.eligibility.assess` does, ValueError for a
    selection of several groups or an unknown dimension."""
    layout = _layout(selection)
    judged = _judge(columns, layout, rules)
    parts = parts_of_selection(selection, layout, by)
    sums = _Sums(columns.runs, layout, parts)
    window, cell = judged.window, judged.cell
    known = window.known.reshape(columns.runs, layout.slots, -1)
    state = window.state
    rates: dict[str, Rates] = {}
    solved: dict[int, Solved] = {}
    for k in rules.pass_at:
        yes, no = (known[:, :, k - 1] == value for value in (1, 0))
        rates[metric_key("pass", k)] = sums.pass_rates(yes, no)
        rates[metric_key("all_four", k)] = sums.all_four_rates(yes, no)
        solved[k] = sums.solved(yes, no)
    won = np.flatnonzero((window.status == Status.SCORED) & (judged.kind == Kind.SUCCESS))
    lost = np.flatnonzero((window.status == Status.SCORED) & (judged.kind == Kind.FAILURE))
    names = [binding(case, rules)[1] or "none" for case in columns.cases]
    code_names = tuple(sorted(set(names)))
    code = np.array([code_names.index(name) for name in names], dtype=np.int64)
    return Batch(
        rules=rules,
        parts=parts,
        attempts=sums.count(window.status, cell, len(Status)),
        states=sums.count(state, np.arange(len(state)), len(State)),
        complete=sums.groups_where((state <= State.FAILURE).reshape(columns.runs, -1)),
        rates=rates,
        solved=solved,
        time_at_success_s=sums.mean(columns.success_wall_s[judged.rows[won]], cell[won]),
        tokens_at_success=sums.mean(columns.tokens[judged.rows[won]], cell[won]),
        codes=sums.count(code[columns.case[judged.rows[lost]]], cell[lost], len(code_names)),
        code_names=code_names,
        outside=np.bincount(columns.run[columns.task < 0], minlength=columns.runs),
        unknown_causes=judged.unknown_causes,
    )


def pass_rate(columns: Columns, selection: Selection, rules: Rules, k: int) -> Floats:
    """Suite-balanced Pass@k of the whole selection [runs], NaN where it is undefined: for a ranking by one number."""
    layout = _layout(selection)
    parts = parts_of_selection(selection, layout, ())
    known = _judge(columns, layout, rules).window.known[:, k - 1].reshape(columns.runs, -1)
    lower = (known == 1) @ parts.slot_weights[:, 0]
    return np.where((known >= 0).all(axis=1), lower / parts.slot_denominators[0], np.nan)


@dataclass(frozen=True)
class _Judged:
    """``rows`` [inside]: the attempts at planned tasks; ``cell`` [inside]: run x slots + slot; ``kind`` [inside]."""

    rows: Ints
    cell: Ints
    kind: Ints
    window: Window
    unknown_causes: Ints


def _layout(selection: Selection) -> Layout:
    if selection.groups is not None and len(selection.groups) != 1:
        raise ValueError(f"selection {selection.name!r} has {len(selection.groups)} groups per task; a batch takes one")
    return Layout(selection.tasks, selection.groups or ("",))


def _judge(columns: Columns, layout: Layout, rules: Rules) -> _Judged:
    check(columns, layout)
    inside = columns.task >= 0
    rows = np.arange(len(columns)) if inside.all() else np.flatnonzero(inside)
    run, task, condition, sequence, case = (
        column if len(rows) == len(columns) else column[rows]
        for column in (columns.run, columns.task, columns.condition, columns.sequence, columns.case)
    )
    first = np.array([layout.first_slot[task.environment_id, layout.keys[0]] for task in layout.tasks])
    cell = run * np.int64(layout.slots) + first[task] + condition
    kinds = np.array([kind_of(example, rules) for example in columns.cases], dtype=np.int64)
    unknown = np.array([is_unknown(example, rules) for example in columns.cases], dtype=bool)
    kind = kinds[case]
    window = judge(
        cell,
        sequence,
        kind,
        columns.runs * layout.slots,
        rules.opportunities,
        replaces=rules.excludes,
        stop_at_success=rules.protocol.stop_at_success,
    )
    strange = run[unknown[case]] if unknown.any() else run[:0]
    return _Judged(rows, cell, kind, window, np.bincount(strange, minlength=columns.runs))


class _Sums:
    """Sums over the slots, groups and tasks of every part, for all runs."""

    def __init__(self, runs: int, layout: Layout, parts: Parts) -> None:
        self.runs, self.layout, self.parts = runs, layout, parts
        self.starts = np.cumsum(layout.sizes) - layout.sizes

    def count(self, value: Ints, cell: Ints, values: int) -> Ints:
        """How often each value occurs [values, runs, parts], given the cell of each occurrence."""
        cells = self.runs * self.layout.slots
        found = np.bincount(value * cells + cell, minlength=values * cells)
        summed = _whole(found.reshape(values * self.runs, self.layout.slots), self.parts.slots)
        return summed.reshape(values, self.runs, len(self.parts.labels))

    def mean(self, values: Floats, cell: Ints) -> Means:
        cells, missing = self.runs * self.layout.slots, np.isnan(values)
        total = np.bincount(cell, weights=np.where(missing, 0, values), minlength=cells).reshape(self.runs, -1)
        counts = np.bincount(cell, minlength=cells).reshape(self.runs, -1)
        unknown = _whole(np.bincount(cell[missing], minlength=cells).reshape(self.runs, -1), self.parts.slots)
        successes = _whole(counts, self.parts.slots)
        mean = np.full(successes.shape, np.nan)
        np.divide(total @ self.parts.slots, successes, out=mean, where=(successes > 0) & (unknown == 0))
        return Means(mean, successes, unknown)

    def pass_rates(self, yes: npt.NDArray[np.bool_], no: npt.NDArray[np.bool_]) -> Rates:
        """From what is known of the slots [runs, slots]."""
        parts = self.parts
        successes, failures = _whole(yes, parts.slots), _whole(no, parts.slots)
        return Rates(
            successes,
            failures,
            successes + failures,
            parts.slots.sum(axis=0).astype(np.int64),
            _whole(yes, parts.slot_weights),
            parts.slot_denominators - _whole(no, parts.slot_weights),
            parts.slot_denominators,
            np.ones(len(parts.labels), dtype=bool),
        )

    def all_four_rates(self, yes: npt.NDArray[np.bool_], no: npt.NDArray[np.bool_]) -> Rates:
        """A group succeeds when all of its slots do; it fails when one does."""
        parts, sizes = self.parts, self.layout.sizes
        solved, failed = self._by_task(yes), self._by_task(no)
        every, never, known = solved == sizes, failed > 0, solved + failed == sizes
        return Rates(
            _whole(every, parts.tasks),
            _whole(never, parts.tasks),
            _whole(known, parts.tasks),
            parts.tasks.sum(axis=0).astype(np.int64),
            _whole(every, parts.task_weights),
            parts.task_denominators - _whole(never, parts.task_weights),
            parts.task_denominators,
            parts.whole,
        )

    def solved(self, yes: npt.NDArray[np.bool_], no: npt.NDArray[np.bool_]) -> Solved:
        found = [np.empty((self.runs, len(self.parts.labels)), dtype=np.int64) for _ in range(4)]
        for mask, columns in self.parts.layers:
            planned = self._by_task(mask[None, :])
            sure, failed = self._by_task(yes & mask), self._by_task(no & mask)
            bounds = (sure > 0, failed < planned, sure == planned, failed == 0)
            for array, tasks in zip(found, bounds, strict=True):
                array[:, columns] = _whole(tasks, self.parts.tasks[:, columns])
        return Solved(*found)

    def groups_where(self, slots: npt.NDArray[np.bool_]) -> Ints:
        """Groups of which every slot in the part is among ``slots`` [runs, slots]."""
        found = np.empty((self.runs, len(self.parts.labels)), dtype=np.int64)
        for mask, columns in self.parts.layers:
            missing = self._by_task(~slots & mask)
            found[:, columns] = _whole(missing == 0, self.parts.tasks[:, columns])
        return found

    def _by_task(self, slots: npt.NDArray[np.bool_]) -> Ints:
        """Number of the slots [runs, slots] in each task [runs, tasks]."""
        return np.add.reduceat(slots, self.starts, axis=1, dtype=np.int64)


def _whole(counts: npt.NDArray[np.generic], weights: Floats) -> Ints:
    """A product of whole numbers [runs, n] x [n, parts], exact: all sums are below 2^53 (:mod:`scoring.parts`)."""
    return (counts.astype(np.float64) @ weights).astype(np.int64)
