"""The contact sheet of all 36 cells: ``python -m images.kidgym.contact docs/kidgym.png``."""

from __future__ import annotations

import sys

from PIL import Image, ImageDraw, ImageFont

from images.kidgym.catalog import LEVELS, NAMES
from images.kidgym.draw import frame
from images.kidgym.episode import Episode

SEED = 5
COLUMNS, CELL, CAPTION, GAP = 6, 32, 24, 8


def sheet() -> Image.Image:
    """Three levels of a task side by side; memory tasks show the first picture at level 1 and the next one above."""
    cells = [(code, level) for code in NAMES for level in LEVELS]
    side = 9 * CELL
    width, height = side + GAP, side + CAPTION + GAP
    whole = Image.new("RGB", (COLUMNS * width + GAP, len(cells) // COLUMNS * height + GAP), "white")
    pen, font = ImageDraw.Draw(whole), ImageFont.load_default(15)
    for index, (code, level) in enumerate(cells):
        episode = Episode(code, level, SEED)
        if episode.task.memory and level > 1:
            episode.choose(0)
        left, top = GAP + index % COLUMNS * width, GAP + index // COLUMNS * height
        pen.text((left, top), f"{NAMES[code]} ({code}), level {level}", (40, 40, 40), font)
        drawn = Image.fromarray(frame(episode.scene, episode.task.theme, 2 * CELL))
        whole.paste(drawn.resize((side, side), Image.Resampling.LANCZOS), (left, top + CAPTION))
    return whole


if __name__ == "__main__":
    sheet().save(sys.argv[1], optimize=True)
