"""What several commands share. Imported by commands only, never at start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import BadInput

if TYPE_CHECKING:
    from rich.console import Console

    from runner.store.store import Run, Store


def open_store() -> Store:
    from runner.store.store import Store

    return Store()


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
    """Colours and live tables only in a terminal; on a pipe no line is cut."""
    from rich.console import Console

    plain = Console(stderr=error)
    return plain if plain.is_terminal else Console(stderr=error, width=PIPE_WIDTH)
