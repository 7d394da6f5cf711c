"""A drawing of lines, boxes, dots and words, written as SVG and as PNG.

Colours are roles: an SVG follows the light or dark scheme of the page that holds it, a PNG is light on white paper. The
palette is Okabe and Ito's, which stays apart for every kind of colour vision; no chart tells by colour alone.
"""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass, field
from functools import cache
from html import escape

from PIL import Image, ImageDraw, ImageFont

from leaderboard.public import inline

# role: (light, dark)
COLOURS = {
    "ink": ("#1b1f24", "#e6edf3"),
    "quiet": ("#57606a", "#a9b2bc"),
    "line": ("#d0d7de", "#434b54"),
    "paper": ("#ffffff", "#0e1117"),
    "good": ("#0072b2", "#56b4e9"),
    "bad": ("#d55e00", "#ff9a4d"),
    "odd": ("#a8568a", "#d990b8"),
    "green": ("#009e73", "#2fc79b"),
    "amber": ("#e69f00", "#f0b323"),
    "sky": ("#56b4e9", "#9bd3f5"),
    "grey": ("#8c959f", "#8c959f"),
}
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
SCALE = 2  # pixels of a PNG per unit

Point = tuple[float, float]


@dataclass(frozen=True)
class Mark:
    """One element. ``kind``: line (two points or more), box (corner and size), dot (centre), text (anchor point)."""

    kind: str
    points: tuple[Point, ...]
    colour: str
    size: float = 1.0  # width of a line, radius of a dot, height of letters
    opacity: float = 1.0
    hollow: bool = False
    words: str = ""
    anchor: str = "start"  # start, middle, end
    bold: bool = False


@dataclass
class Drawing:
    """``name`` is the stem of its files, ``alt`` says in words what it shows. Sizes are in CSS pixels."""

    name: str
    alt: str
    width: float
    height: float
    marks: list[Mark] = field(default_factory=list)

    def line(self, *points: Point, colour: str = "line", width: float = 1.0, opacity: float = 1.0) -> None:
        self.marks.append(Mark("line", points, colour, width, opacity))

    def box(self, x: float, y: float, width: float, height: float, colour: str, opacity: float = 1.0) -> None:
        self.marks.append(Mark("box", ((x, y), (width, height)), colour, opacity=opacity))

    def dot(self, x: float, y: float, colour: str, radius: float = 5.0, *, hollow: bool = False) -> None:
        self.marks.append(Mark("dot", ((x, y),), colour, radius, hollow=hollow))

    def text(
        self,
        x: float,
        y: float,
        words: object,
        *,
        colour: str = "ink",
        size: float = 13,
        anchor: str = "start",
        bold: bool = False,
    ) -> None:
        """``y`` is the base line."""
        self.marks.append(Mark("text", ((x, y),), colour, size, words=inline(words), anchor=anchor, bold=bold))

    def svg(self, *, paper: bool = False) -> str:
        """With ``paper`` for a file of its own: light, on white."""
        shape = f'viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}" height="{self.height:g}"'
        back = f'<rect width="{self.width:g}" height="{self.height:g}" fill="#ffffff"/>' if paper else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {shape} role="img" font-family="{FONT}">'
            f"<title>{_xml(inline(self.alt))}</title><style>{_style(paper)}</style>{back}"
            f"{''.join(map(_element, self.marks))}</svg>"
        )

    def address(self) -> str:
        """The SVG as the source of an image: nothing inside it can act."""
        return "data:image/svg+xml;base64," + base64.b64encode(self.svg().encode()).decode()

    def png(self) -> bytes:
        size = (round(self.width * SCALE), round(self.height * SCALE))
        image = Image.new("RGB", size, COLOURS["paper"][0])
        canvas = ImageDraw.Draw(image, "RGBA")
        for mark in self.marks:
            _paint(canvas, mark)
        buffer = io.BytesIO()
        image.save(buffer, "PNG", optimize=True)
        return buffer.getvalue()


@cache
def _style(paper: bool) -> str:
    def rules(scheme: int) -> str:
        return "".join(f".{name}{{--c:{colours[scheme]}}}" for name, colours in COLOURS.items())

    both = ".f{fill:var(--c)}.s{stroke:var(--c);fill:none}"
    return both + rules(0) + ("" if paper else f"@media(prefers-color-scheme:dark){{{rules(1)}}}")


def _element(mark: Mark) -> str:
    (x, y), *rest = mark.points
    seen = f' opacity="{mark.opacity:g}"' if mark.opacity < 1 else ""
    if mark.kind == "line":
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in mark.points)
        return (
            f'<polyline class="s {mark.colour}" points="{points}" stroke-width="{mark.size:g}" '
            f'stroke-linejoin="round"{seen}/>'
        )
    if mark.kind == "box":
        (width, height) = rest[0]
        return (
            f'<rect class="f {mark.colour}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"{seen}/>'
        )
    if mark.kind == "dot":
        kind = "s" if mark.hollow else "f"
        stroke = ' stroke-width="2"' if mark.hollow else ""
        return f'<circle class="{kind} {mark.colour}" cx="{x:.1f}" cy="{y:.1f}" r="{mark.size:g}"{stroke}/>'
    weight = ' font-weight="650"' if mark.bold else ""
    return (
        f'<text class="f {mark.colour}" x="{x:.1f}" y="{y:.1f}" font-size="{mark.size:g}" '
        f'text-anchor="{mark.anchor}"{weight}>{_xml(mark.words)}</text>'
    )


def _xml(words: str) -> str:
    """Escaped, without the two characters that no XML document may hold."""
    return escape(words.replace("\ufffe", "").replace("\uffff", ""))


def _paint(canvas: ImageDraw.ImageDraw, mark: Mark) -> None:
    red, green, blue = (int(COLOURS[mark.colour][0][i : i + 2], 16) for i in (1, 3, 5))
    colour = (red, green, blue, round(255 * mark.opacity))
    points = [(SCALE * x, SCALE * y) for x, y in mark.points]
    (x, y), *rest = points
    if mark.kind == "line":
        canvas.line(points, fill=colour, width=max(1, round(SCALE * mark.size)), joint="curve")
    elif mark.kind == "box":
        canvas.rectangle((x, y, x + max(rest[0][0] - 1, 0), y + max(rest[0][1] - 1, 0)), fill=colour)
    elif mark.kind == "dot":
        radius = SCALE * mark.size
        where = (x - radius, y - radius, x + radius, y + radius)
        canvas.ellipse(where, outline=colour, width=2 * SCALE, fill=None if mark.hollow else colour)
    else:
        anchor = {"start": "ls", "middle": "ms", "end": "rs"}[mark.anchor]
        stroke = 0.4 if mark.bold else 0
        canvas.text((x, y), mark.words, fill=colour, font=_font(mark.size), anchor=anchor, stroke_width=stroke)


@cache
def _font(size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(SCALE * size)
