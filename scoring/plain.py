"""Numbers as plain data for JSON and tables: null where undefined or unknown, percentages as they are printed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from .exact import Estimate, percent
from .metrics import Efficiency, Rate, TaskCount
from .rules import Rules
from .uncertainty import Interval


def metric_key(kind: str, k: int) -> str:
    """``pass_at_1``, ``all_four_at_2`` ..."""
    return f"{kind}_at_{k}"


def metric_names(rules: Rules) -> dict[str, str]:
    """How each metric is called in print, as the protocol says."""
    return dict(rules.protocol.metrics)


def estimate(found: Estimate) -> dict[str, Any]:
    """``value``, ``lower`` and ``upper`` as fractions of 1, all three as printed percentages, the value also exact."""
    return {
        "value": None if found.value is None else float(found.value),
        "percent": optional_percent(found.value),
        "exact": None if found.value is None else f"{found.value.numerator}/{found.value.denominator}",
        "lower": float(found.lower),
        "upper": float(found.upper),
        "lower_percent": percent(found.lower),
        "upper_percent": percent(found.upper),
    }


def rate(found: Rate, interval: Interval | None, exact: Interval | None = None) -> dict[str, Any]:
    """A rate with its denominator; the interval, and the exact bound where all tasks agree, are those of the balanced
    estimate."""
    return {
        "balanced": {**estimate(found.balanced), "interval": bounds(interval), "exact_bound": bounds(exact)},
        "pooled": estimate(found.pooled),
        "successes": found.successes,
        "known": found.known,
        "planned": found.planned,
    }


def bounds(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.lower, interval.upper]


def count(found: TaskCount) -> dict[str, int | None]:
    return {"value": found.value, "lower": found.lower, "upper": found.upper}


def efficiency(found: Efficiency) -> dict[str, float | int | None]:
    return {"mean": found.mean, "successes": found.successes, "unknown": found.unknown}


def optional_percent(value: Fraction | None) -> str | None:
    return None if value is None else percent(value)
