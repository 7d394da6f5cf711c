"""What several commands share. Imported by commands only, never at start."""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import TYPE_CHECKING, Any, TextIO, cast

from runner.errors import BadInput

if TYPE_CHECKING:
    from rich.console import Console

    from runner.store.store import Run, Store


def open_store(*, write: bool = False) -> Store:
    """The store. Where its folder cannot be written, one that is for reading; a command that only writes says so."""
    from runner.store.store import Store, default_home
    from runner.terminal import echo

    home = default_home()
    return Store(
        read_only=not write and home.is_dir() and not os.access(home, os.W_OK), say=lambda text: echo(text, err=True)
    )


def find_run(store: Store, name: str) -> Run:
    """Raises BadInput that names runs which are near."""
    from manifests.errors import nearest

    run = store.find_run(name)
    if run is None:
        near = nearest(name, [run.name for run in store.runs()])
        raise BadInput(f"run {name!r} is not in {store.database.label}{near}; `assay runs` lists all of them")
    return run


PIPE_WIDTH = 240  # columns where no terminal says how wide it is: no name is cut


def console(*, error: bool = False) -> Console:
    """Colours and live tables only in a terminal; on a pipe no line is cut, and none ends in blanks."""
    from rich.console import ConsoleDimensions

    from runner.terminal import Terminal

    plain = Terminal(stderr=error)
    if plain.is_terminal:
        if plain.is_dumb_terminal:  # rich takes it for 80 columns whatever it has
            plain.size = ConsoleDimensions(*shutil.get_terminal_size())
        return plain
    stream = cast("TextIO", _Trimmed(sys.stderr if error else sys.stdout))
    return Terminal(file=stream, stderr=error, width=PIPE_WIDTH)


class _Trimmed:
    """A text stream that leaves out the blanks with which tables are filled up to their width."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(re.sub(r"[ ]+(?=\n|$)", "", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
