"""A key that stands twice in an object has no meaning that two readers share: it is refused wherever JSON is read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from leaderboard_records import QUIT, twice, write_run
from test_cli import assay, one_error

from manifests import strict
from manifests.errors import ManifestError
from manifests.images import load_images
from manifests.load import FOLDER
from runner.episode.stored import Episode, EpisodeError, open_episode
from runner.models.base import ModelFault, ToolCall, tool_arguments
from runner.store.artifacts import RECORD, AttemptFolder
from runner.store.database import Damaged
from runner.store.store import Run, Store

TWICE = "the key 'a' stands twice in one object"
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_what_json_can_say_is_read_as_it_is(value: Any) -> None:
    assert strict.loads(json.dumps(value)) == value


@given(VALUES, VALUES, st.lists(st.sampled_from(["list", "object"]), max_size=4))
def test_a_key_twice_is_found_at_any_depth_and_with_any_values(one: Any, other: Any, around: list[str]) -> None:
    text = f'{{"b": 0, "a": {json.dumps(one)}, "a": {json.dumps(other)}}}'
    for kind in around:
        text = f"[1, {text}]" if kind == "list" else f'{{"a": {text}}}'
    with pytest.raises(strict.DuplicateKey, match=f"^{TWICE}$"):
        strict.loads(text)


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}'])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(strict.NotFinite, match="is no JSON number"):
        strict.loads(text)


def test_a_manifest_of_images_with_a_key_twice_is_one_line(tmp_path: Path) -> None:
    text = (FOLDER / "images.json").read_text()
    (tmp_path / "images.json").write_text(text.replace('"roles": {', '"roles": {}, "roles": {', 1))
    with pytest.raises(
        ManifestError, match=r"^manifests/images\.json: is not valid JSON: the key 'roles' stands twice"
    ):
        load_images(tmp_path)


def test_arguments_of_a_tool_call_with_a_key_twice_are_told_to_the_model() -> None:
    tool = {"type": "function", "function": {"name": "act", "parameters": {"required": []}}}
    with pytest.raises(ModelFault, match=rf"the arguments of act are not valid JSON \({TWICE}\)"):
        tool_arguments(ToolCall("1", "act", '{"a": 1, "a": 2}'), [tool])


def test_a_parameter_with_a_key_twice_or_given_twice_is_one_line(tmp_path: Path) -> None:
    choices = ["evaluate", "--model", "openai/x", "--parameter"]
    done = assay(tmp_path, *choices, 'x={"a": 1, "a": 2}', check=2)
    assert one_error(done) == f"""parameter 'x={{"a": 1, "a": 2}}': {TWICE}; give another VALUE"""
    done = assay(tmp_path, *choices, "x=1", "--parameter", "x=2", check=2)
    assert one_error(done) == "parameter 'x=2': x is given twice; keep one of them"


# ---- records ---------------------------------------------------------------------------------------------------------
@pytest.fixture
def recorded(tmp_path: Path) -> tuple[Store, Run]:
    store = Store(tmp_path)
    return store, write_run(store, "r", twice(QUIT))


def edit(store: Store, statement: str, *values: object) -> None:
    with sqlite3.connect(store.home / "assay.sqlite") as raw:
        raw.execute(statement, values)
    raw.close()


def test_an_entry_with_a_key_twice_breaks_the_chain_though_its_value_has_the_right_hash(
    recorded: tuple[Store, Run],
) -> None:
    store, run = recorded
    edit(store, 'UPDATE entry SET payload = replace(payload, \'{"attempt"\', \'{"attempt":"x","attempt"\')')
    said = "entry 2 was changed: its payload is not JSON: the key 'attempt' stands twice in one object"
    assert store.verify(run) == said
    with pytest.raises(Damaged, match=rf"run r: its ledger is damaged \({said}\): restore the store from a backup"):
        store.check_intact(run)


def test_settings_with_a_key_twice_are_one_line(recorded: tuple[Store, Run]) -> None:
    store, _ = recorded
    edit(store, "UPDATE run SET settings = '{\"a\":1,' || substr(settings, 2)")
    edit(store, "UPDATE run SET settings = '{\"a\":1,' || substr(settings, 2)")
    with pytest.raises(Damaged, match=rf"run r: its settings are not JSON \({TWICE}\)"):
        store.find_run("r")


def test_a_record_beside_its_artifacts_with_a_key_twice_is_no_record(
    tmp_path: Path, recorded: tuple[Store, Run]
) -> None:
    store, run = recorded
    row = store.attempts(run)[0]
    assert row.record is not None
    folder = AttemptFolder(tmp_path / "x", row.id)
    folder.final.mkdir(parents=True)
    for text, found in ((row.record, True), (row.record.replace("{", '{"run":"x",', 1), False)):
        (folder.final / RECORD).write_text(text)
        assert (folder.published() is not None) is found


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda episode: episode.describe, "describe.json is not a JSON object"),
        (lambda episode: list(episode.lines("describe.json")), "line 1 of describe.json is not JSON"),
    ],
)
def test_an_artifact_with_a_key_twice_is_one_line(
    recorded: tuple[Store, Run],
    monkeypatch: pytest.MonkeyPatch,
    read: Callable[[Any], Any],
    message: str,
) -> None:
    store, run = recorded
    episode = open_episode(store, run, store.attempts(run)[0])
    path = store.home / "describe.json"
    path.write_text('{"a": 1, "a": 2}')
    monkeypatch.setattr(Episode, "_find", lambda episode, name: path)
    with pytest.raises(EpisodeError, match=message):
        read(episode)
