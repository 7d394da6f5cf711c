"""The widgets by which a visitor chooses, and the notices where an address names what there is not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import streamlit as st

from leaderboard.asked import page_number
from leaderboard.public import public
from leaderboard.site import MOST_RUNS, Site
from leaderboard.source import Setting
from leaderboard.views import parts

ALL = "all"  # of a filter
EVERY = ""  # instead of a run: no run has an empty name
LONGEST = 200  # characters of an option

Filters = Mapping[str, tuple[str, Callable[[Setting], str]]]


def labelled(labels: Mapping[str, str]) -> dict[str, str]:
    """``labels`` as they may be shown, and apart from each other: Streamlit knows an option by its words."""
    shown: dict[str, str] = {}
    for key, words in labels.items():
        label, taken = public(words, LONGEST), set(shown.values())
        shown[key] = next(text for text in (label, *_numbered(label, len(labels))) if text not in taken)
    return shown


def _numbered(label: str, count: int) -> list[str]:
    return [f"{label} [{number}]" for number in range(2, count + 2)]


def pick(label: str, name: str, labels: Mapping[str, str], now: str) -> str:
    """One of ``labels`` by its key; the choice goes into the address as ``name``."""
    labels = labelled(labels)
    options = list(labels)
    given = st.query_params.get(name, now)
    key = f"pick-{name}"

    def keep() -> None:
        if name == "setting":
            st.query_params.pop("runs", None)
        if st.session_state[key] == EVERY:
            st.query_params.pop(name, None)
        else:
            st.query_params[name] = st.session_state[key]

    index = options.index(given) if given in labels else 0
    chosen: str = st.selectbox(label, options, index=index, format_func=labels.__getitem__, key=key, on_change=keep)
    return chosen


def pick_many(label: str, name: str, labels: Mapping[str, str], now: Sequence[str], none: str) -> list[str]:
    labels = labelled(labels)
    key = f"pick-{name}-{len(labels)}"

    def keep() -> None:
        st.query_params[name] = st.session_state[key]

    chosen: list[str] = st.multiselect(
        label,
        list(labels),
        default=list(now),
        format_func=labels.__getitem__,
        key=key,
        on_change=keep,
        max_selections=MOST_RUNS,
        placeholder=none,
    )
    return chosen


def pick_filters(filters: Filters, settings: Sequence[Setting]) -> dict[str, str]:
    """By filter the value that is chosen, or ALL. A filter with one value only is not shown."""
    options = {key: sorted({value(setting) for setting in settings}) for key, (_, value) in filters.items()}
    for key, values in options.items():
        wanted = st.query_params.get(key)
        if wanted is not None and wanted not in (ALL, *values):
            instead = f"The filter is left out. There is: {', '.join(values) or 'none'}."
            st.html(parts.unknown("This store", filters[key][0].lower(), [wanted], instead))
    shown = [key for key, values in options.items() if len(values) > 1]
    picked: dict[str, str] = {}
    for key, column in zip(shown, st.columns(len(shown)) if shown else (), strict=True):
        with column:
            choices = [ALL, *options[key]]
            picked[key] = st.selectbox(filters[key][0], choices, format_func=public, key=key, bind="query-params")
    return picked


def paged(name: str, pages: int) -> int:
    """The page that the address asks for as ``name``, within what there is."""
    wanted = st.query_params.get(name)
    found = page_number(wanted, pages)
    if wanted is not None and wanted != str(found):
        st.html(parts.unknown("This list", "page", [wanted], f"Page {found} of {max(pages, 1)} is shown."))
    return found


def unknown_setting(site: Site, instead: str) -> None:
    """Say so where the address names a setting that there is not."""
    wanted = st.query_params.get("setting")
    if wanted is not None and all(item.setting.id != wanted for item in site.standings):
        st.html(parts.unknown("This store", "setting", [wanted], instead))


def unknown_runs(known: Collection[str]) -> None:
    """Say so where the address names runs that the setting has not."""
    names = [name for name in dict.fromkeys(st.query_params.get_all("runs")) if name not in known and name != EVERY]
    if names:
        st.html(parts.unknown("This setting", "run", names, "The ranking has all runs of this store, by setting."))
