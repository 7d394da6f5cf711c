"""The paired difference of two runs over the same conditions, as plain data."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import plain, rows
from .eligibility import Eligibility
from .exact import points
from .metrics import Mask
from .uncertainty import LEVEL, METHODS, RESAMPLES, Difference, paired_difference


def compare(first: Eligibility, second: Eligibility, *, seed: int = 0, resamples: int = RESAMPLES) -> dict[str, Any]:
    """Second minus first in every metric, for the whole selection and by suite; null where either is undefined.

    Raises ValueError unless both were judged over the same tasks under the same protocol.
    """
    if first.rules.name != second.rules.name:
        raise ValueError(f"protocols {first.rules.name!r} and {second.rules.name!r} differ; scores of two never mix")
    ids = [sorted(task.environment_id for task in judged.selection.tasks) for judged in (first, second)]
    if ids[0] != ids[1]:
        raise ValueError(f"selections {first.selection.name!r} and {second.selection.name!r} are not the same tasks")
    suites = zip(rows.parts(first, "suite"), _suites_like(first, second), strict=True)
    return {
        "protocol": first.rules.name,
        "names": plain.metric_names(first.rules),
        "interval": {
            "level": LEVEL,
            "resamples": resamples,
            "seed": seed,
            "method": f"paired, {METHODS[first.selection.resampled]}",
        },
        "total": _differences(first, second, (_all(first), _all(second)), seed, resamples),
        "by_suite": {
            label: _differences(first, second, (slots, other), seed, resamples) for (label, slots), other in suites
        },
    }


def _differences(
    first: Eligibility, second: Eligibility, slots: tuple[Mask, Mask], seed: int, resamples: int
) -> dict[str, Any]:
    rates = rows.rates(first, slots[0]), rows.rates(second, slots[1])
    (before, suites), (after, _) = rows.unit_rates(first, slots[0]), rows.unit_rates(second, slots[1])
    result: dict[str, Any] = {}
    for column, key in enumerate(rates[0]):
        values = rates[0][key].balanced.value, rates[1][key].balanced.value
        found = paired_difference(before[:, column], after[:, column], suites, seed, resamples)
        if values[0] is None or values[1] is None or found is None:
            result[key] = None
        else:
            result[key] = {"points": points(values[1] - values[0]), **_plain(found)}
    return result


def _plain(found: Difference) -> dict[str, Any]:
    return {
        "value": found.mean,
        "interval": plain.bounds(found.interval),
        "exact_bound": plain.bounds(found.exact),
        "tasks_better": found.better,
        "tasks_equal": found.equal,
        "tasks_worse": found.worse,
    }


def _all(judged: Eligibility) -> Mask:
    return np.ones(judged.layout.slots, dtype=bool)


def _suites_like(first: Eligibility, second: Eligibility) -> list[Mask]:
    """The slots of the second run's suites in the order of the first's."""
    found = dict(rows.parts(second, "suite"))
    return [found[label] for label, _ in rows.parts(first, "suite")]
