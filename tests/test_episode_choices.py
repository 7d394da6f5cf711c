"""`assay episode` on an episode of choices: whole pictures, the options beside them, the end, on KidGym as it runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kidgym_house import ProcessLauncher, baseline, evaluation, seed_of
from PIL import Image
from test_cli import assay
from test_episode_words import record, stored

from images.kidgym.draw import frame
from images.kidgym.episode import Episode as Played
from manifests.load import load
from runner.episode.captions import Captions
from runner.episode.choices import ChoiceFrames, Turn, by_choices, letter, turns_of
from runner.episode.film import Film
from runner.episode.overlay import BAR, COLOURS
from runner.episode.sheet import CARD, GAP, HEAD, parse_moment, write_sheet
from runner.episode.stage import Stage, View, stage_of
from runner.episode.stored import Episode, open_episode
from runner.episode.transcript import choices
from runner.errors import BadInput
from runner.runtimes.children import ChildRuntime
from runner.store.store import Store
from runner.words import one_line

WHOLE = 576  # pixels of a picture as a model is sent it


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    evaluation(folder, baseline("reference"), "MFI-L1", 1).run()
    return folder


@pytest.fixture(scope="module")
def episode(home: Path) -> Episode:
    store = Store(home, read_only=True)
    run = store.find_run("test")
    assert run is not None
    return open_episode(store, run, store.attempts(run)[0])


@pytest.fixture(scope="module")
def stage(home: Path, episode: Episode) -> Iterator[Stage]:
    runtime = ChildRuntime(ProcessLauncher("tests"), jobs=0, locks=home / "locks")
    try:
        with stage_of(runtime, load(), episode) as opened:
            yield opened
    finally:
        runtime.close()


def moments(episode: Episode) -> list[np.ndarray]:
    """What the player saw before each choice, and after the last."""
    played = Played("MFI", 1, seed_of("kidgym/grid/MFI-L1"))
    found = [frame(played.scene, played.task.theme)]
    for row in episode.record.evidence["choices"]:
        played.choose(row["taken"])
        found.append(frame(played.scene, played.task.theme))
    return found


def has(image: np.ndarray, colour: tuple[int, int, int]) -> bool:
    return bool((np.abs(image.astype(int) - colour).max(axis=-1) < 3).any())


# ---- what is drawn --------------------------------------------------------------------------------------------------
def test_a_film_shows_every_picture_whole_and_after_the_last_choice_the_end(stage: Stage, episode: Episode) -> None:
    film = Film(stage, episode, [View("view", WHOLE)], 1.0, hold_s=0.0)
    frames, wanted = [np.asarray(image) for image in film.frames()], moments(episode)
    assert len(frames) == len(wanted) == len(episode.record.evidence["choices"]) + 1
    assert (film.width % 2, film.height % 2) == (0, 0)
    for number, (found, picture) in enumerate(zip(frames, wanted, strict=True)):
        np.testing.assert_array_equal(found[:, :WHOLE], picture)
        panel, ended = found[8:, WHOLE:], number == len(wanted) - 1
        assert has(panel, BAR) == (not ended)  # the option that was taken
        assert has(panel, COLOURS["success"]) == ended
    assert (frames[-1][:, :WHOLE] != frames[-2][:, :WHOLE]).any()


def test_a_sheet_has_every_state_with_its_options_and_the_verdict(
    stage: Stage, episode: Episode, tmp_path: Path
) -> None:
    path = tmp_path / "sheet.png"
    write_sheet(path, stage, episode, [], "view")
    sheet = np.asarray(Image.open(path).convert("RGB"))
    words = ChoiceFrames(episode, Captions(episode), CARD, titled=False)
    states = len(episode.states)
    wide, high = words.width + GAP, words.height + GAP
    assert sheet.shape[:2] == (HEAD + -(-states // 2) * high, GAP + 2 * wide)
    small = [np.asarray(Image.fromarray(picture).resize((CARD, CARD), Image.LANCZOS)) for picture in moments(episode)]
    for index, picture in enumerate(small):
        left, top = GAP + index % 2 * wide, HEAD + index // 2 * high
        found = sheet[top : top + CARD, left : left + CARD]
        assert np.abs(found.astype(int) - picture).mean() < 6  # a sheet has 256 colours


@pytest.mark.parametrize(
    ("at", "said"), [("1@view*2", "at 1: this board's pictures are shown whole; leave *2 out"), ("9", "ends at 2.00 s")]
)
def test_a_moment_that_cannot_be_shown_is_one_line(
    stage: Stage, episode: Episode, at: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=re.escape(said)) as caught:
        write_sheet(tmp_path / "sheet.png", stage, episode, [parse_moment(at)], "view")
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_film_and_chosen_moments_are_written_by_the_command(home: Path, tmp_path: Path) -> None:
    film, sheet = tmp_path / "film.webp", tmp_path / "sheet.png"
    chosen = ["--at", "0=what is to be remembered", "--at", "2"]
    arguments = ["--video", str(film), "--fps", "1", "--sheet", str(sheet), *chosen, "--runtime", "process"]
    done = assay(home, "episode", "test", "2", *arguments, check=0)
    assert re.search(r"5 frames of 972 x 512", done.stdout)  # three states, and two seconds of the last
    assert Image.open(sheet).width == GAP + 2 * (CARD + 2 * round(460 * CARD / 512 / 2) + GAP)


# ---- the words, without a simulator ---------------------------------------------------------------------------------
def of_choices(folder: Path, rows: list[dict[str, Any]], options: int = 3, **changes: Any) -> Episode:
    made = record(evidence={"choices": rows}, actions=len(rows), **changes)
    found = stored(folder, made)
    return Episode(found.run, found.model, found.record, found.folder, "kidgym")


def row(taken: int | None, reply: str | None = None, options: int = 3, length: int = 20) -> dict[str, Any]:
    texts = [f"{number} {'word ' * 20}"[: max(length, 3)] for number in range(options)]
    read = None if reply is None else {"kind": "none" if taken is None else "chosen", "index": taken, "rule": "letter"}
    return {"step": 1, "options": texts, "taken": taken, "reply": reply, "strict": read, "published": read}


def test_a_step_without_a_choice_says_so_in_amber(tmp_path: Path) -> None:
    blank = [np.zeros((256, 256, 3), np.uint8)]
    for number, (taken, amber) in enumerate(((1, False), (None, True))):
        shown = of_choices(tmp_path / str(number), [row(taken, "I cannot tell")])
        card = np.asarray(ChoiceFrames(shown, Captions(shown), 256).at(blank, 0.0, 0.0, ended=False))
        panel = card[8:, 256:]
        assert (has(panel, COLOURS["invalid"]), has(panel, BAR)) == (amber, not amber)


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 16), st.integers(1, 70), st.booleans(), st.sampled_from([128, 416, 512]))
def test_sixteen_options_of_seventy_characters_fit_beside_any_picture(
    tmp_path_factory: pytest.TempPathFactory, options: int, length: int, answered: bool, size: int
) -> None:
    shown = of_choices(
        tmp_path_factory.mktemp("e"), [row(options - 1, "A" * 300 if answered else None, options, length)]
    )
    frames = ChoiceFrames(shown, Captions(shown), size)
    blank = [np.zeros((size, size, 3), np.uint8)]
    card = np.asarray(frames.at(blank, 0.0, 0.0, ended=False))
    low = card[-max(2, size // 100) :, size:]
    assert card.shape == (frames.height, frames.width, 3)
    assert has(card[8:, size:], BAR)  # the last option is the one that was taken, and it is there
    assert len(np.unique(low.reshape(-1, 3), axis=0)) == 1  # nothing runs out at the bottom


@pytest.mark.parametrize(
    "evidence",
    [
        {},
        {"choices": "A"},
        {"choices": [1, None]},
        {"choices": [{}]},
        {"choices": [{"options": "AB", "taken": "1", "reply": 7}]},
        {"choices": [{"options": [1, None, "\x1b[2J"], "taken": 99, "reply": "\u202e", "strict": "x"}]},
    ],
)
def test_a_stranger_s_record_is_shown_as_far_as_it_goes(evidence: dict[str, Any], tmp_path: Path) -> None:
    made = record(evidence=evidence)
    assert all(isinstance(turn, Turn) and "\x1b" not in "".join(turn.options) for turn in turns_of(made))
    found = stored(tmp_path, made)
    shown = ChoiceFrames(found, Captions(found), 64)
    for ended in (False, True):
        assert shown.at([np.zeros((64, 64, 3), np.uint8)], 0.0, 0.0, ended=ended).size == (shown.width, 64)


def test_the_board_says_how_an_episode_is_shown(episode: Episode, tmp_path: Path) -> None:
    assert by_choices(episode)
    assert not by_choices(stored(tmp_path))
    assert {name for name, board in load().boards.items() if board.interface == "choice"} == {"kidgym"}


def test_the_text_of_an_episode_has_the_goal_the_options_the_choice_and_the_reply(episode: Episode) -> None:
    turns = turns_of(episode.record)
    lines = list(choices(episode))
    assert lines[0] == f"goal: {one_line(episode.describe['task'])}"
    assert [line for line in lines if line.startswith("step ")] == [f"step {n}" for n in range(1, len(turns) + 1)]
    marked = [line for line in lines if line.startswith("  > ")]
    assert marked == [
        f"  > {letter(turn.taken)}  {turn.options[turn.taken]}" for turn in turns if turn.taken is not None
    ]
    assert len(lines) == 1 + sum(1 + len(turn.options) for turn in turns)  # a baseline gives no reply


def test_a_step_without_a_choice_says_so_and_shows_what_was_replied(episode: Episode) -> None:
    row = {
        "options": ["left", "right"],
        "taken": None,
        "reply": "A or B?",
        "strict": {"kind": "ambiguous", "rule": "r"},
    }
    changed = episode.record.model_copy(update={"evidence": {"choices": [row]}})
    lines = list(choices(replace(episode, record=changed)))[1:]
    assert lines == [
        "step 1: none was taken, the step was used up", "    A  left", "    B  right",
        "    Reply (ambiguous, r): A or B?",
    ]  # fmt: skip
