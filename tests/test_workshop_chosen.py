"""``make certify TASKS=...`` plays what is named, nothing else in silence, and says in a line what it cannot play."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest

from images.mujoco.hanoi import board
from images.mujoco.hanoi.workshop.certify import FAMILY
from images.mujoco.workshop import certify
from images.mujoco.workshop.chosen import is_meant, patterns_of


@pytest.mark.parametrize("pattern", ["panda/H01", "H01", "H0*", "hanoi_panda/panda/H01", "panda/*", "*"])
def test_a_task_is_named_by_itself_by_its_end_or_in_full(pattern: str) -> None:
    assert is_meant("panda/H01", pattern)


@pytest.mark.parametrize("pattern", ["panda/H02", "H1", "floating-sharpa/H01", "hanoi_panda/panda/H1*", "anda/H01"])
def test_no_other_name_means_it(pattern: str) -> None:
    assert not is_meant("panda/H01", pattern)


def test_spare_commas_and_blanks_name_nothing() -> None:
    assert patterns_of(" A007, ,H01,") == ["A007", "H01"]


@pytest.mark.parametrize("given", ["A007,H99", "nope", ","])
def test_a_name_without_a_task_is_refused_before_anything_is_played(given: str, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["certify", "--tasks", given])
    assert certify.main() == 2
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    assert "matches nothing; tasks are named as A001 and " in said


@pytest.mark.parametrize(
    ("option", "value"),
    [("--jobs", "0"), ("--jobs", "-1"), ("--jobs", "two"), ("--conditions", "x"), ("--conditions", "0,4")],
)
def test_an_option_out_of_range_is_one_line_that_names_it(option: str, value: str, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["certify", f"{option}={value}"])
    with pytest.raises(SystemExit) as ended:
        certify.main()
    assert ended.value.code == 2
    assert f"{option}: {value!r}: a " in capsys.readouterr().err.splitlines()[-1]


def certify_h01(folder: Path, monkeypatch) -> int:
    """``certify`` of one board with the certificates of a folder, under one condition."""
    monkeypatch.setattr(sys, "argv", ["certify", "--tasks", "panda/H01", "--conditions", "2"])
    return certify.main([dataclasses.replace(FAMILY, folder=folder)])


def test_a_certificate_that_is_not_there_is_named_and_fails(tmp_path: Path, monkeypatch, capsys) -> None:
    assert certify_h01(tmp_path, monkeypatch) == 1
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "panda/H01 condition 2: no certificate on file",
        "0 certificates: 0 the same, 0 without success, 1 missing",
    ]


DAMAGED = [
    "half",
    "[]",
    '{"case": "H01", "episodes": [7]}',
    '{"case": "H01", "episodes": [{"condition": 2}]}',
    '{"case": "H01", "episodes": [{"condition": 2, "success": 1}]}',
    '{"case": "H02", "episodes": []}',
    '{"case": "H01", "episodes": [{"condition": 2, "success": true}, {"condition": 2, "success": true}]}',
]


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_file_of_certificates_is_one_line_that_names_it(
    damage: str, tmp_path: Path, monkeypatch, capsys
) -> None:
    whole = FAMILY.path("panda/H01").read_text(encoding="utf-8")
    path = tmp_path / "panda" / "H01.json"
    path.parent.mkdir()
    path.write_text(whole[: len(whole) // 2] if damage == "half" else damage, encoding="utf-8")
    assert certify_h01(tmp_path, monkeypatch) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {path} is damaged (")
    assert said.count("\n") == 1


@pytest.mark.parametrize(("field", "value"), [("moves", "5A"), ("simulated_s", 1.0), ("final_digest", "0" * 64)])
def test_a_certificate_that_says_something_else_differs(
    field: str, value: Any, tmp_path: Path, monkeypatch, capsys
) -> None:
    stored = FAMILY.stored("panda/H01")
    dataclasses.replace(FAMILY, folder=tmp_path).record("panda/H01", [stored[2] | {field: value}])
    assert certify_h01(tmp_path, monkeypatch) == 1
    assert f"panda/H01 condition 2: differs in {field}: goal_met" in capsys.readouterr().out


def test_a_damaged_task_file_is_one_line_that_names_it(tmp_path: Path, monkeypatch, capsys) -> None:
    (tmp_path / "H01.json").write_text('{"version": 1', encoding="utf-8")
    monkeypatch.setattr(board, "BOARDS", tmp_path)
    assert certify_h01(FAMILY.folder, monkeypatch) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: H01.json: ")
    assert said.count("\n") == 1
