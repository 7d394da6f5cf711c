"""What scoring needs to know of one attempt, and how rows and ledger files become that.

Scoring reads nothing else: no clock, no artifact, no agent. Order is the ledger's sequence number, never wall time.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from manifests.records import Outcome

Incident = Literal["none", "candidate", "confirmed", "rejected"]

OUTCOMES: tuple[str, ...] = get_args(Outcome)
INCIDENTS: tuple[str, ...] = get_args(Incident)
CSV_COLUMNS = ("sequence", "environment_id", "condition", "outcome", "failure_code", "incident")


class LedgerError(ValueError):
    """A row that cannot be an attempt. The message names the row, the field, the value and the fix."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt as the ledger has it.

    ``outcome`` is None while the attempt is open. ``incident`` is the last decision; after a rejection
    ``ruled_outcome``, ``ruled_cause`` and ``ruled_code`` hold the appended ruling and ``outcome`` stays as recorded.
    ``wall_s`` and ``success_wall_s`` (start of the attempt to its success event) are seconds, ``tokens`` counts cached
    and uncached input and output; None means unknown, never zero. ``group`` is a key of the group's settings.
    """

    sequence: int
    environment_id: str
    condition: int
    outcome: Outcome | None
    cause: str | None = None
    code: str | None = None
    incident: Incident = "none"
    ruled_outcome: Outcome | None = None
    ruled_cause: str | None = None
    ruled_code: str | None = None
    wall_s: float | None = None
    success_wall_s: float | None = None
    tokens: int | None = None
    group: str = ""

    def __post_init__(self) -> None:
        name = f"attempt {self.sequence}"
        _whole(name, "sequence", self.sequence, 1)
        _whole(name, "condition", self.condition, 0)
        if not self.environment_id:
            raise LedgerError(f"{name}: environment_id is empty; give family/embodiment/case")
        _one_of(name, "outcome", self.outcome, (None, *OUTCOMES))
        _one_of(name, "incident", self.incident, INCIDENTS)
        _one_of(name, "ruled_outcome", self.ruled_outcome, (None, *OUTCOMES))
        for field in ("wall_s", "success_wall_s", "tokens"):
            value = getattr(self, field)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise LedgerError(f"{name}: {field} {value!r} is not a finite number from 0; use null for unknown")
        if self.ruled_outcome is not None and self.incident != "rejected":
            raise LedgerError(
                f"{name}: ruled_outcome {self.ruled_outcome!r} without a rejected incident; reject it first"
            )
        if self.incident == "confirmed" and self.outcome in (None, "success"):
            state = "an open attempt" if self.outcome is None else "a success"
            raise LedgerError(f"{name}: incident 'confirmed' on {state}; only a closed attempt without success has one")

    @property
    def ruling(self) -> tuple[Outcome | None, str | None, str | None]:
        """Outcome, cause and code that bind now: as recorded, or as ruled after a rejected incident.

        A rejected incident that nobody has ruled yet stays invalid.
        """
        if self.incident != "rejected":
            return self.outcome, self.cause, self.code
        if self.ruled_outcome is None and self.ruled_cause is None:
            return "invalid", None, self.code
        return self.ruled_outcome, self.ruled_cause, self.ruled_code


_FIELDS = tuple(field.name for field in fields(Attempt))


def attempts_from_rows(rows: Iterable[Mapping[str, Any]]) -> list[Attempt]:
    """Attempts from plain mappings keyed by the fields of :class:`Attempt`; fields with a default may be absent."""
    attempts = []
    for number, row in enumerate(rows, start=1):
        unknown = [key for key in row if key not in _FIELDS]
        if unknown:
            raise LedgerError(f"row {number}: unknown field {unknown[0]!r}; the fields are {', '.join(_FIELDS)}")
        missing = [key for key in _FIELDS[:4] if key not in row]
        if missing:
            raise LedgerError(f"row {number}: field {missing[0]!r} is missing")
        attempts.append(Attempt(**row))
    return attempts


def attempts_from_csv(text: str) -> list[Attempt]:
    """Attempts from the text of a ledger CSV with the columns ``CSV_COLUMNS``.

    An empty outcome is an attempt that is still open, an empty incident is none. The file has one outcome column, so
    the outcome of a rejected incident is the ruled one.
    """
    reader = csv.DictReader(text.removeprefix("\ufeff").splitlines(), strict=True)
    header = tuple(reader.fieldnames or ())
    if header != CSV_COLUMNS:
        raise LedgerError(f"line 1: columns {','.join(header) or '(none)'} are not {','.join(CSV_COLUMNS)}")
    attempts = []
    try:
        for row in reader:
            attempts.append(_from_csv_row(f"line {reader.line_num}", row))
    except csv.Error as error:
        raise LedgerError(f"line {reader.line_num + 1}: {error}; write the file as plain CSV") from None
    return attempts


def _from_csv_row(line: str, row: Mapping[str, Any]) -> Attempt:
    if None in row or None in row.values():
        raise LedgerError(f"{line}: has not {len(CSV_COLUMNS)} values; the columns are {','.join(CSV_COLUMNS)}")
    incident: Any = row["incident"] or "none"
    outcome: Any = row["outcome"] or None
    code = row["failure_code"] or None
    ruled = incident == "rejected"
    try:
        return Attempt(
            sequence=_number(row, "sequence"),
            environment_id=row["environment_id"],
            condition=_number(row, "condition"),
            outcome="invalid" if ruled else outcome,
            code="ERR" if ruled else code,
            incident=incident,
            ruled_outcome=outcome if ruled else None,
            ruled_code=code if ruled else None,
        )
    except LedgerError as error:
        raise LedgerError(f"{line}: {error}") from None


def _number(row: Mapping[str, Any], field: str) -> int:
    value = row[field]
    if not (value.isascii() and value.isdigit() and len(value) <= 18):
        raise LedgerError(f"{field} {value[:40]!r} is not a whole number of at most 18 digits")
    return int(value)


def _whole(name: str, field: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise LedgerError(f"{name}: {field} {value!r} is not a whole number from {least}")


def _one_of(name: str, field: str, value: Any, allowed: tuple[Any, ...]) -> None:
    if value not in allowed:
        names = ", ".join(str(item) for item in allowed if item is not None)
        raise LedgerError(f"{name}: {field} {value!r} is not one of {names}")
