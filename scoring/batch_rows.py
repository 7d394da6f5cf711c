"""One run of a batch as plain data: the rows that :mod:`scoring.rows` makes of a single run, without intervals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from . import plain
from .batch import Batch, Means, Rates
from .exact import Estimate
from .metrics import Efficiency, Rate, TaskCount
from .window import State, Status


def row(batch: Batch, run: int, part: int) -> dict[str, Any]:
    """Every number of one run and part, as :func:`scoring.rows.row` with each ``interval`` and ``exact_bound`` null."""
    states = {state: int(batch.states[state, run, part]) for state in State}
    groups, complete = int(batch.parts.tasks[:, part].sum()), int(batch.complete[run, part])
    codes = {name: int(batch.codes[number, run, part]) for number, name in enumerate(batch.code_names)}
    return {
        "label": batch.parts.labels[part][1],
        "tasks": groups,
        "groups": groups,
        "groups_complete": complete,
        "coverage": complete / groups,
        "planned": int(batch.parts.slots[:, part].sum()),
        "scored": states[State.SUCCESS] + states[State.FAILURE],
        "successes": states[State.SUCCESS],
        "failures": states[State.FAILURE],
        "invalid": states[State.INVALID],
        "candidate": states[State.CANDIDATE],
        "missing": states[State.MISSING],
        "attempts": {status.name.lower(): int(batch.attempts[status, run, part]) for status in Status},
        "metrics": {
            key: plain.rate(_rate(rates, run, part), None) for key, rates in batch.rates.items() if rates.offered[part]
        },
        "tasks_solved": {
            str(k): {
                "at_least_one": plain.count(_count(solved.one_lower[run, part], solved.one_upper[run, part])),
                "all": plain.count(_count(solved.all_lower[run, part], solved.all_upper[run, part])),
            }
            for k, solved in batch.solved.items()
        },
        "time_at_success_s": plain.efficiency(_mean(batch.time_at_success_s, run, part)),
        "tokens_at_success": plain.efficiency(_mean(batch.tokens_at_success, run, part)),
        "codes": dict(sorted(((k, v) for k, v in codes.items() if v), key=lambda item: (-item[1], item[0]))),
    }


def _rate(rates: Rates, run: int, part: int) -> Rate:
    planned, denominator = int(rates.planned[part]), int(rates.denominator[part])
    successes, failures = int(rates.successes[run, part]), int(rates.failures[run, part])
    known = int(rates.known[run, part])
    return Rate(
        balanced=_estimate(
            known == planned,
            Fraction(int(rates.lower[run, part]), denominator),
            Fraction(int(rates.upper[run, part]), denominator),
        ),
        pooled=_estimate(known == planned, Fraction(successes, planned), Fraction(planned - failures, planned)),
        successes=successes,
        known=known,
        planned=planned,
    )


def _estimate(defined: bool, lower: Fraction, upper: Fraction) -> Estimate:
    return Estimate(lower if defined else None, lower, upper)


def _count(lower: int, upper: int) -> TaskCount:
    return TaskCount(int(lower) if lower == upper else None, int(lower), int(upper))


def _mean(means: Means, run: int, part: int) -> Efficiency:
    mean = float(means.mean[run, part])
    return Efficiency(None if mean != mean else mean, int(means.successes[run, part]), int(means.unknown[run, part]))
