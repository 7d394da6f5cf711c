"""The rows of a file of claims, looked up by agent, subset and suite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from manifests.claims import ALL, MEAN, ClaimRow, Claims

from .rounding import Rate

K = Literal[1, 2]
OPPORTUNITIES: tuple[K, ...] = (1, 2)


def printed_rate(row: ClaimRow, k: K) -> str | None:
    """Pass@k as the row prints it."""
    return row.pass_at_1 if k == 1 else row.pass_at_2


def place(row: ClaimRow, k: K | None = None) -> str:
    """'Table 6: GPT-6-Astra, EP-100, Launch, Pass@1'."""
    return f"{row.table}: {row.agent}, {row.subset}, {row.suite}" + (f", Pass@{k}" if k else "")


@dataclass(frozen=True)
class Board:
    """The rows of one agent on one subset. ``planned``: conditions by suite, as the rows of any agent declare them."""

    agent: str
    subset: str
    rows: tuple[ClaimRow, ...]
    planned: dict[str, int]

    @cached_property
    def printed(self) -> dict[tuple[str, K], list[tuple[ClaimRow, Rate]]]:
        """Rows and rates of all tables by suite (or ``all``) and k."""
        found: dict[tuple[str, K], list[tuple[ClaimRow, Rate]]] = defaultdict(list)
        for row in self.rows:
            for k in OPPORTUNITIES:
                text = printed_rate(row, k)
                if text is not None and row.suite != MEAN:
                    found[row.suite, k].append((row, Rate.of(text, row.conditions)))
        return dict(found)

    @cached_property
    def rates(self) -> dict[tuple[str, K], tuple[ClaimRow, Rate]]:
        """Row and rate by suite (or ``all``) and k; of several tables, which must agree, the first."""
        return {key: rows[0] for key, rows in self.printed.items()}

    def suite_rates(self, k: K) -> dict[str, Rate] | None:
        """Pass@k of every suite, or None when one is not printed."""
        if not self.planned or any((suite, k) not in self.rates for suite in self.planned):
            return None
        return {suite: self.rates[suite, k][1] for suite in self.planned}

    @cached_property
    def successes(self) -> dict[str, tuple[ClaimRow, int]]:
        """Row and printed number of solved conditions by suite (or ``all``)."""
        return self.numbers("successes")

    def numbers(self, field: Literal["attempts", "successes", "failures"]) -> dict[str, tuple[ClaimRow, int]]:
        """Row and number of a column by suite (or ``all``); of several tables, which must agree, the first."""
        found: dict[str, tuple[ClaimRow, int]] = {}
        for row in self.rows:
            number: int | None = getattr(row, field)
            if number is not None:
                found.setdefault(row.suite, (row, number))
        return found

    @cached_property
    def second_attempts(self) -> bool:
        """Whether conditions had a second attempt: some table prints what it solved."""
        return any(row.pass_at_2 is not None for row in self.rows)

    def of(self, suite: str) -> Iterator[ClaimRow]:
        return (row for row in self.rows if row.suite == suite)


def boards(claims: Claims) -> dict[tuple[str, str], Board]:
    """The boards by agent and subset, in the order of the file."""
    planned: dict[str, dict[str, int]] = defaultdict(dict)
    rows: dict[tuple[str, str], list[ClaimRow]] = defaultdict(list)
    for row in claims.rows:
        rows[row.agent, row.subset].append(row)
        if row.suite not in (MEAN, ALL):
            planned[row.subset].setdefault(row.suite, row.conditions)
    return {
        (agent, subset): Board(agent, subset, tuple(found), planned[subset]) for (agent, subset), found in rows.items()
    }
