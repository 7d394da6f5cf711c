"""What ends a run before its work is done: starts that fail, causes that would come back, money that is spent.

A run that is stopped so opens no attempt more; those that are running go on to their end, since ending one in the
middle would void it. The same command goes on later.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from manifests.load import Manifests
from manifests.records import AttemptRecord, Usage
from runner.errors import RunStopped
from runner.words import count

STARTS_IN_A_ROW = 3  # failed starts after which the machine, not the task, is at fault: more would only add candidates


class Stops:
    """``max_cost_usd`` limits what the attempts of the run cost together, ``running`` gives the usage of those that are
    under way. Called from several threads."""

    def __init__(
        self, manifests: Manifests, max_cost_usd: float | None, running: Callable[[], Iterable[Usage | None]]
    ) -> None:
        self._causes, self._max_cost_usd, self._running = manifests.causes, max_cost_usd, running
        self._spent_usd = 0.0
        self._unknown = 0  # attempts that called a model at a cost that cannot be said
        self._failed_starts = 0
        self._cause, self._in_a_row = "", 0
        self._lock = threading.Lock()

    def spent(self, records: Iterable[AttemptRecord]) -> None:
        """Attempts of earlier starts of this run."""
        with self._lock:
            for record in records:
                self._add(record.usage)

    def before_opening(self) -> None:
        """Raises RunStopped when the limit on cost is reached, or when it cannot be told whether it is."""
        if self._max_cost_usd is None:
            return
        with self._lock:
            running = [usage for usage in self._running() if usage is not None]
            spent = self._spent_usd + sum(usage.cost_usd or 0.0 for usage in running)
            unknown = self._unknown + sum(_unpriced(usage) for usage in running)
        if spent >= self._max_cost_usd:
            raise RunStopped(
                f"max-cost {self._max_cost_usd:g}: ${spent:.2f} is spent, and no attempt is opened any more: raise "
                "MAX_COST=, then run the same command"
            )
        if unknown:
            raise RunStopped(
                f"max-cost {self._max_cost_usd:g}: the cost of {count(unknown, 'attempt')} is unknown, so that the "
                "limit cannot be kept: look at the provider's own bill, then run the same command without MAX_COST"
            )

    def closed(self, record: AttemptRecord) -> None:
        """Raises RunStopped when attempts like this one would only follow."""
        with self._lock:
            self._add(record.usage)
            failed = record.incident == "candidate" and record.began_at is None
            self._failed_starts = self._failed_starts + 1 if failed else 0
            self._in_a_row = self._in_a_row + 1 if record.cause == self._cause else 1
            self._cause = record.cause
            row = self._causes.get(record.cause)
            limit = row.stops_after if row is not None else None
            if self._failed_starts >= STARTS_IN_A_ROW:
                what = f"{STARTS_IN_A_ROW} attempts in a row could not start, the last one: {record.text}"
            elif limit is not None and self._in_a_row >= limit:
                attempts = "an attempt" if limit == 1 else f"{limit} attempts in a row"
                what = f"{attempts} ended as {record.cause}: {record.text}"
            else:
                return
        raise RunStopped(f"{what}: mend that, then run the same command")

    def _add(self, usage: Usage) -> None:
        self._spent_usd += usage.cost_usd or 0.0
        self._unknown += _unpriced(usage)


def _unpriced(usage: Usage) -> bool:
    return usage.model_calls > 0 and usage.cost_usd is None
