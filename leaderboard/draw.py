"""Draws a page of plain parts with Streamlit: its HTML, and under a table or figure the files to download."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import streamlit as st

from leaderboard.blocks import Block, Data, Page
from leaderboard.drawing import Drawing
from leaderboard.markup import Safe, join

Make = Callable[[], bytes | str]


def draw(page: Page, prefix: str = "") -> None:
    """``prefix`` tells two pages of one visit apart."""
    if page.title:
        titled(page.title)
    numbers, waiting = count(), list[Safe]()
    for block in page.blocks:
        waiting.append(block.html)
        if block.data is not None or block.drawing is not None:
            st.html(join(waiting))  # one element for all that stands between two rows of downloads
            waiting.clear()
            _downloads(block, f"{prefix}{next(numbers)}")
    if waiting:
        st.html(join(waiting))


def titled(title: str) -> None:
    """The title of the browser's window."""
    st.set_page_config(page_title=f"{title} · Assay leaderboard")


def _downloads(block: Block, key: str) -> None:
    with st.container(horizontal=True, gap="small", key=f"files-{key}"):
        for label, name, mime, make in _files(block.data, block.drawing):
            st.download_button(
                label,
                make,
                file_name=name,
                mime=mime,
                key=f"file-{key}-{label}",
                help=f"Download {name}",
                type="tertiary",
                on_click="ignore",
            )


def _files(data: Data | None, drawing: Drawing | None) -> list[tuple[str, str, str, Make]]:
    """(label, file name, media type, what makes it when it is asked for)."""
    found: list[tuple[str, str, str, Make]] = []
    if data is not None:
        found += [
            ("CSV", f"{data.name}.csv", "text/csv", data.csv),
            ("JSON", f"{data.name}.json", "application/json", data.json),
            ("Parquet", f"{data.name}.parquet", "application/vnd.apache.parquet", data.parquet),
        ]
    if drawing is not None:
        found += [
            ("SVG", f"{drawing.name}.svg", "image/svg+xml", lambda: drawing.svg(paper=True)),
            ("PNG", f"{drawing.name}.png", "image/png", drawing.png),
        ]
    return found
