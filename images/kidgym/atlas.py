"""The pictures of items, children and diamonds: one sheet made from an emoji font, so that no font is needed to play.

``python -m images.kidgym.atlas NotoColorEmoji.ttf`` makes the sheet again (Debian package fonts-noto-color-emoji 2.042,
SIL Open Font License 1.1).
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from images.kidgym.catalog import EMOJI

SHEET = Path(__file__).parent / "assets" / "items.png"
SIDE = 96  # pixels of one picture on the sheet: the largest cell
COLUMNS = 10
STRIKE = 109  # the only size in which the font holds its bitmaps


@cache
def item(name: str, side: int) -> Image.Image:
    """RGBA (side, side) picture of an item. Raises KeyError."""
    index = list(EMOJI).index(name) if name in EMOJI else None
    if index is None:
        raise KeyError(name)
    left, top = index % COLUMNS * SIDE, index // COLUMNS * SIDE
    picture = _sheet().crop((left, top, left + SIDE, top + SIDE))
    return picture if side == SIDE else picture.resize((side, side), Image.Resampling.LANCZOS)


@cache
def _sheet() -> Image.Image:
    with Image.open(SHEET) as sheet:
        return sheet.convert("RGBA")


def make(font_file: str) -> Image.Image:
    """The sheet, every picture centred and as large as its square."""
    font = ImageFont.truetype(font_file, STRIKE)
    rows = -(-len(EMOJI) // COLUMNS)
    sheet = Image.new("RGBA", (COLUMNS * SIDE, rows * SIDE))
    for index, text in enumerate(EMOJI.values()):
        glyph = Image.new("RGBA", (2 * STRIKE, 2 * STRIKE))
        ImageDraw.Draw(glyph).text((20, 20), text, font=font, embedded_color=True)
        box = glyph.getbbox()
        if box is None:
            raise ValueError(f"{font_file}: no picture for {list(EMOJI)[index]}")
        glyph = glyph.crop(box)
        scale = SIDE / max(glyph.size)
        glyph = glyph.resize((round(glyph.width * scale), round(glyph.height * scale)), Image.Resampling.LANCZOS)
        left, top = index % COLUMNS * SIDE, index // COLUMNS * SIDE
        sheet.paste(glyph, (left + (SIDE - glyph.width) // 2, top + (SIDE - glyph.height) // 2))
    return sheet


if __name__ == "__main__":
    make(sys.argv[1]).save(SHEET, optimize=True)
