"""A ledger CSV of attempts, with the columns that ``assay ledger import`` and ``assay score --ledger`` read."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from scoring.ledger import CSV_COLUMNS, Attempt


def as_csv(attempts: Iterable[Attempt]) -> str:
    """One line an attempt. A rejected incident has its ruled outcome there, as the file has one column for it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for attempt in attempts:
        outcome, _, code = attempt.ruling
        incident = "" if attempt.incident == "none" else attempt.incident
        where = (attempt.sequence, attempt.environment_id, attempt.condition)
        writer.writerow([*where, outcome or "", code or "", incident])
    return out.getvalue()
