"""A contact sheet shows every caption whole, in its own tile."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from PIL import ImageFont

from images.mujoco.hanoi import board as boards
from images.mujoco.launcher import scene as scenes
from images.mujoco.workshop.sheet import COLUMNS, GAP, LINE, TILE, sheet, wrapped

FONT = ImageFont.load_default()
ROOM = TILE - 2 * GAP
TITLES = [f"{case} {scenes.load(case).title}" for case in scenes.cases()]
TITLES += [f"{case} {boards.load(case).title}" for case in boards.cases()]


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=40), max_size=12), st.integers(20, 200))
def test_no_word_of_a_caption_is_lost_and_no_line_is_wider_than_its_room_but_for_one_long_word(
    words: list[str], width: int
) -> None:
    lines = wrapped(" ".join(words), FONT, width)
    assert " ".join(lines).split() == words
    assert all(FONT.getlength(line) <= width or " " not in line for line in lines)


def test_every_title_on_file_fits_its_tile() -> None:
    for title in TITLES:
        lines = wrapped(title, FONT, ROOM)
        assert " ".join(lines) == title
        assert len(lines) <= 2
        assert all(FONT.getlength(line) <= ROOM for line in lines)


def test_captions_stand_below_their_pictures_and_nowhere_else() -> None:
    grey = np.full((50, 50, 3), 128, np.uint8)
    captions = ["A001 short", "A002 Whole arch and separate crown stone", *["A003 x"] * COLUMNS]
    image = np.asarray(sheet([(caption, grey) for caption in captions]))
    band = 2 * LINE + 2 * GAP
    assert image.shape == (2 * (TILE + band), COLUMNS * TILE, 3)
    for row in range(2):
        top = row * (TILE + band)
        assert (image[top : top + TILE, : TILE - GAP] == 128).all()
        assert not (image[top : top + TILE] == 0).any()  # no letter on a picture
    below = image[TILE : TILE + band].min(axis=(0, 2)) < 128  # columns with ink
    assert below[:ROOM].any()
    assert below[TILE : TILE + ROOM].any()
    assert not below[TILE - GAP : TILE].any()
    assert not below[2 * TILE - GAP : 2 * TILE].any()  # the long one stays in its own tile


def test_a_sheet_of_nothing_is_empty() -> None:
    assert sheet([]).size[1] == 0
