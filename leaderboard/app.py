"""The script that Streamlit runs for every visit. The address says which page:

``?`` the ranking (``board=``, ``subset=``, ``protocol=``, ``profile=``, ``level=`` filter it),
``?run=NAME`` a run (``&page=N`` of its attempts), ``?run=NAME&attempt=SEQUENCE`` the record of one attempt.
"""

from __future__ import annotations

import logging
from pathlib import Path

import streamlit as st

from leaderboard.views import episode, ranking, run, trouble
from runner.store.database import AssayError
from runner.store.store import Store

STYLE = Path(__file__).with_name("style.css")
logger = logging.getLogger("leaderboard")


def main() -> None:
    st.set_page_config(page_title="Assay leaderboard", page_icon="🦾", layout="wide")
    st.html(STYLE)
    try:
        store = Store(read_only=True)
        try:
            _page(store)
        finally:
            store.close()
    except AssayError as error:
        # The line names folders of this machine: it goes to the terminal, the page says what to do.
        logger.warning("%s", error)
        trouble.show(error)


def _page(store: Store) -> None:
    name, attempt = st.query_params.get("run"), st.query_params.get("attempt")
    if name is None:
        ranking.show(store)
        return
    found = store.find_run(name)
    if found is None:
        trouble.unknown_run(name)
    elif attempt is None:
        run.show(store, found, st.query_params.get("page"))
    else:
        episode.show(store, found, attempt)


if __name__ == "__main__":
    main()
