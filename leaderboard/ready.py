"""The boards of this process: one for each store, read before the server listens and shared by all of its visits."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Lock

from leaderboard.board import Board
from leaderboard.summaries import place_of
from runner.store.store import Store

JOBS = min(4, os.cpu_count() or 1)  # processes that read a store with many new runs

_boards: dict[Path, Board] = {}
_lock = Lock()


def board(store: Store) -> Board:
    """By the file of its summaries, whose name is that of the store."""
    place = place_of(store)
    with _lock:
        return _boards.setdefault(place, Board(place))
