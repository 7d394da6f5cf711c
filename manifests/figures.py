"""Figures that stand beside measured ones and are none: printed by others, or computed without an attempt.

They are never scored, ranked or mixed with records; a page that shows them says where they come from.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, RootModel, model_validator

from manifests.errors import ManifestError
from manifests.load import FOLDER, load, parse
from manifests.models import Name, Positive
from manifests.records import Strict

FILE = "figures.json"
Rate = Annotated[str, Field(pattern=r"^(0\.[0-9]{2,6}|1\.0{2,6})$")]
"""A share of successes as it was printed: the decimals count."""
Kind = Literal["model", "people", "chance"]


class Row(Strict):
    """One line. ``rates`` by suite, each from the first level to the last."""

    name: Name
    kind: Kind
    rates: dict[str, tuple[Rate, ...]]

    def rate(self, suite: str, level: int) -> float:
        """Of a suite at a level, from 1."""
        return float(self.rates[suite][level - 1])

    def mean(self, suites: tuple[str, ...] | None = None) -> float:
        """Every suite and level alike, of these suites or all."""
        found = [float(rate) for suite in suites or self.rates for rate in self.rates[suite]]
        return sum(found) / len(found)


class Table(Strict):
    """Lines of one origin. ``published``: printed by others, from attempts that nobody here has; ``computed``: follows
    from the rules. ``mode`` is the setting that they are of, None for figures that no setting changes. ``episodes`` is
    how many stand behind each rate of a model, None where none do or the source does not say."""

    title: Name
    origin: Literal["published", "computed"]
    source: Name
    mode: Name | None
    episodes: Positive | None
    rows: tuple[Row, ...]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [row.name for row in self.rows]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise ValueError(f"rows[{number}].name: {name!r} stands twice")
        return self


class Figures(RootModel[dict[str, tuple[Table, ...]]]):
    """Tables by board."""


@cache
def figures(board: str, folder: Path = FOLDER) -> tuple[Table, ...]:
    """The tables of a board; none for a board without. Raises ManifestError for the first thing that is wrong."""
    name = f"manifests/{FILE}"
    try:
        text = (folder / FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError(f"{name}: cannot be read: {error}") from None
    tables = parse(name, text, Figures).root
    for board_name, found in tables.items():
        if board_name not in load().catalogs:
            raise ManifestError(f"{name}: unknown board {board_name!r}; choose one of: {', '.join(load().catalogs)}")
        for number, table in enumerate(found):
            _check(f"{name}: {board_name}[{number}]", board_name, table)
    return tables.get(board, ())


def levels(board: str) -> dict[str, int]:
    """Suite to the number of its environments: a table has a rate for each."""
    found: dict[str, int] = {}
    for entry in load().catalogs[board].environments:
        found[entry.suite] = found.get(entry.suite, 0) + 1
    return found


def _check(path: str, board: str, table: Table) -> None:
    wanted = levels(board)
    for number, row in enumerate(table.rows):
        given = {suite: len(rates) for suite, rates in row.rates.items()}
        if given != wanted:
            suite = next(name for name in [*wanted, *given] if given.get(name) != wanted.get(name))
            raise ManifestError(
                f"{path}.rows[{number}].rates.{suite}: {row.name} has {given.get(suite, 0)} rates, the catalog "
                f"{wanted.get(suite, 0)} levels"
            )
