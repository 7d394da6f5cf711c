"""What a printed percentage can stand for: the fractions ``count / planned`` that are printed so.

Rates are expected to be rounded half up. Other roundings exist, so a rate that one of them gives is not an error; which
ones give it is said.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

Span = tuple[int, int]

ROUNDINGS = ("half up", "half even", "half down", "down", "up")


@dataclass(frozen=True)
class Printed:
    """A percentage as printed: ``units`` of its last digit, of which ``whole`` are 100 %."""

    text: str
    units: int
    whole: int

    @classmethod
    def of(cls, text: str) -> Printed:
        """Of a text such as '13.80'."""
        before, _, after = text.partition(".")
        return cls(text, int(before + after), 100 * 10 ** len(after))

    @property
    def value(self) -> Fraction:
        return Fraction(self.units, self.whole)

    @property
    def about(self) -> tuple[Fraction, Fraction]:
        """What the true rate can be, however it was rounded: within one unit of what is printed."""
        unit = Fraction(1, self.whole)
        return max(Fraction(), self.value - unit), min(Fraction(1), self.value + unit)

    def like(self, rate: Fraction) -> str:
        """Another rate with as many decimals, rounded half up."""
        units = (2 * rate * self.whole + 1) // 2
        decimals = len(str(self.whole)) - 3
        return f"{units // 10**decimals}" + (f".{units % 10**decimals:0{decimals}d}" if decimals else "")

    def spelled(self, count: int, planned: int) -> str:
        """'21/136 = 15.44'."""
        return f"{count}/{planned} = {self.like(Fraction(count, planned))}"

    def numerators(self, denominator: int, rounding: str) -> tuple[int, int]:
        """First and last t for which t / denominator is printed so; the last is below the first where there is none."""
        lower, closed_below, upper, closed_above = self._edges(rounding)
        low, high = (edge * denominator for edge in (lower, upper))
        scale = 2 * self.whole
        first = -(-low // scale) if closed_below else low // scale + 1
        last = high // scale if closed_above else -(-high // scale) - 1
        return first, last

    def contains(self, low: Fraction, high: Fraction, rounding: str) -> bool:
        """Whether some number from ``low`` to ``high`` is printed so."""
        lower, closed_below, upper, closed_above = self._edges(rounding)
        below, above = Fraction(lower, 2 * self.whole), Fraction(upper, 2 * self.whole)
        return (high > below or (closed_below and high == below)) and (low < above or (closed_above and low == above))

    def _edges(self, rounding: str) -> tuple[int, bool, int, bool]:
        """The numbers that round to this one: edges in half units, and whether each edge belongs to them."""
        twice, even = 2 * self.units, self.units % 2 == 0
        return {
            "half up": (twice - 1, True, twice + 1, False),
            "half even": (twice - 1, even, twice + 1, even),
            "half down": (twice - 1, False, twice + 1, True),
            "down": (twice, True, twice + 2, False),
            "up": (twice - 2, False, twice, True),
        }[rounding]


@dataclass(frozen=True)
class Rate:
    """A printed rate over ``planned`` binary outcomes. ``roundings`` are those that some count gives it by, ``counts``
    the smallest and the largest such count, or None for a rate that no count gives."""

    printed: Printed
    planned: int
    roundings: tuple[str, ...]
    counts: tuple[int, int] | None

    @classmethod
    def of(cls, text: str, planned: int) -> Rate:
        printed = Printed.of(text)
        found = {name: _clipped(printed.numerators(planned, name), planned) for name in ROUNDINGS}
        roundings = tuple(name for name, (first, last) in found.items() if first <= last)
        ends = [end for name in roundings for end in found[name]]
        return cls(printed, planned, roundings, (min(ends), max(ends)) if ends else None)

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """What the true rate can be: from the counts, or, where none gives it, within one unit of what is printed."""
        if self.counts:
            return Fraction(self.counts[0], self.planned), Fraction(self.counts[1], self.planned)
        return self.printed.about

    @property
    def nearest(self) -> tuple[int, ...]:
        """The counts whose rates are next to the printed one, below and above."""
        below = int(self.printed.value * self.planned)
        return tuple(count for count in (below, below + 1) if count <= self.planned)

    def spelled(self, count: int) -> str:
        """'21/136 = 15.44'."""
        return self.printed.spelled(count, self.planned)


def sum_of_counts(rates: Iterable[Rate]) -> Span | None:
    """The smallest and the largest sum of counts that these rates can stand for, or None where no count gives one."""
    low = high = 0
    for rate in rates:
        if not rate.counts:
            return None
        low, high = low + rate.counts[0], high + rate.counts[1]
    return low, high


def _clipped(span: tuple[int, int], planned: int) -> tuple[int, int]:
    return max(span[0], 0), min(span[1], planned)
