"""What the MuJoCo engine offers of the Hanoi boards is what is certified: a success by the robot in every condition."""

from __future__ import annotations

import json

import pytest

from images.mujoco.hanoi.workshop import measure
from images.mujoco.hanoi.workshop.certify import FAMILY
from images.mujoco.hanoi.workshop.episode import condition, environment_id
from images.mujoco.workshop.certify import CONDITIONS
from manifests import lookup
from manifests.load import load

TASKS = FAMILY.tasks()
CERTIFIED = [task for task in TASKS if FAMILY.certified(task)]
MEASURED = [task for task in TASKS if measure.stored(task) is not None]
QUICK = [task for task in CERTIFIED if task.endswith(("/H05", "/H18", "/H37"))]


def test_the_engine_offers_the_certified_tasks_and_no_other() -> None:
    offered = load().engines["mujoco"].families["hanoi"]
    assert offered == tuple(CERTIFIED), "python -m images.mujoco.hanoi.workshop.offer"


def test_what_is_offered_can_be_run_and_what_is_not_has_a_reason() -> None:
    manifests = load()
    for task in TASKS:
        reason = lookup.why_not(manifests, environment_id(task), "mujoco")
        assert reason == (None if task in CERTIFIED else f"mujoco has no hanoi case {task} yet")


def test_every_tower_task_of_ep100_is_certified_in_every_condition() -> None:
    wanted = list(lookup.members(load(), "ep-tower"))
    assert len(wanted) == 21
    assert [e.id for e in wanted if f"{e.embodiment}/{e.case}" not in CERTIFIED] == []


@pytest.mark.parametrize("task", CERTIFIED)
def test_a_certificate_is_of_the_prescribed_condition_and_of_a_solution(task: str) -> None:
    for episode in FAMILY.stored(task):
        assert episode["parameters"] == condition(task, episode["condition"])
        assert episode["simulated_s"] < 330
        assert episode["outcome"] == "goal_met"


@pytest.mark.parametrize("task", QUICK)
def test_a_certificate_is_played_again_with_the_same_success(task: str) -> None:
    """Digests are compared by the command ``certify``: on another processor the last bits of the paths differ."""
    index = CONDITIONS[len(task) % 4]
    again = FAMILY.play(task, index)
    assert again["success"]
    assert again["moves"] == FAMILY.stored(task)[index]["moves"]


@pytest.mark.slow
@pytest.mark.parametrize("task", CERTIFIED)
def test_every_task_is_solved_again(task: str) -> None:
    assert FAMILY.play(task, 0)["success"]


def test_baselines_are_measured_on_every_board_with_every_robot() -> None:
    assert MEASURED == TASKS


@pytest.mark.parametrize("task", MEASURED)
def test_the_measurements_on_file_are_those_of_the_board_as_it_is(task: str) -> None:
    data = measure.stored(task)
    assert data is not None
    assert data["source"] == measure.source(task), f"python -m images.mujoco.hanoi.workshop.measure --tasks {task}"
    assert "success" not in data["random"]
    assert set(data["noop"]) == {"quit"}


def test_the_planner_without_recentring_or_re_search_solves_less() -> None:
    """The reference agent solves all of these; the two robots with an arm show the difference."""
    for robot in ("panda", "fr3-sharpa"):
        stored = [measure.stored(task) for task in MEASURED if task.startswith(f"{robot}/")]
        ends = {end for data in stored if data is not None for end in data["straight"]}
        assert "success" in ends, robot
        assert ends != {"success"}, robot


def test_certificates_are_in_the_files_of_their_tasks() -> None:
    files = {str(path.relative_to(FAMILY.folder).with_suffix("")) for path in FAMILY.folder.rglob("*.json")}
    assert files <= set(TASKS)
    for task in files:
        assert json.loads(FAMILY.path(task).read_text())["case"] == task.split("/")[1]
