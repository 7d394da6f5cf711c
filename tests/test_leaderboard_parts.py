"""The parts of a page by themselves: data to download, drawings, flips, and what a stranger's text may not do there."""

from __future__ import annotations

import csv
import io
import json
import re
from math import comb
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from leaderboard import charts
from leaderboard.blocks import data_of, html_of
from leaderboard.charts import Dot, Line
from leaderboard.drawing import SCALE, Drawing
from leaderboard.views import protocol
from leaderboard.views.submit import FIELDS
from manifests.submission import Submission
from scoring.flips import exact_mcnemar

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
CELLS = st.none() | st.integers(-(10**9), 10**9) | st.booleans() | TEXTS


@given(st.lists(st.tuples(CELLS, CELLS), max_size=5))
def test_csv_and_json_hold_what_may_be_shown_and_no_formula(rows: list[tuple[object, object]]) -> None:
    data = data_of("x", ("a", "b"), rows)
    lines = list(csv.reader(io.StringIO(data.csv().decode(), newline="")))
    assert len(lines) == len(rows) + 1
    texts = [(line[i], row[i]) for line, row in zip(lines[1:], rows, strict=True) for i in (0, 1)]
    assert not [found for found, given_ in texts if isinstance(given_, str) and found[:1] in ("=", "+", "-", "@")]
    assert json.loads(data.json()) == [dict(zip(("a", "b"), row, strict=True)) for row in data.rows]


def test_a_number_stays_a_number_and_unknown_stays_empty() -> None:
    assert data_of("x", ("a", "b"), [(-3, None)]).csv() == b"a,b\n-3,\n"


def test_parquet_is_read_back_as_it_was_given() -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="left out, needs pyarrow: `make test-leaderboard`")
    data = data_of("x", ("name", "rate", "count"), [("a", 19.94, 4), ("b", None, 5)])
    table = parquet.read_table(io.BytesIO(data.parquet()))
    assert table.to_pylist() == [{"name": "a", "rate": 19.94, "count": 4}, {"name": "b", "rate": None, "count": 5}]


@given(TEXTS)
def test_a_drawing_holds_any_text_and_stays_one_document(words: str) -> None:
    drawing = Drawing("x", words, 100, 40)
    drawing.text(10, 20, words)
    root = ElementTree.fromstring(drawing.svg())
    assert {element.tag.split("}")[1] for element in root.iter()} <= {"svg", "title", "style", "text"}
    assert Image.open(io.BytesIO(drawing.png())).size == (100 * SCALE, 40 * SCALE)


def test_a_rate_stands_where_its_scale_says(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [Line("run", (Dot(value, value - 0.1, value + 0.1),)) for value in (0.25, 0.5, 0.75)]
    drawing = charts.intervals("x", "alt", ["Pass@2"], lines)
    places = [mark.points[0][0] for mark in drawing.marks if mark.kind == "dot"]
    steps = {mark.words: mark.points[0][0] for mark in drawing.marks if mark.words.endswith(" %")}
    assert places == pytest.approx([steps["25 %"], steps["50 %"], steps["75 %"]])


def test_a_partial_run_has_a_bar_and_no_dot() -> None:
    drawing = charts.intervals("x", "alt", ["Pass@2"], [Line("run", (Dot(None, 0.1, 0.9),))])
    assert [mark.kind for mark in drawing.marks if mark.colour == "grey"] == ["line"]
    assert not [mark for mark in drawing.marks if mark.kind == "dot"]


def test_the_page_that_explains_a_submission_names_every_field_of_its_statement() -> None:
    named = {name for names, _ in FIELDS for name in names.split(", ")}
    assert named == set(Submission.model_fields)


def test_the_protocol_page_says_what_a_reader_must_know() -> None:
    words = " ".join(re.sub(r"<[^>]+>", " ", html_of(protocol.build())).split())
    assert "EP-20 is a diagnostic selection, partly chosen by what pilot runs could solve" in words
    assert "no unbiased estimate of EP-100" in words
    for name in ("single", "pass2", "pass1", "Known limitations", "Every rule and threshold", "30,000,000 tokens"):
        assert name in words


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_sums_the_splits_that_are_as_uneven(gained: int, lost: int) -> None:
    count = gained + lost
    found = exact_mcnemar(gained, lost)
    if count == 0:
        assert found is None
        return
    uneven = sum(comb(count, k) for k in range(count + 1) if abs(2 * k - count) >= abs(gained - lost))
    assert found == pytest.approx(uneven / 2**count)
    assert found == exact_mcnemar(lost, gained)


@pytest.mark.parametrize("secret", ["sk-or-v1-abcdefghijklmnop", "/home/bob/models/llama", "\x1b\u202e"])
def test_a_label_that_is_cut_shows_no_part_of_what_may_not_be_shown(secret: str) -> None:
    for length in range(34):
        drawing = charts.intervals(
            "x", "alt", ["Pass@2"], [Line("y" * length + " " + secret, (Dot(0.5, 0.4, 0.6),), "")]
        )
        drawn = drawing.svg()
        assert not [part for part in ("sk-", "/home", "bob", "\x1b", "\u202e") if part in drawn]
