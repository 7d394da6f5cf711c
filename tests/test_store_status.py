"""Versions of a score, the migration of older stores, and that a large import is quick."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from leaderboard_records import SUCCESS, twice, write_run

from leaderboard.ranking import standings
from leaderboard.source import Entry, read_entry
from manifests.load import load
from runner.plan import versions
from runner.score import score_run
from runner.store.status import stale
from runner.store.store import Store
from runner.store.tables import SCHEMA_VERSION

MUJOCO = ("mujoco",)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def test_records_carry_the_version_of_scoring_and_of_the_evaluator_of_their_engine(store: Store) -> None:
    from manifests.records import AttemptRecord

    run = write_run(store, "r", twice(SUCCESS))
    record = AttemptRecord.model_validate_json(store.attempts(run)[0].record or "")
    assert record.settings.versions == versions(load(), MUJOCO)
    assert {"assay", "protocol", "scoring", "evaluator.mujoco"} == set(record.settings.versions)
    assert run.settings["versions"] == record.settings.versions
    assert stale([record.settings.versions], MUJOCO, load()) == ()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"scoring": "0"}, "stale: the version of scoring was 0 and is now 1"),
        ({"evaluator.mujoco": "7"}, "stale: the version of the evaluator of mujoco was 7 and is now 1"),
    ],
)
def test_a_score_of_an_older_evaluator_or_scoring_is_stale(change: dict[str, str], text: str) -> None:
    today = versions(load(), MUJOCO)
    assert stale([today, today | change], MUJOCO, load()) == (text,)


def test_records_without_a_version_are_stale() -> None:
    assert len(stale([{"assay": "0.1.0", "protocol": "1"}], MUJOCO, load())) == 2


def test_a_record_of_one_engine_says_nothing_of_another() -> None:
    both = ("isaaclab", "mujoco")
    one, other = versions(load(), ("mujoco",)), versions(load(), ("isaaclab",))
    assert stale([one, other], both, load()) == ()
    assert stale([one, other | {"evaluator.isaaclab": "0"}], both, load()) == (
        "stale: the version of the evaluator of isaaclab was 0 and is now 1",
    )


def test_a_raised_evaluator_takes_the_rank_and_marks_the_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_run(store, "r", twice(SUCCESS), subset="ep-launch")
    manifests = load()
    engine = manifests.engines["mujoco"].model_copy(update={"evaluator": 2})
    raised = replace(manifests, engines={**manifests.engines, "mujoco": engine})
    result = score_run(store, run, raised)
    text = "stale: the version of the evaluator of mujoco was 1 and is now 2"
    assert result["run"]["stale"] == [text]
    assert text in result["not_rankable"]
    assert score_run(store, run, manifests)["run"]["stale"] == []
    monkeypatch.setattr("leaderboard.source.load", lambda: raised)
    entry = read_entry(store, run)
    assert isinstance(entry, Entry)
    assert entry.stale == (text,)
    (standing,) = standings([entry])
    assert standing.ranked == ()


def test_a_store_of_the_first_revision_is_migrated_with_its_records(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = write_run(store, "r", twice(SUCCESS))
    before = score_run(store, run, load())
    store.close()
    with sqlite3.connect(tmp_path / "assay.sqlite") as raw:
        for table, column in (("attempt", "decisions"), ("run", "withdrawn"), ("run", "withdrawn_at")):
            raw.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        raw.execute("UPDATE alembic_version SET version_num = '0001'")
    again = Store(tmp_path)
    with sqlite3.connect(tmp_path / "assay.sqlite") as raw:
        assert raw.execute("SELECT version_num FROM alembic_version").fetchone() == (SCHEMA_VERSION,)
    assert score_run(again, run, load()) == before
    assert again.withdraw_run(run, "me", "why not").withdrawn is not None
