"""The parts of a selection (the whole, each suite, each type ...) as arrays, for sums over many runs at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .rows import parts_of
from .selection import Layout, Selection
from .window import Ints

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

WHOLE = "total"
_EXACT = 2**53  # whole numbers below are exact in floating point, in any order of summation


@dataclass(frozen=True)
class Parts:
    """``labels`` [parts]: dimension and value, the whole selection first.

    ``slots`` [slots, parts] and ``tasks`` [tasks, parts] are 1 where a part holds a slot, or a slot of a task.
    ``whole`` [parts]: the part holds every slot of its tasks. Weights are whole numbers: a part's balanced rate is
    the weighted sum of its units, slots or tasks, over its denominator.
    """

    labels: tuple[tuple[str, str], ...]
    slots: Floats
    tasks: Floats
    whole: Mask
    slot_weights: Floats
    slot_denominators: Ints
    task_weights: Floats
    task_denominators: Ints

    @cached_property
    def layers(self) -> list[tuple[Mask, Ints]]:
        """Parts by the slots that they hold of their tasks: those of whole tasks together, each other one alone."""
        whole = np.flatnonzero(self.whole)
        others = np.flatnonzero(~self.whole)
        everything = np.ones(len(self.slots), dtype=bool)
        return [(everything, whole), *((self.slots[:, part] > 0, np.array([part])) for part in others)]


def parts_of_selection(selection: Selection, layout: Layout, by: Sequence[str]) -> Parts:
    """The whole selection and the values of each dimension in ``by``, for one group per task."""
    found = [((WHOLE, selection.name), np.ones(layout.slots, dtype=bool))]
    for dimension in by:
        found += [((dimension, value), mask) for value, mask in parts_of(selection, layout, dimension)]
    masks = np.stack([mask for _, mask in found], axis=1)
    starts = np.cumsum(layout.sizes) - layout.sizes
    held = np.add.reduceat(masks, starts, axis=0, dtype=np.int64)
    suites = np.array([task.suite for task in layout.tasks])
    by_slot = [_weights(suites, held[:, part], held[:, part]) for part in range(len(found))]
    by_task = [_weights(suites, held[:, part], np.ones_like(held[:, part])) for part in range(len(found))]
    return Parts(
        labels=tuple(label for label, _ in found),
        slots=masks.astype(np.float64),
        tasks=(held > 0).astype(np.float64),
        whole=((held == 0) | (held == layout.sizes[:, None])).all(axis=0),
        slot_weights=np.stack([weights for weights, _ in by_slot], axis=1)[layout.task] * masks,
        slot_denominators=np.array([denominator for _, denominator in by_slot], dtype=np.int64),
        task_weights=np.stack([weights for weights, _ in by_task], axis=1),
        task_denominators=np.array([denominator for _, denominator in by_task], dtype=np.int64),
    )


def _weights(suites: npt.NDArray[np.str_], held: Ints, units: Ints) -> tuple[Floats, int]:
    """The weight of one unit of each task [tasks] over a common denominator: 1 / (suites x tasks of the suite x units
    of the task). Tasks of which the part holds nothing weigh 0."""
    chosen = held > 0
    names, sizes = np.unique(suites[chosen], return_counts=True)
    tasks = dict(zip(names.tolist(), sizes.tolist(), strict=True))
    parts = [
        Fraction(1, len(names) * tasks[suite] * count) if inside else Fraction()
        for suite, count, inside in zip(suites.tolist(), units.tolist(), chosen.tolist(), strict=True)
    ]
    denominator = math.lcm(*(part.denominator for part in parts))
    if denominator >= _EXACT:
        raise ValueError(f"suites of {sizes.tolist()} tasks: no common denominator below 2^53; score runs one by one")
    return np.array([float(part * denominator) for part in parts]), denominator
