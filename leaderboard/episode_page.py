"""The page of one attempt: verdict, playback with a slider over simulated time, transcript, record."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from PIL import Image

from leaderboard import asked, audits, episode, source, turns
from leaderboard.blocks import page
from leaderboard.draw import draw
from leaderboard.episode import VIDEOS, Drawn, Stored
from leaderboard.markup import notice, tag
from leaderboard.pickers import paged
from leaderboard.site import Detail, Site
from leaderboard.source import Attempt
from leaderboard.views import episode as view
from leaderboard.views import parts, playback, transcript, trouble
from leaderboard.views import turns as steps_view
from manifests.records import AttemptRecord

STEP = 0.1  # simulated seconds of the slider
MOMENTS = "Key moments, drawn from the recorded states"


def show(site: Site, detail: Detail, sequence: str) -> None:
    number = asked.number(sequence)
    found = source.attempts_of(site.store, detail.entry, [number]) if number is not None else []
    run = detail.entry.run
    if not found:
        trouble.unknown_attempt(run.name, sequence)
        return
    (attempt,) = found
    replay = audits.replay_of(audits.of_run(site.store, run), attempt.row.sequence)
    draw(view.verdict(detail.entry, attempt, replay), prefix="verdict")
    if attempt.record is None:
        return
    stored = episode.read(site.store, run, attempt.record)
    if turns.has_turns(attempt.record):
        taken = turns.turns(site.store, run, attempt.record, stored)
        _heading(stored)
        draw(page("", *steps_view.build(run.name, attempt.record, stored, taken)), prefix="steps")
    else:
        _playback(run.name, attempt.record, stored)
    _transcript(run.name, attempt, stored)
    draw(view.record_of(attempt.record), prefix="record")


@st.fragment
def _playback(run: str, record: AttemptRecord, stored: Stored) -> None:
    """A move of the slider draws this part anew, and nothing else."""
    _heading(stored)
    end, now = playback.end_of(record, stored), None
    if end >= STEP and stored.actions is not None and len(stored.actions):
        end = round(end, 1)
        at = _instant(end)
        now = None if at >= end else at
    left, right = st.columns([5, 4])
    with left:
        if stored.videos:
            _videos(stored.videos, now)
        else:
            st.html(playback.how_to_draw(run, record, stored))
    with right:
        st.html(playback.events(stored, now))
        if controls := playback.controls(record, stored, now):
            st.html(controls)
    draw(page("", *playback.course(record, stored, now)), prefix="course")
    for sheet in stored.sheets:
        st.image(sheet.path.read_bytes(), caption=MOMENTS, alt=MOMENTS)


def _instant(end: float) -> float:
    """Simulated time (s) of the slider, which stands in the address unless it is the end."""

    def keep() -> None:
        if st.session_state["time"] >= end:
            st.query_params.pop("t", None)
        else:
            st.query_params["t"] = f"{st.session_state['time']:.1f}"

    given = st.query_params.get("t", "")
    start = min(float(given), end) if given.replace(".", "", 1).isdigit() and given.isascii() else end
    at: float = st.slider("Simulated time (s)", 0.0, end, start, STEP, key="time", on_change=keep)
    return at


def _heading(stored: Stored) -> None:
    st.html(tag("h2", "Playback"))
    if stored.problems:
        st.html(notice("Not every stored file can be used.", tag("ul", *map(_item, stored.problems)), kind="bad"))


def _videos(videos: tuple[Drawn, ...], now: float | None) -> None:
    """The video of one camera, at the instant of the slider."""
    labels = [item.label for item in videos]
    chosen, wanted = videos[0], st.query_params.get("camera")
    if wanted is not None and wanted not in labels:
        st.html(parts.unknown("This attempt", "film by a camera", [wanted], f"That of {labels[0]} is shown."))
    if len(videos) > 1:
        first = wanted if wanted in labels else labels[0]
        label = st.segmented_control(
            "Camera", labels, default=first, required=True, key="film-of", on_change=_keep_camera
        )
        chosen = videos[labels.index(label or labels[0])]
    place = st.empty()
    if st.session_state.get("film") != str(chosen.path):  # a move of the slider shows no such word in between
        place.html(tag("p", "Loading the film …", class_="quiet film"))
        st.session_state["film"] = str(chosen.path)
    if chosen.path.suffix == ".webp" and now is not None:
        words = f"{chosen.label} at {now:.1f} s"
        place.image(_frame(chosen.path, now), caption=words, alt=f"Episode, {words}")
    elif chosen.path.suffix == ".webp":
        place.image(chosen.path.read_bytes(), caption=chosen.label, alt=f"Animation of the episode, {chosen.label}")
    else:
        data = chosen.path.read_bytes()
        place.video(data, format=VIDEOS[chosen.path.suffix], start_time=int(now or 0), alt=f"Episode, {chosen.label}")


def _keep_camera() -> None:
    st.query_params["camera"] = st.session_state["film-of"]


def _frame(path: Path, now: float) -> Image.Image:
    """The frame of an animated picture at ``now`` seconds."""
    with Image.open(path) as film:
        passed, number = 0.0, 0
        for number in range(getattr(film, "n_frames", 1)):
            film.seek(number)
            passed += film.info.get("duration", 100) / 1000
            if passed > now:
                break
        return film.convert("RGB")


def _transcript(run: str, attempt: Attempt, stored: Stored) -> None:
    assert attempt.record is not None
    number = paged("part", transcript.pages_of(stored))
    st.html(transcript.build(run, attempt.record, stored, number))


def _item(text: str) -> str:
    return tag("li", text)
