"""Contact sheets: one small picture of every task with its caption."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

COLUMNS, TILE, GAP = 10, 180, 2  # tiles in a row, pixels of a picture and around a caption
LINE = 12  # pixels from one line of a caption to the next


def sheet(tiles: Sequence[tuple[str, np.ndarray]]) -> Image.Image:
    """Captions and square pictures (n, n, 3), in rows. A caption takes as many lines as it needs."""
    font = ImageFont.load_default()
    captions = [wrapped(caption, font, TILE - 2 * GAP) for caption, _ in tiles]
    band = max(map(len, captions), default=1) * LINE + 2 * GAP
    rows = -(-len(tiles) // COLUMNS)
    out = Image.new("RGB", (COLUMNS * TILE, rows * (TILE + band)), "white")
    pen = ImageDraw.Draw(out)
    for number, ((_, picture), lines) in enumerate(zip(tiles, captions, strict=True)):
        frame = Image.fromarray(np.ascontiguousarray(picture))
        x, y = number % COLUMNS * TILE, number // COLUMNS * (TILE + band)
        out.paste(frame.resize((TILE - GAP, TILE), Image.Resampling.LANCZOS), (x, y))
        for index, line in enumerate(lines):
            pen.text((x + GAP, y + TILE + GAP + index * LINE), line, fill="black", font=font)
    return out


def wrapped(caption: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, width: float) -> list[str]:
    """The words of a caption in lines of at most ``width`` pixels; a word that is wider has a line of its own."""
    lines: list[str] = []
    for word in caption.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and font.getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
