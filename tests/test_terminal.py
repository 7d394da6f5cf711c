"""No stored or foreign text steers the terminal: every command prints it with visible escapes, and stores it raw."""

from __future__ import annotations

import ast
import io
import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.live import Live
from rich.table import Table
from rich.text import Text

from runner.terminal import Terminal, echo, echo_json, printable, printable_lines

ROOT = Path(__file__).parent.parent
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\u202egnp.exe\u200b\u2028\x00\ud800\nassay: error: forged"


def steers(text: str) -> set[str]:
    """Characters of ``text``, besides line feeds, that a terminal does not merely show."""
    return {letter for letter in text if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - {"\n"}


@given(st.text())
def test_a_printed_value_is_one_line_without_anything_that_steers(text):
    assert not steers(printable(text))
    assert "\n" not in printable(text)


@given(st.text())
def test_printed_lines_keep_their_line_feeds_only(text):
    assert not steers(printable_lines(text))
    assert printable_lines(text).count("\n") == text.count("\n")


@given(st.text(st.characters(categories=["L", "N", "P", "S"])))
def test_text_of_letters_and_signs_is_printed_as_it_is(text):
    assert printable(text) == printable_lines(text) == text


def test_an_escape_shows_what_was_there():
    assert printable(HOSTILE).startswith(r"\x1b]0;owned\x07\x1b[2J\x9b31m\r\u202egnp.exe\u200b\u2028\x00\ud800\nassay")


def test_lines_of_text_cannot_steer(capsys):
    echo(f"one {HOSTILE}")
    assert not steers(capsys.readouterr().out)


@given(st.recursive(st.text() | st.integers(), lambda inner: st.dictionaries(st.text(), inner) | st.lists(inner)))
def test_json_holds_the_stored_values_and_cannot_steer(value):
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("click.echo", lambda text: out.write(text + "\n"))
        echo_json(value)
    assert not steers(out.getvalue())
    assert json.loads(out.getvalue()) == value


def test_tables_texts_and_live_displays_cannot_steer_and_keep_their_colours():
    out = io.StringIO()
    console = Terminal(file=out, force_terminal=True, color_system="standard", width=200)
    table = Table("x")
    table.add_row(HOSTILE)
    for shown in (table, Text(HOSTILE, style="red"), f"[bold]bold[/bold] {HOSTILE}"):
        console.print(shown)
    with Live(Text(HOSTILE), console=console, refresh_per_second=20) as live:
        live.refresh()
    shown = out.getvalue()
    assert "\x1b]0" not in shown
    assert "\x1b[2J" not in shown
    assert not steers(shown) - {"\x1b", "\r"}
    assert "\x1b[1mbold" in shown
    assert r"\x1b]0;owned" in shown


def test_every_command_prints_through_this_one_place():
    """A call of click.echo, print or rich's own Console elsewhere would be a way around it."""
    ways_around = {("click", "echo"), ("rich", "print"), ("sys.stdout", "write"), ("sys.stderr", "write")}
    found = []
    for path in sorted((ROOT / "runner").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called in ("print", "Console") or tuple(called.rsplit(".", 1)) in ways_around:
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {called}")
    allowed = ("runner/terminal.py", "runner/images/__main__.py", "runner/agents/programs/")
    assert [line for line in found if not line.startswith(allowed)] == []
