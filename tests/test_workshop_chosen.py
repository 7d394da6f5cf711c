"""``make certify TASKS=...`` plays what is named, and nothing else in silence."""

from __future__ import annotations

import sys

import pytest

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
