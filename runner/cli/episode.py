"""``assay episode``: a stored attempt as video, pictures, a contact sheet or text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.cli.numbers import NumberedCommand
from runner.errors import BadInput
from runner.terminal import echo
from runner.words import count

if TYPE_CHECKING:
    from runner.episode.stage import Stage
    from runner.episode.stored import Episode

RUNTIMES = ("auto", "docker", "bubblewrap", "process")


@click.command("episode", cls=NumberedCommand)
@click.argument("run")
@click.argument("attempt", required=False)
@click.option("--video", help="Write FILE.mp4 (needs `make video`) or FILE.webp; FOLDER/ makes a name.")
@click.option("--frames", type=click.Path(path_type=Path), help="Write one PNG for each frame into this folder.")
@click.option("--stills", help="Write one PNG for each recorded state, without captions; FOLDER/ makes a name.")
@click.option("--sheet", help="Write a PNG with the key moments; FOLDER/ makes a name.")
@click.option(
    "--at", multiple=True, metavar="TIME[@CAMERA[*ZOOM]][=TEXT]", help="A moment of the sheet; may be repeated."
)
@click.option("--transcript", is_flag=True, help="Print what agent and model said and did.")
@click.option("--camera", help="Comma-separated cameras, shown side by side [default: the first].")
@click.option("--fps", type=float, default=10.0, show_default=True, help="Frames per second of simulated time.")
@click.option("--size", type=int, default=512, show_default=True, help="Side of a camera's picture in pixels.")
@click.option("--fine", is_flag=True, help="Shadows and smooth edges: some six times slower.")
@click.option("--runtime", default="auto", show_default=True, help=f"Where it is drawn: {', '.join(RUNTIMES)}.")
def command(
    run: str,
    attempt: str | None,
    video: str | None,
    frames: Path | None,
    stills: str | None,
    sheet: str | None,
    at: tuple[str, ...],
    transcript: bool,
    **options: Any,
) -> None:
    """Show one attempt: video, pictures, contact sheet, transcript.

    ATTEMPT of RUN is a sequence number or an id; an attempt's id alone will do. Without an option it prints what the
    attempt was, how it ended and what the evaluator saw. Pictures are drawn now from the recorded states; the records
    are not touched.
    """
    from runner.episode.film import can_mp4, check_choices, video_writer

    check_choices(options["fps"], options["size"])
    if at and sheet is None:
        raise BadInput("at: moments are those of a contact sheet; give --sheet FILE.png too")
    episode = _find(run, attempt)
    film = _path(video, episode, ".mp4" if can_mp4() else ".webp")
    if film is not None:
        video_writer(film)
    if transcript or not (video or frames or stills or sheet):
        _print(episode, whole=transcript)
    if video or frames or stills or sheet:
        _draw(episode, film, frames, _path(stills, episode, ""), _path(sheet, episode, ".png"), at, options)


def _path(given: str | None, episode: Episode, ending: str) -> Path | None:
    """The file that is meant: in a folder one that says task, condition and attempt."""
    if not given:
        return None
    folder = given.endswith("/") or Path(given).is_dir()
    return Path(given, episode.file_stem + ending) if folder else Path(given)


def _find(run: str, attempt: str | None) -> Episode:
    from runner.cli.common import find_run
    from runner.episode.stored import find_anywhere, find_attempt, open_episode
    from runner.store.store import Store

    store = Store(read_only=True)
    if attempt is None:
        return open_episode(store, *find_anywhere(store, run))
    found = find_run(store, run)
    return open_episode(store, found, find_attempt(store, found, attempt))


def _print(episode: Episode, *, whole: bool) -> None:
    from runner.episode import transcript as text

    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:  # a terminal that is not UTF-8 shows escapes instead of failing
        reconfigure(errors="backslashreplace")
    for line in text.summary(episode):
        echo(line)
    if whole:
        for line in text.transcript(episode):
            echo(line)
        return
    for line in text.choices(episode):
        echo(line)
    for line in text.timeline(episode):
        echo(line)
    echo("more: --transcript, --video FILE, --frames FOLDER, --stills FOLDER, --sheet FILE", err=True)


def _draw(
    episode: Episode,
    video: Path | None,
    frames: Path | None,
    stills: Path | None,
    sheet: Path | None,
    at: tuple[str, ...],
    options: dict[str, Any],
) -> None:
    from manifests.load import load
    from runner.episode.sheet import parse_moment, write_sheet
    from runner.episode.stage import renderer, stage_of

    moments = [parse_moment(text) for text in at]
    _ = episode.states  # before anything is started
    with renderer(options["runtime"]) as runtime, stage_of(runtime, load(), episode) as stage:
        if stage.note:
            echo(f"note: {stage.note}", err=True)
        if sheet is not None:
            write_sheet(sheet, stage, episode, moments, _cameras(stage, options["camera"])[0])
            echo(f"{sheet}: {sheet.stat().st_size / 1e3:.0f} kB")
        if stills is not None:
            _stills(stage, episode, stills, options)
        if video is not None or frames is not None:
            _film(stage, episode, video, frames, options)


def _film(stage: Stage, episode: Episode, video: Path | None, frames: Path | None, options: dict[str, Any]) -> None:
    from runner.cli.common import console
    from runner.episode.film import Film, write_frames, write_video
    from runner.episode.stage import View

    views = [View(camera, options["size"], options["fine"]) for camera in _cameras(stage, options["camera"])]
    film = Film(stage, episode, views, options["fps"], hold_s=0.0 if video is None else 2.0)
    with console(error=True).status("drawing") as status:

        def say(done: int, every: int) -> None:
            status.update(f"drawing {done} of {count(every, 'frame')}")

        if video is not None:
            write_video(video, film, say)
        if frames is not None:
            write_frames(frames, Film(stage, episode, views, options["fps"], hold_s=0.0), say)
    if video is not None:
        size = f"{film.width} x {film.height}"
        echo(f"{video}: {count(film.count, 'frame')} of {size}, {video.stat().st_size / 1e6:.1f} MB")
    if frames is not None:
        echo(f"{frames}: {count(len(list(frames.glob('frame_*.png'))), 'picture')}")


def _stills(stage: Stage, episode: Episode, folder: Path, options: dict[str, Any]) -> None:
    from runner.episode.stage import View
    from runner.episode.stills import write_stills

    view = View(_cameras(stage, options["camera"])[0], options["size"], options["fine"])
    drawn = write_stills(folder, stage, episode, view, lambda done, every: None)
    echo(f"{folder}: {count(drawn, 'picture')}")


def _cameras(stage: Stage, given: str | None) -> list[str]:
    if given is None:
        return [stage.cameras[0]]
    names = [name.strip() for name in given.split(",") if name.strip()]
    unknown = [name for name in names if name not in stage.cameras]
    if unknown or not names:
        raise BadInput(f"camera {(unknown or [given])[0]!r} is not one of {', '.join(stage.cameras)}")
    return names
