"""A contact sheet: chosen instants of an episode, each from the camera that shows it best, on one PNG."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from runner.episode.captions import Captions
from runner.episode.overlay import BACK, COLOURS, QUIET, TEXT, fitted, font
from runner.episode.stage import Stage, View
from runner.episode.stored import Episode, EpisodeError
from runner.errors import BadInput

COLUMNS = 3
SIDE = 388  # pixels of a picture
GAP, STRIP, HEAD = 9, 34, 46
CHOSEN = 6  # instants when none are given
MAX_ZOOM = 2.5
ALIKE_S = 0.5  # events nearer than this are one instant
CROP = 0.125  # of a picture's height, off its top and its bottom: sky and floor
_NUMBER = r"\d+(?:\.\d+)?"
_MOMENT = re.compile(rf"(?P<time>{_NUMBER})(?:@(?P<camera>[^=*]+)(?:\*(?P<zoom>{_NUMBER}))?)?(?:=(?P<caption>.+))?")


@dataclass(frozen=True)
class Moment:
    """One picture of the sheet: simulated time (s), camera (None: the first), caption (None: the last event), and how
    much larger than the whole picture its middle is shown."""

    time: float
    camera: str | None = None
    caption: str | None = None
    zoom: float = 1.0


def parse_moment(text: str) -> Moment:
    """``TIME[@CAMERA[*ZOOM]][=CAPTION]``. Raises BadInput."""
    found = _MOMENT.fullmatch(text.strip())
    zoom = float(found["zoom"] or 1) if found is not None else 0.0
    if found is None or not 1 <= zoom <= MAX_ZOOM:
        raise BadInput(
            f"at {text!r}: give TIME[@CAMERA[*ZOOM]][=CAPTION], as 12.5@wide=launch, the zoom from 1 to {MAX_ZOOM:g}"
        )
    return Moment(float(found["time"]), found["camera"], found["caption"], zoom)


def chosen_moments(captions: Captions, count: int = CHOSEN) -> list[Moment]:
    """The start, the end, and the evaluator's events spread between them."""
    times: list[float] = [0.0]
    for time, _ in captions.events:
        if time - times[-1] >= ALIKE_S and captions.end - time >= ALIKE_S:
            times.append(time)
    times.append(captions.end)
    if len(times) < count:  # few events: even steps
        times = [captions.end * index / (count - 1) for index in range(count)]
    picked = sorted({round(index * (len(times) - 1) / (count - 1)) for index in range(count)})
    return [Moment(times[index]) for index in picked]


def write_sheet(path: Path, stage: Stage, episode: Episode, chosen: list[Moment], camera: str) -> None:
    """Raises BadInput and EpisodeError."""
    if path.suffix.lower() != ".png":
        raise BadInput(f"sheet {str(path)!r}: the name must end in .png")
    captions = Captions(episode)
    chosen = chosen or chosen_moments(captions)
    for moment in chosen:
        if moment.time > captions.end + 1e-6:
            raise BadInput(f"at {moment.time:g}: the episode ends at {captions.end:.2f} s")
    sheet = _sheet(stage, episode, captions, chosen, camera)
    part = path.with_name(f".{path.stem}.part.png")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sheet.quantize(256, kmeans=1, dither=Image.Dither.FLOYDSTEINBERG).save(part, optimize=True)  # a third in size
        os.replace(part, path)
    except OSError as error:
        raise EpisodeError(f"sheet {str(path)!r}: it cannot be written: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)


def _sheet(stage: Stage, episode: Episode, captions: Captions, chosen: list[Moment], camera: str) -> Image.Image:
    columns = min(COLUMNS, len(chosen))
    cut = round(CROP * SIDE)
    high = SIDE - 2 * cut
    rows = math.ceil(len(chosen) / columns)
    image = Image.new("RGB", (GAP + columns * (SIDE + GAP), HEAD + rows * (high + STRIP + GAP)), BACK)
    draw = ImageDraw.Draw(image)
    _head(draw, captions, image.width)
    for index, moment in enumerate(chosen):
        row = int(np.searchsorted(episode.times, moment.time + 1e-6, side="right")) - 1
        state = episode.states[max(row, 0)][None]
        view = View(moment.camera or camera, round(SIDE * moment.zoom / 2) * 2, fine=True)
        (picture,) = next(stage.pictures(state, [view]))
        spare = (len(picture) - SIDE) // 2
        picture = picture[spare : spare + SIDE, spare : spare + SIDE]
        left = GAP + (index % columns) * (SIDE + GAP)
        top = HEAD + (index // columns) * (high + STRIP + GAP)
        image.paste(Image.fromarray(picture[cut : cut + high]), (left, top))
        _label(draw, captions, moment, left, top + high)
    return image


def _head(draw: ImageDraw.ImageDraw, captions: Captions, width: int) -> None:
    verdict = captions.verdict
    word = verdict.word.upper()
    wide = round(font(16).getlength(word)) + 20
    draw.rounded_rectangle((width - GAP - wide, 9, width - GAP, 37), 4, fill=COLOURS[verdict.outcome])
    draw.text((width - GAP - wide + 10, 13), word, TEXT, font(16))
    draw.text((GAP, 12), fitted(captions.title, 18, width - wide - 4 * GAP), TEXT, font(18))


def _label(draw: ImageDraw.ImageDraw, captions: Captions, moment: Moment, left: int, top: int) -> None:
    time = f"{moment.time:.2f} s"
    last = [text for at, text in captions.events if at <= moment.time + 1e-6]
    caption = moment.caption or (last[-1] if last else "start")
    after = left + round(font(16).getlength(time)) + 14
    draw.text((left, top + 8), time, TEXT, font(16))
    draw.text((after, top + 9), fitted(caption, 15, left + SIDE - after), QUIET, font(15))
