"""Contact sheets: one small picture of every task with its caption."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw

COLUMNS, TILE, BAND = 10, 180, 16  # tiles in a row, pixels of a picture and of its caption
LETTERS = 30  # of a caption


def sheet(tiles: Sequence[tuple[str, np.ndarray]]) -> Image.Image:
    """Captions and square pictures (n, n, 3), in rows."""
    rows = -(-len(tiles) // COLUMNS)
    out = Image.new("RGB", (COLUMNS * TILE, rows * (TILE + BAND)), "white")
    pen = ImageDraw.Draw(out)
    for number, (caption, picture) in enumerate(tiles):
        frame = Image.fromarray(np.ascontiguousarray(picture))
        x, y = number % COLUMNS * TILE, number // COLUMNS * (TILE + BAND)
        out.paste(frame.resize((TILE - 2, TILE), Image.Resampling.LANCZOS), (x, y))
        pen.text((x + 2, y + TILE + 2), caption[:LETTERS], fill="black")
    return out
