"""The reference agent solves Hanoi boards with the five-finger hand, on an arm and on a floating base."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from images.mujoco.hanoi.workshop.episode import Episode
from images.mujoco.workshop.certify import CONDITIONS
from images.reference import solve

ROBOTS = ("fr3-sharpa", "floating-sharpa")
DEXTEROUS = ("H01", "H02", "H09", "H25")  # of EP-100, each with both robots
LONGEST_S = 330.0  # simulated, for 31 moves


def played(robot: str, case: str, index: int) -> Episode:
    episode = Episode(f"{robot}/{case}", index)
    terminal = solve(episode, lambda _: None)
    assert terminal.success, f"{robot}/{case} condition {index}: {terminal.cause} {terminal.code}: {terminal.text}"
    return episode


@pytest.mark.parametrize("robot", ROBOTS)
def test_the_top_ring_is_transferred_and_the_same_episode_gets_the_same_actions_and_end(robot: str) -> None:
    first, second = played(robot, "H01", 0), played(robot, "H01", 0)
    assert first.action_digest() == second.action_digest()
    assert first.environment.digest() == second.environment.digest()
    evaluator = cast("Any", first.environment).evaluator
    assert [(ring, to) for ring, _, to, _ in evaluator.moves] == [(4, 2)]


@pytest.mark.parametrize("robot", ROBOTS)
def test_actions_of_the_reference_agent_keep_inside_the_disclosed_limits(robot: str) -> None:
    episode = played(robot, "H25", 1)
    controls = episode.describe().controls
    low, high = (np.array([getattr(control, end) for control in controls]) for end in ("low", "high"))
    assert (episode.actions >= low).all()
    assert (episode.actions <= high).all()


@pytest.mark.slow
@pytest.mark.parametrize("index", CONDITIONS)
@pytest.mark.parametrize("case", DEXTEROUS)
@pytest.mark.parametrize("robot", ROBOTS)
def test_the_dexterous_tasks_of_ep_100_are_solved_under_every_condition(robot: str, case: str, index: int) -> None:
    played(robot, case, index)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["H04", "H40"])
@pytest.mark.parametrize("robot", ROBOTS)
def test_31_moves_take_less_than_330_s(robot: str, case: str) -> None:
    episode = played(robot, case, 0)
    evaluator = cast("Any", episode.environment).evaluator
    assert len(evaluator.moves) == 31
    assert evaluator.time < LONGEST_S
