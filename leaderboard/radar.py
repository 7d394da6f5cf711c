"""Rates along a few axes around one centre: a shape for each run. Numbers stand in the table below it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from leaderboard.charts import LETTER, NARROW, SERIES, WIDTH
from leaderboard.drawing import Drawing, Point

RINGS = (0.25, 0.5, 0.75, 1.0)
MOST = len(SERIES)
LINE = 24.0  # height of an entry of the legend


@dataclass(frozen=True)
class Shape:
    """One series. ``rates`` (0 to 1) by axis; None where the rate is undefined. ``aside`` marks figures that were not
    measured here: their outline is thin, and their dots are hollow."""

    label: str
    rates: tuple[float | None, ...]
    aside: bool = False


@dataclass(frozen=True)
class _Place:
    """Where everything is: beside each other, or for phones below each other."""

    width: float
    height: float
    centre: Point
    radius: float
    legend: Point


def radar(name: str, alt: str, axes: Sequence[str], shapes: Sequence[Shape], *, narrow: bool = False) -> Drawing:
    """At most :data:`MOST` shapes, numbered in the legend and at their dots, so that no colour is needed to tell them
    apart. An undefined rate leaves a gap."""
    shown = shapes[:MOST]
    place = _narrow(len(shown)) if narrow else _wide(len(shown))
    drawing = Drawing(name, alt, place.width, place.height)

    def at(axis: int, rate: float) -> Point:
        angle = 2 * math.pi * axis / len(axes) - math.pi / 2
        reach = place.radius * rate
        return place.centre[0] + reach * math.cos(angle), place.centre[1] + reach * math.sin(angle)

    for ring in RINGS:
        corners = [at(axis, ring) for axis in range(len(axes))]
        drawing.line(*corners, corners[0])
        drawing.text(place.centre[0] + 4, at(0, ring)[1] + 12, f"{100 * ring:g} %", colour="quiet", size=10)
    for axis, label in enumerate(axes):
        drawing.line(place.centre, at(axis, 1.0))
        _axis_label(drawing, label, at(axis, 1.0), place, narrow)
    for number, shape in enumerate(shown):
        _outline(drawing, number, shape, [None if rate is None else at(i, rate) for i, rate in enumerate(shape.rates)])
        _entry(drawing, number, shape, (place.legend[0], place.legend[1] + LINE * number))
    return drawing


def _wide(count: int) -> _Place:
    height = max(400.0, 60 + LINE * count)
    return _Place(WIDTH, height, (345.0, height / 2 + 4), 150.0, (600.0, 40.0))


def _narrow(count: int) -> _Place:
    return _Place(NARROW, 350 + LINE * count, (NARROW / 2, 170.0), 120.0, (24.0, 345.0))


def _axis_label(drawing: Drawing, label: str, end: Point, place: _Place, narrow: bool) -> None:
    """Beside the end of its axis; on a phone, where there is no room beside, above or below it."""
    across, down = end[0] - place.centre[0], end[1] - place.centre[1]
    y = end[1] + (-12 if down < 0 and (narrow or down < -place.radius / 2) else 20 if down > place.radius / 2 else 4)
    if abs(across) < 1:
        drawing.text(end[0], y, label, anchor="middle", bold=True)
    elif narrow:
        x = drawing.width - 4 if across > 0 else 4.0
        drawing.text(x, y, label, size=12, anchor="end" if across > 0 else "start", bold=True)
    else:
        x = end[0] + math.copysign(12, across)
        drawing.text(x, y, label, anchor="start" if across > 0 else "end", bold=True)


def _outline(drawing: Drawing, number: int, shape: Shape, points: Sequence[Point | None]) -> None:
    colour, width = SERIES[number], 1.2 if shape.aside else 2.4
    for first, second in pairwise([*points, points[0]]):
        if first is not None and second is not None:
            drawing.line(first, second, colour=colour, width=width)
    for point in points:
        if point is not None:
            drawing.dot(*point, colour, 4.5, hollow=shape.aside)
            drawing.text(point[0] + 7, point[1] - 5, number + 1, size=10, bold=True)


def _entry(drawing: Drawing, number: int, shape: Shape, corner: Point) -> None:
    left, y = corner
    drawing.dot(left, y, SERIES[number], 5, hollow=shape.aside)
    room = int((drawing.width - left - 44) / LETTER)
    label = shape.label if len(shape.label) <= room else f"{shape.label[: room - 1]}…"
    drawing.text(left + 14, y + 4, number + 1, size=12, bold=True)
    drawing.text(left + 30, y + 4, label)
