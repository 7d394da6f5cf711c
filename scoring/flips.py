"""Conditions on which two runs of one selection differ, and McNemar's exact test of their counts.

The test takes conditions as independent, which those of one task are not: it describes, beside the paired interval
of :mod:`scoring.compare`, which resamples whole tasks, and does not replace it.
"""

from __future__ import annotations

from math import comb
from typing import Any

from .eligibility import Eligibility
from .window import UNKNOWN

Place = tuple[str, int]  # environment id and condition


def flips(first: Eligibility, second: Eligibility, k: int) -> dict[str, Any]:
    """Success within the first ``k`` valid attempts of each condition in both runs, as plain data.

    ``gained`` and ``lost`` list the conditions that only the second and only the first solves, ``undecided`` counts
    those that are open in either, ``p_value`` is two-sided and None without a difference. Raises ValueError unless both
    were judged over the same conditions under the same protocol.
    """
    if first.rules.name != second.rules.name:
        raise ValueError(f"protocols {first.rules.name!r} and {second.rules.name!r} differ; scores of two never mix")
    before, after = _known(first, k), _known(second, k)
    if before.keys() != after.keys():
        raise ValueError(f"selections {first.selection.name!r} and {second.selection.name!r} are not the same tasks")
    pairs = {place: (value, after[place]) for place, value in before.items()}
    gained = [place for place, pair in pairs.items() if pair == (0, 1)]
    lost = [place for place, pair in pairs.items() if pair == (1, 0)]
    return {
        "k": k,
        "planned": len(pairs),
        "both": sum(pair == (1, 1) for pair in pairs.values()),
        "neither": sum(pair == (0, 0) for pair in pairs.values()),
        "gained": [list(place) for place in gained],
        "lost": [list(place) for place in lost],
        "undecided": sum(UNKNOWN in pair for pair in pairs.values()),
        "p_value": exact_mcnemar(len(gained), len(lost)),
    }


def exact_mcnemar(one: int, other: int) -> float | None:
    """Two-sided probability of a split of ``one + other`` differing pairs at least this uneven, were both equally
    likely; None without a differing pair."""
    count = one + other
    if count == 0:
        return None
    tail = sum(comb(count, number) for number in range(min(one, other) + 1))
    return min(1.0, 2 * tail / 2**count)


def _known(judged: Eligibility, k: int) -> dict[Place, int]:
    """1, 0 or UNKNOWN for each planned condition, in catalog order."""
    layout = judged.layout
    return {
        (layout.tasks[layout.task[slot]].environment_id, int(layout.condition[slot])): int(
            judged.window.known[slot, k - 1]
        )
        for slot in range(layout.slots)
    }
