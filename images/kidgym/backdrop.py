"""The four backgrounds: meadow, beach, playroom, winter. Decoration without meaning, the same for every episode."""

from __future__ import annotations

from functools import cache
from random import Random

from PIL import Image, ImageDraw

Pen = ImageDraw.ImageDraw
CELLS = 9
HINT, BAG = 2, 1  # columns of the hint block on the left, rows of the backpack at the bottom
TOP = 1.5  # rows above the play area: it is centred in 8 rows
LEFT = 3  # columns left of the play area
PAPER, EDGE = (250, 243, 226), (122, 98, 72)


@cache
def backdrop(theme: int, cell: int, slots: int) -> Image.Image:
    """RGB (9 cells, 9 cells) with the empty hint block, backpack and play area."""
    side = CELLS * cell
    picture = Image.new("RGB", (side, side), PAPER)
    pen = ImageDraw.Draw(picture)
    view = Image.new("RGB", ((CELLS - HINT) * cell, (CELLS - BAG) * cell))
    SCENES[theme](ImageDraw.Draw(view), cell, Random(theme))
    picture.paste(view, (HINT * cell, 0))
    _play_area(picture, theme, cell)
    _frames(pen, cell, slots)
    return picture


def _play_area(picture: Image.Image, theme: int, cell: int) -> None:
    left, top = LEFT * cell, round(TOP * cell)
    light, dark = FLOORS[theme]
    pen = ImageDraw.Draw(picture)
    border = max(2, cell // 12)
    pen.rounded_rectangle(
        (left - border, top - border, left + 5 * cell + border - 1, top + 5 * cell + border - 1), border * 2, EDGE
    )
    for column in range(5):
        for row in range(5):
            x, y = left + column * cell, top + row * cell
            pen.rectangle((x, y, x + cell - 1, y + cell - 1), light if (column + row) % 2 else dark)


def _frames(pen: Pen, cell: int, slots: int) -> None:
    side, line = CELLS * cell, max(1, cell // 20)
    pen.rectangle((0, 0, HINT * cell - 1, side - 1), PAPER, EDGE, line)
    pen.rectangle((HINT * cell, side - cell, side - 1, side - 1), (214, 187, 148), EDGE, line)
    for slot in range(slots):
        x, inset = (HINT + slot) * cell, cell // 14
        pen.rounded_rectangle(
            (x + inset, side - cell + inset, x + cell - 1 - inset, side - 1 - inset), cell // 8, PAPER, EDGE, line
        )


def _meadow(pen: Pen, cell: int, random: Random) -> None:
    _sky(pen, cell, (156, 214, 240), (126, 190, 92), 1.3)
    for x, y in _spots(random, 26):
        size = cell / 11
        for across, down in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            _disc(pen, (x + across * 0.09) * cell, (y + down * 0.09) * cell, size, random.choice(PETALS))
        _disc(pen, x * cell, y * cell, size * 0.8, (250, 214, 70))
    _cloud(pen, cell, 1.3, 0.5)
    _cloud(pen, cell, 5.2, 0.4)


def _beach(pen: Pen, cell: int, random: Random) -> None:
    _sky(pen, cell, (92, 184, 222), (242, 220, 164), 1.2)
    for wave in range(7):
        pen.arc((wave * cell, 1.0 * cell, (wave + 1) * cell, 1.4 * cell), 0, 180, (255, 255, 255), max(1, cell // 16))
    for x, y in _spots(random, 22):
        _disc(pen, x * cell, y * cell, cell / 13, random.choice(((226, 198, 138), (234, 150, 130), (250, 240, 220))))
    _disc(pen, 6.3 * cell, 0.55 * cell, cell * 0.36, (252, 220, 90))


def _playroom(pen: Pen, cell: int, random: Random) -> None:
    width, height = 7 * cell, 8 * cell
    pen.rectangle((0, 0, width, height), (224, 188, 140))
    for row in range(16):
        y = row * cell / 2
        pen.line([(0, y), (width, y)], (198, 160, 112), max(1, cell // 24))
        for column in range(4):
            x = (column * 2 + (row % 2)) * cell
            pen.line([(x, y), (x, y + cell / 2)], (198, 160, 112), max(1, cell // 24))
    pen.rectangle((0, 0, width, 1.1 * cell), (186, 216, 232))
    pen.rectangle((0, 1.05 * cell, width, 1.15 * cell), (250, 250, 250))
    for index in range(7):
        left = (index + 0.1) * cell
        pen.polygon(
            [(left, 0.12 * cell), (left + 0.8 * cell, 0.12 * cell), (left + 0.4 * cell, 0.72 * cell)],
            PETALS[index % len(PETALS)],
        )


def _winter(pen: Pen, cell: int, random: Random) -> None:
    _sky(pen, cell, (170, 200, 226), (240, 246, 250), 1.3)
    for x in (0.5, 1.7, 4.8, 6.4):
        for level in range(3):
            half, top = (0.2 + 0.13 * level) * cell, (0.25 + 0.3 * level) * cell
            pen.polygon(
                [(x * cell, top), (x * cell - half, top + 0.45 * cell), (x * cell + half, top + 0.45 * cell)],
                (62, 128, 104),
            )
    for x, y in _spots(random, 40):
        _disc(pen, x * cell, y * cell, cell / 22, (206, 222, 236))


def _sky(pen: Pen, cell: int, above: tuple[int, int, int], below: tuple[int, int, int], horizon: float) -> None:
    pen.rectangle((0, 0, 7 * cell, horizon * cell), above)
    pen.rectangle((0, horizon * cell, 7 * cell, 8 * cell), below)


def _cloud(pen: Pen, cell: int, x: float, y: float) -> None:
    for across, size in ((-0.3, 0.17), (0.0, 0.25), (0.3, 0.17)):
        _disc(pen, (x + across) * cell, y * cell, size * cell, (255, 255, 255))


def _disc(pen: Pen, x: float, y: float, radius: float, colour: tuple[int, int, int]) -> None:
    pen.ellipse((x - radius, y - radius, x + radius, y + radius), colour)


def _spots(random: Random, count: int) -> list[tuple[float, float]]:
    """Places beside the play area, below the horizon."""
    found: list[tuple[float, float]] = []
    while len(found) < count:
        x, y = random.uniform(0.15, 6.85), random.uniform(1.5, 7.85)
        if not (0.8 < x < 6.2 and y < 6.7):
            found.append((x, y))
    return found


PETALS = ((240, 110, 120), (250, 250, 250), (168, 120, 200), (250, 170, 80), (110, 170, 230))
SCENES = (_meadow, _beach, _playroom, _winter)
FLOORS = (
    ((226, 240, 206), (214, 232, 192)),
    ((252, 240, 208), (246, 231, 194)),
    ((246, 232, 214), (238, 222, 202)),
    ((226, 238, 248), (214, 229, 243)),
)
