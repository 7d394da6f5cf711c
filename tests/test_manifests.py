"""The manifests hold the numbers of the specification, and a wrong manifest is one line that names file and field."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from manifests import generate, schemas
from manifests.errors import ManifestError
from manifests.load import FILES, FOLDER, Manifests, load, read_file

ROOT = Path(__file__).resolve().parent.parent
SUITES = ("Launch", "Tower", "Lock", "Cube", "Home")


@pytest.fixture(scope="module")
def manifests() -> Manifests:
    return load()


def ids(manifests: Manifests, subset: str) -> set[str]:
    members = manifests.subsets[subset].members
    return set(manifests.environments) if members == "all" else set(members)


# Table 1: 410 environments


def test_the_playground_has_410_environments_in_seven_families(manifests: Manifests) -> None:
    families = Counter(entry.family for entry in manifests.catalog.environments)
    maniskill = sum(families[name] for name in ("maniskill_long", "maniskill_geometry", "maniskill_dynamics"))
    assert (families["launcher"], families["hanoi"], families["pocket_cube"]) == (100, 120, 20)
    assert (families["rubiks_cube"], families["kongming_lock"], families["bookshelf"], maniskill) == (60, 60, 20, 30)
    assert sum(families.values()) == len(manifests.catalog.environments) == 410


def test_the_catalog_counts_100_120_60_80_50_by_suite(manifests: Manifests) -> None:
    suites = Counter(entry.suite for entry in manifests.catalog.environments)
    assert suites == {"Launch": 100, "Tower": 120, "Lock": 60, "Cube": 80, "Home": 50}


def test_launcher_tiers_1_to_5_hold_4_9_25_40_22_scenes(manifests: Manifests) -> None:
    launcher = [entry for entry in manifests.catalog.environments if entry.family == "launcher"]
    assert Counter(entry.native_level for entry in launcher) == {"1": 4, "2": 9, "3": 25, "4": 40, "5": 22}
    assert {e.case for e in launcher if e.native_level == "1"} == {"A007", "A008", "A009", "A010"}


def test_hanoi_levels_state_1_3_9_and_31_moves(manifests: Manifests) -> None:
    moves = {"1": "1 move.", "2": "3 moves.", "3": "9 moves.", "4": "31 moves."}
    for entry in manifests.catalog.environments:
        if entry.family == "hanoi":
            assert entry.objective is not None
            assert entry.objective.endswith(f"legal solution: {moves[entry.native_level or '']}")


def test_lock_objectives_follow_direction_extent_and_pose(manifests: Manifests) -> None:
    def objective(case: str) -> str | None:
        return manifests.environments[f"kongming_lock/dual-panda/{case}"].objective

    assert objective("A01") == "Assemble the complete six-piece lock, starting from pose P01."
    assert objective("D09") == "Disassemble the key only, starting from pose P04."
    assert objective("A14") == "Assemble the key and the bar frame_y1, starting from pose P04."


def test_every_environment_outside_the_launcher_family_has_an_objective(manifests: Manifests) -> None:
    without = {entry.family for entry in manifests.catalog.environments if entry.objective is None}
    assert without == {"launcher"}


# Tables 2 and 3: EP-100 and its subsets


def test_ep_100_has_34_21_16_12_17_tasks_and_each_split_half_of_them(manifests: Manifests) -> None:
    rows = {
        "ep-100": (34, 21, 16, 12, 17),
        "ep-easy": (17, 11, 8, 6, 8),
        "ep-hard": (17, 10, 8, 6, 9),
        "ep-20": (6, 4, 3, 3, 4),
    }
    for subset, wanted in rows.items():
        suites = Counter(manifests.environments[name].suite for name in ids(manifests, subset))
        assert tuple(suites[suite] for suite in SUITES) == wanted, subset


def test_the_splits_are_disjoint_halves_of_ep_100(manifests: Manifests) -> None:
    easy, hard = ids(manifests, "ep-easy"), ids(manifests, "ep-hard")
    assert len(easy) == len(hard) == 50
    assert not easy & hard
    assert easy | hard == ids(manifests, "ep-100")
    assert {manifests.environments[name].split for name in easy} == {"Easy"}
    assert {manifests.environments[name].split for name in hard} == {"Hard"}


def test_each_type_has_its_tasks_of_table_2_in_each_split(manifests: Manifests) -> None:
    table = (
        "Launch Aim 4/3, Launch Causal 6/7, Launch Glass 3/2, Launch Rules 4/5, Tower Plan 3/2, Tower Physics 4/4, "
        "Tower Dex 4/4, Lock Assemble 3/3, Lock Disassemble 3/3, Lock Dex 2/2, Cube Rubik 4/4, Cube Pocket 2/2, "
        "Home Tidy 2/3, Home Long 2/2, Home Precise 2/2, Home Dynamic 2/2"
    )
    found = Counter((e.suite, e.type, e.split) for e in manifests.catalog.environments if e.index)
    for suite, name, easy, hard in re.findall(r"(\w+) (\w+) (\d)/(\d)", table):
        assert found.pop((suite, name, "Easy")) == int(easy)
        assert found.pop((suite, name, "Hard")) == int(hard)
    assert not found


def test_the_easy_index_of_launch_is_the_one_printed(manifests: Manifests) -> None:
    easy = {manifests.environments[name].index for name in ids(manifests, "ep-easy")}
    numbers = (2, 3, 4, 5, 8, 9, 10, 11, 12, 15, 21, 22, 23, 26, 27, 28, 32)
    assert {index for index in easy if index and index.startswith("Launch")} == {f"Launch-{n:02d}" for n in numbers}


def test_ep_20_takes_ten_tasks_of_each_split_and_covers_every_type_and_embodiment(manifests: Manifests) -> None:
    entries = [manifests.environments[name] for name in ids(manifests, "ep-20")]
    ep_100 = [manifests.environments[name] for name in ids(manifests, "ep-100")]
    assert Counter(entry.split for entry in entries) == {"Easy": 10, "Hard": 10}
    assert {(e.suite, e.type) for e in entries} == {(e.suite, e.type) for e in ep_100}
    assert {e.embodiment for e in entries} == {e.embodiment for e in ep_100}
    assert {e.simulator for e in entries} == {"mujoco", "isaaclab", "maniskill"}
    assert {e.native_level for e in entries if e.family == "launcher"} == {"1", "2", "3", "4", "5"}


def test_ep_100_is_listed_in_index_order(manifests: Manifests) -> None:
    members = manifests.subsets["ep-100"].members
    assert members != "all"
    indices = [manifests.environments[name].index or "" for name in members]
    numbers = [(SUITES.index(index.split("-")[0]), int(index.split("-")[1])) for index in indices]
    assert all(a < b for a, b in pairwise(numbers))


def test_misprints_of_the_index_are_mended_and_kept(manifests: Manifests) -> None:
    printed = {e.id: e.printed_as for e in manifests.catalog.environments if e.printed_as}
    assert printed == {
        "hanoi_floating/floating-sharpa/H01": "hanoi_floating/floating-sharp/H01",
        "hanoi_floating/floating-sharpa/H02": "hanoi_floating/floating-sharp/H02",
        "hanoi_floating/floating-sharpa/H09": "hanoi_floating/floating-sharp/H09",
        "bookshelf/dual-panda/ShelfCrateD1": "bookshelf/dual-panda/ShelfCrated1",
    }


def test_only_smoke_and_the_quick_look_are_never_ranked(manifests: Manifests) -> None:
    assert {name for name, subset in manifests.subsets.items() if not subset.rankable} == {"smoke", "kidgym-quick"}
    assert ids(manifests, "smoke") == {f"marble/dual-panda/{case}" for case in ("A007", "A025", "A026")}
    assert ids(manifests, "ep-launch") == {
        e.id for e in manifests.catalog.environments if e.index and e.suite == "Launch"
    }


# Table 4, protocols and causes


def test_budgets_are_those_of_table_4(manifests: Manifests) -> None:
    table = {
        "launcher": (1000, 50, 7500, 150, 600),
        "hanoi": (120, 30, 18000, 600, 3600),
        "pocket_cube": (240, 60, 18000, 300, 3600),
        "rubiks_cube": (120, 30, 109800, 3660, 19800),
        "kongming_lock": (120, 30, 36000, 1200, 3600),
        "maniskill_long": (240, 20, 6000, 300, 3600),
        "maniskill_geometry": (240, 20, 2400, 120, 3600),
        "maniskill_dynamics": (240, 20, 2400, 120, 3600),
    }
    rows = manifests.budgets.families
    for family, wanted in table.items():
        row = rows[family]
        assert (row.physics_hz, row.control_hz, row.actions, row.simulated_s, row.wall_s) == wanted
    levels = list((rows["bookshelf"].levels or {}).values())
    assert (min(row.actions for row in levels), max(row.actions for row in levels)) == (1500, 12300)
    assert (min(row.simulated_s for row in levels), max(row.simulated_s for row in levels)) == (50, 410)
    assert rows["maniskill_dynamics"].event_deadline_s == (5, 20)
    model = manifests.budgets.model
    assert (model.tokens, model.cached_tokens_count, model.images) == (30_000_000, True, 100)


def test_single_never_replaces_and_pass2_excludes_at_most_a_tenth(manifests: Manifests) -> None:
    single, pass2 = manifests.protocols["single"], manifests.protocols["pass2"]
    assert (single.opportunities, single.pass_at, single.exclusion) == (1, (1,), None)
    assert (pass2.opportunities, pass2.pass_at, pass2.stop_at_success) == (2, (1, 2), True)
    assert pass2.exclusion is not None
    assert pass2.exclusion.max_fraction == 0.1


def test_failure_codes_are_those_of_table_19_and_one_of_kidgym(manifests: Manifests) -> None:
    wanted = "COLL PEN LIMIT DROP RULE MECH AMMO TIME QUIT BUDGET WRONG ERR"
    assert " ".join(manifests.codes) == wanted


def test_causes_are_exactly_those_of_the_architecture_page(manifests: Manifests) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    paragraph = page.split("## Causes, outcomes, codes")[1].split("Ids:")[1].split("An unknown cause")[0]
    assert set(manifests.causes) == set(re.findall(r"`([a-z_]+)`", paragraph))


MODEL_ENDS = (
    "empty_reply",
    "refusal",
    "length_stop",
    "content_filter",
    "invalid_tool_arguments",
    "unknown_tool",
    "no_action",
)


def test_causes_mean_what_the_two_protocols_say(manifests: Manifests) -> None:
    table = {
        "goal_met": ("success", None, "success", None),
        "violation": ("failure", None, "failure", None),
        "object_lost": ("failure", "DROP", "failure", "DROP"),
        "ammunition": ("failure", "AMMO", "failure", "AMMO"),
        "simulated_time": ("failure", "TIME", "failure", "TIME"),
        "action_budget": ("failure", "TIME", "failure", "TIME"),
        "quit": ("failure", "QUIT", "failure", "QUIT"),
        "token_budget": ("failure", "BUDGET", "failure", "BUDGET"),
        "image_budget": ("failure", "BUDGET", "failure", "BUDGET"),
        "wall_clock": ("invalid", "ERR", "failure", "TIME"),
        "rejected_action": ("invalid", "ERR", "failure", "QUIT"),
        "agent_exception": ("invalid", "ERR", "failure", "QUIT"),
        "sandbox_memory": ("invalid", "ERR", "failure", "QUIT"),
        "context_overflow": ("failure", "BUDGET", "failure", "BUDGET"),
        **dict.fromkeys(MODEL_ENDS, ("failure", "QUIT", "failure", "QUIT")),
    }
    for cause, row in manifests.causes.items():
        single, pass2 = row.outcomes["single"], row.outcomes["pass2"]
        wanted = table.get(cause, ("invalid", "ERR", "invalid", "ERR"))
        assert (single.outcome, single.code, pass2.outcome, pass2.code) == wanted, cause
        assert row.incident is (cause not in table), cause


def test_a_run_cannot_be_killed_or_its_disk_filled_to_draw_again(manifests: Manifests) -> None:
    for cause in ("interrupted", "evidence_fault", "evaluator_error"):
        assert manifests.causes[cause].automatic_confirmation == "never"
        assert manifests.causes[cause].start_retries == 0


def test_what_only_a_person_at_the_keyboard_can_mend_stops_the_run_at_once(manifests: Manifests) -> None:
    at_once = {cause for cause, row in manifests.causes.items() if row.stops_after == 1}
    assert at_once == {"bad_key", "model_not_found", "quota_gone", "adapter_fault"}


def test_an_answer_that_was_no_completion_is_never_confirmed_without_a_person(manifests: Manifests) -> None:
    for cause in ("no_choices", "null_message", "malformed_reply", "rejected_request", "adapter_fault"):
        assert manifests.causes[cause].automatic_confirmation == "never", cause


# conditions


def test_launcher_conditions_are_four_per_scene_at_22_24_26_28(manifests: Manifests) -> None:
    stored = manifests.launcher_conditions.environments
    assert len(stored) == 100
    for conditions in stored.values():
        assert [row.stiffness for row in conditions] == [22, 24, 26, 28]
        assert len({row.background for row in conditions}) == 4
        assert len({row.azimuth_offset for row in conditions}) > 1


def test_launcher_offsets_are_small(manifests: Manifests) -> None:
    for conditions in manifests.launcher_conditions.environments.values():
        for row in conditions:
            assert max(abs(row.azimuth_offset), abs(row.elevation_offset)) <= 2.0
            assert max(map(abs, (*row.pivot_offset, *row.tray_offset))) <= 0.005
            assert 0.98 <= row.mass_factor <= 1.02


def test_a_background_does_not_always_come_with_the_same_stiffness(manifests: Manifests) -> None:
    pairs = {(r.stiffness, r.background) for rows in manifests.launcher_conditions.environments.values() for r in rows}
    assert len(pairs) == 16


@pytest.mark.parametrize("family", generate.FAMILIES)
def test_stored_conditions_follow_from_their_names_alone(family: str) -> None:
    assert (FOLDER / generate.file(family)).read_text(encoding="utf-8") == generate.text(family)


def test_hanoi_conditions_are_four_consecutive_reset_seeds_with_bounded_perturbations(manifests: Manifests) -> None:
    stored = manifests.hanoi_conditions.environments
    assert len(stored) == 120
    for conditions in stored.values():
        assert [row.reset_seed for row in conditions] == [0, 1, 2, 3]
        assert len({row.board_offset for row in conditions}) > 1
        for row in conditions:
            assert max(map(abs, row.board_offset)) <= 0.012
            assert abs(row.board_yaw) <= 3
            assert max(map(abs, row.ring_azimuths)) <= 12
            assert all(0.8 <= factor <= 1.2 for factor in (*row.mass_factors, row.friction_factor))
            assert 0.85 <= row.lighting <= 1.15


def test_other_families_state_their_rule_without_explicit_conditions(manifests: Manifests) -> None:
    rules = manifests.conditions.families
    assert [name for name in manifests.catalog.counts if rules[name].generated] == ["launcher", "hanoi"]
    for family in ("rubiks_cube", "kongming_lock", "maniskill_long", "maniskill_geometry", "maniskill_dynamics"):
        assert rules[family].factors["lighting"].values == (0.85, 0.95, 1.05, 1.15)


# schemas and loading


def test_schema_files_are_what_the_models_say() -> None:
    wanted = schemas.texts()
    assert {path.name for path in schemas.FOLDER.glob("*.json")} == set(wanted)
    for name, text in wanted.items():
        assert (schemas.FOLDER / name).read_text(encoding="utf-8") == text, f"run python -m manifests.schemas: {name}"


def test_importing_the_manifests_does_not_import_pydantic() -> None:
    code = (
        "import sys, manifests.load, manifests.lookup, manifests.tasks, manifests.checks, manifests.schemas;"
        "sys.exit('pydantic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


Edit = Callable[[Any], Any]


def _set(*path: Any) -> Edit:
    """An edit that sets the last of ``path`` at the keys before it; ``_set("a", "b", 1)`` sets a.b to 1."""
    *keys, last, value = path

    def edit(data: Any) -> None:
        for key in keys:
            data = data[key]
        data[last] = value

    return edit


def _drop(*keys: Any) -> Edit:
    def edit(data: Any) -> None:
        for key in keys[:-1]:
            data = data[key]
        del data[keys[-1]]

    return edit


A007 = "marble/dual-panda/A007"
WRONG = [
    ("budgets", _drop("families", "launcher", "wall_s"), "families.launcher.wall_s: field required"),
    ("budgets", _set("families", "launcher", "wal_s", 1), "families.launcher.wal_s: unknown field"),
    ("budgets", _set("families", "launcher", "actions", 15000), "families.launcher: family: 15000 actions at 50 Hz"),
    ("budgets", _set("families", "launcher", "wall_s", -1), "families.launcher.wall_s: input should be greater than 0"),
    ("budgets", _set("families", "launcher", "actions", "7500"), "families.launcher.actions: input should be a valid"),
    ("budgets", _set("families", "hanoi", "levels", {}), "families.hanoi: give actions and simulated_s, or levels"),
    ("budgets", _drop("families", "hanoi"), "families.hanoi: field required"),
    ("budgets", _drop("families", "bookshelf", "levels", "D3"), "families.bookshelf.levels.D3: field required"),
    ("catalog", _drop("environments", 6, "native_level"), "environments[6].native_level: field required"),
    ("catalog", _drop("environments", 6), "counts.launcher: 100 declared, 99 environments given"),
    ("catalog", _set("environments", 6, "family", "launchers"), "environments[6].family: unknown family 'launchers'"),
    ("catalog", _set("environments", 6, "index", "Launch-01"), "environments[6].index: 'Launch-01' stands twice"),
    ("catalog", _set("environments", 6, "case", "A008"), "environments[6]: id 'marble/dual-panda/A007' is not prefix"),
    ("subsets", _set("smoke", "members", 0, "marble/dual-panda/A7"), "smoke.members[0]: unknown environment"),
    (
        "subsets",
        _set("smoke", "members", 0, "marble/dual-panda/A025"),
        "smoke.members: 'marble/dual-panda/A025' stands",
    ),
    (
        "subsets",
        _set("ep-easy", "members", 0, "marble/dual-panda/A001"),
        "ep-easy.members[0]: 'marble/dual-panda/A001' is",
    ),
    ("subsets", _drop("ep-20", "members", 0), "ep-20.suites.Launch: 6 declared, 5 members given"),
    ("protocols", _set("pass2", "opportunities", 3), "pass2: pass_at [1, 2] does not end at opportunities 3"),
    ("causes", _drop("quit", "outcomes", "pass2"), "quit.outcomes.pass2: field required"),
    ("causes", _set("quit", "outcomes", "single", "code", "GONE"), "quit.outcomes.single.code: unknown failure code"),
    ("causes", _set("quit", "incident", True), "quit: an incident candidate must be invalid"),
    ("causes", _set("quit", "outcomes", "single", "code", "ERR"), "quit.outcomes.single: code ERR and outcome invalid"),
    ("profiles", _drop("native", "engines", "hanoi"), "native.engines.hanoi: field required"),
    ("profiles", _set("native", "engines", "hanoi", "maniskill"), "native.engines.hanoi: engine 'maniskill' does not"),
    (
        "engines",
        _set("engines", "mujoco", "families", "launcher", ["A101"]),
        "engines.mujoco.families.launcher[0]: unkn",
    ),
    ("engines", _set("engines", "mujoco", "module", None), "engines.mujoco: give a module, or a reason"),
    ("conditions", _drop("families", "hanoi"), "families.hanoi: field required"),
    ("launcher_conditions", _drop("environments", A007, 3), f"environments.{A007}: 3 conditions, 4 are prescribed"),
    ("launcher_conditions", _drop("environments", A007), f"environments.{A007}: field required"),
    (
        "launcher_conditions",
        _set("environments", A007, 1, "azimuth_offset", 2.5),
        f"environments.{A007}[1].azimuth_offset: 2.5 is outside -2.0 to 2.0 deg",
    ),
    (
        "launcher_conditions",
        _set("environments", A007, 0, "stiffness", 24.0),
        f"environments.{A007}: stiffness [24.0, 24.0, 26.0, 28.0] is not the prescribed order",
    ),
]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for stem in FILES:
        shutil.copy(FOLDER / f"{stem}.json", tmp_path)
    return tmp_path


@pytest.mark.parametrize(("stem", "edit", "text"), WRONG, ids=[f"{s}-{t[:40]}" for s, _, t in WRONG])
def test_a_wrong_manifest_is_one_line_with_file_and_field(copy: Path, stem: str, edit: Edit, text: str) -> None:
    path = copy / f"{stem}.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    edit(data)
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(ManifestError) as caught:
        load(copy)
    assert str(caught.value).startswith(f"manifests/{stem}.json: {text}")
    assert "\n" not in str(caught.value)


def test_an_unchanged_copy_of_the_manifests_loads(copy: Path) -> None:
    assert load(copy) == load()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('{"COLL": "a", "COLL": "b"}', "is not valid JSON: the key 'COLL' stands twice in one object"),
        ('{"COLL": NaN}', "is not valid JSON: NaN is no JSON number"),
        ('{"COLL": ', "is not valid JSON: Expecting value"),
        ("[]", "top level: input should be an object, got []"),
        ('{"COLL": "\ud800"}', "cannot be read"),
    ],
)
def test_a_file_that_is_no_json_object_is_named(tmp_path: Path, content: str, text: str) -> None:
    (tmp_path / "codes.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(ManifestError) as caught:
        read_file(tmp_path, "codes")
    assert str(caught.value).startswith(f"manifests/codes.json: {text}")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"^manifests/codes\.json: cannot be read: .*No such file"):
        read_file(tmp_path, "codes")
