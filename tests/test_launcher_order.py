"""L-10, the order of targets, where two things happen within one control step."""

from __future__ import annotations

from typing import Any

import pytest

from images.mujoco.launcher.environment import Launcher
from images.mujoco.launcher.flight import Flight
from tests.launcher_stage import FAR_WALL, authored, board, judged, launcher, shoot, wait

PANE: dict[str, Any] = {
    "kind": "pane", "name": "window", "width": 0.3, "height": 0.4, "threshold": 0.03, "at": [2.0, 0.6, 0],
    "material": "glass",
}  # fmt: skip


def displace(env: Launcher, *names: str) -> None:
    """Move boards by more than their goal takes, all at once."""
    for name in names:
        q, v = env.plant.addresses([name])
        env.plant.data.qpos[q[0]] += 0.2
        env.plant.data.qvel[v[0]] = -0.0


@pytest.mark.parametrize("listed", ["ab", "ba"])
def test_what_reaches_its_goal_at_once_is_in_order_however_the_file_lists_it(listed: str) -> None:
    elements = [board("a", 2.0, 0.6), board("b", 2.0, -0.6), FAR_WALL]
    env = launcher(authored(elements, required=[{"element": name} for name in listed], order=["a", "b"]))
    shoot(env, 0, 15, 0.12, after=0.3)
    displace(env, "a", "b")
    wait(env, 1.0)
    assert judged(env) == ("goal_met", None, None)


def test_the_later_one_alone_is_not() -> None:
    elements = [board("a", 2.0, 0.6), board("b", 2.0, -0.6), FAR_WALL]
    env = launcher(authored(elements, required=[{"element": "b"}, {"element": "a"}], order=["a", "b"]))
    shoot(env, 0, 15, 0.12, after=0.3)
    displace(env, "b")
    wait(env, 0.04)
    assert judged(env) == ("violation", "RULE", "L-10")


@pytest.mark.parametrize(("delay", "clause"), [(0.004, None), (-0.004, "L-10")])
def test_a_pane_that_breaks_before_the_next_is_struck_is_in_order_within_a_control_step(
    delay: float, clause: str | None, monkeypatch
) -> None:
    """Fractures and strikes have the times of their physics steps; here both fall between two looks of the referee."""
    elements = [PANE, board("b", 2.0, -0.6), FAR_WALL]
    required = [{"element": "b"}, {"element": "window", "goal": "fractured"}]
    env = launcher(authored(elements, required=required, order=["window", "b"]))
    shoot(env, 0, 15, 0.12, after=0.3)
    pane, flight = env.plant.flight.panes[0], env.plant.flight
    begins, step = env.plant.time, Flight.step
    times = {"break": begins + 0.010, "strike": begins + 0.010 + delay}

    def staged(self: Flight) -> None:
        step(self)
        now = float(self._data.time)
        if pane.broken is None and now >= times["break"]:
            pane.fracture(self._model, self._data, self._data.qvel[:3])
        if now >= times["strike"] and not flight.strikes:
            flight.strikes.append((now, 1, "b"))

    monkeypatch.setattr(Flight, "step", staged)
    wait(env, 0.04)
    judgement = env.judge()
    assert pane.broken is not None
    assert flight.strikes
    assert (judgement.clause if judgement else None) == clause
