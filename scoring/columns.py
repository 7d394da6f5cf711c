"""Attempts of many runs as columns, for :mod:`scoring.batch`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from .ledger import Attempt, LedgerError
from .selection import Layout
from .window import Ints

_SAYS = ("outcome", "cause", "code", "incident", "ruled_outcome", "ruled_cause", "ruled_code")


@dataclass(frozen=True)
class Columns:
    """All columns are [attempts], of whole numbers of any width, in any order; ledger order is the quickest.

    ``run`` counts from 0 and ``task`` is the position of the environment among the tasks of the selection, -1 outside
    it. ``case`` points into ``cases``, which holds one attempt for each distinct thing that a record can say (outcome,
    cause, code, incident and ruling; its other fields are not read), so that policy is asked once per case and not once
    per record. ``success_wall_s`` and ``tokens`` are NaN where unknown.
    """

    runs: int
    run: Ints
    task: Ints
    condition: Ints
    sequence: Ints
    case: Ints
    success_wall_s: npt.NDArray[np.float64]
    tokens: npt.NDArray[np.float64]
    cases: tuple[Attempt, ...]

    def __post_init__(self) -> None:
        lengths = {
            field.name: len(getattr(self, field.name)) for field in fields(self) if field.name not in ("runs", "cases")
        }
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns have {lengths} rows; give all of them the same")
        for name, end in (("run", self.runs), ("case", len(self.cases))):
            column = getattr(self, name)
            if len(column) and not (column.min() >= 0 and column.max() < end):
                wrong = column[(column < 0) | (column >= end)][0]
                raise ValueError(f"column {name}: {wrong} is not from 0 to {end - 1}")

    def __len__(self) -> int:
        return len(self.run)


def columns_of(runs: Sequence[Iterable[Attempt]], layout: Layout) -> Columns:
    """Columns from the attempts of each run. Raises LedgerError for attempts of several groups in one run."""
    ledgers = [list(run) for run in runs]
    for number, ledger in enumerate(ledgers):
        if len(found := sorted({attempt.group for attempt in ledger})) > 1:
            raise LedgerError(f"run {number}: attempts of {len(found)} settings ({', '.join(map(repr, found))})")
    attempts = [attempt for ledger in ledgers for attempt in ledger]
    position = {task.environment_id: number for number, task in enumerate(layout.tasks)}
    cases: dict[tuple[str | None, ...], int] = {}
    examples: list[Attempt] = []
    case = []
    for attempt in attempts:
        says = tuple(getattr(attempt, name) for name in _SAYS)
        if says not in cases:
            cases[says] = len(examples)
            examples.append(attempt)
        case.append(cases[says])
    return Columns(
        runs=len(ledgers),
        run=np.repeat(np.arange(len(ledgers)), [len(ledger) for ledger in ledgers]),
        task=_ints(position.get(attempt.environment_id, -1) for attempt in attempts),
        condition=_ints(attempt.condition for attempt in attempts),
        sequence=_ints(attempt.sequence for attempt in attempts),
        case=_ints(case),
        success_wall_s=np.array([attempt.success_wall_s for attempt in attempts], dtype=np.float64),
        tokens=np.array([attempt.tokens for attempt in attempts], dtype=np.float64),
        cases=tuple(examples),
    )


def check(columns: Columns, layout: Layout) -> None:
    """Raises LedgerError for a sequence number that occurs twice in a run, or a condition that the task has not."""
    run, sequence = columns.run, columns.sequence
    same = run[1:] == run[:-1]
    if not ((run[1:] > run[:-1]) | (same & (sequence[1:] > sequence[:-1]))).all():
        order = np.lexsort((sequence, run))
        run, sequence = run[order], sequence[order]
        if (twice := (run[1:] == run[:-1]) & (sequence[1:] == sequence[:-1])).any():
            row = int(np.flatnonzero(twice)[0])
            raise LedgerError(
                f"run {run[row]}: sequence {sequence[row]} occurs twice; a ledger numbers each attempt once"
            )
    task, condition = columns.task, columns.condition
    if not len(task):
        return
    if task.min() < -1 or task.max() >= len(layout.tasks):
        wrong = task[(task < -1) | (task >= len(layout.tasks))][0]
        raise ValueError(f"column task: {wrong} is not from -1 to {len(layout.tasks) - 1}")
    conditions = np.array([task.conditions for task in layout.tasks])
    if condition.min() < 0 or condition.max() >= conditions.min():
        wrong_rows = (task >= 0) & ((condition < 0) | (condition >= conditions[task]))
        if wrong_rows.any():
            row = int(np.flatnonzero(wrong_rows)[0])
            name = layout.tasks[task[row]].environment_id
            raise LedgerError(
                f"run {columns.run[row]}, attempt {columns.sequence[row]}: condition {condition[row]} of {name} "
                f"is not one of 0..{conditions[task[row]] - 1}"
            )


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int64)
