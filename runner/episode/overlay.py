"""Draws captions: a panel below each picture and the verdict on it. Sizes grow with the picture."""

from __future__ import annotations

from functools import cache
from typing import Protocol

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from runner.episode.captions import Caption, Captions, Verdict

REFERENCE = 512  # pixels: the picture's side for which the numbers below are meant
PANEL = 104
MARGIN = 14
BACK, TRACK, QUIET, TEXT = (17, 20, 26), (52, 58, 70), (150, 158, 172), (240, 243, 247)
COLOURS = {"success": (38, 150, 82), "failure": (200, 52, 48), "invalid": (196, 132, 22)}
BAR = (92, 160, 255)


class Frames(Protocol):
    """Puts words beside the pictures of an instant. ``width`` and ``height`` are even, as video wants them."""

    width: int
    height: int

    def at(self, pictures: list[np.ndarray], time: float, since: float, *, ended: bool) -> Image.Image:
        """``pictures`` uint8 (size, size, 3), one of each camera, at ``time`` (s); ``since`` is the time of the frame
        before. ``ended`` shows the verdict."""


class Overlay:
    """The frames of one episode: ``width`` x ``height`` pixels, both even as video wants them."""

    def __init__(self, captions: Captions, size: int, cameras: int = 1) -> None:
        self._captions, self._scale = captions, size / REFERENCE
        self.width, self.height = size * cameras, size + 2 * round(PANEL * self._scale / 2)
        self._size = size
        self._ground = self._make_ground()

    def at(self, pictures: list[np.ndarray], time: float, since: float, *, ended: bool) -> Image.Image:
        return self.frame(pictures, self._captions.at(time, since), ended=ended)

    def frame(self, pictures: list[np.ndarray], caption: Caption, *, ended: bool) -> Image.Image:
        """``pictures`` uint8 (size, size, 3), one of each camera, side by side. ``ended`` shows the verdict."""
        image = self._ground.copy()
        for index, picture in enumerate(pictures):
            image.paste(Image.fromarray(picture), (index * self._size, 0))
        draw, verdict = ImageDraw.Draw(image), self._captions.verdict
        self._title(draw)
        top, left, right = self._size, self._px(MARGIN), self.width - self._px(MARGIN)
        bar = COLOURS[verdict.outcome] if ended else BAR
        draw.rectangle((0, top, round(self.width * caption.progress), top + self._px(4) - 1), fill=bar)
        draw.text((left, top + self._px(13)), caption.time, TEXT, font(self._px(20)))
        draw.text((right, top + self._px(17)), caption.count, QUIET, font(self._px(14)), anchor="ra")
        if ended:
            self._verdict(draw, verdict, top + self._px(40), left, right)
        else:
            lines = ((caption.action, TEXT, 46), (caption.event, QUIET, 70))
            for text, colour, at in lines:
                size = self._px(14)
                draw.text((left, top + self._px(at)), fitted(text, size, right - left), colour, font(size))
        return image

    def _make_ground(self) -> Image.Image:
        """What all frames share: the panel, and a mark on the bar for every event."""
        image = Image.new("RGB", (self.width, self.height), BACK)
        draw, top = ImageDraw.Draw(image), self._size
        draw.rectangle((0, top, self.width, top + self._px(4) - 1), fill=TRACK)
        for time, _ in self._captions.events:
            x = min(self.width - 1, round(self.width * time / self._captions.end))
            draw.rectangle((x, top + self._px(4), x + self._px(1), top + self._px(8)), fill=QUIET)
        return image

    def _title(self, draw: ImageDraw.ImageDraw) -> None:
        size, at = self._px(13), self._px(10)
        text = fitted(self._captions.title, size, self.width - 4 * at)
        wide = round(font(size).getlength(text))
        draw.rounded_rectangle((at, at, wide + 3 * at, at + self._px(22)), self._px(4), fill=BACK)
        draw.text((2 * at, at + self._px(3)), text, TEXT, font(size))

    def _verdict(self, draw: ImageDraw.ImageDraw, verdict: Verdict, top: int, left: int, right: int) -> None:
        size = self._px(14)
        beside = draw_chip(draw, verdict, left, top + self._px(3), size) + self._px(10)
        draw.text((beside, top + self._px(5)), fitted(verdict.text, size, right - beside), TEXT, font(size))
        small = self._px(12)
        for index, line in enumerate(wrapped(verdict.clause, small, right - left, 2)):
            draw.text((left, top + self._px(30 + 16 * index)), line, QUIET, font(small))

    def _px(self, value: float) -> int:
        return max(1, round(value * self._scale))


def draw_chip(draw: ImageDraw.ImageDraw, verdict: Verdict, left: int, top: int, size: int) -> int:
    """The verdict's word in letters of ``size`` pixels on its colour; returns where it ends."""
    word, across, down = verdict.word.upper(), round(0.57 * size), round(0.14 * size)
    right = left + round(font(size).getlength(word)) + 2 * across
    draw.rounded_rectangle(
        (left, top, right, top + round(1.5 * size)), round(0.29 * size), fill=COLOURS[verdict.outcome]
    )
    draw.text((left + across, top + down), word, TEXT, font(size))
    return right


@cache
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Pillow's own font, the same on every machine."""
    return ImageFont.load_default(size)


def fitted(text: str, size: int, width: int) -> str:
    """As much of ``text`` as fits into ``width`` pixels."""
    face = font(size)
    if face.getlength(text) <= width:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if face.getlength(f"{text[:middle]}...") <= width else (low, middle - 1)
    return f"{text[:low].rstrip()}..." if low else ""


def wrapped(text: str, size: int, width: int, lines: int) -> list[str]:
    """``text`` in at most ``lines`` lines of ``width`` pixels; the last is cut where there is more."""
    words, found = text.split(" "), list[str]()
    while words and any(words) and len(found) < lines:
        if len(found) == lines - 1:
            found.append(fitted(" ".join(words), size, width))
            break
        count = len(words)
        while count > 1 and font(size).getlength(" ".join(words[:count])) > width:
            count -= 1
        found.append(fitted(" ".join(words[:count]), size, width))
        words = words[count:]
    return found
