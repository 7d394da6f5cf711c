"""Which condition is due next. The rule is :func:`scoring.eligibility.next_due`, the same that the score uses."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence

from manifests.records import AttemptRecord
from runner.plan import Planned, Slot
from runner.store.tables import AttemptRow
from runner.store.text import parse
from scoring.eligibility import next_due
from scoring.ledger import Attempt
from scoring.rules import Rules

Key = tuple[str, int]


def scored_attempt(row: AttemptRow) -> Attempt:
    """What scoring needs of an attempt in the store. ``tokens_input`` counts cached input too."""
    record = AttemptRecord.model_validate_json(row.record) if row.record else None
    ruling = parse(row.ruling) if row.ruling else {}
    usage = record.usage if record else None
    known = usage is not None and usage.tokens_input is not None and usage.tokens_output is not None
    return Attempt(
        sequence=row.sequence,
        environment_id=row.environment_id,
        condition=row.condition,
        outcome=record.outcome if record else None,
        cause=record.cause if record else None,
        code=record.code if record else None,
        incident=row.incident or "none",  # type: ignore[arg-type]
        ruled_outcome=ruling.get("outcome"),
        ruled_cause=ruling.get("cause"),
        ruled_code=ruling.get("code"),
        wall_s=record.wall_s if record else None,
        success_wall_s=record.success_wall_s if record else None,
        tokens=(usage.tokens_input or 0) + (usage.tokens_output or 0) if usage and known else None,
    )


class Schedule:
    """The slots of a run and what is known of each. Attempts at one condition never overlap; safe between threads.

    Every condition gets its first attempt before any gets its second, in index order, so that a run that is stopped
    early has looked at everything alike.
    """

    def __init__(self, planned: Iterable[Planned], rows: Sequence[AttemptRow], rules: Rules) -> None:
        self._rules = rules
        self._lock = threading.Lock()
        self._slots = [Slot(item, condition) for item in planned if not item.reason for condition in item.conditions]
        self._attempts: dict[Key, list[Attempt]] = {slot.key: [] for slot in self._slots}
        self._unbegun: dict[Key, str] = {}
        self._running: set[Key] = set()
        for row in rows:
            key = (row.environment_id, row.condition)
            if row.state == "opened":
                self._unbegun[key] = row.id
            elif key in self._attempts:
                self._attempts[key].append(scored_attempt(row))

    def take(self) -> tuple[Slot, int, str | None] | None:
        """The next due slot, the ordinal of its attempt (1, 2, ...) and the id of an unbegun attempt to take up;
        None when nothing is due that is not running already."""
        with self._lock:
            due = [slot for slot in self._slots if slot.key not in self._running and self._due(slot.key)]
            if not due:
                return None
            slot = min(due, key=lambda slot: len(self._attempts[slot.key]))  # min keeps index order among equals
            self._running.add(slot.key)
            return slot, len(self._attempts[slot.key]) + 1, self._unbegun.pop(slot.key, None)

    def closed(self, slot: Slot, record: AttemptRecord) -> None:
        """An attempt at ``slot`` has its record: the slot may be due again."""
        attempt = Attempt(
            sequence=record.sequence,
            environment_id=record.environment_id,
            condition=record.condition,
            outcome=record.outcome,
            cause=record.cause,
            code=record.code,
            incident=record.incident,
        )
        with self._lock:
            self._attempts[slot.key].append(attempt)
            self._running.discard(slot.key)

    def left(self, slot: Slot) -> None:
        """The attempt at ``slot`` had not begun; the next start takes it up."""
        with self._lock:
            self._running.discard(slot.key)

    def counts(self) -> Counter[str]:
        """``planned`` slots, ``settled`` ones, and the attempts that are sure to come (``due``)."""
        with self._lock:
            due = sum(self._due(slot.key) for slot in self._slots)
            return Counter(planned=len(self._slots), due=due, settled=len(self._slots) - due)

    def _due(self, key: Key) -> bool:
        return next_due(self._attempts[key], self._rules).due
