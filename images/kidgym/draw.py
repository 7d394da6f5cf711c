"""The picture of one moment: 9 x 9 cells, the hint block on the left, the backpack below, the play area in between.

Whatever can stand in a cell is drawn once, on the ground that it stands on, and kept as an array; a picture is a copy
of its background with those cells put in. So a picture costs little more than its copy. The caches are bounded.
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from images.kidgym import atlas, shapes
from images.kidgym.backdrop import CELLS, FLOORS, HINT, LEFT, PAPER, TOP, backdrop
from images.kidgym.rules import LETTERS, NUMERALS, SLOTS, Cell, Mark, Row, Scene, Thing

SIDES = (32, 64, 96)  # pixels of a cell
INK = shapes.INK
CHILD, WALL = Thing("child"), Thing("wall")
Spot = tuple[int, int]
Pixels = npt.NDArray[np.uint8]  # (height, width, 3)


def frame(scene: Scene, theme: int, cell: int = 64) -> Pixels:
    """uint8 (9 cell, 9 cell, 3), the caller's own. Raises ValueError for a cell that is not one of :data:`SIDES`."""
    if cell not in SIDES:
        raise ValueError(f"cell {cell!r} is not one of {', '.join(map(str, SIDES))} pixels")
    canvas = _ground(theme, cell).copy()
    for spot in scene.walls:
        _put(canvas, _corner(spot, cell), _on_floor(WALL, theme, sum(spot) % 2, cell))
    if scene.agent is not None:
        _put(canvas, _corner(scene.agent, cell), _on_floor(CHILD, theme, sum(scene.agent) % 2, cell))
    for spot, thing in scene.things:
        _put(canvas, _corner(spot, cell), _on_floor(thing, theme, sum(spot) % 2, cell))
    for slot, held in enumerate(scene.backpack):
        if held is not None:
            _put(canvas, _slot_corner(slot, cell), _in_slot(held, slot, cell))
    if scene.hint or scene.whole or scene.boxed is not None:
        _put(canvas, (0, 0), _hint(scene.hint, scene.whole, scene.boxed, cell))
    return canvas


def _put(canvas: Pixels, corner: Spot, part: Pixels) -> None:
    (x, y), (height, width, _) = corner, part.shape
    canvas[y : y + height, x : x + width] = part


def _corner(spot: Cell, cell: int) -> Spot:
    return (LEFT + spot[0]) * cell, round((TOP + spot[1]) * cell)


def _slot_corner(slot: int, cell: int) -> Spot:
    return (HINT + slot) * cell, (CELLS - 1) * cell


# ---- cells on their ground: every cache holds a few tens of megabytes at most ---------------------------------------
@cache
def _ground(theme: int, cell: int) -> Pixels:
    return np.asarray(backdrop(theme, cell, SLOTS))


@lru_cache(1024)
def _on_floor(what: Thing | Mark, theme: int, shade: int, cell: int) -> Pixels:
    """``shade``: 0 for a dark square of the floor, 1 for a light one."""
    floor = Image.new("RGB", (cell, cell), FLOORS[theme][1 - shade])
    if isinstance(what, Mark):
        drawn = _mark(what.numeral, cell)
    elif what == WALL:
        drawn = shapes.shape("wall", None, 0, cell)
    else:
        drawn = _thing(what, cell, 0.78)
    _paste(floor, drawn, (0, 0))
    return np.asarray(floor)


@lru_cache(512)
def _in_slot(held: Thing, slot: int, cell: int) -> Pixels:
    x, y = _slot_corner(slot, cell)
    ground = backdrop(0, cell, SLOTS).crop((x, y, x + cell, y + cell))  # backpacks are the same in every theme
    _paste(ground, _thing(held, cell, 0.66), (0, 0))
    _paste(ground, _letter(LETTERS[slot], cell), (0, 0))
    return np.asarray(ground)


@lru_cache(64)
def _hint(hint: tuple[Row, ...], whole: tuple[Thing, ...], boxed: Thing | None, cell: int) -> Pixels:
    canvas = backdrop(0, cell, SLOTS).crop((0, 0, HINT * cell, CELLS * cell))  # as are hint blocks
    if boxed is not None:
        _boxed(canvas, boxed, cell)
    if whole:
        _whole(canvas, whole, cell)
    for index, row in enumerate(hint):
        _row(canvas, row, round((0.4 + 1.25 * index) * cell), cell)
    return np.asarray(canvas)


def _paste(canvas: Image.Image, drawn: Image.Image, corner: Spot) -> None:
    canvas.paste(drawn, corner, drawn)


@cache
def _thing(thing: Thing, cell: int, share: float) -> Image.Image:
    """One thing in its cell, with its label."""
    drawn = Image.new("RGBA", (cell, cell))
    if thing.kind in shapes.TILES:
        side = cell if share > 0.7 else round(cell * share)
        drawn.alpha_composite(shapes.shape(thing.kind, thing.colour, thing.quarter or 0, side), _centred(cell, side))
    elif thing.quarter is not None:
        side = cell if share > 0.7 else round(cell * share)
        drawn.alpha_composite(_quarter(thing.kind, thing.quarter, side), _centred(cell, side))
    elif thing.count > 1:
        _several(drawn, thing, cell)
    else:
        side = round(cell * share)
        drawn.alpha_composite(_one(thing, side), _centred(cell, side))
    if thing.label is not None:
        _label(drawn, str(thing.label), cell)
    return drawn


def _one(thing: Thing, side: int) -> Image.Image:
    if thing.kind in shapes.SHAPES:
        return shapes.shape(thing.kind, thing.colour, 0, side)
    return atlas.item(thing.kind, side)


def _centred(cell: int, side: int) -> Spot:
    return (cell - side) // 2, (cell - side) // 2


def _several(drawn: Image.Image, thing: Thing, cell: int) -> None:
    """Two side by side, three in a triangle: apart, so that they can be counted."""
    side = round(cell * 0.46)
    places = {2: ((0.26, 0.55), (0.74, 0.55)), 3: ((0.5, 0.27), (0.26, 0.73), (0.74, 0.73))}[thing.count]
    for x, y in places:
        drawn.alpha_composite(_one(thing, side), (round(x * cell - side / 2), round(y * cell - side / 2)))


def _quarter(kind: str, quarter: int, side: int) -> Image.Image:
    """One of four parts on white paper, with a thin edge."""
    whole = atlas.item(kind, 2 * side)
    left, top = quarter % 2 * side, quarter // 2 * side
    part = Image.new("RGBA", (side, side), (255, 255, 255, 255))
    part.alpha_composite(whole.crop((left, top, left + side, top + side)))
    ImageDraw.Draw(part).rectangle((0, 0, side - 1, side - 1), None, (170, 160, 150), max(1, side // 40))
    return part


def _label(drawn: Image.Image, text: str, cell: int) -> None:
    """A number in a dark disc at the upper left, where it hides least."""
    radius = round(cell * 0.17)
    pen = ImageDraw.Draw(drawn)
    pen.ellipse((1, 1, 1 + 2 * radius, 1 + 2 * radius), (*INK, 255), (255, 255, 255, 255), max(1, cell // 40))
    pen.text((1 + radius, 1 + radius), text, (255, 255, 255), _font(round(cell * 0.27)), anchor="mm")


@cache
def _letter(letter: str, cell: int) -> Image.Image:
    """The letter of a backpack slot, in a light disc at the upper left."""
    drawn = Image.new("RGBA", (cell, cell))
    radius = round(cell * 0.16)
    pen = ImageDraw.Draw(drawn)
    pen.ellipse((1, 1, 1 + 2 * radius, 1 + 2 * radius), (*PAPER, 255), (*INK, 255), max(1, cell // 40))
    pen.text((1 + radius, 1 + radius), letter, INK, _font(round(cell * 0.25)), anchor="mm")
    return drawn


@cache
def _mark(numeral: int, cell: int) -> Image.Image:
    drawn = shapes.shape("mark", None, 0, cell).copy()
    ImageDraw.Draw(drawn).text((cell / 2, cell / 2), NUMERALS[numeral], INK, _font(round(cell * 0.42)), anchor="mm")
    return drawn


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


# ---- the hint block -------------------------------------------------------------------------------------------------
def _boxed(canvas: Image.Image, thing: Thing, cell: int) -> None:
    pen, inset = ImageDraw.Draw(canvas), round(cell * 0.25)
    side = HINT * cell - 2 * inset
    pen.rectangle((inset, inset, inset + side, inset + side), (255, 255, 255), (0, 0, 0), max(2, cell // 12))
    _paste(canvas, _one(thing, round(side * 0.7)), (inset + round(side * 0.15), inset + round(side * 0.15)))


def _whole(canvas: Image.Image, whole: tuple[Thing, ...], cell: int) -> None:
    side, inset = round(cell * 0.8), round(cell * 0.2)
    for quarter, thing in enumerate(whole):
        part = (
            shapes.shape(thing.kind, thing.colour, thing.quarter or 0, side)
            if thing.kind in shapes.TILES
            else _quarter(thing.kind, quarter, side)
        )
        _paste(canvas, part, (inset + quarter % 2 * side, inset + quarter // 2 * side))


def _row(canvas: Image.Image, row: Row, top: int, cell: int) -> None:
    side = round(cell * 0.72)
    if row.right is None:
        side = cell
        _paste(canvas, _one(row.left, side), (round(cell * HINT / 2 - side / 2), top))
        return
    _paste(canvas, _one(row.left, side), (round(cell * 0.06), top))
    _paste(canvas, _one(row.right, side), (round(cell * 1.22), top))
    pen, middle = ImageDraw.Draw(canvas), top + side // 2
    line = max(2, cell // 16)
    pen.line([(cell * 0.84, middle), (cell * 1.08, middle)], INK, line)
    pen.polygon([(cell * 1.06, middle - 2 * line), (cell * 1.06, middle + 2 * line), (cell * 1.18, middle)], INK)
