"""The words and frames of an episode without a simulator: captions, verdict, transcript, moments, fitting."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from manifests.records import AttemptRecord, Budgets, GroupSettings, Usage, Violation
from runner.episode import transcript
from runner.episode.captions import Captions, event, verdict
from runner.episode.film import moments
from runner.episode.keyframes import Moment, chosen_moments
from runner.episode.overlay import COLOURS, Overlay, fitted, font, wrapped
from runner.episode.sheet import HIGH, SIDE, _moving, parse_moment
from runner.episode.stored import Episode, EpisodeError
from runner.errors import BadInput
from runner.record import CLAUSE_TEXT
from runner.store.artifacts import AttemptFolder
from runner.words import one_line

NOW = datetime(2026, 1, 31, tzinfo=UTC)
CONTROLS = [{"name": f"left_joint{i}", "unit": "rad", "low": -1.0, "high": 1.0} for i in (1, 2)]
LOG = [{"simulated_s": 0.2, "event": "struck", "shot": 1, "element": "board", "speed": 3.14159}]


def record(**changes: Any) -> AttemptRecord:
    limits = Budgets(actions=7500, simulated_s=150, wall_s=600, tokens=None, images=None)
    settings = GroupSettings(
        profile="embedded",
        engine="mujoco",
        mode="loaded",
        base_seed=0,
        level="L0",
        grants=(),
        observation_profile="rgb",
        budgets=limits,
        protocol="pass2",
        versions={},
    )
    values: dict[str, Any] = {
        "attempt": "a" * 32,
        "run": "r",
        "sequence": 2,
        "environment_id": "marble/dual-panda/A007",
        "condition": 1,
        "settings": settings,
        "agent": {"name": "code", "model": "openai/x\x1b[31m"},
        "runtime": "docker",
        "official": True,
        "images": (),
        "fingerprint": {},
        "realized": {},
        "opened_at": NOW,
        "began_at": NOW,
        "closed_at": NOW,
        "acted": True,
        "wall_s": 1.0,
        "simulated_s": 0.4,
        "actions": 20,
        "image_reads": 0,
        "usage": Usage(),
        "outcome": "success",
        "cause": "goal_met",
        "code": None,
        "incident": "none",
    }
    return AttemptRecord(**{**values, **changes})


VIOLATION = record(
    outcome="failure",
    cause="violation",
    code="COLL",
    text="L-09: arm touched stand",
    violation=Violation(code="COLL", clause="L-09", text="L-09: arm touched stand", data={CLAUSE_TEXT: "No contact."}),
)


def stored(folder: Path, made: AttemptRecord | None = None, entries: list[dict[str, Any]] | None = None) -> Episode:
    """An attempt on disk: 20 actions, the first joint moves, an event at half time."""
    made = made or record()
    files = AttemptFolder(folder, made.attempt)
    files.start()
    actions = np.zeros((20, 2))
    actions[:, 0] = np.linspace(0, 0.5, 20)
    files.write("actions.npy", actions)
    files.write("states.npy", np.zeros((11, 3), dtype=np.float32))
    files.write("state_times.npy", np.linspace(0, 0.4, 11))
    files.write("describe.json", json.dumps({"controls": CONTROLS}).encode())
    files.write("scorer_log.jsonl", "".join(json.dumps(entry) + "\n" for entry in LOG).encode())
    for entry in entries or ():
        files.append("transcript.jsonl", entry)
    complete = made.model_copy(update={"artifacts": files.seal()})
    files.publish(complete)
    return Episode("run", "openai/x", complete, files.final)


# ---- text -----------------------------------------------------------------------------------------------------------
def test_a_text_on_one_line_has_single_blanks_and_its_escapes_written_out() -> None:
    assert one_line("a\n\tb  c\x1b[2J\u202e") == "a b c\\x1b[2J\\u202e"


@given(st.text(max_size=80), st.integers(6, 40), st.integers(1, 400))
def test_text_is_cut_to_its_width(text: str, size: int, width: int) -> None:
    text = one_line(text)
    assert font(size).getlength(fitted(text, size, width)) <= width
    lines = wrapped(text, size, width, 2)
    assert len(lines) <= 2
    assert all(font(size).getlength(line) <= width for line in lines)


def test_a_transcript_shows_every_kind_of_entry_with_escapes_written_out(tmp_path: Path) -> None:
    call = {"function": {"name": "step", "arguments": '{"action": [1]}'}}
    picture = {"type": "image_url", "image_url": {"url": "pictures/ab.png"}}
    entries: list[dict[str, Any]] = [
        {"kind": "begin", "agent": "code", "tools": []},
        {
            "kind": "message",
            "index": 0,
            "message": {"role": "user", "content": [{"type": "text", "text": "go"}, picture]},
        },
        {"kind": "request", "turn": 1, "messages": 1},
        {"kind": "reply", "turn": 1, "model": "x", "finish": "stop", "tokens": {"output": 7}, "cost_usd": 0.01},
        {
            "kind": "message",
            "index": 1,
            "message": {"role": "assistant", "content": "hi \x1b]0;x\x07", "tool_calls": [call]},
        },
        {"kind": "exec", "code": "print(1)"},
        {"kind": "result", "status": "error", "stdout": "out", "stderr": "err", "error": {"traceback": "Trace"}},
        {"kind": "fault", "cause": "length_stop", "text": "cut\ud800"},
    ]
    text = "\n".join(transcript.transcript(stored(tmp_path, entries=entries)))
    for part in (
        "go",
        "[picture pictures/ab.png]",
        "reply 1 of x: stop; tokens output 7, $0.0100",
        "hi \\x1b]0;x\\x07",
    ):
        assert part in text
    for part in (
        '[call step] {"action": [1]}',
        "print(1)",
        "result: error",
        "[stderr]\nerr",
        "Trace",
        "fault: length_stop",
    ):
        assert part in text
    assert "\x1b" not in text
    text.encode("utf-8")


def test_a_summary_names_verdict_and_clause(tmp_path: Path) -> None:
    lines = list(transcript.summary(stored(tmp_path, VIOLATION)))
    assert lines[0] == "attempt 2 of run run: marble/dual-panda/A007 condition 1, openai/x\\x1b[31m (code)"
    assert lines[1] == "COLL: arm touched stand [L-09  No contact.]"
    assert list(transcript.timeline(stored(tmp_path / "t"))) == ["    0.200 s  struck: shot 1, board"]


# ---- what is stored -------------------------------------------------------------------------------------------------
def test_a_file_that_is_not_the_recorded_one_is_refused(tmp_path: Path) -> None:
    episode = stored(tmp_path)
    np.save(episode.folder / "states.npy", np.ones((11, 3), dtype=np.float32))
    with pytest.raises(EpisodeError, match=r"states\.npy has hash .*, the record says"):
        _ = episode.states


def test_an_attempt_without_states_says_how_it_ended(tmp_path: Path) -> None:
    made = record(outcome="invalid", code="ERR", cause="container_fault", began_at=None, actions=0)
    with pytest.raises(EpisodeError, match=r"no states are stored.*container_fault before the episode began"):
        _ = Episode("run", "m", made, tmp_path).states


# ---- captions and frames --------------------------------------------------------------------------------------------
def test_a_caption_has_time_action_and_the_last_event(tmp_path: Path) -> None:
    captions = Captions(stored(tmp_path))
    early, late = captions.at(0.1, 0.0), captions.at(0.3, 0.2)
    assert (early.time, early.count, early.event) == ("0.10 s", "action 5 of 20", "")
    assert late.event == "struck: shot 1, board"
    assert late.action.startswith("left joint1 +0.1")
    assert "joint2" not in late.action  # it did not move
    assert late.progress == pytest.approx(0.75)


@pytest.mark.parametrize("entry", [{}, {"event": "x"}, {"simulated_s": "1", "event": "x"}, {"t": 1, "kind": "wall"}])
def test_an_entry_of_another_form_is_no_event(entry: dict[str, Any]) -> None:
    assert event(entry)[1] == ""


def test_the_verdict_is_the_recorded_one() -> None:
    assert verdict(record()).word == "success"
    assert verdict(record(outcome="invalid", code="ERR", cause="engine_fault")).word == "invalid"
    found = verdict(VIOLATION)
    assert (found.word, found.text, found.clause) == ("COLL", "arm touched stand", "L-09  No contact.")


@given(st.floats(0.0, 400.0), st.floats(0.1, 60.0))
def test_frames_are_evenly_spaced_and_include_start_and_end(end: float, fps: float) -> None:
    found = np.array(moments(np.array([0.0, end]), fps))
    assert found[0] == 0.0
    assert found[-1] == pytest.approx(end, abs=2e-6)
    assert (np.diff(found) > 0).all()
    assert (np.diff(found) <= 1 / fps + 1e-9).all()


@pytest.mark.parametrize("size", [64, 90, 512, 1024])
@pytest.mark.parametrize("cameras", [1, 3])
def test_a_frame_has_the_picture_above_and_the_verdict_at_the_end_only(tmp_path: Path, size: int, cameras: int) -> None:
    captions = Captions(stored(tmp_path, VIOLATION))
    overlay = Overlay(captions, size, cameras)
    assert overlay.width == size * cameras
    assert overlay.width % 2 == overlay.height % 2 == 0
    pictures = [np.full((size, size, 3), 90, dtype=np.uint8)] * cameras
    during, end = (overlay.frame(pictures, captions.at(0.4, 0.3), ended=ended) for ended in (False, True))
    assert during.size == end.size == (overlay.width, overlay.height)
    assert during.getpixel((size // 2, size // 2)) == (90, 90, 90)

    def shows(image: Image.Image) -> bool:
        return COLOURS["failure"] in {colour for _, colour in image.getcolors(1 << 24) or ()}

    assert (shows(during), shows(end)) == (False, True)


# ---- contact sheet --------------------------------------------------------------------------------------------------
def test_moments_are_parsed_with_camera_zoom_and_caption() -> None:
    assert parse_moment("12.5") == Moment(12.5, zoom=1.0)
    assert parse_moment("3@wide=launch = now") == Moment(3.0, "wide", "launch = now", 1.0)
    assert parse_moment("3@wide*1.5") == Moment(3.0, "wide", None, 1.5)


@pytest.mark.parametrize("text", ["", "x", "-1", "3@", "3@wide*9", "3@wide*0.5", "3="])
def test_a_moment_that_cannot_be_meant_is_refused_by_value(text: str) -> None:
    with pytest.raises(BadInput, match="TIME"):
        parse_moment(text)


def captions_of(end: float, events: list[tuple[float, str]], actions: int = 100) -> Captions:
    captions = object.__new__(Captions)
    captions.end, captions.events, captions.verdict = max(end, 1e-9), events, verdict(VIOLATION)
    captions._actions, captions._controls = np.zeros((actions, 1)), []
    captions._step = captions.end / max(actions, 1)
    return captions


def walk(end: float, still: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Times and states at 25 Hz; the first component moves evenly, the second shakes by less than anything sees."""
    times = np.arange(0.0, end + 1e-9, 0.04) if end else np.zeros(1)
    moving = np.zeros(len(times)) if still else np.linspace(0, 1, len(times))
    return times, np.stack([moving, 0.0005 * (-1.0) ** np.arange(len(times))], axis=1).astype(np.float32)


@given(st.lists(st.floats(0.0, 50.0), max_size=60))
def test_chosen_moments_begin_at_the_start_end_at_the_end_and_fill_whole_rows(times: list[float]) -> None:
    captions = captions_of(50.0, [(time, "e") for time in sorted(times)])
    found = [moment.time for moment in chosen_moments(captions, *walk(50.0))]
    assert (found[0], found[-1]) == (0.0, 50.0)
    assert len(found) in (6, 9)
    assert found == sorted(set(found))


def test_few_events_are_all_kept_and_the_rest_is_where_most_moved() -> None:
    events = [(1.9, "brake released"), (15.0, "launch: shot 1"), (15.1, "left the muzzle: shot 1"), (15.96, "success")]
    times, states = walk(15.96)
    states[:, 0] = np.where(times < 8, 0.0, np.minimum((times - 8) / 2, 1.0))  # moves from 8 to 10 s
    found = chosen_moments(captions_of(15.96, events), times, states)
    told = {moment.caption: moment.time for moment in found}
    assert told["start"] == 0.0
    assert told["brake released"] == 1.9
    assert told["launch: shot 1; left the muzzle: shot 1"] == 15.1
    assert told["success"] == found[-1].time
    assert len(found) == 6
    assert sum(8 <= moment.time <= 10 for moment in found) == 2


def test_of_many_events_the_rare_ones_are_kept() -> None:
    events = [(float(time), "brake: set") for time in range(1, 40)]
    events[10:10] = [(11.5, "fractured: pane")]
    found = [moment.caption for moment in chosen_moments(captions_of(50.0, events), *walk(50.0))]
    assert len(found) == 9
    assert "fractured: pane" in found


@pytest.mark.parametrize("end", [0.0, 60.0])
def test_an_episode_in_which_nothing_happens_is_one_picture_that_says_so(end: float) -> None:
    (only,) = chosen_moments(captions_of(end, [], actions=0), *walk(end, still=True))
    assert only == Moment(0.0, caption="no action was taken: arm touched stand")


def test_the_last_picture_says_how_it_ended_where_no_event_does() -> None:
    found = chosen_moments(captions_of(4.0, [(1.0, "struck")]), *walk(4.0))
    assert found[-1].caption == "arm touched stand"


def test_pictures_are_cut_to_what_moves_in_the_shape_of_the_sheet() -> None:
    still = np.zeros((1024, 1024, 3), dtype=np.uint8)
    moved = still.copy()
    moved[500:560, 600:900] = 200
    left, top, right, bottom = _moving([still, moved])
    assert left < 600 < 900 < right
    assert top < 500 < 560 < bottom
    assert (right - left) / (bottom - top) == pytest.approx(SIDE / HIGH, rel=0.01)
    assert _moving([still, still])[0] == 0  # nothing moves: the whole width


def test_a_verdict_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        verdict(record()).word = "success"  # type: ignore[misc]
