"""Videos of a whole run, drawn after its last attempt: ``<run>/rendered/marble-dual-panda-A007-c0-2-54f98f86.mp4``.
Where agents choose by pictures it is a folder of such a name, with every picture.

Afterwards, because drawing would take processor time from attempts whose wall clock is running. The folder is no part
of any record: it can be removed and drawn again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from manifests.load import Manifests
from runner.episode.choices import CHOICE
from runner.episode.film import Film, can_mp4, write_video
from runner.episode.stage import View, renderer, stage_of
from runner.episode.stills import write_stills
from runner.episode.stored import STATES, Episode, EpisodeError, open_episode
from runner.runtimes.base import EngineGone, Runtime, RuntimeUnavailable
from runner.store.artifacts import RENDERED
from runner.store.store import Run, Store
from runner.words import count

FPS, SIZE = 10.0, 512
STILL = 576  # pixels of a still: those that a model was sent


def render_missing(store: Store, run: Run, manifests: Manifests, runtime_name: str, say: Callable[[str], None]) -> int:
    """Draw every closed attempt of ``run`` that has states and no video or stills; returns how many were drawn. What
    cannot be drawn is said, and never raised: nothing that is recorded depends on it."""
    folder = store.folder(run) / RENDERED
    board = manifests.boards.get(str(run.settings["board"]))
    ending = "" if board is not None and board.interface == CHOICE else ".mp4" if can_mp4() else ".webp"
    todo = [episode for episode in _episodes(store, run) if not _drawn(folder, episode)]
    if not todo:
        return 0
    say(f"drawing {count(len(todo), 'episode')} into {folder}")
    drawn = 0
    try:
        with renderer(runtime_name) as runtime:
            for episode in todo:
                drawn += _draw(runtime, manifests, episode, folder / f"{episode.file_stem}{ending}", say)
    except (RuntimeUnavailable, EngineGone) as error:
        say(f"not drawn: {error}")
    return drawn


def _draw(runtime: Runtime, manifests: Manifests, episode: Episode, path: Path, say: Callable[[str], None]) -> bool:
    try:
        with stage_of(runtime, manifests, episode) as stage:
            if path.suffix:
                write_video(path, Film(stage, episode, [View(stage.cameras[0], SIZE)], FPS), lambda done, count: None)
            else:
                write_stills(path, stage, episode, View(stage.cameras[0], STILL), lambda done, count: None)
    except EpisodeError as error:
        say(f"not drawn: {error}")
        return False
    say(f"drawn   {path}")
    return True


def _episodes(store: Store, run: Run) -> list[Episode]:
    found = [open_episode(store, run, row) for row in store.attempts(run) if row.record is not None]
    return [episode for episode in found if any(item.name == STATES for item in episode.record.artifacts)]


def _drawn(folder: Path, episode: Episode) -> bool:
    return any((folder / f"{episode.file_stem}{ending}").exists() for ending in (".mp4", ".webp", ""))
