"""The contact sheet of all 36 cells: ``python -m images.kidgym.contact docs/kidgym.png``.

Two tasks a row, three levels each; a memory task has a row of its own, with the picture to remember before the one to
play. Below each picture stands what is to be done, in words for a child, and what is right to do first.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from images.kidgym import solve
from images.kidgym.catalog import LEVELS, NAMES
from images.kidgym.draw import frame
from images.kidgym.episode import Episode

SEED = 5
COLUMNS, SIDE, GAP = 6, 360, 10
HEAD, LINE = 26, 19  # pixels of the title above a picture, and of a line below it
INK, QUIET, RIGHT = (30, 30, 34), (95, 95, 102), (22, 110, 60)
WHAT = {
    "MA": "Get the diamond. A key opens the door of its own colour.",
    "DMA": "Get the diamond. The arrows say which key opens which door.",
    "FI": "Make the picture on the left: put on every number the piece that belongs there.",
    "PU": "Make the pattern on the left: put on every number the piece that belongs there.",
    "SE": "Choose what you saw before.",
    "MMA": "The diamond now hides in one of the boxes: get it. A key opens the door of its own colour.",
    "MDE": "Choose what belongs to the thing in the black box.",
    "MFI": "Make the picture that you saw before: put on every number the piece that belongs there.",
}
"""What is to be done; the goals of the others say it themselves."""
SEEN = {
    "SE": "Remember what stands on the left.",
    "MMA": "Remember where the diamond is.",
    "MDE": "Remember what belongs to what.",
    "MFI": "Remember the picture on the left.",
}


@dataclass(frozen=True)
class Cell:
    """One picture of the sheet: its title, what it shows, what is to be done, and what is right to do first."""

    title: str
    picture: Image.Image
    what: str
    right: str


def cells() -> Iterator[Cell]:
    """All 36 in the order of the sheet; those of memory tasks twice."""
    for code in sorted(NAMES, key=lambda code: Episode(code, 1, SEED).task.memory):
        for level in LEVELS:
            episode, title = Episode(code, level, SEED), f"{NAMES[code]} ({code}), level {level}"
            if episode.task.memory:
                yield Cell(f"{title}: remember", _picture(episode), SEEN[code], "")
                episode.choose(0)
                title = "then play"
            yield Cell(title, _picture(episode), _what(episode), _right(episode))


def sheet() -> Image.Image:
    every = list(cells())
    rows = [every[start : start + COLUMNS] for start in range(0, len(every), COLUMNS)]
    highs = [HEAD + SIDE + LINE * max(len(_words(cell)) for cell in row) + 2 * GAP for row in rows]
    whole = Image.new("RGB", (GAP + COLUMNS * (SIDE + GAP), GAP + sum(highs)), "white")
    pen, top = ImageDraw.Draw(whole), GAP
    for row, high in zip(rows, highs, strict=True):
        for column, cell in enumerate(row):
            left, below = GAP + column * (SIDE + GAP), top + HEAD + SIDE + 5
            pen.text((left, top), cell.title, INK, _font(16))
            whole.paste(cell.picture, (left, top + HEAD))
            for number, (line, colour) in enumerate(_words(cell)):
                pen.text((left, below + number * LINE), line, colour, _font(15))
        top += high
    return whole


def _picture(episode: Episode) -> Image.Image:
    drawn = Image.fromarray(frame(episode.scene, episode.task.theme, 64))
    return drawn.resize((SIDE, SIDE), Image.Resampling.LANCZOS)


def _what(episode: Episode) -> str:
    task: Any = episode.task
    first = f"{task.goal.partition('.')[0]}."
    if task.code == "SO":
        return f"{first} Put the one that is {task.adjective} than all others on I, the next one on II."
    if task.code == "CO":
        return f"{first} Then say that you have them."
    return WHAT.get(task.code, task.goal)


def _right(episode: Episode) -> str:
    """The first action of a shortest solution, as the list of options has it."""
    return f"First: {solve.solution(episode.task, episode.state)[0].text}"


def _words(cell: Cell) -> list[tuple[str, tuple[int, int, int]]]:
    return [(line, colour) for words, colour in ((cell.what, QUIET), (cell.right, RIGHT)) for line in _lines(words)]


def _lines(words: str) -> list[str]:
    """Lines that fit below a picture."""
    found: list[str] = []
    for word in words.split():
        longer = f"{found[-1]} {word}" if found else word
        if found and _font(15).getlength(longer) <= SIDE:
            found[-1] = longer
        else:
            found.append(word)
    return found


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


if __name__ == "__main__":
    sheet().quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(sys.argv[1], optimize=True)
