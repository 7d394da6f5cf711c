"""KidGym behind the gateway: what an agent is told and may read, how an episode ends, what a record draws again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kidgym_house import EXAMPLE, ROOT, Local, course, make_spec

import images.kidgym
from images.gateway.recorder import Recorder
from images.kidgym import solve
from images.kidgym.catalog import BUDGETS, LEVELS
from images.kidgym.environment import OPTIONS_BYTES, KidGym
from images.kidgym.episode import MAX_OPTIONS, Episode
from manifests.load import load
from manifests.lookup import budget

CELLS = [(code, level) for code in BUDGETS for level in LEVELS]
cells, seeds = st.sampled_from(CELLS), st.integers(0, 2**40)


def options(parts: dict) -> list[str]:
    return bytes(parts["options"]).rstrip(b"\0").decode().split("\n")


def step(local: Local, index: float) -> dict:
    reply, _ = local.call({"op": "step", "action": [index], "fields": ["options"]})
    assert reply["ok"], reply
    return reply


# ---- what is told and what may be read ------------------------------------------------------------------------------
def test_the_budgets_of_the_manifests_are_those_of_the_rules() -> None:
    for code, level in CELLS:
        limits = budget(load(), f"kidgym/grid/{code}-L{level}")
        assert (limits.actions, limits.simulated_s) == (BUDGETS[code][level - 1],) * 2


@settings(max_examples=40)
@given(cells, seeds)
def test_an_agent_reads_the_goal_the_options_and_the_picture_of_now(cell, seed) -> None:
    local, episode = Local(make_spec(*cell, seed)), Episode(*cell, seed)
    told = local.session.description
    assert told["task"] == episode.task.goal
    assert told["parameters"] == {
        "task": cell[0], "level": cell[1], "memory": episode.task.memory, "steps": episode.budget,
    }  # fmt: skip
    reply, parts = local.call({"op": "observe", "fields": ["options"], "pictures": [{"camera": "view", "width": 288}]})
    assert reply["ok"]
    assert options(parts) == [option.action.text for option in episode.options]
    assert parts["picture/0"].startswith(b"\x89PNG")


def test_neither_the_agent_nor_the_record_is_told_the_seed() -> None:
    local = Local(make_spec("CL", 2, 424242))
    told = [local.session.description, local.session.realized(), list(local.session.artifacts())]
    everything = json.dumps(told)
    assert "424242" not in everything
    assert "seed" not in everything


def test_the_solution_is_read_at_l3_alone() -> None:
    reply, _ = Local(make_spec("MA", 2, 3)).call({"op": "observe", "fields": ["solution"]})
    assert reply["error"] == {"kind": "not_permitted", "text": "field solution needs level L3; this session has L0"}
    local, indices = Local(make_spec("MA", 2, 3, "L3")), [index for _, index in course("MA", 2, 3)]
    _, parts = local.call({"op": "observe", "fields": ["solution"]})
    assert [index for index in parts["solution"] if index >= 0] == indices


@settings(max_examples=30)
@given(cells, seeds, st.data())
def test_the_solution_goes_on_from_any_state_or_says_that_there_is_none(cell, seed, data) -> None:
    local, episode = Local(make_spec(*cell, seed, "L3")), Episode(*cell, seed)
    for _ in range(data.draw(st.integers(0, episode.budget - 1))):
        if episode.end is None:
            index = data.draw(st.integers(0, len(episode.options) - 1))
            episode.choose(index)
            step(local, index)
    _, parts = local.call({"op": "observe", "fields": ["solution"]})
    path = [int(index) for index in parts["solution"] if index >= 0]
    for index in path:
        episode.choose(index)
    assert (episode.end == "success") == bool(path) or episode.end is not None


def test_the_longest_list_of_options_fits_its_field() -> None:
    longest = 0
    for code, level in CELLS:
        for seed in range(20):
            task = Episode(code, level, seed).task
            texts = [action.text for action in task.actions(task.opening)]
            longest = max(longest, len("\n".join(texts * 2).encode()))
            assert len(texts) <= MAX_OPTIONS
    assert longest // 2 < OPTIONS_BYTES // 1.5


# ---- the worked example ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("code", "level"), CELLS)
def test_the_worked_example_solves_another_episode_and_gives_a_reason_for_each_step(code, level) -> None:
    local = Local(make_spec(code, level, 5, mode="icl"))
    worked, episode = local.session.description["parameters"]["example"], Episode(code, level, EXAMPLE)
    assert worked["goal"] == episode.task.goal
    for number, row in enumerate(worked["steps"]):
        assert row["options"] == [option.action.text for option in episode.options]
        assert len(row["reason"].split()) > 5
        assert row["reason"].endswith(".")
        assert "None" not in row["reason"]
        camera = {"camera": f"example/{number}", "width": 576, "height": 576}
        assert local.call({"op": "observe", "pictures": [camera]})[0]["ok"]
        episode.choose(row["option"])
    assert episode.end == "success"
    assert [camera["name"] for camera in local.session.description["cameras"]] == [
        "view", *(f"example/{number}" for number in range(len(worked["steps"]))),
    ]  # fmt: skip


def test_no_list_holds_the_seed_of_the_example_and_only_icl_shows_it() -> None:
    assert all(found.example not in found.seeds for found in load().seed_lists.values())
    for mode in ("zero-shot", "cot"):
        told = Local(make_spec("CL", 1, 5, mode=mode)).session.description
        assert "example" not in told["parameters"]
        assert [camera["name"] for camera in told["cameras"]] == ["view"]


def test_a_reason_names_what_its_action_names() -> None:
    for code, level in CELLS:
        told = images.kidgym.create(make_spec(code, level, 5, mode="icl")).public()["parameters"]
        for row in told["example"]["steps"]:
            words = row["options"][row["option"]].replace("'", "").split()
            for before, value in pairwise(words):
                if before in ("label", "backpack", "position"):
                    assert value in row["reason"].replace(",", "").replace(".", "").replace(";", "").split(), row


# ---- the end of an episode ------------------------------------------------------------------------------------------
def test_a_solution_is_a_success_and_a_wrong_basket_a_violation_of_clause_k_02() -> None:
    for code, level in CELLS:
        local, reply = Local(make_spec(code, level, 9)), {}
        for _, index in course(code, level, 9):
            reply = step(local, index)
        assert reply["terminal"]["cause"] == "goal_met", (code, level)
    local, episode = Local(make_spec("PL", 1, 0)), Episode("PL", 1, 0)
    right = episode.index_of(solve.solution(episode.task)[0])
    terminal = step(local, (right + 1) % 4)["terminal"]
    assert (terminal["cause"], terminal["code"], terminal["clause"]) == ("violation", "WRONG", "K-02")
    assert {clause["id"] for clause in local.session.description["clauses"]} >= {"K-01", "K-02", "K-03", "G-02"}


@pytest.mark.parametrize("nothing", [-1.0, 1.5, 15.0])
def test_an_action_that_names_no_option_uses_up_a_step_and_changes_nothing(nothing) -> None:
    local = Local(make_spec("MA", 1, 4))
    before = local.environment.render("view", 288, 288)
    replies = [step(local, nothing) for _ in range(3)]
    assert [reply["remaining"]["actions"] for reply in replies] == [2, 1, 0]
    assert replies[-1]["terminal"]["cause"] == "action_budget"
    assert replies[-1]["terminal"]["clause"] == "G-02"
    np.testing.assert_array_equal(before, local.environment.render("view", 288, 288))


def test_an_action_outside_its_limits_ends_the_attempt_like_on_every_board() -> None:
    terminal = step(Local(make_spec("MA", 1, 4)), 16.0)["terminal"]
    assert (terminal["cause"], terminal["clause"]) == ("rejected_action", "G-01")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"environment_id": "kidgym/grid/XX-L1"}, "environment_id 'kidgym/grid/XX-L1' is not"),
        ({"environment_id": "kidgym/grid/CL-L4"}, "environment_id 'kidgym/grid/CL-L4' is not"),
        ({"mode": "loaded"}, "mode 'loaded' is not one of zero-shot, cot, icl"),
        ({"condition": {"index": 0, "parameters": {"seed": "7"}}}, "condition.parameters.seed '7' is not a whole"),
    ],
)
def test_what_cannot_be_played_is_one_line_that_names_field_and_value(changes, said) -> None:
    with pytest.raises(ValueError, match=said):
        images.kidgym.create(make_spec("CL", 1, 0, **changes))


# ---- records --------------------------------------------------------------------------------------------------------
@settings(max_examples=30)
@given(cells, seeds)
def test_a_recorded_state_draws_its_moment_again_exactly(cell, seed) -> None:
    played: KidGym = images.kidgym.create(make_spec(*cell, seed))
    random, recorder, seen = Random(seed), Recorder(played, 25.0), []
    while played.judge() is None:
        seen.append(played.render("view", 288, 288))
        played.apply(np.array([random.randrange(-1, 5)], dtype=np.float64))
        recorder.catch_up(len(seen))
    seen.append(played.render("view", 288, 288))
    fresh: KidGym = images.kidgym.create(make_spec(*cell, seed))
    states = recorder.artifacts()["states"]
    assert states.shape == (len(seen), 1 + budget(load(), f"kidgym/grid/{cell[0]}-L{cell[1]}").actions)
    for state, picture in zip(states, seen, strict=True):
        np.testing.assert_array_equal(fresh.redraw(state, "view", 288, 288, shadows=False), picture)


def test_the_digest_of_a_state_is_the_same_in_every_process() -> None:
    code = (
        "import sys; sys.path.insert(0, 'tests')\n"
        "from kidgym_house import Local, make_spec\n"
        "for cell in (('DMA', 3), ('CL', 2), ('SE', 3), ('PU', 2)):\n"
        "    local = Local(make_spec(*cell, 7)); local.call({'op': 'step', 'action': [0.0], 'fields': ['options']})\n"
        "    print(local.session.digest(), local.session.realized()['puzzle'])"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(found) == 1
    assert len(set(found.pop().split())) == 8
