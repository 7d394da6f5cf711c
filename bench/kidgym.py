"""KidGym on one core, without containers: pictures, PNG, generation, and all 3,600 public episodes by the reference.

Every picture is one that play comes to, at 64 pixels a cell. Raw drawing is a bare copy of an array of that size, which
no picture can be cheaper than; raw PNG is Pillow's encoder at its quickest; a raw episode is the same play without
pictures. All of it is work and none is waiting, so that processor time counts.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median

import numpy as np
from PIL import Image

from bench.figures import Figure, Target, paired
from images.kidgym import png, solve
from images.kidgym.catalog import LEVELS, NAMES
from images.kidgym.draw import frame
from images.kidgym.episode import Episode
from images.kidgym.generate import generate
from images.kidgym.rules import Scene

PART = 40  # pictures of a task at a level, before ours and raw change turns
CELL = 64
TARGETS = {
    "raw": Target("ours", ">=", 500.0),
    "png": Target("ours", ">=", 150.0),
    "play": Target("ours", ">=", 150.0),
    "generation": Target("ours", "<", 2.0),
}
Moment = tuple[Scene, int]  # what a picture shows, and its theme
CELLS = [(code, level) for code in NAMES for level in LEVELS]


def run(quick: bool) -> list[Figure]:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        return [*_drawing(6 if quick else 20), _generation(10 if quick else 300), _playing(5 if quick else 100)]
    finally:
        os.sched_setaffinity(0, allowed)


def _drawing(episodes: int) -> list[Figure]:
    """Each cell of the table its own pair, since tasks differ more than machines do."""
    blank = np.zeros((9 * CELL, 9 * CELL, 3), np.uint8)
    drawn: dict[str, Callable[[Moment], object]] = {
        "frame": lambda moment: frame(*moment, CELL),
        "copy": lambda _: blank.copy(),
        "png": lambda moment: png.encode(frame(*moment, CELL)),
        "pillow": lambda moment: _pillow(frame(*moment, CELL)),
    }
    rates: dict[str, list[float]] = {name: [] for name in drawn}
    for code, level in CELLS:
        moments = [moment for seed in range(episodes) for moment in _moments(Episode(code, level, seed))][:PART]
        for name, draw in drawn.items():
            rates[name].append(_rate(moments, draw))
    slowest = {name: CELLS[int(np.argmin(found))] for name, found in rates.items()}

    def note(name: str) -> str:
        code, level = slowest[name]
        return f"slowest is {code} level {level} with {min(rates[name]):.0f}"

    return [
        paired("pictures, RGB", "frames/CPU s", rates["frame"], rates["copy"], TARGETS["raw"], note("frame")),
        paired("pictures, PNG", "frames/CPU s", rates["png"], rates["pillow"], TARGETS["png"], note("png")),
    ]


def _moments(episode: Episode) -> Iterator[Moment]:
    """What a reference episode shows, the end included."""
    for action in solve.solution(episode.task):
        yield episode.scene, episode.task.theme
        episode.choose(episode.index_of(action))
    yield episode.scene, episode.task.theme


def _rate(moments: Sequence[Moment], draw: Callable[[Moment], object]) -> float:
    began = time.process_time()
    for moment in moments:
        draw(moment)
    return len(moments) / (time.process_time() - began)


def _pillow(pixels: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG", compress_level=1)
    return out.getvalue()


def _generation(seeds: int) -> Figure:
    """Milliseconds of an episode that is generated and checked, and of one that is only generated: medians by cell."""
    checked, bare, longest = [], [], 0.0
    for code, level in CELLS:
        whole, alone = [], []
        for seed in range(seeds):
            alone.append(_ms(partial(generate, code, level, seed)))
            whole.append(_ms(partial(_generate_and_check, code, level, seed)))
        checked.append(median(whole))
        bare.append(median(alone))
        longest = max(longest, *whole)
    note = f"the dearest cell has a median of {max(checked):.2f} ms, the dearest episode {longest:.1f} ms"
    return paired("generation with its check", "CPU ms/episode", checked, bare, TARGETS["generation"], note)


def _generate_and_check(code: str, level: int, seed: int) -> None:
    solve.check(generate(code, level, seed))


def _ms(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return 1e3 * (time.process_time() - began)


def _playing(seeds: int) -> Figure:
    """All public episodes by the reference agent with every picture; raw is the same play unseen. A tenth at a time."""
    parts = [part.tolist() for part in np.array_split(np.arange(seeds), min(10, seeds))]
    ours, raw = zip(*((_played(part, seen=True), _played(part, seen=False)) for part in parts), strict=True)
    took = sum(len(part) * len(CELLS) / rate for part, rate in zip(parts, ours, strict=True))
    note = f"{seeds * len(CELLS)} episodes in {took:.1f} s"
    return paired("reference episodes with RGB pictures", "episodes/CPU s", ours, raw, TARGETS["play"], note)


def _played(seeds: Sequence[int], *, seen: bool) -> float:
    """Episodes for each second of processor time. Raises RuntimeError for one that the reference does not solve."""
    began = time.process_time()
    for seed in seeds:
        for code, level in CELLS:
            episode = Episode(code, level, seed)
            for moment in _moments(episode):
                if seen:
                    frame(*moment, CELL)
            if episode.end != "success":
                raise RuntimeError(f"{code} level {level} seed {seed}: the reference ended with {episode.end}")
    return len(seeds) * len(CELLS) / (time.process_time() - began)
