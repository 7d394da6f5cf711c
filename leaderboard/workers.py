"""Runs looked at and scored: one after the other, or by several processes where there are many."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

from leaderboard import rows, summaries
from leaderboard.intact import damage
from leaderboard.source import Entry, Unscored, read_entry
from runner.store.store import DATABASE, Run, Store

MANY = 40  # runs from which starting another process pays
CHUNK = 5  # runs that a process takes at a time

Say = Callable[[int, int], None]  # runs done, of how many
Found = Entry | Unscored


def score(store: Store, run: Run) -> Found:
    """The summary of a run, or why there is none: its numbers are withheld where it is not what its ledger says."""
    why = damage(store, run)
    return read_entry(store, run, listing=False) if why is None else Unscored(run, why, damaged=True)


def look(store: Store, run: Run, known: Found) -> Found:
    """The same where the head of the ledger is that of ``known``: nothing is scored that was scored already."""
    why = damage(store, run)
    if why is not None:
        return Unscored(run, why, damaged=True)
    return score(store, run) if isinstance(known, Unscored) and known.damaged else known


def scored(store: Store, runs: list[Run], say: Say, jobs: int) -> Iterator[tuple[Run, Found]]:
    """:func:`score` of each run."""
    if jobs < 2 or len(runs) < MANY or store.database.path != store.home / DATABASE:
        for number, run in enumerate(runs):
            say(number, len(runs))
            yield run, score(store, run)
        return
    with _pool(jobs) as pool:
        places = [(store.home, run.id) for run in runs]
        for number, text in enumerate(pool.map(_scored_there, places, chunksize=CHUNK)):
            say(number, len(runs))
            yield runs[number], summaries.read(runs[number], text)


def looked(
    store: Store, runs: list[tuple[Run, Found]], say: Say, jobs: int, seconds: float
) -> Iterator[tuple[Run, Found]]:
    """:func:`look` at each run; at one, and then at more until so many seconds have passed."""
    if jobs < 2 or len(runs) < MANY or store.database.path != store.home / DATABASE:
        end = time.monotonic() + seconds
        for number, (run, known) in enumerate(runs):
            say(number, len(runs))
            yield run, look(store, run, known)
            if time.monotonic() > end:
                return
        return
    with _pool(jobs) as pool:
        places = [(store.home, run.id) for run, _ in runs]
        for number, why in enumerate(pool.map(_damage_there, places, chunksize=CHUNK)):
            run, known = runs[number]
            say(number, len(runs))
            mended = isinstance(known, Unscored) and known.damaged and why is None
            yield run, Unscored(run, why, damaged=True) if why is not None else score(store, run) if mended else known


def _pool(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))


def _scored_there(place: tuple[Path, str]) -> str:
    store, run = _there(place)
    return summaries.written(score(store, run))


def _damage_there(place: tuple[Path, str]) -> str | None:
    return damage(*_there(place))


def _there(place: tuple[Path, str]) -> tuple[Store, Run]:
    """The store and the run, in a process of their own."""
    home, key = place
    store = _store(home)
    return store, rows.named(store, [key])[key]


@cache
def _store(home: Path) -> Store:
    return Store(home, read_only=True)
