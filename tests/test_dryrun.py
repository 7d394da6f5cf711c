"""`assay evaluate --dry-run`: bounds from the budgets, means of what is recorded, what stays missing."""

from __future__ import annotations

import io
import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from kidgym_house import choices, evaluation, planned
from model_server import ModelServer, say
from rich.console import Console
from test_cli import assay, one_error
from test_kidgym_agent import agent_of

from manifests.load import load
from manifests.lookup import budget
from runner.agents.base import AgentInfo
from runner.dryrun import Span, _at_once, _dearest_token, _rounds, _span, _sum, estimate, print_estimate
from runner.store.store import Store

A007 = "marble/dual-panda/A007"
CHOICES = ["--model", "noop", "--subset", "full", "--tasks", A007, "--runtime", "process"]


def dry(home: Path, *choices: str) -> dict[str, Any]:
    return json.loads(assay(home, "evaluate", *choices, "--dry-run", "--format", "json", check=0).stdout)


def test_without_records_the_budgets_bound_it_and_nothing_is_touched(tmp_path: Path) -> None:
    home = tmp_path / "home"
    found = dry(home, *CHOICES)
    limits = budget(load(), A007)
    assert found["attempts"] == [4, 8]  # the first success ends a condition, or its second opportunity
    assert found["wall_s"] == {"low": 0.0, "high": 8 * limits.wall_s, "basis": "budgets"}
    assert found["tokens"]["high"] == found["cost_usd"]["high"] == 0.0  # a baseline calls no model
    assert found["exists"] is False
    assert not home.exists()
    text = assay(home, "evaluate", *CHOICES, "--dry-run", check=0).stdout
    assert "4 to 8" in text
    assert "at most 1:20:00" in text
    assert not home.exists()


def test_with_records_their_means_are_the_measure_and_settled_conditions_need_none(tmp_path: Path) -> None:
    assay(tmp_path, "evaluate", *CHOICES, "--protocol", "single", "--run", "first", check=0)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and "sqlite-" not in path.name}
    found = dry(tmp_path, *CHOICES, "--jobs", "2")
    (part,) = found["families"]
    records = [json.loads(path.read_bytes()) for path in (tmp_path / "first").glob("*/record.json")]
    mean = sum(record["wall_s"] for record in records) / 4
    assert (part["family"], part["past"]) == ("launcher", 4)
    assert part["wall_s"] == pytest.approx({"low": 4 * mean, "high": 8 * mean, "basis": "records"})
    assert found["elapsed_s"]["high"] == pytest.approx(found["wall_s"]["high"] / found["at_once"])

    settled = dry(tmp_path, *CHOICES, "--protocol", "single", "--run", "first")
    assert settled["exists"] is True
    assert settled["conditions"] == {"here": 4, "due": 0}
    assert settled["attempts"] == [0, 0]
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and "sqlite-" not in path.name}
    assert after == before


def test_attempts_of_another_setting_are_no_measure_and_a_few_choices_are_bounded_by_none(tmp_path: Path) -> None:
    pytest.importorskip("litellm", reason="litellm is not installed: `make test` installs it")
    with ModelServer([say("A")] * 9) as server:
        evaluation(tmp_path, agent_of(server, "zero-shot"), "PL-L1", 1).run()
        for setting, past in (("zero-shot", 1), ("cot", 0)):
            agent = agent_of(server, setting)
            items = planned(agent, "PL-L1", 3)
            found = estimate(load(), choices(agent, "PL-L1"), agent, items, "other", Store(tmp_path), 1)
            (part,) = found["families"]
            assert part["past"] == past
            assert part["wall_s"]["basis"] == part["tokens"]["basis"] == ("records" if past else "none")
    out = io.StringIO()
    print_estimate(Console(file=out, width=120), found)
    assert "no attempt of these settings yet" in out.getvalue()
    assert "at most" not in out.getvalue()


def test_no_more_attempts_run_at_once_than_there_are_conditions_and_for_a_baseline_cores(tmp_path: Path) -> None:
    cores = len(os.sched_getaffinity(0))
    found = dry(tmp_path, *CHOICES, "--jobs", "50")
    assert found["at_once"] == min(4, cores)
    rounds = math.ceil(8 / found["at_once"])
    assert found["elapsed_s"]["high"] == pytest.approx(rounds * budget(load(), A007).wall_s)
    text = assay(tmp_path, "evaluate", *CHOICES, "--dry-run", "--jobs", "50", check=0).stdout
    assert f"elapsed with 50 jobs ({found['limited_by']}, so {found['at_once']} at a time)" in text
    model = AgentInfo("code", "model", "1", "d" * 64, "L0", model="openai/x")
    assert _at_once(50, 12, model) == (12, "12 conditions to run")  # a model is waited for, whatever the cores
    assert _at_once(2, 12, model) == (2, None)


def test_the_last_round_takes_as_long_as_a_full_one() -> None:
    assert _rounds(60.0, 12, 8) == 10.0
    assert _rounds(60.0, 12, 12) == 5.0
    assert _rounds(0.0, 0, 1) == 0.0
    assert _rounds(None, 3, 2) is None


def test_what_cannot_run_here_is_named_with_its_reason(tmp_path: Path) -> None:
    found = dry(tmp_path, "--model", "noop", "--subset", "full")
    assert found["environments"]["planned"] == 410
    assert sum(item["environments"] for item in found["missing"]) + found["environments"]["here"] == 410
    reasons = {item["family"]: item["reason"] for item in found["missing"]}
    assert reasons["pocket_cube"] == "mujoco has no pocket_cube environments yet"


def test_a_model_is_priced_by_its_dearest_token_and_an_unknown_price_is_unknown(tmp_path: Path) -> None:
    pytest.importorskip("litellm", reason="litellm is not installed: `make test` installs it")
    from runner.models.library import price_row

    choices = [*CHOICES[2:], "--protocol", "single"]
    known = dry(tmp_path, "--model", "openai/gpt-4o", *choices)
    tokens = budget(load(), A007).tokens
    assert tokens is not None
    assert known["tokens"]["high"] == 4 * tokens
    row = price_row("openai/gpt-4o")
    dearest = max(row["input_cost_per_token"], row["output_cost_per_token"])
    assert known["cost_usd"] == {"low": 0.0, "high": pytest.approx(4 * tokens * dearest), "basis": "budgets"}
    info = AgentInfo("code", "model", "1", "d" * 64, "L0", model="openai/no-such-model")
    assert _dearest_token("openai/no-such-model", info) is None
    assert _span((4, 4), [], None) == Span(None, None, "none")


@pytest.mark.parametrize("form", ["csv", "markdown"])
def test_a_format_that_a_dry_run_lacks_is_refused(tmp_path: Path, form: str) -> None:
    text = one_error(assay(tmp_path, "evaluate", *CHOICES, "--dry-run", "--format", form, check=2))
    assert f"format '{form}'" in text


def test_a_bad_choice_is_refused_as_by_the_run_itself(tmp_path: Path) -> None:
    text = one_error(assay(tmp_path, "evaluate", *CHOICES, "--dry-run", "--protocol", "pass3", check=2))
    assert "protocol 'pass3'" in text


def test_unknown_usage_among_the_records_is_no_measure() -> None:
    assert _span((2, 4), [10.0, 30.0], 99.0) == Span(40.0, 80.0, "records")
    assert _span((2, 4), [10.0, None], 99.0) == Span(0.0, 99.0, "budgets")
    assert _span((2, 4), [], None) == Span(None, None, "none")
    assert _sum([Span(1.0, 2.0, "records"), Span(0.0, 5.0, "budgets")]) == Span(1.0, 7.0, "both")
    assert _sum([Span(1.0, 2.0, "records"), Span(None, None, "none")]).high is None
