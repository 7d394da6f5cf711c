"""What the pages are about: the runs of a store in their standings, and whole runs when a page asks for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from leaderboard import ranking
from leaderboard.facts import facts_of
from leaderboard.ranking import Standing
from leaderboard.source import Entry, Setting, Unscored, judged, read_entry
from manifests.load import load
from runner.store.store import Run, Store
from scoring.report import report
from scoring.rows import BREAKDOWNS

STAGED = re.compile(r"\.[0-9a-f]{32}\.import")
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
    """All runs of a store at one moment, in their standings. ``unscored`` are runs that this program cannot score,
    ``damaged`` those whose numbers are withheld."""

    runs: Sequence[Entry | Unscored]

    @cached_property
    def entries(self) -> list[Entry]:
        return [item for item in self.runs if isinstance(item, Entry)]

    @cached_property
    def unscored(self) -> list[Unscored]:
        return [item for item in self.runs if isinstance(item, Unscored) and not item.damaged]

    @cached_property
    def damaged(self) -> list[Unscored]:
        return [item for item in self.runs if isinstance(item, Unscored) and item.damaged]

    @cached_property
    def standings(self) -> list[Standing]:
        """The one that a visitor wants to see first comes first (:func:`leaderboard.ranking.weight`)."""
        return sorted(ranking.standings(self.entries), key=ranking.weight, reverse=True)


@dataclass(frozen=True)
class Site:
    """One visit. ``detail`` reads a whole run, from a cache where there is one; ``version`` names this state of the
    store as long as the server runs; ``look`` makes sure that a run is still what its ledger says, and returns it where
    it is damaged."""

    store: Store
    found: Found
    detail: Callable[[Run], Detail | Unscored]
    version: int = 0
    look: Callable[[Run], Unscored | None] = lambda run: None

    @property
    def entries(self) -> list[Entry]:
        return self.found.entries

    @property
    def unscored(self) -> list[Unscored]:
        return self.found.unscored

    @property
    def damaged(self) -> list[Unscored]:
        return self.found.damaged

    @property
    def standings(self) -> list[Standing]:
        return self.found.standings

    @property
    def unfinished(self) -> bool:
        """Whether an import into the store has not ended. Its run is not in the store: it comes as a whole."""
        try:
            changed = self.store.home.stat().st_mtime_ns
        except OSError:
            return False
        return _unfinished(self.store.home, changed, frozenset(item.run.name for item in self.found.runs))

    def standing(self, key: str | None) -> Standing | None:
        """By the id of its setting; the first one for a key that there is not."""
        return next((item for item in self.standings if item.setting.id == key), next(iter(self.standings), None))

    def siblings(self, standing: Standing) -> list[Standing]:
        """The standings that differ in the way of prompting, this one among them, in the order of the board."""
        own = standing.setting
        board = load().boards.get(own.board)
        found = {
            item.setting.mode: item for item in reversed(self.standings) if _but_mode(item.setting) == _but_mode(own)
        }
        found[own.mode] = standing
        return [found[mode] for mode in dict.fromkeys((*(board.settings if board else ()), own.mode)) if mode in found]

    def chosen(self, standing: Standing, names: Sequence[str], default: int) -> list[Entry]:
        """The runs of a standing with these names, or else its first ones; never more than MOST_RUNS."""
        rows = {row.entry.run.name: row.entry for row in standing.rows}
        named = [rows[name] for name in dict.fromkeys(names) if name in rows]
        return named[:MOST_RUNS] or list(rows.values())[:default]

    def details(self, entries: Sequence[Entry]) -> list[Detail]:
        """Whole runs; one that cannot be scored any more is left out: it is on the ranking with the reason."""
        return [item for item in (self.detail(entry.run) for entry in entries) if isinstance(item, Detail)]


@lru_cache(maxsize=4)
def _unfinished(home: Path, changed_ns: int, runs: frozenset[str]) -> bool:
    """Whether ``home`` holds what :mod:`runner.submission.importing` unpacks before the run is committed."""
    staged = any(STAGED.fullmatch(path.name) for path in home.iterdir())
    return staged or any(path.parent.name not in runs for path in home.glob("[!.]*/.importing"))


def read_detail(store: Store, run: Run) -> Detail | Unscored:
    board = load().boards.get(str(run.settings.get("board")))
    entry = read_entry(store, run, board.breakdowns if board is not None else BREAKDOWNS)
    if isinstance(entry, Unscored):
        return entry
    inside = [row["label"] for row in entry.report["by"].get("subset", ())]
    subsets = {name: report(judged(store, entry, name), by=("suite",), listing=False) for name in inside}
    facts = facts_of(store, run, load())
    clauses = {item.attempt.sequence: item.record.clause for item in facts if item.record and item.record.clause}
    return Detail(entry, subsets, clauses)


def _but_mode(setting: Setting) -> Setting:
    return replace(setting, mode=None, rest="")
