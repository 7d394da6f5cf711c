"""Pages for when there is nothing to show: what is the matter, in words, and what to run."""

from __future__ import annotations

import os

import streamlit as st

from leaderboard.draw import titled
from leaderboard.markup import Safe, code, link, tag
from leaderboard.words import EVALUATE
from runner.store.database import AssayError, BadInput, StoreLocked, StoreMissing, StoreVersion
from runner.store.integrity import run_folders
from runner.store.store import DATABASE, default_home

COMMAND = Safe(EVALUATE)  # ours, and no stored text: its assignments are to be read
MAGIC = b"SQLite format 3\x00"  # how the file begins
WRONG = {
    "file": "The database is damaged, or belongs to another program.",
    "foreign": f"{DATABASE} is no SQLite database: it is damaged, or belongs to another program.",
    "folder": f"{DATABASE} is a folder, where a file should be.",
    "closed": f"{DATABASE}, or the folder of the records, may not be read by this user.",
}


def show(error: AssayError) -> None:
    """The page for a store that cannot be read."""
    _page(*_words(error))


def empty() -> None:
    _page(*_words(StoreMissing()))


def unknown_run(name: str) -> None:
    _page(
        "No such run", tag("p", "This store has no run named ", code(name), "."), link("See all runs", view="ranking")
    )


def unknown_attempt(run: str, attempt: str) -> None:
    _page(
        "No such attempt",
        tag("p", "Run ", code(run), " has no attempt with the ledger sequence ", code(attempt), "."),
        link("See its attempts", run=run),
    )


def unknown_task(environment_id: str) -> None:
    text = tag("p", "No run of this store plans the environment ", code(environment_id), ".")
    _page("No such task", text, link("See the tasks", view="tasks"))


def _words(error: AssayError) -> tuple[str, *tuple[Safe, ...]]:
    again = tag("p", "Then reload this page.")
    state = _state()
    if state == "missing":
        return (
            "The database is missing",
            tag("p", "The folder of the records holds attempts, but not ", code(DATABASE), ", their ledger."),
            tag("p", "Restore it from a backup, or start the leaderboard with ", code("ASSAY_HOME"), " set elsewhere."),
            again,
        )
    if isinstance(error, StoreMissing) and state == "file":
        return (
            "No runs yet",
            tag("p", "Nothing has been recorded in this store. A first run takes one command:"),
            tag("pre", code(COMMAND)),
            tag("p", "If your records are elsewhere, start the leaderboard with ", code("ASSAY_HOME"), " set to them."),
            again,
        )
    if isinstance(error, StoreLocked):
        return (
            "The store is in use",
            tag("p", "Another program holds the whole store at the moment, for example a backup or a repair."),
            tag("p", "Wait until it has ended, or stop it."),
            again,
        )
    if isinstance(error, StoreVersion):
        return (
            "The store is of another version",
            tag("p", "Its records have a schema that this leaderboard does not read."),
            tag("p", "Written by a newer Assay: update this checkout, then run ", code("make leaderboard"), "."),
            tag("p", "Written by an older one: ", code(COMMAND), " brings the store up to date."),
            again,
        )
    if isinstance(error, BadInput):
        return (
            "The store has no valid address",
            tag("p", code("ASSAY_STORE"), " is set to something that is no database address; the terminal names it."),
            tag("p", "Correct it or leave it out, and start the leaderboard again."),
        )
    return (
        "The store cannot be read",
        tag("p", WRONG[state]),
        tag("p", "The terminal that runs the leaderboard names the cause and what to do."),
        again,
    )


def _state() -> str:
    """What stands where the database should: a key of WRONG, or ``missing`` beside folders of attempts."""
    if os.environ.get("ASSAY_STORE"):
        return "file"
    home = default_home()
    try:
        path = home / DATABASE
        if path.is_dir():
            return "folder"
        if not path.is_file() or path.stat().st_size == 0:
            return "missing" if run_folders(home) else "file"
        with path.open("rb") as file:
            return "file" if file.read(len(MAGIC)) == MAGIC else "foreign"
    except OSError:
        return "closed"


def _page(title: str, *content: Safe) -> None:
    titled(title)
    st.html(tag("div", tag("h1", title), tag("section", *content, class_="notice"), class_="trouble"))
