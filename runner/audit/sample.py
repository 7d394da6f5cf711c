"""Which attempts are looked at again: drawn by a seed that stands in the report, so that anybody draws the same."""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Iterable

from manifests.records import AttemptRecord

SEEDS = 2**32


def new_seed() -> int:
    """A seed that nobody could know when the run was made."""
    return secrets.randbelow(SEEDS)


def draw(records: Iterable[AttemptRecord], seed: int, share: float) -> list[AttemptRecord]:
    """A share (0 to 1) of the successes and the same share of the rest, at least one of each, in ledger order."""
    by_outcome: dict[bool, list[AttemptRecord]] = {}
    for record in records:
        by_outcome.setdefault(record.outcome == "success", []).append(record)
    chosen = [
        record
        for group in by_outcome.values()
        for record in _shuffled(group, seed)[: math.ceil(share * len(group) - 1e-9)]
    ]
    return sorted(chosen, key=lambda record: record.sequence)


def draw_conditions(records: Iterable[AttemptRecord], seed: int, number: int) -> list[AttemptRecord]:
    """The first attempts of ``number`` conditions, in ledger order."""
    first: dict[tuple[str, int], AttemptRecord] = {}
    for record in sorted(records, key=lambda record: record.sequence):
        first.setdefault((record.environment_id, record.condition), record)
    return sorted(_shuffled(list(first.values()), seed)[:number], key=lambda record: record.sequence)


def _shuffled(records: list[AttemptRecord], seed: int) -> list[AttemptRecord]:
    """An order that depends on the seed and the attempts' ids only, not on which others there are."""
    return sorted(records, key=lambda record: hashlib.sha256(f"{seed}:{record.attempt}".encode()).digest())
