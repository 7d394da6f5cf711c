"""The boards of this process: one for each store, read before the server listens and shared by all of its visits."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from threading import Lock

from leaderboard.board import Board
from leaderboard.summaries import place_of
from runner.store.store import Store

JOBS = min(4, os.cpu_count() or 1)  # processes that read a store with many new runs

_boards: dict[Path, Board] = {}
_lock = Lock()


def keep() -> None:
    """Take what there is now out of the collection of garbage, which Streamlit asks for at the end of every visit, over
    all objects: a visit takes a fraction of the time without those that stay anyway."""
    gc.collect()
    gc.freeze()


def board(store: Store) -> Board:
    """By the file of its summaries, whose name is that of the store."""
    place = place_of(store)
    with _lock:
        return _boards.setdefault(place, Board(place))
