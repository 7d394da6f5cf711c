"""Scores that were computed already. A ledger only grows, so a run's id with its length names one state for ever.

What was verified is verified again after ten minutes: a file can be changed without growing.
"""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from leaderboard.source import Entry, Unscored, read_entry
from runner.store.store import Run, Store

BREAKDOWNS = ("suite",)


@st.cache_resource(max_entries=2000, show_spinner="Scoring the runs …")
def summary(_store: Store, place: str, run_id: str, length: int, _run: Run) -> Entry | Unscored:
    """A run as the ranking shows it: without its list of groups and attempts, which are most of its size."""
    entry = read_entry(_store, _run)
    if isinstance(entry, Unscored):
        return entry
    return replace(entry, report={**entry.report, "groups": [], "attempts": []})


@st.cache_resource(max_entries=16, ttl="10m", show_spinner="Scoring the run …")
def whole(_store: Store, place: str, run_id: str, length: int, _run: Run) -> tuple[Entry | Unscored, str | None]:
    """A run with everything, and why its hash chain is broken, or None."""
    return read_entry(_store, _run, BREAKDOWNS), _store.verify(_run)


def summaries(store: Store) -> list[Entry | Unscored]:
    """Every run of the store, newest first."""
    lengths = store.lengths()
    return [summary(store, store.database.label, run.id, lengths.get(run.id, 0), run) for run in store.runs()]


def details(store: Store, run: Run) -> tuple[Entry | Unscored, str | None]:
    return whole(store, store.database.label, run.id, store.lengths().get(run.id, 0), run)
