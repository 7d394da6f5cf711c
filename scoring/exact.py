"""Exact rates: a value where it is defined, bounds always, and the digits that are printed."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction


@dataclass(frozen=True)
class Estimate:
    """A rate over planned slots. ``lower`` and ``upper`` bound it over every way to complete the record; ``value`` is
    None while it is undefined, even where the bounds meet."""

    value: Fraction | None
    lower: Fraction
    upper: Fraction


def percent(rate: Fraction) -> str:
    """A rate in percent with two decimals, rounded half up: 69/500 is '13.80'."""
    hundredths = rate * 10_000
    whole = (2 * hundredths.numerator + hundredths.denominator) // (2 * hundredths.denominator)
    return str(Decimal(whole).scaleb(-2).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP))


def points(difference: Fraction) -> str:
    """A signed difference of two rates in percentage points, rounded half away from zero."""
    return ("-" if difference < 0 else "+") + percent(abs(difference))
