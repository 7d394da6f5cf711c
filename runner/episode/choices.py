"""Pictures of an episode in which an agent chose: each is whole, because it is what the agent chose by, and beside it
stand the goal, the lettered options, the one that was taken, and at the end the verdict."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from manifests.load import load
from manifests.records import AttemptRecord
from runner.episode.captions import Captions
from runner.episode.overlay import BACK, BAR, COLOURS, QUIET, REFERENCE, TEXT, TRACK, draw_chip, fitted, font, wrapped
from runner.episode.stored import Episode
from runner.words import one_line

CHOICE = "choice"  # interface of a board whose agents choose by pictures
PANEL = 460  # pixels beside a picture of REFERENCE
MARGIN = 16
GOAL_LINES, REPLY_LINES = 6, 3
SIZES = (14, 13, 12, 11, 10, 9)  # of options, the largest that fits


@dataclass(frozen=True)
class Turn:
    """One step as recorded: ``taken`` is the index of an option, None where none was taken; ``said`` is the reply of a
    model, after a word on how it was read where it named no option; empty for a baseline."""

    options: tuple[str, ...]
    taken: int | None
    said: str


def by_choices(episode: Episode) -> bool:
    """Whether the episode is of a board whose agents choose by pictures."""
    board = load().boards.get(episode.board)
    return board is not None and board.interface == CHOICE


def turns_of(record: AttemptRecord) -> list[Turn]:
    """The steps of a record, which may be a stranger's; none where it holds no choices."""
    rows = record.evidence.get("choices")
    return [_turn(row) for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


class ChoiceFrames:
    """Frames of ``width`` x ``height`` pixels, both even as video wants them: the pictures, and a panel to the right.
    ``titled`` says whether the panel names the episode."""

    def __init__(
        self, episode: Episode, captions: Captions, size: int, cameras: int = 1, *, titled: bool = True
    ) -> None:
        self._captions, self._titled = captions, titled
        self._scale, self._size, self._left = size / REFERENCE, size, size * cameras
        self.width, self.height = self._left + 2 * round(PANEL * self._scale / 2), size
        self._turns = turns_of(episode.record)
        self._limit = episode.record.settings.budgets.actions
        self._steps = len(episode.actions)
        self._goal = one_line(str(episode.describe.get("task", "")))

    def at(self, pictures: list[np.ndarray], time: float, since: float, *, ended: bool) -> Image.Image:
        """``pictures`` uint8 (size, size, 3) of one instant, one of each camera. ``ended`` shows the verdict."""
        return self.card(pictures, time, ended=ended)

    def card(self, pictures: list[np.ndarray], time: float, heading: str = "", *, ended: bool) -> Image.Image:
        """The same with another heading than the step's number."""
        image = Image.new("RGB", (self.width, self.height), BACK)
        for index, picture in enumerate(pictures):
            image.paste(Image.fromarray(picture), (index * self._size, 0))
        draw = ImageDraw.Draw(image)
        done = min(self._steps, int(time / self._captions.end * self._steps + 1e-6))
        self._bar(draw, time, ended)
        top = self._line(draw, self._captions.title, self._px(14), 12, QUIET) if self._titled else self._px(14)
        top = self._line(draw, heading or self._heading(done, ended), top, 20, TEXT)
        top = self._lines(draw, self._goal, top + self._px(4), 13, QUIET, GOAL_LINES) + self._px(10)
        if ended:
            self._end(draw, top)
        elif done < len(self._turns):
            self._turn(draw, self._turns[done], top)
        else:
            self._lines(draw, "No choice is recorded for this step.", top, 14, QUIET, 2)
        return image

    def _heading(self, done: int, ended: bool) -> str:
        if not ended:
            return f"Step {done + 1} of at most {self._limit}"
        return f"After step {done} of at most {self._limit}" if done else "Before the first step"

    def _bar(self, draw: ImageDraw.ImageDraw, time: float, ended: bool) -> None:
        right = self._left + round((self.width - self._left) * min(1.0, time / self._captions.end))
        low = self._px(4) - 1
        draw.rectangle((self._left, 0, self.width, low), fill=TRACK)
        if right > self._left:
            draw.rectangle((self._left, 0, right, low), fill=COLOURS[self._captions.verdict.outcome] if ended else BAR)

    # ---- what was to be chosen --------------------------------------------------------------------------------------
    def _turn(self, draw: ImageDraw.ImageDraw, turn: Turn, top: int) -> None:
        room = self.height - top - self._px(16 * REPLY_LINES + 44 if turn.said or turn.taken is None else 10)
        top = self._options(draw, turn, top, room)
        if turn.taken is None:
            self._mark(draw, top, round(1.25 * self._px(14)), COLOURS["invalid"])
            top = self._lines(draw, "None was taken: the step was used up.", top, 14, BACK, 1) + self._px(6)
        if turn.said:
            self._lines(draw, turn.said, top + self._px(4), 12, QUIET, REPLY_LINES)

    def _options(self, draw: ImageDraw.ImageDraw, turn: Turn, top: int, room: int) -> int:
        """Each with its letter, the taken one marked; in the largest letters that ``room`` has space for."""
        indent, wide = self._px(24), self.width - self._left - self._px(2 * MARGIN + 24)
        for size in SIZES:
            pixels = self._px(size)
            lines = [wrapped(option, pixels, wide, 2) for option in turn.options]
            step, gap = round(1.25 * pixels), round(0.35 * pixels)
            if sum(len(item) * step + gap for item in lines) <= room:
                break
        left = self._left + self._px(MARGIN)
        for index, item in enumerate(lines):
            high = len(item) * step
            if index == turn.taken:
                self._mark(draw, top, high, BAR)
            colour = BACK if index == turn.taken else TEXT
            draw.text((left, top), letter(index), colour, font(pixels), stroke_width=0.4, stroke_fill=colour)
            for number, line in enumerate(item):
                draw.text((left + indent, top + number * step), line, colour, font(pixels))
            top += high + gap
        return top

    def _mark(self, draw: ImageDraw.ImageDraw, top: int, high: int, colour: tuple[int, int, int]) -> None:
        """The ground of what was taken."""
        left, right, over = self._left + self._px(MARGIN - 6), self.width - self._px(MARGIN - 6), self._px(2)
        draw.rounded_rectangle((left, top - over, right, top + high + over - 1), self._px(4), fill=colour)

    def _end(self, draw: ImageDraw.ImageDraw, top: int) -> None:
        """The last choice, how the episode ended, and the rule that it broke."""
        verdict, last = self._captions.verdict, self._turns[-1] if self._turns else None
        if last is not None:
            said = "none" if last.taken is None else f"{letter(last.taken)}  {_option(last)}"
            top = self._lines(draw, f"Last choice: {said}", top, 14, TEXT, 3) + self._px(10)
        left = self._left + self._px(MARGIN)
        draw_chip(draw, verdict, left, top, self._px(16))
        top += self._px(36)
        top = self._lines(draw, verdict.text, top, 14, TEXT, 3)
        self._lines(draw, verdict.clause, top + self._px(4), 12, QUIET, 3)

    # ---- text -------------------------------------------------------------------------------------------------------
    def _line(self, draw: ImageDraw.ImageDraw, text: str, top: int, size: int, colour: tuple[int, int, int]) -> int:
        return self._lines(draw, text, top, size, colour, 1)

    def _lines(
        self, draw: ImageDraw.ImageDraw, text: str, top: int, size: int, colour: tuple[int, int, int], most: int
    ) -> int:
        """At most ``most`` lines from ``top`` on; returns where the next ones begin."""
        pixels, left = self._px(size), self._left + self._px(MARGIN)
        wide = self.width - self._left - self._px(2 * MARGIN)
        lines = wrapped(text, pixels, wide, most) if most > 1 else [fitted(text, pixels, wide)]
        for line in lines:
            draw.text((left, top), line, colour, font(pixels))
            top += round(1.3 * pixels)
        return top

    def _px(self, value: float) -> int:
        return max(1, round(value * self._scale))


def letter(index: int) -> str:
    return string.ascii_uppercase[index] if 0 <= index < 26 else str(index)


def _option(turn: Turn) -> str:
    taken = turn.taken
    return (
        turn.options[taken] if taken is not None and 0 <= taken < len(turn.options) else "an option that is not listed"
    )


def _turn(row: Mapping[str, object]) -> Turn:
    options, taken, reply, read = (row.get(name) for name in ("options", "taken", "reply", "strict"))
    how = ""
    if isinstance(read, Mapping) and not isinstance(taken, int):
        how = f" ({read.get('kind')}, {read.get('rule')})"
    said = "" if reply is None else one_line(f"Reply{how}: {str(reply).strip() or '(empty)'}")
    names = options if isinstance(options, Sequence) and not isinstance(options, str) else ()
    return Turn(tuple(one_line(str(name)) for name in names), taken if isinstance(taken, int) else None, said)
