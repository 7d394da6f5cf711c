"""Runs of KidGym through the house: baselines, going on after a kill or a fault, private seeds, choices, scores."""

from __future__ import annotations

import json
import threading
from typing import Any

import numpy as np
import pytest
from kidgym_house import attempt, baseline, evaluation, kill_environments, killed_after
from model_server import ModelServer, Request, fault, say
from test_kidgym_agent import agent_of, records

from images.kidgym import solve
from images.kidgym.baseline import PUBLIC_SEEDS
from images.kidgym.catalog import BUDGETS, LEVELS
from images.kidgym.generate import generate
from manifests.errors import ManifestError
from manifests.load import load
from manifests.lookup import condition_count, members
from manifests.submission import RunSettings
from manifests.tasks import rows, show
from runner.cli.board import complete
from runner.cli.evaluate import command
from runner.errors import BadInput, RunStopped
from runner.score import score_run
from runner.submission.expected import expected

CELLS = [(code, level) for code in BUDGETS for level in LEVELS]
PUBLIC = load().seed_lists["kidgym"].seeds
ONE_CELL = 1 - (1 - 0.01) ** (1 / 36)  # outside this much of each cell's distribution: 99 % for all 36 together


# ---- the board as data ----------------------------------------------------------------------------------------------
def test_the_catalog_has_36_environments_of_100_episodes_each_and_the_quick_look_5() -> None:
    manifests = load()
    assert [entry.case for entry in members(manifests, "kidgym")] == [f"{code}-L{level}" for code, level in CELLS]
    counts = [condition_count(manifests, f"kidgym/grid/{code}-L{level}") for code, level in CELLS]
    quick = [condition_count(manifests, f"kidgym/grid/{code}-L{level}", "kidgym-quick") for code, level in CELLS]
    assert (sum(counts), sum(quick)) == (3600, 180)
    assert len(rows("kidgym")) == 36
    assert show("kidgym/grid/CO-L3")["conditions"]["count"] == 100
    here = {"engine": "kidgym", "implemented": True, "reason": None}
    assert all(row["engines"]["embedded"] == here for row in rows("kidgym"))


def test_the_public_list_is_frozen_and_is_that_of_the_exact_baseline() -> None:
    assert tuple(PUBLIC_SEEDS) == PUBLIC == tuple(range(100))
    assert load().seed_lists["kidgym"].digest == "f10d4d6f83ebdf3cd98ce8da2ae3082aae84796a2a691144ee125c5ba2c94e0c"


def test_pass1_means_what_pass2_means_for_every_cause_and_excludes_alike() -> None:
    manifests = load()
    for cause, row in manifests.causes.items():
        assert row.outcomes["pass1"] == row.outcomes["pass2"], cause
    one, two = manifests.protocols["pass1"], manifests.protocols["pass2"]
    assert (one.opportunities, one.exclusion) == (1, two.exclusion)


# ---- baselines ------------------------------------------------------------------------------------------------------
def test_the_reference_agent_solves_a_sample_of_every_cell() -> None:
    agent = baseline("reference")
    for code, level in CELLS:
        for seed in PUBLIC[level::60]:
            assert attempt(agent, code, level, seed)[0] == "goal_met", (code, level, seed)


@pytest.mark.slow
def test_the_reference_agent_solves_all_3600_episodes() -> None:
    agent = baseline("reference")
    solved = sum(attempt(agent, code, level, seed)[0] == "goal_met" for code, level in CELLS for seed in PUBLIC)
    assert solved == 3600


def distribution(chances: list[float]) -> np.ndarray:
    """The exact distribution of a number of successes [episodes + 1] of independent episodes."""
    found = np.array([1.0])
    for chance in chances:
        found = np.convolve(found, [1 - chance, chance])
    return found


def within(wins: int, chances: list[float]) -> bool:
    below = np.cumsum(distribution(chances))
    return bool(below[wins] > ONE_CELL / 2 and 1 - (below[wins - 1] if wins else 0.0) > ONE_CELL / 2)


def plays_by_chance(episodes: int) -> None:
    agent = baseline("random")
    for code, level in CELLS:
        chances, wins = [], 0
        for number, seed in enumerate(PUBLIC[:episodes]):
            chances.append(float(solve.chance(generate(code, level, seed))))
            cause, facts = attempt(agent, code, level, seed, agent_seed=1000 * number + level)
            wins += cause == "goal_met"
            assert all(0 <= step["taken"] < len(step["options"]) for step in facts["choices"])
        assert within(wins, chances), (code, level, wins, sum(chances))


def test_the_random_agent_wins_as_often_as_the_exact_chances_say_on_a_sample() -> None:
    plays_by_chance(4)


@pytest.mark.slow
def test_the_random_agent_wins_as_often_as_the_exact_chances_say_on_all_3600_episodes() -> None:
    plays_by_chance(100)


def test_an_interval_that_is_wrong_is_seen() -> None:
    assert within(25, [0.25] * 100)
    assert not within(60, [0.25] * 100)
    assert not within(3, [0.25] * 100)


def test_baselines_run_through_the_real_house_without_a_sandbox(tmp_path) -> None:
    for name, level, outcome in (("reference", "L3", "success"), ("noop", "L0", "failure")):
        evaluation(tmp_path / name, baseline(name), "MDE-L1", 1).run()
        (record,) = records(tmp_path / name)
        assert (record.outcome, record.settings.level, record.settings.mode) == (outcome, level, "zero-shot")
        assert [image.role for image in record.images] == ["kidgym"]
        assert record.settings.versions["seeds"] == load().seed_lists["kidgym"].digest
        assert (record.usage.model_calls, record.usage.cost_usd) == (0, 0.0)


# ---- the same house: kills, faults, other settings ------------------------------------------------------------------
def test_a_killed_run_goes_on_and_plays_every_episode_once(tmp_path) -> None:
    def some() -> bool:
        try:
            return len(records(tmp_path)) >= 3
        except Exception:  # the other process has not made the store yet
            return False

    killed_after(tmp_path, "PL-L1", 8, some)
    evaluation(tmp_path, baseline("random"), "PL-L1", 8).run()
    found = records(tmp_path)
    left = {record.condition for record in found if record.cause == "interrupted"}
    assert sorted(record.condition for record in found if record.cause != "interrupted") == sorted(set(range(8)) - left)
    assert len({record.attempt for record in found}) == len(found)


def test_a_fault_of_the_provider_before_an_action_is_excluded_and_its_episode_played_again(tmp_path) -> None:
    calls = iter(range(100))

    def script(request: Request) -> Any:
        return fault(500, "down") if 1 <= next(calls) <= 8 else say("A")

    with ModelServer(script) as server:
        made = evaluation(tmp_path, agent_of(server), "PL-L1", 3)
        run = made.run()
    (bad,) = [record for record in records(tmp_path) if record.outcome == "invalid"]
    assert (bad.cause, bad.incident, bad.actions) == ("provider_fault", "candidate", 0)
    ledger = score_run(made.store, run, load())["ledger"]
    assert (ledger["attempts"], ledger["scored"], ledger["excluded"]) == (4, 3, 1)


@pytest.mark.parametrize(
    ("fatal", "acted", "left"), [(0, False, "excluded"), pytest.param(1, True, "candidate", marks=pytest.mark.slow)]
)
def test_an_environment_that_dies_is_an_incident_and_what_could_not_be_played_is_played_again(
    fatal, acted, left, tmp_path
) -> None:
    calls = iter(range(100))

    def script(request: Request) -> Any:
        if next(calls) == fatal:
            kill_environments()
        return say("A")

    with ModelServer(script) as server:
        made = evaluation(tmp_path, agent_of(server), "MA-L1", 2)
        run = made.run()
    (bad,) = [record for record in records(tmp_path) if record.outcome == "invalid"]
    assert (bad.cause, bad.incident, bad.acted) == ("container_fault", "candidate", acted)
    assert bad.evidence["exit_code"] == 128 + 9
    ledger = score_run(made.store, run, load())["ledger"]
    assert (ledger["attempts"], ledger[left]) == (2 + (not acted), 1)


def test_a_run_stops_at_a_refused_key_and_the_same_command_goes_on(tmp_path) -> None:
    calls, mended = iter(range(100)), threading.Event()

    def script(request: Request) -> Any:
        return say("A") if next(calls) < 2 or mended.is_set() else fault(401, "invalid api key")

    with ModelServer(script) as server:
        with pytest.raises(RunStopped, match="bad_key"):
            evaluation(tmp_path, agent_of(server), "PL-L1", 4).run()
        mended.set()
        evaluation(tmp_path, agent_of(server), "PL-L1", 4).run()
    valid = [record.condition for record in records(tmp_path) if record.outcome != "invalid"]
    assert sorted(valid) == [0, 1, 2, 3]


def test_going_on_in_another_setting_is_refused_by_field(tmp_path) -> None:
    with ModelServer([say("A")]) as server:
        evaluation(tmp_path, agent_of(server, "cot"), "PL-L1", 1).run()
        with pytest.raises(BadInput, match=r"agent\.parameters\.setting was cot and is now icl"):
            evaluation(tmp_path, agent_of(server, "icl"), "PL-L1", 1).run()


# ---- the command ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--board", "chess"], ("board 'chess' is not one of ep, kidgym",)),
        (["--board", "ep", "--subset", "kidgym"], ("subset 'kidgym' is of board kidgym", "board ep has full, ep-100")),
        (["--board", "kidgym", "--subset", "smoke"], ("is of board ep", "has kidgym, kidgym-quick")),
        (["--board", "kidgym", "--setting", "cot"], ("setting 'cot'", "random reads no prompt")),
        (["--setting", "cot"], ("setting 'cot' is unknown", "board ep has none")),
        (["--board", "kidgym", "--setting", "few-shot"], ("'few-shot'", "zero-shot, cot, icl")),
        (["--board", "kidgym", "--agent", "code"], ("agent 'code'",)),
        (
            ["--board", "kidgym", "--seeds", "/nowhere/list.json"],
            ("seeds /nowhere/list.json: cannot be read: No such file",),
        ),
        (
            ["--board", "kidgym", "--tasks", "A007"],
            ("tasks pattern 'A007' matches nothing in subset 'kidgym' but 1 environment",),
        ),
        (["--board", "kidgym", "--tasks", "cl-l1"], ("did you mean kidgym/grid/CL-L1;",)),
        (["--board", "kidgym", "--seed", "3"], ("base seed 3", "use 0")),
    ],
)
def test_a_choice_that_does_not_fit_the_board_is_one_line_with_the_fix(options, parts, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    with pytest.raises((BadInput, ManifestError)) as caught:
        command.main(["--model", "random", *options], standalone_mode=False)
    assert all(part in str(caught.value) for part in parts), caught.value
    assert "\n" not in str(caught.value)


def test_the_board_decides_subset_protocol_and_agents_where_nothing_is_said() -> None:
    for given, wanted in (
        ({"board": "kidgym"}, ("kidgym", "kidgym", "pass1")),
        ({"subset": "kidgym-quick"}, ("kidgym", "kidgym-quick", "pass1")),
        ({}, ("ep", "ep-launch", "pass2")),
        ({"subset": "smoke", "protocol": "single"}, ("ep", "smoke", "single")),
    ):
        options = {"board": None, "subset": None, "protocol": None, **given}
        complete(options, load())
        assert (options["board"], options["subset"], options["protocol"]) == wanted


# ---- the score ------------------------------------------------------------------------------------------------------
def test_the_score_has_tasks_levels_and_capabilities_with_intervals_over_episodes(tmp_path) -> None:
    made = evaluation(tmp_path, baseline("random"), "PL-L1,SO-L1", 4)
    run = made.run()
    result = score_run(made.store, run, load())
    assert result["names"] == {"pass_at_1": "Success", "all_four_at_1": "All solved"}
    assert result["interval"]["resampled"] == "episodes"
    labels = {name: [row["label"] for row in found] for name, found in result["by"].items()}
    assert labels["suite"] == ["SO", "PL"]
    assert labels["difficulty"] == ["L1"]
    assert labels["capability"] == ["Learning", "Perception Reasoning"]
    planned_by = {row["label"]: row["planned"] for row in result["by"]["capability"]}
    assert planned_by == {"Learning": 200, "Perception Reasoning": 100}
    assert result["replies"] is None
    assert result["run"]["setting"] == "zero-shot"


def test_a_submitted_run_of_the_public_list_is_what_the_manifests_expect(tmp_path) -> None:
    with ModelServer([say("A")]) as server:
        run = evaluation(tmp_path, agent_of(server, "cot"), "PL-L1", 1).run()
    settings = RunSettings.model_validate_json(json.dumps(run.settings), strict=True)
    wanted = expected(settings, load())
    assert settings.mode == "cot"
    assert settings.model_dump(mode="json", exclude={"images", "versions"}, exclude_unset=True) == wanted.settings
    (item,) = wanted.planned.values()
    assert (item.mode, len(wanted.conditions["kidgym/grid/PL-L1"])) == ("cot", 100)
