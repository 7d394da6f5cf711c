"""One visit. The address says which page, and everything that was chosen on it:

``?`` the overview, ``?view=ranking`` and the other names of :data:`leaderboard.views.parts.NAV`,
``?run=NAME`` a run, ``?run=NAME&attempt=SEQUENCE`` one attempt, ``?task=ENVIRONMENT&setting=ID`` one task.
"""

from __future__ import annotations

import logging
from pathlib import Path

import streamlit as st

from leaderboard import cached, choices
from leaderboard.draw import draw
from leaderboard.views import front, parts, trouble
from runner.store.database import AssayError
from runner.store.store import Store

STYLE = Path(__file__).with_name("style.css")
logger = logging.getLogger("leaderboard")


def main() -> None:
    st.set_page_config(page_title="Assay leaderboard", page_icon="🦾", layout="wide")
    st.html(STYLE)
    view = st.query_params.get("view")
    inside = "run" in st.query_params or "task" in st.query_params
    asked, view = view, view if view in parts.NAV else None
    st.html(parts.navigation("run" if inside else view))
    if asked != view and not inside:
        st.html(parts.unknown("This site", "page", [asked or ""], "The overview is shown."))
    if view in ("submit", "protocol") and not inside:  # they say nothing of the store
        choices.SHOWN[view](None)
        return
    try:
        store = Store(read_only=True)
        try:
            _page(store, view)
        finally:
            store.close()
    except AssayError as error:
        # The line names folders of this machine: it goes to the terminal, the page says what to do.
        logger.warning("%s", error)
        trouble.show(error)


def _page(store: Store, view: str | None) -> None:
    name, task = (st.query_params.get(key) for key in ("run", "task"))
    site = cached.site(store)
    if not site.found.runs:
        trouble.empty()
    elif name is not None:
        choices.show_run(site, name, st.query_params.get("attempt"))
    elif task is not None:
        choices.show_task(site, task)
    elif view is None:
        watch = front.filmed(site)
        draw(cached.page(site, ("overview", site.unfinished, watch), lambda: front.build(site, watch)))
    else:
        choices.SHOWN[view](site)
