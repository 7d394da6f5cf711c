"""What a visitor chooses, by widgets and by the address: nothing acts, nothing is told of the host, nothing is taken
for something else, and what there is not is said."""

from __future__ import annotations

import html
import os
import re
from typing import Any

import pytest

if "leaderboard" not in os.environ.get("ASSAY_REQUIRE", ""):
    pytest.importorskip("streamlit", reason="left out, needs streamlit: `make test-leaderboard` installs it")

from hypothesis import given
from hypothesis import strategies as st
from leaderboard_records import QUIT, SUCCESS, twice, write_run
from leaderboard_visit import shown, visit, words

from leaderboard.asked import LARGEST, number, page_number
from leaderboard.pickers import LONGEST, labelled
from leaderboard.public import HIDDEN, public
from runner.store.store import Store

HOSTILE = "/home/bob/models/<img src=x>\x1b[31m\u202e sk-or-v1-abcdefghijklmnop"


def options(app: Any) -> str:
    return "\n".join(option for kind in ("selectbox", "multiselect") for box in app.get(kind) for option in box.options)


def words_of_figures(app: Any) -> str:
    return html.unescape(" ".join(re.findall(r'alt="([^"]*)"', shown(app))))


def test_choosers_show_models_as_all_else_and_tell_two_runs_of_one_model_apart(store: Store) -> None:
    for name in ("a", "b"):
        write_run(store, name, twice(SUCCESS), model=HOSTILE)
    for view in ("tasks", "suites", "compare", "failures"):
        found = options(visit(view=view))
        assert "bob" not in found
        assert "sk-or" not in found
        assert not set(found) & {"\x1b", "\u202e"}
        for name in ("a", "b"):
            assert f"…/<img src=x>\\x1b[31m\\u202e {HIDDEN} " in found
            assert f"· {name}" in found
    assert " %; b: …/" in words_of_figures(visit(view="ranking"))


@given(st.dictionaries(st.text(max_size=5), st.sampled_from(["x", "x [2]", "x [3]", "/home/a/b", "/home/c/d"])))
def test_options_are_public_and_no_two_have_the_same_words(labels: dict[str, str]) -> None:
    shown = labelled(labels)
    assert list(shown) == list(labels)
    assert len(set(shown.values())) == len(shown)
    assert all(shown[key].startswith(public(words, LONGEST)) for key, words in labels.items())


def test_a_local_model_is_told_by_the_last_part_of_its_path(store: Store) -> None:
    models = {
        "a": "/home/bob/one",
        "b": "/models/two/",
        "c": "C:\\Users\\bob\\three",
        "d": "/home/bob",
        "e": "f/g",
    }
    for name, model in models.items():
        write_run(store, name, twice(SUCCESS), model=model)
    page = words(visit(view="ranking"))
    for name in ("…/one", "…/two", "…/three", "[path]", "f/g"):
        assert name in page
    assert "bob" not in page


def test_a_run_named_all_is_a_run_among_others(store: Store) -> None:
    write_run(store, "all", twice(QUIT), model="lab/r")
    write_run(store, "other", twice(SUCCESS), model="lab/s")
    assert "How many runs solve a condition" in words(visit(view="tasks"))
    assert "Outcomes of lab/r" in words(visit(view="tasks", runs="all"))
    app = visit(view="tasks", runs="all")
    app.selectbox(key="pick-runs").select("").run()
    assert "runs" not in app.query_params
    assert "How many runs solve a condition" in words(app)


def test_an_address_that_names_what_there_is_not_is_told_so(store: Store) -> None:
    write_run(store, "r", twice(QUIT), model="lab/r")
    page = words(visit(view="nonsense"))
    assert "This site has no page nonsense . The overview is shown." in page
    page = words(visit(view="ranking", board="<b>", level="L99", profile="embedded"))
    assert "This store has no board <b> . The filter is left out. There is: ep." in page
    assert "This store has no access level L99" in page
    assert "no engine profile" not in page
    assert "lab/r" in page
    page = words(visit(view="tasks", sort="odd", suite="even"))
    assert "This page has no order odd . There is: catalog, hardest, easiest." in page
    assert "This page has no suite even" in page


@pytest.mark.parametrize("wanted", ["2", "no", "9" * 5000])
def test_a_page_that_there_is_not_is_told_so_however_large_its_number_is(store: Store, wanted: str) -> None:
    write_run(store, "r", twice(QUIT), model="lab/r")
    for parameters in ({"view": "ranking"}, {"run": "r"}):
        page = words(visit(**parameters, page=wanted))
        assert f"This list has no page {wanted[:1000]}" in page
        assert "Page 1 of 1 is shown." in page
        assert "lab/r" in page


@given(st.text(max_size=30) | st.integers(-5, 2**70).map(str), st.integers(0, 9))
def test_a_number_of_an_address_is_one_that_a_database_takes_or_none(text: str, pages: int) -> None:
    found = number(text)
    assert found is None or 1 <= found <= LARGEST
    assert 1 <= page_number(text, pages) <= max(pages, 1)


def test_numbers_are_read_as_they_stand() -> None:
    assert [number(text) for text in ("1", str(LARGEST), str(LARGEST + 1), "²", "٣", "1.0", "", None)] == [
        1, LARGEST, *[None] * 6,
    ]  # fmt: skip
