"""Ground mode: the first projectile lies on the floor, and the reference agent picks it up, loads it and wins."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from images.mujoco.launcher import geometry as g
from images.mujoco.launcher import scene as scenes
from images.mujoco.launcher.reference.agent import Gunner
from images.mujoco.launcher.reference.mechanism import up
from images.mujoco.launcher.workshop.episode import Episode
from images.reference import solve
from images.reference.motion import Program, Terminated

PAGE = Path(__file__).parents[1] / "docs" / "launcher.md"
OTHERS = (
    [("A010", 1), ("A010", 2), ("A010", 3), *(("A001", i) for i in range(4))]
    + [(case, 0) for case in ("A004", "A011", "A014", "A025", "A032", "A041", "A051", "A065", "A076", "A082", "A089")]
    + [(case, 0) for case in ("A020", "A090", "A097")]
)


@pytest.mark.parametrize(
    ("case", "index"),
    [("A010", 0), ("A007", 1), *(pytest.param(*other, marks=pytest.mark.slow) for other in OTHERS)],
)
def test_the_reference_agent_wins_from_the_floor(case: str, index: int) -> None:
    """A010 starts with a heavy ball, A007 with a standard one."""
    client = Episode(case, index, mode="ground")
    start = client.observe(fields=["pose/projectile_1", "cycle"]).fields
    radius = g.PROJECTILES[scenes.load(case).projectiles[0]]["radius"]
    assert start["pose/projectile_1"][2] == pytest.approx(radius, abs=1e-4)
    assert not start["cycle"][5]  # nothing is seated
    assert solve(client, lambda line: None).success


def test_it_picks_up_a_light_ball_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """No scene of the catalog starts with one."""
    light = scenes.load("A007").model_copy(update={"projectiles": ("light",) * 3})
    monkeypatch.setattr(scenes, "load", lambda case: light)
    client = Episode("A007", 0, mode="ground")
    assert client.describe().parameters["projectiles"][0]["radius"] == g.PROJECTILES["light"]["radius"]
    assert solve(client, lambda line: None).success


@pytest.mark.slow
@pytest.mark.parametrize("case", scenes.cases())
def test_in_every_scene_the_ball_from_the_floor_is_launched(case: str) -> None:
    client = Episode(case, (int(case[1:]) - 1) % 4, mode="ground")
    solve(client, lambda line: None)
    assert client.environment.plant.shots[0].projectile == 0


@pytest.mark.parametrize(("lift", "clause"), [(0.06, None), (0.12, "L-60")])
def test_a_ball_from_the_floor_is_dropped_when_it_was_above_100_mm(lift: float, clause: str | None) -> None:
    client = Episode("A007", 1, mode="ground")
    gunner = Gunner(client, client.describe(), lambda line: None)
    gunner.crew.sense()

    def lift_and_let_go() -> Program:
        arm, m = gunner.operator.right, gunner.mechanism
        ball = gunner.readings.projectile
        yield from arm.line(ball + up(0.12), 1.5, m.down["right"], 0.05)
        yield from arm.line(ball + up(0.002), 0.5)
        yield from arm.hold(0.35, 0.0)
        yield from arm.line(ball + up(lift), 0.5)
        yield from arm.hold(0.5, m.gripper_open)

    ended = None
    try:
        gunner.crew.run({"right": lift_and_let_go()})
        gunner.crew.sense()
    except Terminated as end:
        ended = end.terminal.clause
    assert ended == clause
    if clause is None:
        assert np.abs(gunner.readings.projectile[2] - 0.018) < 0.002  # it lies on the floor again


@pytest.mark.slow
def test_the_page_says_how_a_person_runs_it(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(program, str(PAGE), "exec"), {})
    said = capsys.readouterr().out
    assert "shot 1 of" in said
    assert "goal_met" in said
