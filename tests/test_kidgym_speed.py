"""KidGym draws quickly without drawing anything else: the pixels are those of the plain way, and nothing leaks between
pictures. Times are measured by ``python -m bench kidgym``, never here."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kidgym_house import Local, make_spec
from kidgym_pictures import digest, golden
from PIL import Image

from images.kidgym import draw, png, shapes, solve
from images.kidgym.backdrop import CELLS, HINT, backdrop
from images.kidgym.catalog import LEVELS, NAMES
from images.kidgym.draw import SIDES, frame
from images.kidgym.episode import Episode
from images.kidgym.rules import LETTERS, SLOTS, Mark, Scene, Thing

episodes = st.builds(Episode, st.sampled_from(sorted(NAMES)), st.sampled_from(LEVELS), st.integers(0, 2**40))


@pytest.mark.parametrize("side", SIDES)
def test_every_picture_has_the_pixels_that_it_always_had(side: int) -> None:
    expected = {name: value for name, value in golden().items() if name.endswith(f" {side}")}
    found = {f"{code} {level} {side}": digest(code, level, side) for code in NAMES for level in LEVELS}
    assert found == expected


def plain(scene: Scene, theme: int, cell: int) -> np.ndarray:
    """The picture made by pasting one thing after the other, without the hint block."""
    canvas = backdrop(theme, cell, SLOTS).copy()
    placed: list[tuple[tuple[int, int], Image.Image]] = []
    for x, y in scene.walls:
        placed.append((((3 + x) * cell, round((1.5 + y) * cell)), shapes.shape("wall", None, 0, cell)))
    for (x, y), thing in [(scene.agent, Thing("child")), *scene.things]:
        drawn = draw._mark(thing.numeral, cell) if isinstance(thing, Mark) else draw._thing(thing, cell, 0.78)
        placed.append((((3 + x) * cell, round((1.5 + y) * cell)), drawn))
    for slot, held in enumerate(scene.backpack):
        if held is not None:
            corner = ((HINT + slot) * cell, (CELLS - 1) * cell)
            placed += [(corner, draw._thing(held, cell, 0.66)), (corner, draw._letter(LETTERS[slot], cell))]
    for corner, drawn in placed:
        canvas.paste(drawn, corner, drawn)
    return np.asarray(canvas)


@settings(max_examples=60)
@given(episodes, st.sampled_from(SIDES))
def test_a_picture_put_together_from_kept_cells_is_that_of_pasting_one_thing_after_the_other(
    episode: Episode, side: int
) -> None:
    for action in [*solve.solution(episode.task), None]:
        quick, slow = frame(episode.scene, episode.task.theme, side), plain(episode.scene, episode.task.theme, side)
        np.testing.assert_array_equal(quick[:, HINT * side :], slow[:, HINT * side :])
        if action is not None:
            episode.choose(episode.index_of(action))


def test_a_picture_is_its_callers_own() -> None:
    episode = Episode("DMA", 3, 1)
    first = frame(episode.scene, episode.task.theme)
    kept = first.copy()
    first[:] = 0
    np.testing.assert_array_equal(frame(episode.scene, episode.task.theme), kept)


def test_what_is_kept_is_bounded() -> None:
    for kept in (draw._on_floor, draw._in_slot, draw._hint):
        assert 0 < (kept.cache_info().maxsize or 0) <= 1024


@given(episodes, st.sampled_from(SIDES))
@settings(max_examples=30)
def test_a_png_holds_the_very_pixels(episode: Episode, side: int) -> None:
    pixels = frame(episode.scene, episode.task.theme, side)
    with Image.open(io.BytesIO(png.encode(pixels))) as read:
        assert (read.format, read.mode) == ("PNG", "RGB")
        np.testing.assert_array_equal(np.asarray(read), pixels)


@pytest.mark.parametrize(
    "wrong", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3), np.float64), np.zeros((0, 4, 3), np.uint8)]
)
def test_what_is_no_picture_is_refused_with_its_shape(wrong: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"uint8 \(height, width, 3\), got"):
        png.encode(wrong)


def test_the_picture_that_the_gateway_sends_is_the_quick_one() -> None:
    local, episode = Local(make_spec("DMA", 2, 5)), Episode("DMA", 2, 5)
    _, parts = local.call({"op": "observe", "pictures": [{"camera": "view", "width": 576, "height": 576}]})
    assert bytes(parts["picture/0"]) == png.encode(frame(episode.scene, episode.task.theme))
