"""What of a stored text reaches a public page: no key, no folder of the host, no character that acts."""

from __future__ import annotations

import html
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.markup import Safe, join, link, table, tag, text
from leaderboard.public import HIDDEN, inline, public, public_value


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("FileNotFoundError: /home/alice/robots/scene.xml", "FileNotFoundError: …/scene.xml"),
        ('File "/srv/x/z.py", line 3', 'File "…/z.py", line 3'),
        ("socket /run/user/alice", "socket [path]"),
        ("file:///home/bob/.ssh/id_rsa", "file:[path]"),
        ("file://host/home/bob/notes.txt", "file:…/notes.txt"),
        ("mount:/home/bob/x", "mount:[path]"),
        ("gcc -I/home/bob/include", "gcc -I[path]"),
        (r"C:\Users\bob\k.txt and D:/data/bob/", "…/k.txt and [path]"),
        (r'"C:\\Users\\bob\\models"', '"[path]"'),
        ("https://host:8000/v1/chat and 12:30/day", "https://host:8000/v1/chat and 12:30/day"),
        ("marble/dual-panda/A007 at 1.2 m/s and 3/4", "marble/dual-panda/A007 at 1.2 m/s and 3/4"),
        ("https://user:pw@host/v1", f"https://{HIDDEN}@host/v1"),
        ("key sk-abcdefghijklmnop1234 was refused", f"key {HIDDEN} was refused"),
        ("gsk_abcdefghijklmnop1234 and nvapi-abcdefghijklmnop", f"{HIDDEN} and {HIDDEN}"),
        ("Authorization: Bearer abcdefghijklmnop", f"Authorization: {HIDDEN}"),
        ("OPENAI_API_KEY=whatever is set", f"OPENAI_API_KEY={HIDDEN} is set"),
        ("start another run with RUN=... or RUN=....", "start another run with RUN=... or RUN=...."),
        ("KEY=...x is set", f"KEY={HIDDEN} is set"),
        ("GET https://host/v1?api_key=zzz&n=1 failed", f"GET https://host/v1?api_key={HIDDEN}&n=1 failed"),
        ('{"access_token": "y z", "max_tokens": 9}', f'{{"access_token": {HIDDEN}, "max_tokens": 9}}'),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("turn \u202eback", "turn \\u202eback"),
        ("two\nlines", "two\nlines"),
    ],
)
def test_a_stored_text_is_shown_without_what_is_not_public(stored: str, shown: str) -> None:
    assert public(stored) == shown
    assert public(shown.replace("\\", "")) == shown.replace("\\", "")


def test_values_of_fields_named_like_a_secret_are_left_out_at_any_depth() -> None:
    stored = {"temperature": 0.5, "max_tokens": 9, "provider": [{"api_key": "abc", "x-access-token": "d"}]}
    assert public_value(stored) == {
        "temperature": 0.5,
        "max_tokens": 9,
        "provider": [{"api_key": HIDDEN, "x-access-token": HIDDEN}],
    }


def test_unknown_is_said_and_zero_stays_zero() -> None:
    assert [inline(value) for value in (None, 0, 0.0, "", [])] == ["unknown", "0", "0", "", "[]"]


def test_a_text_without_end_is_cut_and_says_how_much_is_left_out() -> None:
    assert public("x" * 5000).endswith("x… (1000 more characters)")


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_any_text_is_inert_on_the_page(stored: str) -> None:
    cell = tag("td", stored, title=stored)
    inside = cell.removeprefix('<td title="').removesuffix("</td>").replace('">', "", 1)
    assert not set(inside) & set("<>\"'")
    assert not [c for c in html.unescape(inside) if c not in "\n\t" and unicodedata.category(c) in ("Cc", "Cf")]


def test_markup_of_a_stored_text_is_shown_and_not_obeyed() -> None:
    row = table("c", ("a", "b"), [["<script>alert(1)</script>", tag("b", "<img src=x onerror=alert(1)>")]])
    assert "<script" not in row
    assert "<img" not in row
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in row
    assert "<b>&lt;img" in row


def test_safe_html_is_not_escaped_twice() -> None:
    assert join([tag("i", "a & b"), "<"]) == "<i>a &amp; b</i>&lt;"
    assert text(Safe("<br>")) == "<br>"


def test_a_link_carries_its_parameters_whatever_they_hold() -> None:
    assert link("x", run='a"b&c') == '<a href="?run=a%22b%26c">x</a>'
