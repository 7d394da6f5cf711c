"""What was computed already, shared by every visit of this server."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import UTC, datetime

import streamlit as st

from leaderboard import ready
from leaderboard.blocks import Page
from leaderboard.site import Detail, Found, Site, read_detail
from leaderboard.source import Entry, Unscored, judged
from leaderboard.views.compare import Pair
from runner.store.store import Run, Store
from scoring.compare import compare
from scoring.flips import flips

SLOW = 20  # runs to read from which a visitor sees the progress


def site(store: Store) -> Site:
    """The store as it is now."""
    board, label, waiting = ready.board(store), store.database.label, st.empty()

    many = False

    def say(done: int, count: int) -> None:
        nonlocal many
        many = many or count >= SLOW
        if count >= SLOW and done % 5 == 0:
            waiting.progress(done / count, f"Reading the runs for the first time: {done} of {count}")

    def detail(run: Run) -> Detail | Unscored:
        return board.look(store, run) or _detail(store, label, run.id, board.head(run.id), run)

    runs = board.refresh(store, say, whole=False)
    waiting.empty()
    if many:
        ready.keep()
    found = _found(label, board.version, runs)
    return Site(store, found, detail, board.version, lambda run: board.look(store, run))


def page(site: Site, key: tuple[Hashable, ...], make: Callable[[], Page]) -> Page:
    """A page that depends on the store and on ``key`` alone: it is built for the first visitor and kept."""
    return _page(site.store.database.label, site.version, key, make)


@st.cache_resource(max_entries=64, show_spinner="Building the page …")
def _page(place: str, version: int, key: tuple[Hashable, ...], _make: Callable[[], Page]) -> Page:
    return _make()


@st.cache_resource(max_entries=4, show_spinner=False)
def _found(place: str, version: int, _runs: list[Entry | Unscored]) -> Found:
    return Found(_runs)


@st.cache_resource(max_entries=48, ttl="1h", show_spinner="Scoring the run …")
def _detail(_store: Store, place: str, run_id: str, head: str, _run: Run) -> Detail | Unscored:
    return read_detail(_store, _run)


@st.cache_resource(max_entries=64, ttl="1h", show_spinner="Comparing the runs …")
def _pair(_site: Site, place: str, heads: tuple[str, str], _first: Entry, _second: Entry) -> Pair:
    one, two = judged(_site.store, _first), judged(_site.store, _second)
    return Pair(_first, _second, compare(one, two), flips(one, two, one.rules.opportunities))


def pair(site: Site, first: Entry, second: Entry) -> Pair:
    """Two runs of one setting against each other."""
    board = ready.board(site.store)
    heads = (board.head(first.run.id), board.head(second.run.id))
    return _pair(site, site.store.database.label, heads, first, second)


def looked(site: Site, run: Run) -> datetime:
    """When a run last was found to be what its ledger says."""
    return datetime.fromtimestamp(ready.board(site.store).looked(run.id), UTC)
