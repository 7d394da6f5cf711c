"""Figures printed for an agent of the specification, from which ``scoring.reconstruct`` makes a consistent ledger.

``gpt-6-astra.json`` holds them and ``gpt-6-astra.csv`` the ledger made of them; nothing in either was measured here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from manifests.errors import ManifestError
from manifests.load import parse
from manifests.records import Strict

FOLDER = Path(__file__).resolve().parent

Count = Annotated[int, Field(ge=0)]
Percent = Annotated[str, Field(pattern=r"^\d{1,3}\.\d{2}$")]
Rates = Annotated[tuple[Percent, ...], Field(min_length=1)]


class Labels(Strict):
    """Printed failure codes of a suite's scored failures; the remaining ones get ``rest``."""

    counts: dict[str, Count]
    rest: str


class Records(Strict):
    """How many records there are, and what becomes of them. Extra failures carry ``extra_code``."""

    total: Count
    scored: Count
    excluded: Count
    extra: Count
    extra_successes: Count
    extra_code: str


class Printed(Strict):
    """Printed marginals. ``suites``: by suite and subset the rates within 1, 2, ... attempts; ``types``: by suite and
    type (``Launch-Aim``) the rate within the last; ``at_least_one`` and ``all_conditions``: tasks with that many solved
    conditions within 1, 2, ... attempts; ``failures``: scored failures by suite."""

    model: str
    source: str
    subset: str
    suites: dict[str, dict[str, Rates]]
    types: dict[str, Percent]
    at_least_one: tuple[Count, ...]
    all_conditions: tuple[Count, ...]
    failures: dict[str, Count]
    labels: dict[str, Labels]
    records: Records


def read_printed(path: Path) -> Printed:
    """Raises ManifestError: one line with the file and the field."""
    try:
        return parse(str(path), path.read_text(encoding="utf-8"), Printed)
    except OSError as error:
        raise ManifestError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ManifestError(f"{path}: is not UTF-8 text: byte {error.start}") from None
