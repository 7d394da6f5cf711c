"""The scoring window of every slot at once: which attempts fall inside it, and what is known after each opportunity.

A slot is one condition of one group. This is the only place that decides the rule; eligibility, metrics and the
schedule call it. Arrays only, so that a thousand runs can be judged in one call.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class Kind(IntEnum):
    """What an attempt is by itself, under the protocol's cause table and the decisions on record."""

    FAILURE = 0
    SUCCESS = 1
    EXCLUDED = 2
    CANDIDATE = 3
    INVALID = 4
    OPEN = 5


class Status(IntEnum):
    """What the protocol makes of an attempt."""

    SCORED = 0
    EXCLUDED = 1
    CANDIDATE = 2
    EXTRA = 3
    INVALID = 4
    PENDING = 5


class State(IntEnum):
    """What is known of a slot. Missing: an attempt is still to come or to end."""

    SUCCESS = 0
    FAILURE = 1
    CANDIDATE = 2
    INVALID = 3
    MISSING = 4


UNKNOWN = -1
_NEVER = np.iinfo(np.int64).max
_BLOCKED_BY = {Status.CANDIDATE: State.CANDIDATE, Status.INVALID: State.INVALID, Status.PENDING: State.MISSING}
_BLOCKED = np.array([Status.SCORED, Status.SCORED, Status.EXCLUDED, Status.CANDIDATE, Status.INVALID, Status.PENDING])


@dataclass(frozen=True)
class Window:
    """Attempts in the order given, slots 0..n-1.

    ``status`` [attempts]: a :class:`Status`. ``ordinal`` [attempts]: 1 for the first attempt that was not excluded.
    ``known`` [slots, opportunities]: success within the first k valid attempts, 1, 0 or ``UNKNOWN``. ``valid`` [slots]:
    scored attempts. ``closer`` and ``blocker`` [slots]: the row of the attempt that closed or blocks the slot, or -1.
    """

    status: Ints
    ordinal: Ints
    known: npt.NDArray[np.int8]
    valid: Ints
    closer: Ints
    blocker: Ints

    @cached_property
    def state(self) -> Ints:
        """[slots]: a :class:`State`. A blocked slot is in the state of the attempt that blocks it."""
        state = np.full(len(self.valid), State.MISSING, dtype=np.int64)
        closed, blocked = self.closer >= 0, np.flatnonzero(self.blocker >= 0)
        state[closed] = np.where(self.known[closed, -1] == 1, State.SUCCESS, State.FAILURE)
        by_status = np.array([_BLOCKED_BY.get(status, State.MISSING) for status in Status])
        state[blocked] = by_status[self.status[self.blocker[blocked]]]
        return state


def judge(
    slot: Ints,
    sequence: Ints,
    kind: Ints,
    slots: int,
    opportunities: int,
    *,
    replaces: bool,
    stop_at_success: bool = True,
) -> Window:
    """Judge all attempts; ``replaces`` says that attempts after an undecided one may still come to count.

    Within a slot the order is that of ``sequence``. Excluded attempts take no opportunity. The window closes at the
    last opportunity or the first success; an attempt that is candidate, invalid or open before that blocks its slot,
    since whether later attempts count depends on what becomes of it.
    """
    order = _order(slot, sequence)
    cell, what = slot[order], kind[order]
    kept = what != Kind.EXCLUDED
    running = np.cumsum(kept)
    total = np.bincount(cell[kept], minlength=slots)
    before = np.cumsum(total) - total  # kept attempts in the slots before
    rank = running - 1 - before[cell]

    first_success = _first(cell, rank, what == Kind.SUCCESS, slots)
    first_block = _first(cell, rank, np.isin(what, (Kind.CANDIDATE, Kind.INVALID, Kind.OPEN)), slots)
    end = np.full(slots, opportunities - 1)
    if stop_at_success:
        end = np.minimum(end, first_success)
    blocked = first_block <= end
    valid = np.where(blocked, first_block, np.minimum(total, end + 1))

    status = _BLOCKED[what]
    late = rank > np.where(blocked, first_block, end)[cell]
    waits = blocked[cell] & (replaces | (rank < opportunities))
    status = np.where(late, np.where(waits, Status.PENDING, Status.EXTRA), status)
    status = np.where(kept, status, Status.EXCLUDED)

    limit = np.arange(1, opportunities + 1)
    solved = (first_success < first_block)[:, None] & (first_success[:, None] < limit)
    spent = np.minimum(first_block, total)[:, None] >= limit
    known = np.where(solved, 1, np.where(spent, 0, UNKNOWN)).astype(np.int8)

    closes = kept & ~blocked[cell] & (rank == end[cell])
    blocks = kept & blocked[cell] & (rank == first_block[cell])
    return Window(
        status=_back(status, order),
        ordinal=_back(np.where(kept, rank + 1, 0), order),
        known=known,
        valid=valid,
        closer=_row(cell, order, closes, slots),
        blocker=_row(cell, order, blocks, slots),
    )


def _order(slot: Ints, sequence: Ints) -> Ints:
    """Slots in turn, each by sequence. Attempts in ledger order, the usual case, need one stable sort and not two."""
    order = np.argsort(slot, kind="stable")
    cell, number = slot[order], sequence[order]
    if ((cell[1:] > cell[:-1]) | (number[1:] > number[:-1])).all():
        return order
    return np.lexsort((sequence, slot))


def _first(cell: Ints, rank: Ints, chosen: npt.NDArray[np.bool_], slots: int) -> Ints:
    """The lowest rank per slot among the chosen attempts, or a number beyond every rank."""
    first = np.full(slots, _NEVER)
    rows = np.flatnonzero(chosen)[::-1]  # ranks ascend within a slot: the assignment that stays is the lowest
    first[cell[rows]] = rank[rows]
    return first


def _row(cell: Ints, order: Ints, chosen: npt.NDArray[np.bool_], slots: int) -> Ints:
    row = np.full(slots, -1)
    row[cell[chosen]] = order[chosen]
    return row


def _back(values: Ints, order: Ints) -> Ints:
    result = np.empty(len(order), dtype=np.int64)
    result[order] = values
    return result
