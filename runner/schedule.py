"""Which condition is due next. The rule is :func:`scoring.eligibility.next_due`, the same that the score uses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from runner.plan import Planned, Slot
from runner.store.scored import scored_attempt
from runner.store.tables import AttemptRow
from scoring.eligibility import next_due
from scoring.ledger import Attempt
from scoring.rules import Rules

Key = tuple[str, int]


@dataclass(frozen=True)
class Taken:
    """A slot to work on. ``ordinal`` numbers its attempts from 1; ``resume`` is the id of one that was opened there
    and had not begun."""

    slot: Slot
    ordinal: int
    resume: str | None


class Schedule:
    """The slots of a run and what is known of each. Attempts at one condition never overlap; safe between threads.

    Every condition gets its first attempt before any gets its second, in index order, so that a run that is stopped
    early has looked at everything alike.
    """

    def __init__(self, planned: Iterable[Planned], rows: Sequence[AttemptRow], rules: Rules) -> None:
        self._rules = rules
        self._changed = threading.Condition()
        self._slots = [Slot(item, condition) for item in planned if not item.reason for condition in item.conditions]
        self._attempts: dict[Key, list[Attempt]] = {slot.key: [] for slot in self._slots}
        self._unbegun: dict[Key, str] = {}
        self._running: set[Key] = set()
        for row in rows:
            key = (row.environment_id, row.condition)
            if row.state == "opened":
                self._unbegun[key] = row.id
            elif key in self._attempts:
                self._attempts[key].append(scored_attempt(row, rules.manifests))
        self._due = {slot.key: slot for slot in self._slots if self._is_due(slot.key)}  # in index order

    def take(self, stopping: Callable[[], bool]) -> Taken | None:
        """The next due slot. While all due slots are running it waits for one that becomes due again; None when none
        can, or when ``stopping()``."""
        with self._changed:
            while True:
                slot = self._next()
                if stopping() or not (slot or self._running):
                    return None
                if slot is not None:
                    break
                self._changed.wait(0.2)
            self._running.add(slot.key)
            return Taken(slot, len(self._attempts[slot.key]) + 1, self._unbegun.pop(slot.key, None))

    def closed(self, slot: Slot, attempt: Attempt) -> None:
        """An attempt at ``slot`` has its record: the slot may be due again."""
        with self._changed:
            self._attempts[slot.key].append(attempt)
            if not self._is_due(slot.key):  # and it never will be again
                self._due.pop(slot.key, None)
            self._running.discard(slot.key)
            self._changed.notify_all()

    def left(self, slot: Slot) -> None:
        """The attempt at ``slot`` had not begun; the next start takes it up."""
        with self._changed:
            self._running.discard(slot.key)
            self._changed.notify_all()

    @property
    def planned(self) -> int:
        """Slots that can run here."""
        return len(self._slots)

    @property
    def due(self) -> int:
        """Slots that need another attempt, running ones included."""
        with self._changed:
            return len(self._due)

    def _next(self) -> Slot | None:
        """The first in index order of the due slots that have the fewest attempts, of those that are not running."""
        found, fewest = None, 0
        for key, slot in self._due.items():
            count = len(self._attempts[key])
            if key not in self._running and (found is None or count < fewest):
                found, fewest = slot, count
                if not count:
                    break
        return found

    def _is_due(self, key: Key) -> bool:
        return next_due(self._attempts[key], self._rules).due
