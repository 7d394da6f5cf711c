"""A page as plain parts: HTML, the figures in it, and the data behind a table. The server and the static export draw
the same parts; neither computes anything."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from leaderboard.drawing import Drawing
from leaderboard.markup import Safe, join, tag
from leaderboard.public import public_value

Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Data:
    """What is behind a table or figure, to be downloaded. ``name`` is the stem of its files; unknown is None."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def csv(self) -> bytes:
        """Unknown is an empty cell. A text that a spreadsheet would run as a formula gets an apostrophe."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([[_inert(cell) for cell in row] for row in self.rows])
        return buffer.getvalue().encode()

    def json(self) -> bytes:
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return (json.dumps(rows, indent=1, ensure_ascii=False) + "\n").encode()

    def parquet(self) -> bytes:
        """Needs pyarrow, which comes with the pages."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = list(zip(*self.rows, strict=True)) if self.rows else [()] * len(self.columns)
        arrays = [pa.array(list(values)) for values in columns]
        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_arrays(arrays, names=list(self.columns)), buffer)
        return buffer.getvalue()


@dataclass(frozen=True)
class Block:
    html: Safe
    data: Data | None = None
    drawing: Drawing | None = None


@dataclass(frozen=True)
class Page:
    """``title`` is that of the browser's window; empty for a part of a page."""

    title: str
    blocks: tuple[Block, ...]


def data_of(name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Data:
    """Texts pass :func:`leaderboard.public.public`, as everything on a page does."""
    return Data(name, tuple(columns), tuple(tuple(map(public_value, row)) for row in rows))


def page(title: str, *blocks: Block | Safe) -> Page:
    """Parts of nothing are left out."""
    return Page(title, tuple(item if isinstance(item, Block) else Block(item) for item in blocks if item != ""))


def figure(drawing: Drawing, caption: str, data: Data | None = None, narrow: Drawing | None = None) -> Block:
    """A drawing with its caption. On a phone ``narrow`` takes its place, or it scrolls by itself."""
    if narrow is None:
        shown = tag(
            "div", _image(drawing, "wide"), class_="scroll", tabindex=0, role="group", aria_label=f"Figure: {caption}"
        )
    else:
        shown = join((_image(drawing, "wide"), _image(narrow, "narrow")))
    return Block(tag("figure", shown, tag("figcaption", caption)), data, drawing)


def html_of(content: Page) -> Safe:
    return join(block.html for block in content.blocks)


def _image(drawing: Drawing, kind: str) -> Safe:
    return tag("img", src=Safe(drawing.address()), alt=drawing.alt, width=f"{drawing.width:g}", class_=kind)


def _inert(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell
