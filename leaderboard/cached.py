"""What was computed already, shared by every visit of this server."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import streamlit as st

from leaderboard.blocks import Page
from leaderboard.board import Board, place_of
from leaderboard.site import Detail, Found, Site, read_detail
from leaderboard.source import Entry, Unscored, judged
from leaderboard.views.compare import Pair
from runner.store.store import Run, Store
from scoring.compare import compare
from scoring.flips import flips

SLOW = 20  # runs to score from which a visitor sees the progress


def site(store: Store) -> Site:
    """The store as it is now."""
    board, waiting = _board(store.database.label, store), st.empty()

    def say(done: int, count: int) -> None:
        if count >= SLOW and done % 5 == 0:
            waiting.progress(done / count, f"Scoring the runs for the first time: {done} of {count}")

    runs = board.refresh(store, say)
    waiting.empty()
    label = store.database.label
    found = _found(label, board.version, runs)
    return Site(store, found, lambda run: _detail(store, label, run.id, board.head(run.id), run), board.version)


def page(site: Site, key: tuple[Hashable, ...], make: Callable[[], Page]) -> Page:
    """A page that depends on the store and on ``key`` alone: it is built for the first visitor and kept."""
    return _page(site.store.database.label, site.version, key, make)


@st.cache_resource(max_entries=64, show_spinner="Building the page …")
def _page(place: str, version: int, key: tuple[Hashable, ...], _make: Callable[[], Page]) -> Page:
    return _make()


@st.cache_resource(max_entries=4, show_spinner=False)
def _found(place: str, version: int, _runs: list[Entry | Unscored]) -> Found:
    return Found(_runs)


@st.cache_resource(show_spinner=False)
def _board(place: str, _store: Store) -> Board:
    return Board(place_of(_store))


@st.cache_resource(max_entries=48, ttl="1h", show_spinner="Scoring the run …")
def _detail(_store: Store, place: str, run_id: str, head: str, _run: Run) -> Detail | Unscored:
    return read_detail(_store, _run)


@st.cache_resource(max_entries=64, ttl="10m", show_spinner="Checking the ledger …")
def _broken(_store: Store, place: str, run_id: str, head: str, _run: Run) -> str | None:
    return _store.verify(_run)


@st.cache_resource(max_entries=64, ttl="1h", show_spinner="Comparing the runs …")
def _pair(_site: Site, place: str, heads: tuple[str, str], _first: Entry, _second: Entry) -> Pair:
    one, two = judged(_site.store, _first), judged(_site.store, _second)
    return Pair(_first, _second, compare(one, two), flips(one, two, one.rules.opportunities))


def pair(site: Site, first: Entry, second: Entry) -> Pair:
    """Two runs of one setting against each other."""
    board = _board(site.store.database.label, site.store)
    heads = (board.head(first.run.id), board.head(second.run.id))
    return _pair(site, site.store.database.label, heads, first, second)


def broken(store: Store, run: Run) -> str | None:
    """Why the hash chain of a run is broken, or None. A file can be changed without growing: looked at every ten
    minutes again."""
    head = _board(store.database.label, store).head(run.id)
    return _broken(store, store.database.label, run.id, head, run)
