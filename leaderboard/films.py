"""Which attempts of a run can be watched: those of which a film lies beside the records."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import select as sql_select
from sqlmodel import col

from leaderboard.episode import VIDEOS
from leaderboard.source import Entry
from runner.store.artifacts import RENDERED
from runner.store.store import Store
from runner.store.tables import AttemptRow

# ``TASK-cCONDITION-SEQUENCE-ATTEMPT.mp4``, or ``....CAMERA.mp4`` (:func:`runner.store.artifacts.rendered_stem`).
FILM = re.compile(rf".+-c\d+-(\d{{1,9}})-([0-9a-f]{{8}})(\.[^.]+)?({'|'.join(map(re.escape, VIDEOS))})")
SHOWN = 4  # films that are offered at once
MOST = 400  # films of a run among which the ones to show are looked for


@dataclass(frozen=True)
class Film:
    """An attempt with a film. ``code`` is that of its failure."""

    run: str
    agent: str
    sequence: int
    environment_id: str
    condition: int
    outcome: str
    code: str | None


def some(store: Store, entries: Iterable[Entry]) -> tuple[Film, ...]:
    """Failures and successes that have a film, :data:`SHOWN` in all; runs are asked until there are as many."""
    found: list[Film] = []
    for entry in entries:
        found += of_run(store, entry)
        if len(found) >= SHOWN:
            break
    return tuple(found[:SHOWN])


def of_run(store: Store, entry: Entry, each: int = 2) -> tuple[Film, ...]:
    """The first failures and successes of a run that have a film, ``each`` of them."""
    run = entry.run
    try:
        names = sorted(os.listdir(store.folder(run) / RENDERED))
    except OSError:
        return ()
    found = {int(match[1]): match[2] for name in names if (match := FILM.fullmatch(name))}
    if not found:
        return ()
    columns = [
        getattr(AttemptRow, name) for name in ("sequence", "id", "environment_id", "condition", "outcome", "code")
    ]
    query = (
        sql_select(*columns)
        .where(col(AttemptRow.run_id) == run.id, col(AttemptRow.sequence).in_(sorted(found)[:MOST]))
        .order_by(col(AttemptRow.sequence))
    )
    with store.database.read() as session:
        rows = [tuple(row) for row in session.execute(query)]
    films = [
        Film(run.name, entry.title, sequence, environment_id, condition, outcome, code)
        for sequence, attempt, environment_id, condition, outcome, code in rows
        if found[sequence] == attempt[:8]
    ]
    chosen = [film for name in ("failure", "success") for film in _of(films, name)[:each]]
    return tuple(chosen)


def _of(films: list[Film], outcome: str) -> list[Film]:
    return [film for film in films if film.outcome == outcome]
