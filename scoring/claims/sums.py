"""Which means of several rates exist: a bounded subset-sum question, decided exactly.

The mean of rates ``k / n`` over m suites is ``t / (m L)`` with L the least common multiple of the n and
``t = sum of k L / n``. All t of half of the suites and all t of the other half are listed, sorted; a target is met
when one of each adds up to it. For the five suites of EP-100 these lists have 10^3 to 10^5 entries where the
combinations are 2.6 x 10^9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

LIMIT = 4_000_000  # entries of a list: 32 MB
_INT64 = 2**62


class TooMany(ValueError):
    """The sums cannot be listed in reasonable memory."""


@dataclass(frozen=True)
class Near:
    """The sums next to a span: largest ``below``, smallest ``inside`` and smallest ``above`` it, each or None."""

    below: int | None
    inside: int | None
    above: int | None


class Means:
    """Every mean of rates over ``planned`` [suites] binary outcomes, as numerators over ``denominator``.

    With ``counted`` only those are found whose counts also add up to a number that is given. Raises :class:`TooMany`.
    """

    def __init__(self, planned: Sequence[int], *, counted: bool = False) -> None:
        multiple = math.lcm(*planned)
        self.denominator = len(planned) * multiple
        # a sum and the number of its successes in one integer: the latter in units that no sum reaches
        self.unit = self.denominator + 1 if counted else 0
        terms = [(count, multiple // count + self.unit) for count in sorted(planned, reverse=True)]
        halves: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
        for term in terms:
            min(halves, key=lambda half: math.prod(count + 1 for count, _ in half)).append(term)
        if sum(count * weight for count, weight in terms) >= _INT64:
            raise TooMany("its sums do not fit into 64 bits")
        self.short, self.long = sorted((_sums(half) for half in halves), key=len)

    def near(self, first: int, last: int, successes: int = 0) -> Near:
        """The numerators next to and inside ``first`` to ``last``, of those with so many successes."""
        base = successes * self.unit
        found = Near(self._last_before(base + first), self._first_from(base + first), self._first_from(base + last + 1))
        values = [None if sum_ is None else sum_ - base for sum_ in (found.below, found.inside, found.above)]
        below, inside, above = (
            value if value is not None and (not self.unit or 0 <= value < self.unit) else None for value in values
        )
        return Near(below, inside if inside is not None and inside <= last else None, above)

    def _first_from(self, target: int) -> int | None:
        """The smallest sum from ``target``."""
        place = np.searchsorted(self.long, target - self.short)
        there = place < len(self.long)
        return int((self.long[place[there]] + self.short[there]).min()) if there.any() else None

    def _last_before(self, target: int) -> int | None:
        """The largest sum below ``target``."""
        place = np.searchsorted(self.long, target - self.short)
        there = place > 0
        return int((self.long[place[there] - 1] + self.short[there]).max()) if there.any() else None


@lru_cache(maxsize=8)
def means(planned: tuple[int, ...], *, counted: bool = False) -> Means:
    """The same, kept: the rows of all agents share the denominators of a subset."""
    return Means(planned, counted=counted)


def _sums(terms: Sequence[tuple[int, int]]) -> npt.NDArray[np.int64]:
    """Every sum of ``k * weight`` with k from 0 to the count of each term, sorted."""
    sums = np.zeros(1, dtype=np.int64)
    for count, weight in terms:
        if len(sums) * (count + 1) > LIMIT:
            raise TooMany(f"it has more than {LIMIT} sums")
        sums = np.unique((sums[:, None] + np.arange(count + 1) * weight).ravel())
    return sums
