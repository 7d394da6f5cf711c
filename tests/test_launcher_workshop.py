"""The bench with which an author looks at a new scene: ``python -m images.mujoco.launcher.workshop``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from images.mujoco.launcher import scene as scenes
from images.mujoco.launcher.workshop import __main__ as bench


def look_at(monkeypatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["workshop", *arguments])
    return bench.main()


@pytest.fixture
def new_scene(tmp_path: Path) -> Path:
    """A scene that no catalog and no conditions know yet."""
    content = json.loads((scenes.SCENES / "A007.json").read_text(encoding="utf-8"))
    path = tmp_path / "A101.json"
    path.write_text(json.dumps(content | {"case": "A101"}), encoding="utf-8")
    return path


def test_a_new_scene_is_looked_at_before_it_has_conditions(new_scene: Path, monkeypatch, capsys) -> None:
    assert look_at(monkeypatch, str(new_scene), "--picture", str(new_scene.with_suffix(".png"))) == 0
    said = capsys.readouterr().out
    assert said.startswith("A101 Single-target warm-up: tier 1, 3 shots, valid\nok  untouched: drift 0.0")
    assert "naive aimer wins 4 of 4 conditions" in said
    assert new_scene.with_suffix(".png").is_file()


def test_given_shots_are_fired(new_scene: Path, monkeypatch, capsys) -> None:
    assert look_at(monkeypatch, str(new_scene), "--conditions=1", "--fire=20,10,100", "--fire=0,12,120") == 0
    assert capsys.readouterr().out.count(": struck ") == 2


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--conditions=7", "--conditions: '7': a comma-separated list of 0, 1, 2, 3"),
        ("--fire=1,2", "--fire: '1,2': azimuth, elevation (degrees), draw (mm), as 2,15,180"),
        ("--fire=0,15,nan", "--fire: '0,15,nan': azimuth -25..25, elevation 5..45, draw 50..310"),
        ("--fire=0,15,900", "--fire: '0,15,900': azimuth -25..25, elevation 5..45, draw 50..310"),
    ],
)
def test_an_option_that_cannot_be_used_is_one_line(option: str, text: str, monkeypatch, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        look_at(monkeypatch, "A007", option)
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"workshop: error: argument {text}"


def test_an_element_that_is_not_there_is_named(monkeypatch, capsys) -> None:
    assert look_at(monkeypatch, "A007", "--search", "--at", "ghost") == 2
    assert capsys.readouterr().err == "error: --at: no element is named 'ghost'\n"
