"""A reference episode as a video: processor time of everything that takes part, scaled to 60 s of simulated time.

The environment process draws, the runner writes captions and compresses; both run as plain processes on one core, which
is what the target is about. Raw is the same frames drawn without captions and compression.
"""

from __future__ import annotations

import os
import resource
import tempfile
from pathlib import Path

from bench.figures import Figure, Target, paired
from bench.tools import evaluate
from manifests.load import load
from runner.episode.film import Film, can_mp4, moments, write_video
from runner.episode.stage import View, renderer, stage_of
from runner.episode.stored import Episode, find_attempt, open_episode
from runner.store.store import Store

TASK, MINUTE = "marble/dual-panda/A026", 60.0
LIMIT = Target("ours", "<", 30.0)
FPS, SIZE = 10.0, 512


def run(quick: bool) -> list[Figure]:
    ending = "mp4" if can_mp4() else "webp"
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as home:
        episode = _play(home)
        ours, raw = [], []
        for _ in range(1 if quick else 3):
            ours.append(_spend(episode, Path(home, f"video.{ending}")))
            raw.append(_spend(episode, None))
    note = f"{episode.record.environment_id}, {episode.times[-1]:.1f} s, {ending}, {SIZE} x {SIZE} at {FPS:g} frames/s"
    return [paired("video of a 60 s episode", "CPU s", ours, raw, LIMIT, note)]


def _play(home: str) -> Episode:
    choices = ["--model", "reference", "--subset", "smoke", "--tasks", TASK, "--protocol", "single"]
    evaluate(home, [*choices, "--runtime", "process", "--run", "played"])
    store = Store(Path(home), read_only=True)
    found = store.find_run("played")
    if found is None:
        raise RuntimeError("the reference episode was not recorded")
    return open_episode(store, found, find_attempt(store, found, "2"))


def _spend(episode: Episode, video: Path | None) -> float:
    """Processor seconds for 60 s of simulated time, start of the processes included. Without ``video`` frames are
    drawn and dropped."""
    allowed = os.sched_getaffinity(0)
    before = _cpu()
    os.sched_setaffinity(0, {min(allowed)})  # children inherit it
    try:
        with renderer("process") as runtime, stage_of(runtime, load(), episode) as stage:
            view = View(stage.cameras[0], SIZE)
            if video is not None:
                write_video(video, Film(stage, episode, [view], FPS), lambda done, count: None)
            else:
                shown = episode.times.searchsorted(moments(episode.times, FPS), side="right") - 1
                for _ in stage.pictures(episode.states[shown], [view]):
                    pass
    finally:
        os.sched_setaffinity(0, allowed)
    return (_cpu() - before) * MINUTE / float(episode.times[-1])


def _cpu() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(item.ru_utime + item.ru_stime for item in used)
