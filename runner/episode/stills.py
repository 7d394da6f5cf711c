"""The recorded states of an episode as pictures alone, one PNG each: where a picture is what the agent chose by, words
on it would hide something."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from PIL import Image

from runner.episode.film import Say
from runner.episode.stage import Stage, View
from runner.episode.stored import Episode, EpisodeError

NAME = "state_{:05d}.png"


def write_stills(folder: Path, stage: Stage, episode: Episode, view: View, say: Say) -> int:
    """``state_00000.png`` (the start) and so on; the folder appears whole or not at all, and replaces an older one.
    Returns how many. Raises EpisodeError."""
    part = folder.with_name(f".{folder.name}.part")
    count = len(episode.states)
    try:
        part.mkdir(parents=True)
        for index, (picture,) in enumerate(stage.pictures(episode.states, [view])):
            Image.fromarray(picture).save(part / NAME.format(index), optimize=True)
            say(index + 1, count)
        if folder.is_dir():
            shutil.rmtree(folder)
        os.replace(part, folder)
    except OSError as error:
        raise EpisodeError(f"stills {str(folder)!r}: they cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return count
