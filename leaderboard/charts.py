"""The figures of the pages. They place numbers that scoring computed; they compute none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.drawing import Drawing
from leaderboard.public import public

WIDTH, NARROW = 860.0, 400.0
LETTER = 7.1  # width of a letter at size 13, on average
WIDE = 7.8  # the same in labels of few narrow letters
REACHES = (0.05, 0.1, 0.2, 0.4, 0.6, 1.0)  # ends of a scale of differences
SERIES = ("good", "bad", "green", "amber", "odd", "sky", "grey", "ink")


@dataclass(frozen=True)
class Dot:
    """A rate, 0 to 1, with its interval. Without a value the interval is a bound."""

    value: float | None
    lower: float
    upper: float


@dataclass(frozen=True)
class Line:
    """A row of an interval chart: one dot for each series. ``note`` stands at its right end."""

    label: str
    dots: tuple[Dot, ...]
    note: str = ""


def intervals(
    name: str,
    alt: str,
    series: Sequence[str],
    lines: Sequence[Line],
    *,
    highest: float = 1.0,
    narrow: bool = False,
) -> Drawing:
    """Dots with intervals on a scale in percent; the last series is solid, the ones before are hollow. ``narrow`` is
    for phones: each label stands above its dots."""
    width, above = (NARROW, 18.0) if narrow else (WIDTH, 0.0)
    left = 16.0 if narrow else _room([line.label for line in lines])
    right = 24.0 if narrow else 20 + LETTER * max((len(line.note) for line in lines), default=0)
    row = 20.0 * max(1, len(series) - 0.4) + above
    drawing = Drawing(name, alt, width, 54 + row * len(lines) + 24)
    top, bottom = 40.0, 44 + row * len(lines)

    def at(value: float) -> float:
        return left + (width - left - right) * min(value / highest, 1.0)

    _legend(drawing, series, left)
    for step in _steps(highest):
        drawing.line((at(step), top), (at(step), bottom))
        drawing.text(at(step), bottom + 16, f"{100 * step:g} %", colour="quiet", size=12, anchor="middle")
    for number, line in enumerate(lines):
        middle = top + row * (number + 0.5) + above / 2
        if narrow:
            drawing.text(left, middle - 18, _cut(line.label), bold=True)
            drawing.text(width - 4, middle - 18, line.note, anchor="end")
        else:
            drawing.text(left - 12, middle + 4, _cut(line.label), anchor="end")
            drawing.text(width - right + 14, middle + 4, line.note, colour="quiet")
        for index, dot in enumerate(line.dots):
            y = middle + 11 * (index - (len(line.dots) - 1) / 2)
            last = index == len(line.dots) - 1
            _dot(drawing, at, dot, y, "good" if last else "bad", hollow=not last)
    return drawing


def heat(
    name: str, alt: str, columns: Sequence[str], rows: Sequence[tuple[str, Sequence[tuple[float | None, str]]]]
) -> Drawing:
    """Boxes shaded by a rate (0 to 1), each with its words; None is hatched."""
    left, height = _room([label for label, _ in rows]), 30.0
    width = min(150.0, (WIDTH - left - 10) / max(1, len(columns)))
    drawing = Drawing(name, alt, left + width * len(columns) + 10, 44 + height * len(rows) + 8)
    for index, column in enumerate(columns):
        words = _cut(column, int(width / LETTER))
        drawing.text(left + width * (index + 0.5), 30, words, size=12, anchor="middle", bold=True)
    for number, (label, cells) in enumerate(rows):
        y = 40 + height * number
        drawing.text(left - 12, y + 20, _cut(label), anchor="end")
        for index, (value, words) in enumerate(cells):
            x = left + width * index
            drawing.box(x + 1, y + 1, width - 2, height - 2, "good", 0.0 if value is None else 0.05 + 0.5 * value)
            if value is None:
                drawing.line((x + 1, y + height - 1), (x + width - 1, y + 1))
            drawing.text(x + width / 2, y + 20, words, size=12, anchor="middle")
    return drawing


def stacked(name: str, alt: str, parts: Sequence[str], rows: Sequence[tuple[str, Sequence[int]]]) -> Drawing:
    """Bars of counts, one row each; a part has its colour, its place in the order and, where it fits, its number."""
    left, height = _room([label for label, _ in rows]), 34.0
    most = max((sum(counts) for _, counts in rows), default=0) or 1
    drawing = Drawing(name, alt, WIDTH, 50 + height * len(rows) + 8)
    _legend(drawing, parts, left, solid=True)
    for number, (label, counts) in enumerate(rows):
        x, y = left, 44 + height * number
        drawing.text(left - 12, y + 18, _cut(label), anchor="end")
        for index, count in enumerate(counts):
            width = (WIDTH - left - 60) * count / most
            colour = SERIES[index % len(SERIES)]
            drawing.box(x, y + 4, max(width - 1, 0), 20, colour, 0.75)
            if width > LETTER * (len(str(count)) + 1):
                drawing.text(x + width / 2, y + 18, count, size=12, anchor="middle", bold=True)
            x += width
        drawing.text(x + 8, y + 18, sum(counts), colour="quiet")
    return drawing


def differences(name: str, alt: str, lines: Sequence[Line]) -> Drawing:
    """Differences (-1 to 1) with their intervals around zero, in points."""
    left = _room([line.label for line in lines])
    right = 20 + LETTER * max((len(line.note) for line in lines), default=0)
    spans = [abs(value) for line in lines for dot in line.dots for value in (dot.lower, dot.upper)]
    furthest, row = max([*spans, 0.05]), 30.0
    end = next((step for step in REACHES if step >= furthest), 1.0)
    reach = 1.1 * end
    drawing = Drawing(name, alt, WIDTH, 40 + row * len(lines) + 30)
    bottom = 20 + row * len(lines)

    def at(value: float) -> float:
        return left + (WIDTH - left - right) * (value + reach) / (2 * reach)

    for value in (-end, -end / 2, 0.0, end / 2, end):
        drawing.line((at(value), 12), (at(value), bottom), colour="line")
        words = f"{100 * value:+g}" if value else "0"
        drawing.text(at(value), bottom + 18, words, colour="quiet", size=12, anchor="middle")
    drawing.line((at(0), 12), (at(0), bottom), colour="quiet", width=1.5)
    for number, line in enumerate(lines):
        y = 14 + row * (number + 0.5)
        drawing.text(left - 12, y + 4, _cut(line.label), anchor="end")
        for dot in line.dots:
            _dot(drawing, at, dot, y, "good", hollow=False)
        drawing.text(WIDTH - right + 14, y + 4, line.note, colour="quiet")
    return drawing


def traces(
    name: str,
    alt: str,
    end: float,
    lines: Sequence[tuple[str, str, Sequence[tuple[float, float]]]],
    events: Sequence[tuple[float, str]],
    now: float | None = None,
) -> Drawing:
    """Small multiples over simulated time (s): one strip for each (name, range in words, points with 0 to 1), a line
    for each event, and one for the instant ``now``."""
    left, height = _room([label for label, _, _ in lines], most=26), 34.0
    drawing = Drawing(name, alt, WIDTH, 34 + height * len(lines) + 26)
    bottom = 20 + height * len(lines)

    def at(time: float) -> float:
        return left + (WIDTH - left - 160) * time / max(end, 1e-9)

    for time, _ in events:
        drawing.line((at(time), 14), (at(time), bottom), colour="bad", opacity=0.35)
    for number, (label, span, points) in enumerate(lines):
        y = 20 + height * number
        drawing.line((left, y + height - 4), (WIDTH - 160, y + height - 4))
        drawing.text(left - 12, y + 20, _cut(label, 26), anchor="end", size=12)
        drawing.text(WIDTH - 150, y + 20, span, colour="quiet", size=11)
        if len(points) > 1:
            scaled = [(at(time), y + height - 5 - (height - 10) * value) for time, value in points]
            drawing.line(*scaled, colour="good", width=1.6)
    if now is not None:
        drawing.line((at(now), 10), (at(now), bottom), colour="ink", width=1.5)
    for step in (0.0, end / 2, end):
        drawing.text(at(step), bottom + 18, f"{step:.1f} s", colour="quiet", size=12, anchor="middle")
    return drawing


def _dot(drawing: Drawing, at: object, dot: Dot, y: float, colour: str, *, hollow: bool) -> None:
    assert callable(at)
    if dot.value is None:
        drawing.line((at(dot.lower), y), (at(dot.upper), y), colour="grey", width=6, opacity=0.35)
        return
    drawing.line((at(dot.lower), y), (at(dot.upper), y), colour=colour, width=3, opacity=0.55)
    drawing.dot(at(dot.value), y, colour, 4.5 if hollow else 5.5, hollow=hollow)


def _legend(drawing: Drawing, names: Sequence[str], left: float, *, solid: bool = False) -> None:
    if len(names) < 2:
        return
    x = left
    for index, name in enumerate(names):
        last = index == len(names) - 1
        if solid:
            drawing.box(x, 13, 12, 12, SERIES[index % len(SERIES)], 0.75)
        else:
            drawing.dot(x + 6, 19, "good" if last else "bad", 5, hollow=not last)
        drawing.text(x + 18, 23, name, size=12)
        x += 34 + LETTER * len(name)


def _steps(highest: float) -> list[float]:
    size = 0.25 if highest > 0.6 else 0.1 if highest > 0.25 else 0.05
    return [size * index for index in range(round(highest / size) + 1)]


def _room(labels: Sequence[str], most: int = 34) -> float:
    """Width that the labels at the left need."""
    return 24 + WIDE * min(most, max((len(public(label)) for label in labels), default=0))


def _cut(label: str, most: int = 34) -> str:
    """What may not be shown is left out first: of a part of a key nobody sees what it is."""
    label = public(label)
    return label if len(label) <= most else f"{label[: most - 1]}…"
