"""Cases that the field gets wrong, as records, clocks and databases decide them; the score's own are in
``test_scoring_field.py``, those of audits and bundles in ``test_audit.py`` and ``test_submission_statement.py``.
Every case is a test named after its row: ``test_field_NN_...``."""

from __future__ import annotations

import ast
import json
import sqlite3
import time
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import pytest
from leaderboard_records import FAULT, QUIT, SUCCESS, twice, write_run
from slider_runtime import Scripted, evaluation, fail

from manifests.load import load
from manifests.records import AttemptRecord, Usage
from runner.agents.base import AgentEnd
from runner.agents.choices import strict
from runner.cli import run as assay
from runner.errors import BadInput
from runner.record import Ending
from runner.report_rows import as_csv, as_markdown
from runner.score import score_run
from runner.store import ledger
from runner.store.scored import scored_attempt
from runner.store.store import Store

TESTS = Path(__file__).parent
ROWS = (*range(1, 19), 21, 22)  # that scores, records, clocks, databases, audits and bundles decide


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def test_every_row_that_is_decided_here_is_a_test_named_after_it() -> None:
    names = [
        node.name
        for path in TESTS.glob("test_*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    ]
    missing = [row for row in ROWS if not any(name.startswith(f"test_field_{row:02}_") for name in names)]
    assert missing == []


def test_field_04_a_fault_before_the_agent_leaves_the_score_null_and_not_zero(store: Store) -> None:
    run = write_run(store, "r", twice(FAULT))
    result = score_run(store, run, load())
    rate = result["total"]["metrics"]["pass_at_2"]["pooled"]
    assert (rate["value"], rate["percent"], rate["lower"], rate["upper"]) == (None, None, 0.0, 1.0)
    assert result["total"]["candidate"] == 12
    assert not result["rankable"]


def test_field_05_an_unknown_cause_makes_the_command_exit_non_zero(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    write_run(Store(tmp_path), "r", twice(Ending("KeyError in an adapter", text="nobody knows", acted=True)))
    assert assay(["score", "r"]) == 1
    assert "12 attempts ended with a cause or code that no table has" in capsys.readouterr().out


def test_field_08_another_model_under_the_same_run_is_refused_by_field(tmp_path: Path) -> None:
    evaluation(tmp_path, Scripted(fail), protocol="single", parameters=[{}]).run()
    later = evaluation(tmp_path, Scripted(fail), protocol="single", parameters=[{}])
    later.choices = replace(later.choices, model="another")
    with pytest.raises(BadInput, match=r"run test: model was scripted and is now another: go back .*RUN="):
        later.run()


def test_field_11_odd_text_is_stored_scored_and_exported(store: Store, tmp_path: Path) -> None:
    odd = "a lone \ud800 surrogate, NUL \x00, \udcff"
    ending = replace(QUIT, text=odd, data={odd: odd}, evidence={odd: b"\xff\xfe"})
    run = write_run(store, "r", twice(ending), parameters={"note": odd}, model="odd \ud83d model")
    found = store.find_run("r")
    assert found is not None
    result = score_run(store, found, load())
    for text in (json.dumps(result, allow_nan=False, ensure_ascii=False), as_csv(result), as_markdown(result)):
        (tmp_path / "export").write_text(text, encoding="utf-8")
    record = AttemptRecord.model_validate_json(store.attempts(run)[0].record or "")
    assert record.text == "a lone \\ud800 surrogate, NUL \\x00, \\udcff"
    assert record.evidence == {record.text: "\\xff\\xfe"}
    assert store.verify(run) is None


def test_field_13_cached_tokens_count_once_and_an_unknown_price_or_count_is_null(store: Store) -> None:
    usage = Usage(tokens_input=262_960, tokens_cached=257_955, tokens_output=1_744, cost_usd=None)
    known = store.attempts(write_run(store, "known", twice(SUCCESS), usage=usage))[0]
    assert scored_attempt(known, load()).tokens == 264_704
    assert AttemptRecord.model_validate_json(known.record or "").usage.cost_usd is None
    partly = Usage(tokens_input=None, tokens_cached=257_955, tokens_output=1_744)
    unknown = write_run(store, "unknown", twice(SUCCESS), usage=partly)
    assert scored_attempt(store.attempts(unknown)[0], load()).tokens is None
    tokens = score_run(store, unknown, load())["total"]["tokens_at_success"]
    assert (tokens["mean"], tokens["unknown"]) == (None, 12)


@pytest.mark.parametrize("zone", ["Pacific/Chatham", "America/St_Johns"])
def test_field_15_a_record_written_in_one_zone_is_the_same_instant_in_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    run = write_run(Store(tmp_path), "r", twice(QUIT))
    before = Store(tmp_path).attempts(run)
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        store = Store(tmp_path)
        after = store.attempts(run)
        assert [row.closed_at for row in after] == [row.closed_at for row in before]
        assert all(row.closed_at is not None and row.closed_at.tzinfo is UTC for row in after)
        record = AttemptRecord.model_validate_json(after[0].record or "")
        assert record.closed_at.utcoffset() is not None
        assert store.verify(run) is None
        store.withdraw_run(run, "me", "a test of clocks")
        found = store.find_run("r")
        assert found is not None
        assert found.withdrawn is not None
        assert abs(found.withdrawn.time.timestamp() - time.time()) < 60
        with store.database.write() as session:
            ledger.rebuild(session, run.id)
        assert [row.model_dump() for row in store.attempts(run)] == [row.model_dump() for row in after]
    finally:
        monkeypatch.undo()
        time.tzset()


def test_field_16_scoring_twice_is_identical_and_a_deleted_record_leaves_it_incomplete(store: Store) -> None:
    run = write_run(store, "r", twice(SUCCESS))
    first = score_run(store, run, load())
    assert score_run(store, run, load()) == first
    assert first["complete"]
    last = store.attempts(run)[-1]
    with sqlite3.connect(store.home / "assay.sqlite") as raw:
        raw.execute("DELETE FROM attempt WHERE id = ?", (last.id,))
    less = score_run(store, run, load())
    assert not less["complete"]
    assert less["total"]["missing"] == 1
    assert less["total"]["metrics"]["pass_at_2"]["pooled"]["value"] is None
    with store.database.write() as session:
        ledger.rebuild(session, run.id)
    assert score_run(store, run, load()) == first, "the ledger still has it"
    with sqlite3.connect(store.home / "assay.sqlite") as raw:
        raw.execute("DELETE FROM entry WHERE run_id = ? AND sequence = ?", (run.id, last.sequence))
    assert store.verify(run) == f"entry {last.sequence} is missing (found {last.sequence + 1})"


def test_field_17_a_reply_is_read_as_its_choice_or_as_none_and_never_as_its_first_letter() -> None:
    actions = [f"pick up item {number}" for number in range(4)]
    replies = ("A good choice is C", "I refuse. Can't decide.", "Answer: d")
    assert [strict(reply, actions).index for reply in replies] == [2, None, 3]


def test_field_21_a_host_side_agent_that_claims_success_is_none(tmp_path: Path) -> None:
    made = evaluation(tmp_path, Scripted(lambda context: AgentEnd("goal_met", "SUCCESS")), parameters=[{}])
    run = made.run()
    assert all(row.outcome != "success" for row in made.store.attempts(run))
    assert score_run(made.store, run, load())["total"]["successes"] == 0
