"""`assay episode` and `--render` as a user runs them, on real attempts of the launcher as plain processes."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from test_cli import assay, one_error

from images.mujoco import gl
from manifests.load import load
from runner.doctor_draw import Forced
from runner.episode.overlay import COLOURS
from runner.episode.stage import stage_of
from runner.episode.stored import EpisodeError, find_attempt, open_episode
from runner.runtimes.children import ChildRuntime
from runner.store.store import Store

CHOICES = ["--model", "random", "--subset", "smoke", "--tasks", "marble/dual-panda/A007", "--protocol", "single"]
DRAW = ["--runtime", "process", "--size", "96", "--fps", "2"]
needs_gl = pytest.mark.skipif(gl.working() is None, reason="no OpenGL backend here")
needs_av = pytest.mark.skipif(importlib.util.find_spec("av") is None, reason="the package av is not installed")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four attempts of the random agent, each of which breaks a rule within seconds."""
    folder = tmp_path_factory.mktemp("home")
    assay(folder, "evaluate", *CHOICES, "--runtime", "process", "--run", "r", check=0)
    return folder


def test_without_an_option_it_says_what_the_attempt_was_and_how_it_ended(home: Path) -> None:
    done = assay(home, "episode", "r", "2", check=0)
    first, verdict, facts, *events = done.stdout.splitlines()
    assert first == "attempt 2 of run r: marble/dual-panda/A007 condition 0, random"
    assert re.fullmatch(r"(COLL|LIMIT|PEN|MECH|RULE): .+ \[L-\d\d .+\]", verdict)
    assert all(re.match(r" *\d+\.\d{3} s  ", line) for line in events)
    identifier = facts.rsplit(" ", 1)[1]
    assert assay(home, "episode", identifier, check=0).stdout == done.stdout
    assert assay(home, "episode", "r", identifier[:8], check=0).stdout == done.stdout


def test_the_transcript_is_text(home: Path) -> None:
    text = assay(home, "episode", "r", "2", "--transcript", check=0).stdout
    assert "── program ──" in text
    assert "SEED = " in text


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["r", "9"], ["run r", "sequence number 9"]),
        (["r", "ffffffffff"], ["'ffffffffff'", "run r has none"]),
        (["r"], ["attempt 'r'", "assay episode RUN 2"]),
        (["q", "2"], ["run 'q'", "assay runs"]),
        (["r", "2", "--video", "x.avi"], ["'x.avi'", ".mp4 or .webp"]),
        (["r", "2", "--frames", "x", "--fps", "0"], ["fps 0", "0.1"]),
        (["r", "2", "--frames", "x", "--size", "63"], ["size 63", "even"]),
        (["r", "2", "--at", "1"], ["--sheet"]),
        (["r", "2", "--sheet", "x.png", "--at", "later"], ["'later'", "TIME"]),
    ],
)
def test_a_bad_input_is_one_line_and_draws_nothing(home: Path, arguments: list[str], names: list[str]) -> None:
    text = one_error(assay(home, "episode", *arguments, check=2))
    assert all(name in text for name in names)


def test_a_store_that_is_not_there_is_one_line_and_is_not_made(tmp_path: Path) -> None:
    one_error(assay(tmp_path / "none", "episode", "r", "2", check=1))
    assert not (tmp_path / "none").exists()


@needs_gl
def test_an_unknown_camera_names_those_there_are(home: Path, tmp_path: Path) -> None:
    arguments = ["r", "2", "--frames", str(tmp_path), *DRAW, "--camera", "roof"]
    assert "'roof' is not one of wide, range, mechanism, side" in one_error(assay(home, "episode", *arguments, check=2))


@needs_gl
def test_frames_are_drawn_from_the_states_and_the_last_has_the_verdict(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "frames"
    assay(home, "episode", "r", "2", "--frames", str(out), *DRAW, "--camera", "wide,mechanism", check=0)
    files = sorted(out.iterdir())
    store = Store(home, read_only=True)
    run = store.find_run("r")
    assert run is not None
    episode = open_episode(store, run, find_attempt(store, run, "2"))
    assert len(files) in (int(episode.times[-1] * 2) + 1, int(episode.times[-1] * 2) + 2)
    first, last = (Image.open(file).convert("RGB") for file in (files[0], files[-1]))
    assert first.size == last.size == (192, 116)
    assert COLOURS["failure"] in {colour for _, colour in last.getcolors(1 << 20) or ()}
    assert (np.asarray(first)[:96] != np.asarray(last)[:96]).any()  # something moved
    alone = tmp_path / "alone"
    assay(home, "episode", "r", "2", "--frames", str(alone), *DRAW, "--camera", "mechanism", check=0)
    for file in files:  # the right half is the second camera at the same instant
        single, both = (np.asarray(Image.open(path)).astype(int) for path in (alone / file.name, file))
        assert np.abs(both[40:96, 96:] - single[40:96]).max() <= 2


@needs_gl
@pytest.mark.parametrize("name", ["film.webp", pytest.param("film.mp4", marks=needs_av)])
def test_a_video_has_every_frame_and_holds_the_verdict(home: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / "new" / name
    done = assay(home, "episode", "r", "2", "--video", str(path), *DRAW, check=0)
    found = re.search(r"(\d+) frames of 96 x 116", done.stdout)
    assert found is not None
    frames = _frames(path)
    assert len(frames) == int(found[1]) >= 5
    red = [_redness(frame) for frame in frames]
    assert min(red[-4:]) > 10 > max(red[:-5], default=0)  # two seconds at two frames a second, and the end itself
    assert [item.name for item in path.parent.iterdir()] == [name]  # no part is left


def _frames(path: Path) -> list[np.ndarray]:
    if path.suffix == ".mp4":
        import av

        with av.open(str(path)) as container:
            return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    image = Image.open(path)
    frames = []
    for index in range(image.n_frames):
        image.seek(index)
        frame = np.asarray(image.convert("RGB"))
        frames += [frame] * round(image.info["duration"] / 500)  # equal frames are one that lasts
    return frames


def _redness(frame: np.ndarray) -> int:
    """Pixels of the panel in the colour of a failure, as an encoder leaves it."""
    panel = frame[96:].astype(int)
    return int((np.abs(panel - COLOURS["failure"]).max(axis=2) < 60).sum())


@needs_gl
def test_a_contact_sheet_has_a_picture_for_each_moment(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "sheet.png"
    moments = ["--at", "0@wide=start", "--at", "0.02@range*1.5"]
    done = assay(home, "episode", "r", "2", "--sheet", str(path), *moments, "--runtime", "process", check=0)
    assert done.stdout.startswith(f"{path}: ")
    assert Image.open(path).width == 9 + 2 * (388 + 9)
    assert path.stat().st_size < 400_000
    assay(home, "episode", "r", "2", "--sheet", f"{tmp_path}/new/", "--runtime", "process", check=0)
    (made,) = (tmp_path / "new").iterdir()
    assert re.fullmatch(r"marble-dual-panda-A007-c\d-2-[0-9a-f]{8}\.png", made.name)
    assert Image.open(made).width == 9 + 3 * (388 + 9)
    late = assay(home, "episode", "r", "2", "--sheet", str(path), "--at", "999", "--runtime", "process", check=2)
    assert "999: the episode ends at" in one_error(late)


@needs_gl
def test_a_run_is_drawn_after_it_and_its_evidence_stays_as_it_was(home: Path, tmp_path: Path) -> None:
    copy = tmp_path / "home"
    shutil.copytree(home, copy)
    before = {path: path.read_bytes() for path in (copy / "r").rglob("*") if path.is_file()}
    command = ["evaluate", *CHOICES, "--runtime", "process", "--run", "r", "--render"]
    drawn = assay(copy, *command, check=0)
    assert len(re.findall(r"drawn   .*/marble-dual-panda-A007-c[0-3]-\d+-[0-9a-f]{8}\.", drawn.stderr)) == 4
    videos = sorted((copy / "r" / "rendered").iterdir())
    records = [json.loads(path.read_bytes()) for path in (copy / "r").glob("*/record.json")]
    stems = {f"marble-dual-panda-A007-c{row['condition']}-{row['sequence']}-{row['attempt'][:8]}" for row in records}
    assert {path.stem for path in videos} == stems
    assert all(path.read_bytes() == content for path, content in before.items())
    assert "drawn" not in assay(copy, *command, check=0).stderr  # nothing is drawn twice
    report = json.loads(assay(copy, "audit", "r", "--format", "json").stdout)
    assert not [finding for check in report["checks"] for finding in check["findings"] if "rendered" in str(finding)]


def test_a_machine_without_opengl_is_told_which_packages_to_install(home: Path, tmp_path: Path) -> None:
    store = Store(home, read_only=True)
    run = store.find_run("r")
    assert run is not None
    episode = open_episode(store, run, find_attempt(store, run, "2"))
    runtime = ChildRuntime(Forced("none"), jobs=0, locks=tmp_path)
    try:
        with (
            pytest.raises(EpisodeError, match="libegl1 libgl1-mesa-dri or libosmesa6"),
            stage_of(runtime, load(), episode),
        ):
            pass
    finally:
        runtime.close()


@needs_gl
def test_a_scene_that_is_not_the_recorded_one_is_refused(home: Path, tmp_path: Path) -> None:
    store = Store(home, read_only=True)
    run = store.find_run("r")
    assert run is not None
    episode = open_episode(store, run, find_attempt(store, run, "2"))
    other = episode.record.model_copy(update={"realized": {**episode.record.realized, "stiffness": 23.0}})
    moved = type(episode)(episode.run, episode.model, other, episode.folder)
    runtime = ChildRuntime(Forced(str(gl.working())), jobs=0, locks=tmp_path)
    try:
        with pytest.raises(EpisodeError, match="another initial condition"), stage_of(runtime, load(), moved):
            pass
    finally:
        runtime.close()
