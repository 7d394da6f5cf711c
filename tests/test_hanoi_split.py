"""The text's workload score, and the Easy and Hard halves of the three Tower types that follow from it."""

from __future__ import annotations

import pytest

from images.mujoco.hanoi import board as boards
from images.mujoco.hanoi.workshop import atlas
from manifests.load import load
from manifests.models import EnvironmentEntry

EVERY = list(load().environments.values())
TOWER = sorted(
    (entry for entry in EVERY if entry.family == "hanoi" and entry.index), key=lambda entry: str(entry.index)
)  # of EP-100


def workload(entry: EnvironmentEntry) -> int:
    return atlas.workload(boards.load(entry.case), entry.embodiment)


@pytest.mark.parametrize(
    ("task", "score"),
    [
        ("panda/H01", 0),
        ("panda/H02", 2),
        ("panda/H04", 6),
        ("panda/H40", 7),
        ("panda/H31", 5),
        ("fr3-sharpa/H01", 2),
        ("fr3-sharpa/H25", 3),
        ("floating-sharpa/H02", 5),
        ("floating-sharpa/H09", 4),
    ],
)
def test_workload_is_twice_the_depth_plus_1_for_a_physical_theme_plus_2_or_3_for_a_hand(task: str, score: int) -> None:
    robot, case = task.split("/")
    assert atlas.workload(boards.load(case), robot) == score


def halves(kind: str) -> tuple[list[str], list[str], list[str]]:
    """The tasks of a type by the text's rule: the lower half by workload (in order of the index where it is the same),
    the upper half, and a median that is as near to the one as to the other."""
    ranked = sorted((entry for entry in TOWER if entry.type == kind), key=workload)
    names, scores = [entry.id for entry in ranked], [workload(entry) for entry in ranked]
    half = len(ranked) // 2
    if len(ranked) % 2 == 0:
        return names[:half], names[half:], []
    below, above = scores[half] - scores[half - 1], scores[half + 1] - scores[half]
    easy, hard = names[: half + (below < above)], names[half + (below <= above) :]
    return easy, hard, [names[half]] if below == above else []


def test_the_workload_reproduces_the_easy_hard_split_of_the_three_tower_types() -> None:
    """The text resolves ties so that either split has 50 tasks: an open median is Easy while there are fewer."""
    easy, open_ones = set(), []
    for kind in ("Plan", "Physics", "Dex"):
        lower, _, median = halves(kind)
        easy |= set(lower)
        open_ones += median
    elsewhere = sum(entry.split == "Easy" for entry in EVERY if entry.suite != "Tower")
    easy |= set(open_ones[: 50 - elsewhere - len(easy)])
    assert easy == {entry.id for entry in TOWER if entry.split == "Easy"}
    assert len(easy) + elsewhere == 50
    assert abs(len(TOWER) - 2 * len(easy)) <= 1


def test_of_the_rule_the_median_of_plan_alone_is_left_open() -> None:
    assert [halves(kind)[2] for kind in ("Plan", "Physics", "Dex")] == [["hanoi_panda/panda/H03"], [], []]
