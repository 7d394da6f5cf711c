"""The authored scenes as a catalog: native tiers and titles, the split by workload, structures, plans, certificates."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from images.mujoco.launcher import scene as scenes
from images.mujoco.launcher.reference import plan
from images.mujoco.launcher.workshop import atlas, certify, checks, graph, measure, search
from images.mujoco.launcher.workshop.episode import condition
from images.mujoco.launcher.workshop.proxy import Proxy
from tests.launcher_stage import scene_of

CASES = scenes.cases()
SCENES = {case: scenes.load(case) for case in CASES}
CATALOG = atlas.catalog()
CERTIFIED = [case for case in CASES if certify.stored(case)]
MEASURED = {case: data for case in CASES if (data := measure.stored(case)) is not None}
SAMPLE = CERTIFIED[:: max(1, len(CERTIFIED) // 4)]


@pytest.mark.parametrize("case", CASES)
def test_a_scene_has_the_tier_and_the_title_of_the_catalog(case: str) -> None:
    entry, scene = CATALOG[case], SCENES[case]
    assert scene.case == case
    assert scene.tier == int(entry["native_level"])
    assert entry.get("title") in (None, scene.title)


@pytest.mark.parametrize("kind", ["Aim", "Causal", "Glass", "Rules"])
def test_the_workload_of_a_type_separates_easy_from_hard(kind: str) -> None:
    """Ranked by ten times the tier plus D-level plus required targets, every Easy task comes before every Hard one. Of
    an odd number the median lies in the half whose neighbouring score is closer."""
    scores: dict[str, list[int]] = {"Easy": [], "Hard": []}
    for case, scene in SCENES.items():
        if CATALOG[case].get("type") == kind:
            scores[CATALOG[case]["split"]].append(atlas.workload(scene))
    easy, hard = sorted(scores["Easy"]), sorted(scores["Hard"])
    assert easy
    if hard:
        assert easy[-1] <= hard[0]
    if len(easy) + len(hard) == sum(entry.get("type") == kind for entry in CATALOG.values()):
        if len(easy) > len(hard):
            assert easy[-1] - easy[-2] <= hard[0] - easy[-1]
        if len(hard) > len(easy):
            assert hard[1] - hard[0] <= hard[0] - easy[-1]


def test_no_two_scenes_share_a_structure() -> None:
    found = {case: graph.structure(scene) for case, scene in SCENES.items()}
    near = [(a, b) for a, b in itertools.combinations(CASES, 2) if graph.distance(found[a], found[b]) < 2]
    assert near == []


def test_moving_and_scaling_a_scene_keeps_its_structure_and_another_role_changes_it() -> None:
    content = SCENES["A026"].model_dump(mode="json")
    for element in content["elements"]:
        element["at"][0] += 0.1
        element["size"] = [0.9 * value for value in element["size"]]
    content["elements"][0]["at"][2] *= 0.9  # it stands on the plinth, which is lower now
    moved = scene_of(content)
    assert graph.distance(graph.structure(SCENES["A026"]), graph.structure(moved)) == 0
    task = content["task"]
    task["order"] = []
    free = graph.structure(scene_of(content))
    assert graph.distance(graph.structure(SCENES["A026"]), free) == 1
    task["required"], task["protected"] = task["required"][:1], ["near_board"]
    spared = graph.structure(scene_of(content))
    assert graph.distance(graph.structure(SCENES["A026"]), spared) == 2


@pytest.mark.parametrize("path", sorted(plan.PLANS.glob("*.json")), ids=lambda path: path.stem)
def test_a_plan_names_what_its_scene_has(path: Path) -> None:
    scene = SCENES[path.stem]
    names = {element.name: element.kind for element in scene.elements}
    fields = {f"reached/{item.element}" for item in scene.task.required}
    fields |= {f"fractured/{name}" for name, kind in names.items() if kind == "pane"}
    stages = plan.read(path.stem)
    assert stages
    for stage in stages:
        assert stage.hit in names
        assert set(stage.until) <= fields
        assert 0.1 < stage.elevation < 0.77


@pytest.mark.slow
@pytest.mark.parametrize("case", ["A032", "A058", "A065", "A067", "A088", "A090"])
@pytest.mark.parametrize("index", certify.CONDITIONS)
def test_a_plan_wins_when_every_shot_is_off_by_what_the_arms_may_be(case: str, index: int) -> None:
    for off in search.OFF:
        proxy = Proxy(SCENES[case], condition(case, index))
        search.follow(proxy, plan.read(case), off)
        assert proxy.judgement is not None
        assert proxy.judgement.cause == "goal_met", (off, proxy.judgement.text)


# ---- certificates --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("case", SAMPLE)
def test_a_certificate_is_played_again_with_the_same_success(case: str) -> None:
    """Digests are compared by the command ``certify``: on another processor the last bits of the arms' paths differ."""
    certificate = next(episode for episode in certify.stored(case) if episode["success"])
    again = certify.play(case, certificate["condition"])
    assert again["success"]
    assert len(again["shots"]) == len(certificate["shots"])
    assert again["parameters"] == certificate["parameters"]


def test_every_case_of_ep100_is_certified_in_every_condition() -> None:
    lacking = [
        (case, index)
        for case, entry in CATALOG.items()
        if entry.get("index")
        for index in certify.CONDITIONS
        if not any(episode["success"] and episode["condition"] == index for episode in certify.stored(case))
    ]
    assert lacking == []


def test_every_scene_on_file_is_offered_and_every_one_offered_is_on_file() -> None:
    offered = json.loads((atlas.ROOT / "manifests" / "engines.json").read_text(encoding="utf-8"))
    assert offered["engines"]["mujoco"]["families"]["launcher"] == CASES


# ---- measurements --------------------------------------------------------------------------------------------------
def test_every_scene_is_measured() -> None:
    assert list(MEASURED) == CASES


@pytest.mark.parametrize("case", MEASURED)
def test_the_measurements_on_file_are_those_of_the_scene_as_it_is(case: str) -> None:
    data = MEASURED[case]
    assert data["source"] == measure.source(case), f"python -m images.mujoco.launcher.workshop.measure --tasks {case}"
    assert SCENES[case].d_level == data["d_level"] == checks.d_level(data["window"])


@pytest.mark.parametrize("case", MEASURED)
def test_neither_doing_nothing_nor_random_poses_succeed(case: str) -> None:
    """What sleeps where it stood, before any target is reached, sleeps on until the time is over."""
    data = MEASURED[case]
    assert data["drift_mm"] < 1000 * checks.DRIFT
    assert data["asleep_s"] is not None
    assert not data["reached_untouched"]
    assert len(data["random"]) == len(certify.CONDITIONS)
    assert "success" not in data["random"]


def test_the_naive_aimer_gets_worse_with_the_tier() -> None:
    won: dict[int, list[bool]] = {}
    for case, data in MEASURED.items():
        won.setdefault(SCENES[case].tier, []).extend(data["naive"])
    shares = {tier: sum(wins) / len(wins) for tier, wins in sorted(won.items())}
    assert list(shares) == [1, 2, 3, 4, 5]
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    assert shares[1] >= 0.5
    assert shares[5] <= 0.1


def test_a_solution_of_one_condition_mostly_fails_in_another() -> None:
    """Over all ordered pairs of conditions of all scenes."""
    assert sum(len(row) for data in MEASURED.values() for row in data["replayed"]) == 12 * len(CASES)
    failed = [not won for data in MEASURED.values() for row in data["replayed"] for won in row]
    assert sum(failed) >= 0.6 * len(failed)


def test_the_d_level_has_the_same_cut_points_for_all_scenes() -> None:
    assert [checks.d_level(share) for share in (0.5, 0.07, 0.05, 0.03, 0.01, 0.0)] == [1, 1, 2, 3, 4, 5]
