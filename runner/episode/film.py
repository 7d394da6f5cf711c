"""Frames at a steady rate, and the files that hold them: MP4 (PyAV), animated WebP (Pillow), or one PNG each.

Files appear whole or not at all: they are written beside their place and renamed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from runner.episode.captions import Captions
from runner.episode.choices import ChoiceFrames, by_choices
from runner.episode.overlay import Frames, Overlay
from runner.episode.stage import Stage, View
from runner.episode.stored import Episode, EpisodeError
from runner.errors import BadInput

HOLD_S = 2.0  # the last picture stays, with the verdict
FPS = (0.1, 60.0)
SIDE = (64, 1024)
ENCODER = {"crf": "21", "preset": "veryfast", "tune": "animation"}
WEBP = {"quality": 70, "method": 0, "loop": 0}
Say = Callable[[int, int], None]  # frames done, frames in all


class Film:
    """The frames of an episode from ``cameras`` side by side, ``fps`` frames for each second of simulated time."""

    def __init__(self, stage: Stage, episode: Episode, views: list[View], fps: float, hold_s: float = HOLD_S) -> None:
        self._stage, self._episode, self._views = stage, episode, views
        self.fps = fps
        self._words = words_of(episode, views[0].size, len(views))
        self.width, self.height = self._words.width, self._words.height
        self._moments = moments(episode.times, fps)
        self._held = round(hold_s * fps)
        self.count = len(self._moments) + self._held

    def frames(self) -> Iterator[Image.Image]:
        """RGB images of ``width`` x ``height`` pixels, ``count`` of them."""
        times = self._episode.times
        shown = np.clip(np.searchsorted(times, np.array(self._moments) + 1e-6, side="right") - 1, 0, None)
        states = self._episode.states[shown]
        drawn = self._stage.pictures(states, self._views)
        last = len(self._moments) - 1
        frame: Image.Image | None = None
        since = 0.0
        for index, (time, pictures) in enumerate(zip(self._moments, drawn, strict=True)):
            frame = self._words.at(pictures, time, since, ended=index == last)
            since = time
            yield frame
        for _ in range(self._held):
            assert frame is not None
            yield frame


def words_of(episode: Episode, size: int, cameras: int) -> Frames:
    """What is written beside pictures of ``size`` pixels: what a robot does, or what was chosen by them."""
    captions = Captions(episode)
    return ChoiceFrames(episode, captions, size, cameras) if by_choices(episode) else Overlay(captions, size, cameras)


def moments(times: np.ndarray, fps: float) -> list[float]:
    """Simulated times of the frames: every 1 / ``fps`` from the start, and the end."""
    end = float(times[-1])
    found = [index / fps for index in range(int(end * fps + 1e-9) + 1)]
    return found if end - found[-1] < 1e-6 else [*found, end]


def check_choices(fps: float, size: int) -> None:
    """Raises BadInput."""
    if not FPS[0] <= fps <= FPS[1]:
        raise BadInput(f"fps {fps:g}: give frames per second from {FPS[0]:g} to {FPS[1]:g}")
    if not SIDE[0] <= size <= SIDE[1] or size % 2:
        raise BadInput(f"size {size}: give an even number of pixels from {SIDE[0]} to {SIDE[1]}")


def video_writer(path: Path) -> Callable[[Path, Film, Say], None]:
    """What writes ``path``, by its ending. Raises BadInput, so that nothing is drawn in vain."""
    ending = path.suffix.lower()
    if ending not in (".mp4", ".webp"):
        raise BadInput(f"video {str(path)!r}: the name must end in .mp4 or .webp")
    if ending == ".webp":
        return _webp
    if not can_mp4():
        raise BadInput(
            f"video {str(path)!r}: MP4 needs the package av; install it with `make video`, or name the file "
            f"{path.stem}.webp"
        )
    return _mp4


def can_mp4() -> bool:
    from importlib.util import find_spec

    return find_spec("av") is not None


def write_video(path: Path, film: Film, say: Say) -> None:
    """Raises BadInput and EpisodeError."""
    write = video_writer(path)
    part = path.with_name(f".{path.stem}.part{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(part, film, say)
        os.replace(part, path)
    except OSError as error:
        raise EpisodeError(f"video {str(path)!r}: it cannot be written: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)


def write_frames(folder: Path, film: Film, say: Say) -> None:
    """``frame_00000.png`` and so on. Raises EpisodeError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for index, frame in enumerate(film.frames()):
            frame.save(folder / f"frame_{index:05d}.png", compress_level=3)
            say(index + 1, film.count)
    except OSError as error:
        raise EpisodeError(f"frames {str(folder)!r}: they cannot be written: {error.strerror or error}") from None


def _mp4(path: Path, film: Film, say: Say) -> None:
    import av
    import av.error

    try:
        # The index stands before the pictures, so that a browser shows the first at once.
        with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"}) as container:
            stream: Any = container.add_stream("libx264", rate=Fraction(film.fps).limit_denominator(1000))
            stream.width, stream.height, stream.pix_fmt, stream.options = film.width, film.height, "yuv420p", ENCODER
            for index, frame in enumerate(film.frames()):
                container.mux(stream.encode(av.VideoFrame.from_ndarray(np.asarray(frame), format="rgb24")))
                say(index + 1, film.count)
            container.mux(stream.encode(None))
    except av.error.FFmpegError as error:
        if isinstance(error, OSError):
            raise
        raise EpisodeError(f"video: the encoder failed: {error}") from None


def _webp(path: Path, film: Film, say: Say) -> None:
    frames = film.frames()
    first = next(frames)
    rest = [_Later(frames, film.count, say)] * (film.count - 1)
    first.save(path, "WEBP", save_all=True, append_images=rest, duration=1000 / film.fps, **WEBP)


class _Later:
    """The rest of the frames, each only while it is being encoded: a long episode would take gigabytes as pictures."""

    n_frames = 1
    mode = "RGB"

    def __init__(self, frames: Iterator[Image.Image], count: int, say: Say) -> None:
        self._frames, self._count, self._say = frames, count, say
        self._done = 1

    def seek(self, _: int) -> None:
        self._image = next(self._frames)
        self._done += 1
        self._say(self._done, self._count)

    def getim(self) -> Any:
        return self._image.getim()
