"""What is drawn with plain shapes: baskets, keys, doors, boxes, puzzle tiles, walls, marks. Drawn at four times the
size and scaled down, so that edges are smooth."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from PIL import Image, ImageDraw

from images.kidgym.catalog import COLOURS

FINE = 4
INK = (45, 42, 50)
Pen = ImageDraw.ImageDraw


@cache
def shape(kind: str, colour: str | None, turn: int, side: int) -> Image.Image:
    """RGBA (side, side). ``turn`` counts quarters of a turn clockwise. Raises KeyError for an unknown kind."""
    size = side * FINE
    picture = Image.new("RGBA", (size, size))
    _DRAWN[kind](ImageDraw.Draw(picture), size, COLOURS[colour] if colour else (0, 0, 0))
    picture = picture.rotate(-90 * turn)
    return picture.resize((side, side), Image.Resampling.LANCZOS)


def _dark(colour: tuple[int, int, int], share: float = 0.62) -> tuple[int, int, int]:
    return tuple(round(part * share) for part in colour)  # type: ignore[return-value]


def _basket(pen: Pen, s: int, colour: tuple[int, int, int]) -> None:
    line = s // 30
    pen.arc((0.2 * s, 0.08 * s, 0.8 * s, 0.9 * s), 180, 360, _dark(colour), width=2 * line)
    pen.polygon([(0.06 * s, 0.45 * s), (0.94 * s, 0.45 * s), (0.8 * s, 0.95 * s), (0.2 * s, 0.95 * s)], colour)
    for share in (0.6, 0.75):
        pen.line([(0.1 * s, share * s), (0.9 * s, share * s)], _dark(colour), line)
    for share in (0.28, 0.5, 0.72):
        pen.line([(share * s, 0.45 * s), ((0.5 + (share - 0.5) * 0.75) * s, 0.95 * s)], _dark(colour), line)
    pen.rounded_rectangle((0.02 * s, 0.38 * s, 0.98 * s, 0.52 * s), 0.05 * s, colour, _dark(colour), line)


def _key(pen: Pen, s: int, colour: tuple[int, int, int]) -> None:
    edge = s // 28
    bar = [(0.4, 0.44, 0.95, 0.56), (0.72, 0.56, 0.8, 0.74), (0.86, 0.56, 0.94, 0.7)]
    for grow, fill in ((edge, INK), (0, colour)):
        pen.ellipse((0.05 * s - grow, 0.29 * s - grow, 0.47 * s + grow, 0.71 * s + grow), fill)
        for x0, y0, x1, y1 in bar:
            pen.rectangle((x0 * s - grow, y0 * s - grow, x1 * s + grow, y1 * s + grow), fill)
    pen.ellipse((0.17 * s - edge, 0.41 * s - edge, 0.35 * s + edge, 0.59 * s + edge), INK)
    pen.ellipse((0.17 * s, 0.41 * s, 0.35 * s, 0.59 * s), (0, 0, 0, 0))


def _door(pen: Pen, s: int, colour: tuple[int, int, int]) -> None:
    line = s // 28
    pen.rectangle((0.12 * s, 0.04 * s, 0.88 * s, 0.98 * s), INK)
    pen.rectangle((0.17 * s, 0.09 * s, 0.83 * s, 0.98 * s), colour)
    for top, bottom in ((0.16, 0.46), (0.54, 0.9)):
        pen.rectangle((0.25 * s, top * s, 0.75 * s, bottom * s), None, _dark(colour), line)
    pen.ellipse((0.66 * s, 0.46 * s, 0.78 * s, 0.58 * s), (250, 215, 90), INK, line // 2)
    pen.ellipse((0.7 * s, 0.6 * s, 0.75 * s, 0.65 * s), INK)


def _box(pen: Pen, s: int, _: tuple[int, int, int]) -> None:
    line = s // 28
    wood, gold = (150, 90, 45), (240, 190, 60)
    pen.rounded_rectangle((0.06 * s, 0.16 * s, 0.94 * s, 0.6 * s), 0.18 * s, wood, INK, line)
    pen.rectangle((0.06 * s, 0.46 * s, 0.94 * s, 0.92 * s), wood, INK, line)
    for left in (0.14, 0.76):
        pen.rectangle((left * s, 0.17 * s, (left + 0.1) * s, 0.91 * s), gold, INK, line // 2)
    pen.rectangle((0.06 * s, 0.43 * s, 0.94 * s, 0.5 * s), gold, INK, line // 2)
    pen.rounded_rectangle((0.4 * s, 0.4 * s, 0.6 * s, 0.66 * s), 0.04 * s, gold, INK, line)
    pen.ellipse((0.46 * s, 0.48 * s, 0.54 * s, 0.56 * s), INK)


def _tile(draw: Callable[[Pen, int, tuple[int, int, int]], None]) -> Callable[[Pen, int, tuple[int, int, int]], None]:
    def drawn(pen: Pen, s: int, colour: tuple[int, int, int]) -> None:
        pen.rectangle((0, 0, s, s), (252, 250, 244))
        draw(pen, s, colour)
        pen.rectangle((0, 0, s - 1, s - 1), None, INK, s // 40)

    return drawn


def _triangle(pen: Pen, s: int, colour: tuple[int, int, int]) -> None:
    pen.polygon([(0, 0), (s, 0), (0, s)], colour)


def _quarter_disc(pen: Pen, s: int, colour: tuple[int, int, int]) -> None:
    pen.pieslice((-0.9 * s, -0.9 * s, 0.9 * s, 0.9 * s), 0, 90, colour)


def _half(pen: Pen, s: int, colour: tuple[int, int, int]) -> None:
    pen.rectangle((0, 0, s, s // 2), colour)


def _stripe(pen: Pen, s: int, colour: tuple[int, int, int]) -> None:
    pen.rectangle((0, 0.33 * s, s, 0.67 * s), colour)


def _wall(pen: Pen, s: int, _: tuple[int, int, int]) -> None:
    brick, mortar, line = (146, 132, 124), (104, 94, 90), s // 26
    pen.rectangle((0, 0, s, s), brick)
    for row in range(4):
        pen.line([(0, row * s / 4), (s, row * s / 4)], mortar, line)
        for column in range(3):
            x = (column * 0.5 + (0.25 if row % 2 else 0.0)) * s
            pen.line([(x, row * s / 4), (x, (row + 1) * s / 4)], mortar, line)


def _mark(pen: Pen, s: int, _: tuple[int, int, int]) -> None:
    pen.rounded_rectangle((0.05 * s, 0.05 * s, 0.95 * s, 0.95 * s), 0.1 * s, (255, 255, 255, 235))
    dash, line = 0.09 * s, s // 30
    for step in range(5):
        start = (0.1 + 0.17 * step) * s
        for x0, y0, x1, y1 in ((start, 0.06 * s, start + dash, 0.06 * s), (start, 0.94 * s, start + dash, 0.94 * s)):
            pen.line([(x0, y0), (x1, y1)], INK, line)
            pen.line([(y0, x0), (y1, x1)], INK, line)


_DRAWN: dict[str, Callable[[Pen, int, tuple[int, int, int]], None]] = {
    "basket": _basket,
    "key": _key,
    "door": _door,
    "box": _box,
    "triangle": _tile(_triangle),
    "quarter disc": _tile(_quarter_disc),
    "half": _tile(_half),
    "stripe": _tile(_stripe),
    "wall": _wall,
    "mark": _mark,
}
TILES = frozenset(("triangle", "quarter disc", "half", "stripe"))
SHAPES = frozenset(_DRAWN)
