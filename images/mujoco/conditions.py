"""Checks of the parameters that a prescribed condition hands to a family."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any


def check(
    parameters: Mapping[str, Any],
    numbers: Mapping[str, tuple[float, float]],
    vectors: Mapping[str, tuple[int, float, float, str]],
    names: Mapping[str, Sequence[str]],
    whole: Sequence[str] = (),
) -> None:
    """Every key is there and no other: ``numbers`` from low to high, ``vectors`` of so many numbers from low to high
    (and how to call them), ``names`` one of a list; ``whole`` are those of the numbers that are integers. Raises
    ValueError naming key and value."""
    known = {*numbers, *vectors, *names}
    for key in sorted(known - parameters.keys()):
        raise ValueError(f"condition.parameters.{key} is missing")
    for key in sorted(parameters.keys() - known):
        raise ValueError(f"condition.parameters.{key} is unknown (known: {', '.join(sorted(known))})")
    for key, (low, high) in numbers.items():
        value, kind = parameters[key], "an integer" if key in whole else "a number"
        if not _number(value, low, high) or (key in whole and not isinstance(value, int)):
            raise ValueError(f"condition.parameters.{key}: {value!r} is not {kind} from {low} to {high}")
    for key, (count, low, high, what) in vectors.items():
        value = parameters[key]
        fits = isinstance(value, list | tuple) and len(value) == count and all(_number(v, low, high) for v in value)
        if not fits:
            raise ValueError(f"condition.parameters.{key}: {value!r} is not {count} {what}")
    for key, choices in names.items():
        if parameters[key] not in choices:
            raise ValueError(f"condition.parameters.{key}: {parameters[key]!r} is not one of {', '.join(choices)}")


def _number(value: Any, low: float, high: float) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return number and low <= value <= high
