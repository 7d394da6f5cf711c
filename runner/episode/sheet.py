"""A contact sheet: chosen instants of an episode, each from the camera that shows it best, on one PNG."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from runner.episode.captions import Captions
from runner.episode.choices import ChoiceFrames, by_choices
from runner.episode.keyframes import ROW, Moment, chosen_moments
from runner.episode.overlay import BACK, COLOURS, QUIET, TEXT, fitted, font, wrapped
from runner.episode.stage import MAX_SIDE, Stage, View
from runner.episode.stored import Episode, EpisodeError
from runner.errors import BadInput

SIDE, HIGH = 388, 292  # pixels of a picture on the sheet; sky and floor are cut off the square that is drawn
GAP, STRIP, HEAD = 9, 52, 72
CARD, CARDS = 416, 2  # pixels of a picture by which was chosen, and how many stand in a row with their options
MAX_ZOOM = 2.5
CHANGED = 40  # of 255: a pixel whose brightness differs so between two moments shows something that moved
MARGIN = 0.08  # of the picture, around all that moves
_NUMBER = r"\d+(?:\.\d+)?"
_MOMENT = re.compile(rf"(?P<time>{_NUMBER})(?:@(?P<camera>[^=*]+)(?:\*(?P<zoom>{_NUMBER}))?)?(?:=(?P<caption>.+))?")
Box = tuple[int, int, int, int]  # left, top, right, bottom


def parse_moment(text: str) -> Moment:
    """``TIME[@CAMERA[*ZOOM]][=CAPTION]``, the whole picture without a zoom. Raises BadInput."""
    found = _MOMENT.fullmatch(text.strip())
    zoom = float(found["zoom"] or 1) if found is not None else 0.0
    if found is None or not 1 <= zoom <= MAX_ZOOM:
        raise BadInput(
            f"at {text!r}: give TIME[@CAMERA[*ZOOM]][=CAPTION], as 12.5@wide=launch, the zoom from 1 to {MAX_ZOOM:g}"
        )
    return Moment(float(found["time"]), found["camera"], found["caption"], zoom)


def write_sheet(path: Path, stage: Stage, episode: Episode, given: Sequence[Moment], camera: str) -> None:
    """Without ``given`` moments those of :func:`chosen_moments`. Raises BadInput and EpisodeError."""
    if path.suffix.lower() != ".png":
        raise BadInput(f"sheet {str(path)!r}: the name must end in .png")
    captions = Captions(episode)
    for moment in given:
        if moment.time > captions.end + 1e-6:
            raise BadInput(f"at {moment.time:g}: the episode ends at {captions.end:.2f} s")
    if by_choices(episode):
        sheet = _cards(captions, stage, episode, given or [Moment(float(time)) for time in episode.times], camera)
    else:
        moments = given or chosen_moments(captions, episode.times, episode.states)
        sheet = _sheet(captions, moments, _pictures(stage, episode, moments, camera))
    part = path.with_name(f".{path.stem}.part.png")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sheet.quantize(256, kmeans=1, dither=Image.Dither.FLOYDSTEINBERG).save(part, optimize=True)  # a third in size
        os.replace(part, path)
    except OSError as error:
        raise EpisodeError(f"sheet {str(path)!r}: it cannot be written: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)


# ---- of an episode of choices ---------------------------------------------------------------------------------------
def _cards(captions: Captions, stage: Stage, episode: Episode, moments: Sequence[Moment], camera: str) -> Image.Image:
    """Every state, whole, with what was chosen there. Raises BadInput for a moment with a zoom."""
    if (zoomed := next((moment for moment in moments if (moment.zoom or 1) > 1), None)) is not None:
        raise BadInput(f"at {zoomed.time:g}: this board's pictures are shown whole; leave *{zoomed.zoom:g} out")
    frames = ChoiceFrames(episode, captions, CARD, titled=False)
    columns = min(CARDS, len(moments))
    wide, high, rows = frames.width + GAP, frames.height + GAP, math.ceil(len(moments) / columns)
    image = Image.new("RGB", (GAP + columns * wide, HEAD + rows * high), BACK)
    _head(ImageDraw.Draw(image), captions, image.width)
    for index, moment in enumerate(moments):
        row = _row(episode, moment)
        (picture,) = next(stage.pictures(episode.states[row][None], [View(moment.camera or camera, CARD)]))
        ended = row == len(episode.states) - 1
        card = frames.card([picture], float(episode.times[row]), moment.caption or "", ended=ended)
        image.paste(card, (GAP + index % columns * wide, HEAD + index // columns * high))
    return image


# ---- pictures -------------------------------------------------------------------------------------------------------
def _pictures(stage: Stage, episode: Episode, moments: Sequence[Moment], camera: str) -> list[Image.Image]:
    """One of each moment. Where no zoom is given all show the same part: everything that moves between them."""
    drawn = []
    for moment in moments:
        state = episode.states[_row(episode, moment)][None]
        view = View(moment.camera or camera, MAX_SIDE, fine=True)
        (picture,) = next(stage.pictures(state, [view]))
        drawn.append(picture)
    box = _moving([picture for picture, moment in zip(drawn, moments, strict=True) if moment.zoom is None])
    size = _shown(len(moments))
    return [
        Image.fromarray(picture)
        .crop(box if moment.zoom is None else _middle(MAX_SIDE / moment.zoom))
        .resize(size, Image.Resampling.LANCZOS)
        for picture, moment in zip(drawn, moments, strict=True)
    ]


def _row(episode: Episode, moment: Moment) -> int:
    """The state of a moment: an event's effect comes after it."""
    return min(int(np.searchsorted(episode.times, moment.time - 1e-6, side="left")), len(episode.states) - 1)


def _moving(pictures: Sequence[np.ndarray]) -> Box:
    """The part of square ``pictures`` that shows all which differs between them, in the shape of the sheet's."""
    if len(pictures) < 2:
        return _middle(MAX_SIDE)
    grey = np.stack(pictures).mean(axis=3)
    rows, columns = np.nonzero(np.ptp(grey, axis=0) > CHANGED)
    if not len(rows):
        return _middle(MAX_SIDE)
    margin = 2 * MARGIN * MAX_SIDE
    wide = max(np.ptp(columns) + margin, (np.ptp(rows) + margin) * SIDE / HIGH, MAX_SIDE / MAX_ZOOM)
    return _middle(min(float(wide), MAX_SIDE), (columns.min() + columns.max()) / 2, (rows.min() + rows.max()) / 2)


def _middle(wide: float, x: float = MAX_SIDE / 2, y: float = MAX_SIDE / 2) -> Box:
    """A box ``wide`` pixels wide around (x, y), moved so that it lies inside the picture."""
    high = wide * HIGH / SIDE
    left = min(max(x - wide / 2, 0), MAX_SIDE - wide)
    top = min(max(y - high / 2, 0), MAX_SIDE - high)
    return round(left), round(top), round(left + wide), round(top + high)


def _shown(count: int) -> tuple[int, int]:
    """A single picture is as large as four."""
    return (SIDE, HIGH) if count > 1 else (2 * SIDE + GAP, 2 * HIGH)


# ---- the sheet ------------------------------------------------------------------------------------------------------
def _sheet(captions: Captions, moments: Sequence[Moment], pictures: Sequence[Image.Image]) -> Image.Image:
    wide, high = _shown(len(pictures))
    columns = min(ROW, len(pictures))
    rows = math.ceil(len(pictures) / columns)
    image = Image.new("RGB", (GAP + columns * (wide + GAP), HEAD + rows * (high + STRIP + GAP)), BACK)
    draw = ImageDraw.Draw(image)
    _head(draw, captions, image.width)
    for index, (moment, picture) in enumerate(zip(moments, pictures, strict=True)):
        left = GAP + (index % columns) * (wide + GAP)
        top = HEAD + (index // columns) * (high + STRIP + GAP)
        image.paste(picture, (left, top))
        _label(draw, captions, moment, left, top + high, wide)
    return image


def _head(draw: ImageDraw.ImageDraw, captions: Captions, width: int) -> None:
    """Title, outcome, and below them why it ended so."""
    verdict = captions.verdict
    word = verdict.word.upper()
    wide = round(font(16).getlength(word)) + 20
    draw.rounded_rectangle((width - GAP - wide, 9, width - GAP, 37), 4, fill=COLOURS[verdict.outcome])
    draw.text((width - GAP - wide + 10, 13), word, TEXT, font(16))
    draw.text((GAP, 12), fitted(captions.title, 18, width - wide - 4 * GAP), TEXT, font(18))
    why = f"{verdict.text}  ·  {verdict.clause}" if verdict.clause else verdict.text
    draw.text((GAP, 42), fitted(why, 15, width - 2 * GAP), QUIET, font(15))


def _label(draw: ImageDraw.ImageDraw, captions: Captions, moment: Moment, left: int, top: int, wide: int) -> None:
    time = f"{moment.time:.2f} s"
    last = [text for at, text in captions.events if at <= moment.time + 1e-6]
    caption = moment.caption or (last[-1] if last else "start")
    after = left + round(font(16).getlength(time)) + 14
    draw.text((left, top + 6), time, TEXT, font(16))
    for index, line in enumerate(wrapped(caption, 15, left + wide - after, 2)):
        draw.text((after, top + 7 + 19 * index), line, QUIET, font(15))
