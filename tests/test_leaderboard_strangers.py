"""Files of strangers on the pages: whatever JSON a description, a log, a transcript or a report holds, the page stands.

A bundle is signed by its submitter, and its files are what their hashes say; nothing says that they are well meant.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from leaderboard_records import RULE, twice, write_run

from leaderboard import audits, episode
from leaderboard.blocks import html_of, page
from leaderboard.markup import Safe
from leaderboard.source import record_of
from leaderboard.turns import turns
from leaderboard.views import audit, playback, transcript
from leaderboard.views import episode as view
from leaderboard.views import turns as steps
from manifests.records import Artifact, AttemptRecord
from runner.store.artifacts import RENDERED
from runner.store.store import Run, Store

WORDS = {
    "describe.json": ("control_hz", "controls", "cameras", "task", "name", "unit", "low", "high"),
    "transcript.jsonl": (
        "kind", "message", "role", "content", "type", "text", "image_url", "url", "tool_calls", "function", "arguments",
        "turn", "messages", "error", "traceback", "stdout", "truncated",
    ),
    "scorer_log.jsonl": ("simulated_s", "event", "target"),
    "audit.json": (
        "checks", "name", "status", "summary", "data", "entries", "head", "attempts", "sequence", "divergence",
        "actions", "ended", "passed",
    ),
    "choices": ("options", "taken", "reply", "cut", "strict", "published", "kind", "index", "rule"),
}  # fmt: skip
VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["message", "exec", "result", "fault", "request", "text", "image_url", "replay", "chain", "<b>"])
)
NAMED = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def tree(file: str) -> Any:
    """Any JSON, with the keys that the pages look for."""
    keys = st.sampled_from(WORDS[file])
    return st.recursive(VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=6))


def table(file: str) -> Any:
    return st.dictionaries(st.sampled_from(WORDS[file]), tree(file), max_size=8)


@pytest.fixture
def attempt(store: Store) -> tuple[Store, Run, AttemptRecord]:
    run = write_run(store, "r", twice(RULE), tasks="marble/dual-panda/A007")
    record = record_of(store.attempts(run)[0])
    assert record is not None
    return store, run, record


def with_files(store: Store, run: Run, record: AttemptRecord, files: dict[str, bytes]) -> AttemptRecord:
    """The record with these files, and the files where it says."""
    folder = store.attempt_folder(run, record.attempt).final
    for name, content in files.items():
        (folder / name).write_bytes(content)
    listed = [
        Artifact(name=name, sha256=hashlib.sha256(content).hexdigest(), size=len(content), media_type="application/x")
        for name, content in files.items()
    ]
    return record.model_copy(update={"artifacts": tuple(listed)})


def npy(array: np.ndarray[Any, Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def lines(entries: list[Any]) -> bytes:
    return "\n".join(map(json.dumps, entries)).encode()


@NAMED
@given(
    describe=tree("describe.json") | table("describe.json"),
    log=st.lists(table("scorer_log.jsonl"), max_size=5),
    said=st.lists(table("transcript.jsonl"), max_size=5),
    now=st.none() | st.floats(0, 20),
)
def test_an_attempt_is_shown_whatever_its_files_hold(
    attempt: tuple[Store, Run, AttemptRecord], describe: Any, log: list[Any], said: list[Any], now: float | None
) -> None:
    store, run, record = attempt
    files = {"describe.json": json.dumps(describe).encode(), "actions.npy": npy(np.ones((5, 2)))}
    files |= {"scorer_log.jsonl": lines(log), "transcript.jsonl": lines(said)}
    record = with_files(store, run, record, files)
    stored = episode.read(store, run, record)
    assert 0 <= playback.end_of(record, stored) < 1e9
    parts = [playback.how_to_draw("r", record, stored), playback.events(stored, now)]
    parts += [playback.controls(record, stored, now), transcript.build("r", record, stored, 1)]
    html = html_of(page("", *playback.course(record, stored, now), *parts))
    assert "<b>" not in html
    assert ">nan" not in html


@NAMED
@given(st.lists(table("choices") | tree("choices"), max_size=4))
def test_an_attempt_of_choices_is_shown_whatever_its_evidence_holds(
    attempt: tuple[Store, Run, AttemptRecord], rows: list[Any]
) -> None:
    store, run, record = attempt
    record = record.model_copy(update={"evidence": {"choices": rows, "log": rows}})
    stored = episode.read(store, run, record)
    taken = turns(store, run, record, stored)
    blocks = steps.build("r", record, stored, taken)
    html = html_of(page("", *blocks)) + html_of(view.record_of(record))
    assert "<b>" not in html


@NAMED
@given(table("audit.json"))
def test_a_report_is_shown_whatever_it_holds(attempt: tuple[Store, Run, AttemptRecord], document: Any) -> None:
    store, run, record = attempt
    folder = store.folder(run) / RENDERED / "audit"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "audit.json").write_text(json.dumps({**document, "run": {"id": run.id}}))
    audits._document.cache_clear()
    found = audits.of_run(store, run)
    assert len(found) == 1
    named = [(run.name, report) for report in found]
    assert "<b>" not in audit.reports_of("audits", Safe(""), named, runs=True).html
    replay = audits.replay_of(found, record.sequence)
    assert replay is None or isinstance(view._replay(replay), str)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("describe.json", b"[" * 100_000),
        ("describe.json", b'{"a": 1, "a": 2}'),
        ("describe.json", b'{"control_hz": NaN}'),
        ("transcript.jsonl", b"[" * 100_000),
        ("transcript.jsonl", b"\xff\xfe"),
        ("actions.npy", npy(np.array([[1.0, np.nan]]))),
        ("actions.npy", npy(np.array([1, 2]))),
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_not_shown(
    attempt: tuple[Store, Run, AttemptRecord], name: str, content: bytes
) -> None:
    store, run, record = attempt
    stored = episode.read(store, run, with_files(store, run, record, {name: content}))
    assert stored.problems == (f"{name} cannot be read",)


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"run": {"id": "x"}, "run": 1}', b"\xff", b"[]"])
def test_a_report_that_is_none_is_left_out(attempt: tuple[Store, Run, AttemptRecord], content: bytes) -> None:
    store, run, _ = attempt
    folder = store.folder(run) / RENDERED / "audit"
    folder.mkdir(parents=True)
    Path(folder / "audit.json").write_bytes(content)
    assert audits.of_run(store, run) == []
