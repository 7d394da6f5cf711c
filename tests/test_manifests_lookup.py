"""Look-ups on the manifests: tasks of a subset, budgets, engines, conditions, rulings, and what the task list shows."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests import lookup, tasks
from manifests.errors import ManifestError
from manifests.load import load

M = load()
CASES = [f"marble/dual-panda/{case}" for case in ("A007", "A025", "A026")]


# selection


def test_globs_choose_tasks_of_a_subset_in_index_order() -> None:
    chosen = lookup.select(M, "full", "marble/dual-panda/A02[56],marble/dual-panda/A007")
    assert [entry.id for entry in chosen] == CASES


def test_overlapping_patterns_choose_a_task_once() -> None:
    assert [entry.id for entry in lookup.select(M, "smoke", f"*A007,{CASES[0]},*")] == CASES


def test_a_pattern_may_name_the_last_parts_of_tasks() -> None:
    assert [entry.id for entry in lookup.select(M, "full", "A02[56],A007")] == CASES
    assert [entry.id for entry in lookup.select(M, "full", "panda/H0[12]")] == [
        "hanoi_panda/panda/H01",
        "hanoi_panda/panda/H02",
    ]
    assert len(lookup.select(M, "full", "H01")) == 3


def test_a_person_names_an_environment_by_an_end_that_no_other_has() -> None:
    assert lookup.meant(M, "A007").id == "marble/dual-panda/A007"
    assert lookup.meant(M, "fr3-sharpa/H01").id == "hanoi_sharpa/fr3-sharpa/H01"
    assert lookup.meant(M, "marble/dual-panda/A007") is lookup.meant(M, "A007")
    with pytest.raises(
        ManifestError, match="environment 'H01' can be one of several: name one of hanoi_panda/panda/H01"
    ):
        lookup.meant(M, "H01")
    with pytest.raises(ManifestError, match="environment 'A007' is unknown"):
        lookup.environment(M, "A007")  # as records name them


def test_a_pattern_may_name_the_index() -> None:
    assert [entry.index for entry in lookup.select(M, "ep-20", "Cube-*")] == ["Cube-06", "Cube-09", "Cube-12"]


def test_without_patterns_the_whole_subset_is_chosen() -> None:
    assert len(lookup.select(M, "full")) == 410
    assert len(lookup.select(M, "ep-launch")) == 34


@pytest.mark.parametrize(
    ("subset", "patterns", "parts"),
    [
        ("ep20", None, ("subset 'ep20'", "nearest: ep-20", "choose one of: full, ep-100")),
        ("full", "marble/dual-panda/A0007", ("'marble/dual-panda/A0007'", "nearest: marble/dual-panda/A007", "`assay")),
        ("full", f"{CASES[0]},Z*", ("pattern 'Z*' matches no environment", "`assay tasks`")),
        ("smoke", "*/A001", ("matches nothing in subset 'smoke' but 1 environment of the catalog", "for example full")),
        ("smoke", "*/A00[12]", ("matches nothing in subset 'smoke' but 2 environments of the catalog",)),
        ("full", f"{CASES[0]},,", ("contains an empty pattern", "remove the spare comma")),
        ("full", "", ("contains an empty pattern",)),
    ],
)
def test_what_matches_nothing_is_an_error_with_value_and_fix(
    subset: str, patterns: str | None, parts: tuple[str, ...]
) -> None:
    with pytest.raises(ManifestError) as caught:
        lookup.select(M, subset, patterns)
    assert all(part in str(caught.value) for part in parts)
    assert "\n" not in str(caught.value)


@given(st.lists(st.sampled_from(M.catalog.environments), min_size=1, max_size=8))
def test_naming_tasks_one_by_one_chooses_exactly_those(entries: list) -> None:
    chosen = lookup.select(M, "full", ",".join(entry.id for entry in entries))
    assert set(chosen) == set(entries)


def test_an_unknown_environment_names_the_nearest() -> None:
    with pytest.raises(ManifestError, match=r"environment 'Launch-2' is unknown; nearest: Launch-"):
        lookup.environment(M, "Launch-2")


# budgets, engines, conditions


def test_a_budget_is_the_table_row_and_the_model_allowance() -> None:
    assert lookup.budget(M, CASES[0]).model_dump() == {
        "actions": 7500,
        "simulated_s": 150,
        "wall_s": 600,
        "tokens": 30_000_000,
        "images": 100,
    }


def test_bookshelf_budgets_grow_with_the_native_level_inside_the_printed_range() -> None:
    budgets = [lookup.budget(M, f"bookshelf/dual-panda/TableCleanD{level}") for level in (1, 2, 3, 4)]
    assert [b.actions for b in budgets] == [1500, 5100, 8700, 12300]
    assert [b.simulated_s for b in budgets] == [50, 170, 290, 410]


def test_every_environment_has_a_budget_and_an_engine_under_every_profile() -> None:
    for entry, profile in product(M.catalog.environments, M.profiles):
        budget = lookup.budget(M, entry.id)
        assert budget.actions == budget.simulated_s * M.budgets.families[entry.family].control_hz
        assert entry.family in M.engines[lookup.engine_name(M, entry.id, profile)].families


def test_the_native_profile_names_the_simulator_of_the_text() -> None:
    assert all(lookup.engine_name(M, e.id, "native") == e.simulator for e in M.catalog.environments)


def test_what_is_not_implemented_has_a_reason() -> None:
    assert lookup.why_not(M, CASES[0], "mujoco") is None
    assert lookup.why_not(M, "pocket_cube/aloha/C01", "mujoco") == "mujoco has no pocket_cube environments yet"
    assert lookup.why_not(M, "hanoi_panda/panda/H01", "isaaclab") == "the isaaclab image does not exist yet"


def test_a_case_that_an_engine_does_not_list_has_a_reason() -> None:
    mujoco = M.engines["mujoco"]
    fewer = mujoco.model_copy(update={"families": {**mujoco.families, "launcher": ("A025",)}})
    found = replace(M, engines={**M.engines, "mujoco": fewer})
    assert lookup.why_not(found, CASES[0], "mujoco") == f"mujoco has no launcher case {CASES[0].split('/')[-1]} yet"


def test_an_unknown_profile_is_an_error() -> None:
    with pytest.raises(ManifestError, match="profile 'embeded' is unknown; nearest: embedded; choose one of"):
        lookup.engine_name(M, CASES[0], "embeded")


def test_the_agent_is_told_the_stiffness_and_nothing_else_of_a_launcher_condition() -> None:
    conditions = lookup.conditions(M, CASES[0])
    assert [c.index for c in conditions] == [0, 1, 2, 3]
    assert [c.public for c in conditions] == [{"stiffness": k} for k in (22.0, 24.0, 26.0, 28.0)]
    parameters = set(conditions[0].parameters)
    assert parameters == set(M.conditions.families["launcher"].factors)
    assert json.loads(json.dumps(conditions[0].parameters)) == conditions[0].parameters


def test_conditions_that_are_not_stored_are_an_error() -> None:
    with pytest.raises(ManifestError, match="conditions of family pocket_cube are not generated yet"):
        lookup.conditions(M, "pocket_cube/aloha/C01")
    with pytest.raises(ManifestError, match="base seed 3: no conditions are stored for it; use 0"):
        lookup.conditions(M, CASES[0], base_seed=3)


# rulings


def test_a_wall_clock_timeout_is_invalid_alone_and_a_failure_in_pass2() -> None:
    assert lookup.rule(M, "wall_clock", "single") == lookup.Ruling("invalid", "ERR", incident=False, known=True)
    assert lookup.rule(M, "wall_clock", "pass2") == lookup.Ruling("failure", "TIME", incident=False, known=True)


@given(st.sampled_from([code for code in M.codes if code != "ERR"]), st.sampled_from(list(M.protocols)))
def test_a_violation_carries_its_own_code(code: str, protocol: str) -> None:
    assert lookup.rule(M, "violation", protocol, code) == lookup.Ruling("failure", code, incident=False, known=True)


@given(st.text().filter(lambda cause: cause not in M.causes), st.sampled_from(list(M.protocols)))
def test_an_unknown_cause_is_invalid_and_known_as_unknown(cause: str, protocol: str) -> None:
    assert lookup.rule(M, cause, protocol) == lookup.Ruling("invalid", "ERR", incident=False, known=False)


@pytest.mark.parametrize("code", [None, "ERR", "", "coll"])
def test_a_violation_without_a_failure_code_is_unknown(code: str | None) -> None:
    assert lookup.rule(M, "violation", "pass2", code) == lookup.Ruling("invalid", "ERR", incident=False, known=False)


def test_a_violation_code_does_not_change_a_cause_that_has_its_own() -> None:
    assert lookup.rule(M, "goal_met", "pass2", "COLL").code is None
    assert lookup.rule(M, "quit", "pass2", "COLL").code == "QUIT"


# the task list


def test_the_task_list_has_a_row_for_every_environment_and_is_json() -> None:
    rows = tasks.rows()
    assert len(rows) == 410
    assert json.loads(json.dumps(rows)) == rows
    for engines in (row["engines"] for row in rows):
        assert set(engines) == {"embedded", "native"}
        assert all(engine["implemented"] is (engine["reason"] is None) for engine in engines.values())


def test_the_task_list_narrows_to_a_subset_and_patterns() -> None:
    assert [row["id"] for row in tasks.rows("smoke", "*/A02?")] == CASES[1:]


def test_a_task_is_shown_with_budget_conditions_and_subsets() -> None:
    shown = tasks.show("Launch-02")
    assert json.loads(json.dumps(shown)) == shown
    assert (shown["id"], shown["title"], shown["type"]) == (CASES[0], "Single-target warm-up", "Aim")
    assert shown["subsets"] == ["full", "ep-100", "ep-easy", "ep-20", "ep-launch", "smoke"]
    assert shown["budget"]["wall_s"] == 600
    assert [row["stiffness"] for row in shown["conditions"]["explicit"]] == [22, 24, 26, 28]
    assert shown["engines"]["embedded"] == {"engine": "mujoco", "implemented": True, "reason": None}


def test_a_task_without_stored_conditions_shows_its_rule() -> None:
    shown = tasks.show("rubiks_panda/panda/C01")
    assert shown["conditions"]["explicit"] is None
    assert shown["conditions"]["factors"]["lighting"]["values"] == [0.85, 0.95, 1.05, 1.15]


@given(st.sampled_from([entry.id for entry in M.catalog.environments]))
def test_every_environment_can_be_shown(environment_id: str) -> None:
    assert tasks.show(environment_id)["id"] == environment_id
