"""Seed lists of KidGym: the public one is frozen, a private one stays private, a damaged one is told by its file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from kidgym_house import baseline, evaluation
from test_cli import assay, one_error
from test_kidgym_agent import records

from images.kidgym.catalog import BUDGETS, LEVELS
from images.kidgym.generate import generate
from manifests.errors import ManifestError
from manifests.load import load
from manifests.lookup import conditions
from manifests.submission import RunSettings
from runner.audit.recorded import slot
from runner.errors import BadInput
from runner.seeds import conditions_of, keep, read_list, with_list
from runner.submission.findings import Report
from runner.submission.run_check import check_settings

CELLS = [(code, level) for code in BUDGETS for level in LEVELS]
PUBLIC = load().seed_lists["kidgym"].seeds
PUBLIC_EXAMPLE = load().seed_lists["kidgym"].example


@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_the_worked_example_is_no_episode_of_the_public_list_at_any_task_and_level(count) -> None:
    assert PUBLIC_EXAMPLE not in PUBLIC
    for code, level in CELLS:
        example = generate(code, level, PUBLIC_EXAMPLE)
        assert all(generate(code, level, seed) != example for seed in PUBLIC[:count]), (code, level)


def private(folder: Path, first: int = 7_000_000, **changes: Any) -> Path:
    content = {
        "title": "KidGym private", "text": "For tests.", "example": 1_000_000_007,
        "seeds": list(range(first, first + 100)), **changes,
    }  # fmt: skip
    place = folder / "list.json"
    place.write_text(json.dumps(content), encoding="utf-8")
    return place


def test_a_private_list_is_recorded_by_its_hash_and_no_seed_is_in_any_record(tmp_path) -> None:
    seeds = read_list(private(tmp_path), load(), "kidgym")
    manifests = with_list(load(), "kidgym", seeds)
    home = tmp_path / "home"
    evaluation(home, baseline("random"), "PL-L1", 2, manifests=manifests).run()
    first, second = records(home)
    assert first.settings.versions["seeds"] == seeds.digest != load().seed_lists["kidgym"].digest
    for path in home.rglob("*"):
        if path.suffix in (".json", ".jsonl"):
            assert b"700000" not in path.read_bytes(), path
    with pytest.raises(BadInput, match=r"versions\.seeds was"):
        evaluation(home, baseline("random"), "PL-L1", 2).run()
    with pytest.raises(Exception, match=rf"attempt {second.sequence}: its episode is of a private seed list"):
        conditions_of(second, load(), home)
    score = " ".join(assay(home, "score", "test", check=0).stdout.split())
    assert f"private seed list not kept here ({seeds.digest[:12]})" in score
    keep(home, seeds)
    score = " ".join(assay(home, "score", "test", check=0).stdout.split())
    assert f"private seed list KidGym private ({seeds.digest[:12]})" in score
    assert [row.parameters["seed"] for row in conditions_of(second, load(), home)[:2]] == [7_000_000, 7_000_001]
    kept = home / "seeds" / f"{seeds.digest}.json"
    assert kept.stat().st_mode & 0o077 == 0
    assert list(kept.parent.iterdir()) == [kept]
    kept.write_text(kept.read_text().replace("7000001", "8000001"))
    with pytest.raises(ManifestError, match=r"is not the seed list of its run, its SHA-256 is [0-9a-f]{64}: put"):
        conditions_of(second, load(), home)
    for damaged in (b'{"title": "KidGym', b"\xff\xfe"):
        kept.write_bytes(damaged)
        with pytest.raises(ManifestError) as caught:
            conditions_of(second, load(), home)
        assert str(kept) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_the_worked_example_of_a_private_list_is_its_own_at_every_episode(tmp_path) -> None:
    seeds = read_list(private(tmp_path, example=9_000_000), load(), "kidgym")
    rows = conditions(with_list(load(), "kidgym", seeds), "kidgym/grid/PL-L1")
    assert {row.parameters["example"] for row in rows} == {9_000_000}
    assert 9_000_000 not in {row.parameters["seed"] for row in rows} | set(PUBLIC)


def test_a_record_of_the_public_list_needs_no_file(tmp_path) -> None:
    evaluation(tmp_path, baseline("noop"), "PL-L2", 2).run()
    _, record = records(tmp_path)
    assert slot(record, load()).condition.parameters["seed"] == PUBLIC[1]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seeds": [1_000_000]}, "it has 1 seeds; give 100, one for each episode"),
        ({"seeds": [7, *range(7_000_000, 7_000_099)]}, "7 is in the public list too"),
        ({"seeds": [8_000_000, *range(8_000_000, 8_000_099)]}, "8000000 stands twice"),
        ({"seeds": [-1, *range(8_000_000, 8_000_099)]}, r"seeds\[0\]"),
        ({"example": 7_000_003}, "7000003 is the seed of the worked example"),
        ({"example": 5}, "5 is in the public list too"),
        (
            {"example": 9_000_000, "seeds": [PUBLIC_EXAMPLE, *range(8_000_000, 8_000_099)]},
            f"{PUBLIC_EXAMPLE} is in the public list too",
        ),
        ({"note": "x"}, "note: unknown field"),
    ],
)
def test_a_list_that_cannot_be_used_is_one_line_with_the_reason(changes, said, tmp_path) -> None:
    with pytest.raises(BadInput, match=said) as caught:
        read_list(private(tmp_path, **changes), load(), "kidgym")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"", b"[1, 2]", b'{"title": "June"', b'{"seeds": [1], "seeds": [2]}', b"\xff\xfe\x00"]
)
def test_a_damaged_list_is_one_line_that_names_the_file(content, tmp_path) -> None:
    place = tmp_path / "list.json"
    place.write_bytes(content)
    with pytest.raises(BadInput, match=re.escape(str(place))) as caught:
        read_list(place, load(), "kidgym")
    assert "\n" not in str(caught.value)


def test_a_board_whose_conditions_are_stored_takes_no_list(tmp_path) -> None:
    with pytest.raises(BadInput, match="the conditions of board ep are stored, not drawn from seeds; leave SEEDS out"):
        read_list(private(tmp_path), load(), "ep")


def test_a_list_that_its_run_refuses_is_not_kept(tmp_path) -> None:
    home = tmp_path / "home"
    choices = [
        "evaluate",
        "--model",
        "noop",
        "--board",
        "kidgym",
        "--subset",
        "kidgym-quick",
        "--tasks",
        "kidgym/grid/PL-L1",
    ]
    choices += ["--runtime", "process", "--run", "r", "--seeds"]
    assay(home, *choices, str(private(tmp_path)), check=0)
    (kept,) = (home / "seeds").iterdir()
    other = private(tmp_path, first=8_000_000)
    assert "versions.seeds was" in one_error(assay(home, *choices, str(other), check=2))
    assert list((home / "seeds").iterdir()) == [kept]


def test_a_submission_of_a_private_list_is_noted_to_be_unchecked_against_its_seeds(tmp_path) -> None:
    seeds = read_list(private(tmp_path), load(), "kidgym")
    for manifests, noted in ((load(), False), (with_list(load(), "kidgym", seeds), True)):
        home = tmp_path / f"home-{noted}"
        run = evaluation(home, baseline("noop"), "PL-L1", 1, manifests=manifests).run()
        settings = RunSettings.model_validate_json(json.dumps(run.settings), strict=True)
        report = Report()
        check_settings(settings, load(), report)
        assert any(f"{seeds.digest} is a private seed list" in str(note) for note in report.notes) is noted
