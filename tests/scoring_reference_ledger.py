"""The printed figures of GPT-6-Astra and ledgers that are reconstructed from them, for several tests."""

from __future__ import annotations

from functools import cache

from manifests.demo import FOLDER, read_printed
from manifests.load import load
from scoring import reconstruct
from scoring.ledger import Attempt

PRINTED = read_printed(FOLDER / "gpt-6-astra.json")
TABLE_6 = {suite: {subset: "/".join(rates) for subset, rates in row.items()} for suite, row in PRINTED.suites.items()}
TYPES = PRINTED.types
FAILURES = PRINTED.failures
LABELS = {suite: (labels.counts, labels.rest) for suite, labels in PRINTED.labels.items()}


@cache
def solved_by_task() -> dict[str, tuple[int, int]]:
    """Conditions of each task solved within one and within two attempts."""
    return reconstruct.solved_by_task(load(), PRINTED)


@cache
def _ledger(seed: int) -> tuple[Attempt, ...]:
    return tuple(reconstruct.reconstruct(load(), PRINTED, seed))


def reference_ledger(seed: int = 0) -> list[Attempt]:
    """The 846 records in ledger order."""
    return list(_ledger(seed))
