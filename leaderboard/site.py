"""What the pages are about: the runs of a store in their standings, and whole runs when a page asks for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from leaderboard import ranking
from leaderboard.facts import facts_of
from leaderboard.ranking import Standing
from leaderboard.source import Entry, Unscored, judged, read_entry
from manifests.load import load
from runner.store.store import Run, Store
from scoring.report import report
from scoring.rows import BREAKDOWNS

MOST_RUNS = 8  # whole runs on one page


@dataclass(frozen=True)
class Detail:
    """A run with everything: all breakdowns, groups, attempts; by name the suites of every subset inside its own; by
    sequence the clause that an attempt violated first."""

    entry: Entry
    subsets: dict[str, dict[str, Any]]
    clauses: dict[int, str]


@dataclass(frozen=True)
class Found:
    """All runs of a store at one moment, in their standings."""

    runs: Sequence[Entry | Unscored]

    @cached_property
    def entries(self) -> list[Entry]:
        return [item for item in self.runs if isinstance(item, Entry)]

    @cached_property
    def unscored(self) -> list[Unscored]:
        return [item for item in self.runs if isinstance(item, Unscored)]

    @cached_property
    def standings(self) -> list[Standing]:
        """The one that a visitor wants to see first comes first."""
        return sorted(ranking.standings(self.entries), key=_weight, reverse=True)


@dataclass(frozen=True)
class Site:
    """One visit. ``detail`` reads a whole run, from a cache where there is one; ``version`` names this state of the
    store as long as the server runs."""

    store: Store
    found: Found
    detail: Callable[[Run], Detail | Unscored]
    version: int = 0

    @property
    def entries(self) -> list[Entry]:
        return self.found.entries

    @property
    def unscored(self) -> list[Unscored]:
        return self.found.unscored

    @property
    def standings(self) -> list[Standing]:
        return self.found.standings

    def standing(self, key: str | None) -> Standing | None:
        """By the id of its setting; the first one for a key that there is not."""
        return next((item for item in self.standings if item.setting.id == key), next(iter(self.standings), None))

    def chosen(self, standing: Standing, names: Sequence[str], default: int) -> list[Entry]:
        """The runs of a standing with these names, or else its first ones; never more than MOST_RUNS."""
        rows = {row.entry.run.name: row.entry for row in standing.rows}
        named = [rows[name] for name in dict.fromkeys(names) if name in rows]
        return named[:MOST_RUNS] or list(rows.values())[:default]

    def details(self, entries: Sequence[Entry]) -> list[Detail]:
        """Whole runs; one that cannot be scored any more is left out: it is on the ranking with the reason."""
        return [item for item in (self.detail(entry.run) for entry in entries) if isinstance(item, Detail)]


def read_detail(store: Store, run: Run) -> Detail | Unscored:
    entry = read_entry(store, run, BREAKDOWNS)
    if isinstance(entry, Unscored):
        return entry
    inside = [row["label"] for row in entry.report["by"]["subset"]]
    subsets = {name: report(judged(store, entry, name), by=("suite",), listing=False) for name in inside}
    facts = facts_of(store, run, load())
    clauses = {item.attempt.sequence: item.record.clause for item in facts if item.record and item.record.clause}
    return Detail(entry, subsets, clauses)


def _weight(standing: Standing) -> tuple[int, int, int]:
    """Ranked runs first, then the largest selection that a run has completed, then more runs."""
    complete = [row.entry.report["total"]["planned"] for row in (*standing.ranked, *standing.unranked)]
    return len(standing.ranked), max(complete, default=0), len(standing.rows)
