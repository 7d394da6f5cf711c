"""Published rates as a file of claims, for ``assay claims check`` (``docs/claims.md``).

A file holds figures as they are printed and the denominators that they declare; nothing in it is a result of ours.
``ep-text.json`` beside this module holds those of the specification.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from manifests.errors import ManifestError, nearest
from manifests.load import first_line, parse
from manifests.records import Strict

FOLDER = Path(__file__).resolve().parent
MEAN, ALL = "mean", "all"  # of every suite, instead of the name of one

LARGEST = 10_000_000
Name = Annotated[str, Field(min_length=1, max_length=200)]
Planned = Annotated[int, Field(gt=0, le=LARGEST)]
Count = Annotated[int, Field(ge=0, le=10 * LARGEST)]
PRINTED = re.compile(r"100(\.0{1,6})?|[0-9]{1,2}(\.[0-9]{1,6})?")


def _percent(text: str) -> str:
    if PRINTED.fullmatch(text) is None:
        raise ValueError(
            f"{text[:40]!r} is no printed percentage; give 0 to 100 with a point and at most 6 decimals, as in '19.10'"
        )
    return text


Percent = Annotated[str, AfterValidator(_percent), Field(json_schema_extra={"pattern": f"^({PRINTED.pattern})$"})]
"""A percentage as it is printed, a string, so that its decimals are known: '19.10' is not '19.1'."""


class ClaimRow(Strict):
    """What one line of a published table says of an agent on a subset.

    ``suite`` names a suite, or is ``mean`` for a rate in which every suite of the subset weighs the same, or ``all``
    for a rate over all conditions alike. ``conditions`` is the declared denominator: binary outcomes of a rate.
    ``attempts`` counts scored attempts, ``successes`` and ``failures`` conditions after the last opportunity.
    """

    table: Name = "table"
    agent: Name
    subset: Name
    suite: Name
    conditions: Planned
    attempts: Count | None = None
    pass_at_1: Percent | None = None
    pass_at_2: Percent | None = None
    successes: Count | None = None
    failures: Count | None = None


class Partition(Strict):
    """A subset whose tasks are divided, without a rest, into other subsets."""

    whole: Name
    parts: Annotated[tuple[Name, ...], Field(min_length=2)]


class Total(Strict):
    """A printed number that its printed parts must add up to."""

    name: Name
    total: Count
    parts: Annotated[dict[Name, Count], Field(min_length=1)]


class Share(Strict):
    """A printed percentage of a declared number; ``count`` is what was counted, where it is printed."""

    name: Name
    percent: Percent
    of: Planned
    count: Count | None = None


class LabelRow(Strict):
    """Failed attempts of a suite and how many of them carry each label; an attempt has one label, and the rest none."""

    table: Name = "table"
    agent: Name
    subset: Name
    suite: Name
    failed_attempts: Count
    labels: Annotated[dict[Name, Count], Field(min_length=1)]


class Claims(Strict):
    """A file of claims. Rows of one agent, subset and suite may come from several tables: they must agree."""

    title: Name
    source: Name = "not given"
    rows: Annotated[tuple[ClaimRow, ...], Field(min_length=1, max_length=100_000)]
    partitions: tuple[Partition, ...] = ()
    totals: tuple[Total, ...] = ()
    shares: tuple[Share, ...] = ()
    labels: tuple[LabelRow, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        suites = {row.subset for row in self.rows if row.suite not in (MEAN, ALL)}
        for number, row in enumerate(self.rows):
            if row.suite == MEAN and row.subset not in suites:
                raise ValueError(
                    f"rows[{number}].suite {MEAN!r}: no row has a suite of subset {row.subset!r}, and a mean needs "
                    f"their denominators; add these rows, or write {ALL!r} for a rate over all conditions alike"
                )
        for key, count in Counter((row.table, row.agent, row.subset, row.suite) for row in self.rows).items():
            if count > 1:
                raise ValueError(f"rows: {' / '.join(key)} stands {count} times; give each line of a table once")
        subsets = {row.subset for row in self.rows}
        for number, partition in enumerate(self.partitions):
            for name in (partition.whole, *partition.parts):
                if name not in subsets:
                    raise ValueError(f"partitions[{number}]: no row has subset {name!r}{nearest(name, subsets)}")
        return self


COLUMNS = tuple(ClaimRow.model_fields)
NEEDED = tuple(name for name, field in ClaimRow.model_fields.items() if field.is_required())
TEXTS = ("table", "agent", "subset", "suite", "pass_at_1", "pass_at_2")


def read_claims(path: Path) -> Claims:
    """The claims in a ``.json`` or ``.csv`` file. Raises ManifestError: one line with the file, the field and its
    value."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ManifestError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ManifestError(f"{path}: is not UTF-8 text: byte {error.start}") from None
    if path.suffix.lower() == ".json":
        return parse(str(path), text, Claims)
    if path.suffix.lower() == ".csv":
        return _from_csv(path, text)
    raise ManifestError(f"{path}: ending {path.suffix!r} is not .json or .csv; name the file by what it holds")


def _from_csv(path: Path, text: str) -> Claims:
    """Rows only: the columns are the fields of :class:`ClaimRow`; optional ones, and their values, may be left out."""
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)  # a line may end inside a quoted value
    header = tuple(reader.fieldnames or ())
    for name in header:
        if name not in COLUMNS:
            raise ManifestError(
                f"{path}: line 1: unknown column {name!r}{nearest(name, COLUMNS)}; the columns are {', '.join(COLUMNS)}"
            )
    for name in NEEDED:
        if header.count(name) != 1:
            raise ManifestError(f"{path}: line 1: column {name!r} stands {header.count(name)} times; give it once")
    rows = []
    try:
        for row in reader:
            if None in row or None in row.values():
                raise ManifestError(f"{path}: line {reader.line_num}: has not {len(header)} values, as line 1 has")
            rows.append(_csv_row(f"{path}: line {reader.line_num}", row))
        return Claims(title=path.stem, rows=tuple(rows))
    except csv.Error as error:
        raise ManifestError(f"{path}: line {reader.line_num + 1}: {error}; write the file as plain CSV") from None
    except ValidationError as error:
        raise ManifestError(f"{path}: {first_line(error)}") from None


def _csv_row(line: str, row: dict[str, str]) -> ClaimRow:
    values: dict[str, str | int] = {}
    for name, value in row.items():
        if not value:
            continue
        if not value.isprintable():
            raise ManifestError(f"{line}: {name}: {value[:40]!r} has characters that cannot be printed; leave them out")
        if name not in TEXTS and not (value.isascii() and value.isdigit() and len(value) <= 9):
            raise ManifestError(f"{line}: {name}: {value[:40]!r} is not a whole number of at most 9 digits")
        values[name] = value if name in TEXTS else int(value)
    try:
        return ClaimRow.model_validate(values)
    except ValidationError as error:
        raise ManifestError(f"{line}: {first_line(error)}") from None
