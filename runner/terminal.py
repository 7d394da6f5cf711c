"""Everything that is written to a terminal passes here: stored and foreign text may not steer it.

What agents, providers, submitters and container logs say is stored as it is. On its way out each control character,
terminal escape and invisible format character (ECMA-48 C0 and C1, U+202E and its kind, lone surrogates) is written as
a visible escape (``\\x1b``, ``\\u202e``), so that the text can neither move the cursor nor pass for our own lines.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

_LINE = re.compile(r"[^\n]+")


def printable(text: str) -> str:
    """``text`` as one line that cannot steer a terminal."""
    return text if text.isprintable() else "".join(map(_visible, text))


def printable_lines(text: str) -> str:
    """The same for text of several lines: line feeds stay, tabs become blanks."""
    if text.isprintable():
        return text
    return _LINE.sub(lambda line: printable(line[0]), text.expandtabs(4))


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Lines on stdout or stderr. A foreign value within them goes through :func:`printable` before, so that it can
    make no line of its own."""
    click.echo(printable_lines(text), err=err, nl=nl)


def echo_json(value: Any, indent: int = 2) -> None:
    """JSON on stdout; the values that a program reads are the stored ones."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    click.echo(text if text.isprintable() else _LINE.sub(lambda line: "".join(map(_json_escape, line[0])), text))


class Terminal(Console):
    """A console whose text cannot steer the terminal; its own colours and cursor movements pass.

    On stderr it falls silent when nobody reads any more: what is said there is worth no run.
    """

    def on_broken_pipe(self) -> None:
        if not self.stderr:
            raise BrokenPipeError
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())  # what it still holds is written at the end

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield segment._replace(text=printable_lines(segment.text))


def _visible(letter: str) -> str:
    shown = letter.isprintable() or unicodedata.category(letter) == "Zs"  # blanks of other scripts
    return letter if shown else repr(letter)[1:-1]


def _json_escape(letter: str) -> str:
    return letter if letter.isprintable() else json.dumps(letter)[1:-1]


def program() -> str:
    """What to type for this program: ``assay`` where a shell finds it, else its path, as ``.venv/bin/assay``."""
    called, found = Path(sys.argv[0]), shutil.which("assay")
    if called.name != "assay" or (found is not None and Path(found).resolve() == called.resolve()):
        return "assay"
    return os.path.relpath(called)
