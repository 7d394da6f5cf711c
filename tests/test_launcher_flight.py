"""When a projectile is seated, over or still on its way, and what an impulse on glass is: each beside its nearest
opposite."""

from __future__ import annotations

import numpy as np
import pytest

from images.mujoco.launcher import geometry as g
from images.mujoco.launcher.environment import Launcher
from images.mujoco.launcher.mechanism import barrel_rotation
from tests.launcher_stage import FAR_WALL, HOME, aim, authored, board, judged, launcher, press, pull, put, shoot, wait

ONE = authored([board("one", 3.0, -1.5), FAR_WALL], required=[{"element": "one"}])
PANE = {"kind": "pane", "name": "window", "width": 0.4, "height": 0.5, "threshold": 0.02, "at": [3.0, 0, 0],
        "material": "glass", "breakers": ["stone"]}  # fmt: skip
STONE = {"kind": "roller", "name": "stone", "shape": "sphere", "radius": 0.04, "at": [2.0, 1.0, 0], "material": "stone"}


# ---- the end of a flight -------------------------------------------------------------------------------------------
def drift(env: Launcher, speed: float, until: float) -> None:
    """Keep the launched projectile on its way at this speed (m/s), until so long after its launch (s): it is thrown up
    again in every control step, and seen at the top."""
    item = env.plant.projectiles[0]
    while env.plant.time < item.since + until - 1e-6 and env.plant.flight.flying:
        item.position[:3] = [2.0, 1.0, 1.0]
        item.velocity[:] = [speed, 0, 9.81 * g.CONTROL_DT, 0, 0, 0]
        env.apply(HOME)


def fly() -> Launcher:
    env = launcher(ONE)
    shoot(env, 12, 15, 0.12, after=0.3)
    assert env.plant.projectiles[0].status == "flying"
    return env


@pytest.mark.parametrize(("speed", "status"), [(0.029, "spent"), (0.031, "flying")])
def test_a_projectile_rests_when_it_is_slower_than_30_mm_per_second(speed: float, status: str) -> None:
    env = fly()
    drift(env, speed, 1.0)
    assert env.plant.projectiles[0].status == status


@pytest.mark.parametrize(("steps", "status"), [(24, "flying"), (26, "spent")])
def test_it_must_have_been_slow_for_half_a_second_without_a_break(steps: int, status: str) -> None:
    env = fly()
    drift(env, 0.01, 0.7)
    drift(env, 0.1, 0.72)  # a push begins a new rest
    assert env.plant.projectiles[0].status == "flying"
    drift(env, 0.01, 0.72 + steps * g.CONTROL_DT)
    assert env.plant.projectiles[0].status == status


@pytest.mark.parametrize(("seconds", "status"), [(5.96, "flying"), (6.02, "spent")])
def test_a_projectile_that_flies_on_is_taken_away_six_seconds_after_its_launch(seconds: float, status: str) -> None:
    env = fly()
    drift(env, 0.5, seconds)
    assert env.plant.projectiles[0].status == status


@pytest.mark.parametrize(
    ("place", "status"),
    [((6.4, 0, 1), "flying"), ((6.6, 0, 1), "spent"), ((2, 2.4, 1), "flying"), ((2, -2.6, 1), "spent"),
     ((2, 1.5, 3.9), "flying"), ((2, 1.5, 4.1), "spent")],
)  # fmt: skip
def test_a_projectile_that_leaves_the_area_is_taken_away(place: tuple[float, float, float], status: str) -> None:
    env = fly()
    item = env.plant.projectiles[0]
    item.position[:3], item.velocity[:3] = place, [0, 0, 0.5]
    env.apply(HOME)
    assert item.status == status


@pytest.mark.parametrize(("seconds", "over"), [(0.96, False), (1.04, True)])
def test_a_projectile_that_is_still_in_the_barrel_after_a_second_stays_there(seconds: float, over: bool) -> None:
    env = launcher(ONE)
    aim(env, 0, 44)
    pull(env, 0.05)
    press(env)
    assert env.plant.shots[0].muzzle_speed is None
    wait(env, seconds - 0.04)
    assert (env.plant.flight.flying == []) == over
    assert (env.plant.seated(), env.plant.shots_left) == (0, 1)
    assert env.plant.projectiles[0].status == ("waiting" if over else "fired")


def test_every_shot_has_strikes_of_its_own() -> None:
    """What one shot struck does not stand in for the next, and counts once for each."""
    post = {"kind": "fixed", "name": "post", "size": [0.1, 0.4, 0.6], "at": [1.6, 0.0, 0], "material": "stone"}
    env = launcher(authored([board("one", 3.0, -1.5), post], required=[{"element": "one"}]))
    for _ in range(2):
        shoot(env, 0, 10, 0.16, after=0.5)
    assert [shot.struck for shot in env.plant.shots] == [["post"], ["post"]]
    assert [(number, name) for _, number, name in env.plant.flight.strikes] == [(1, "post"), (2, "post")]


# ---- L-20: the seat ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("offset", "clause"),
    [((0.017, 0, 0), None), ((0.023, 0, 0), "L-20"), ((0, 0.004, 0), None), ((0, -0.008, 0), "L-20"),
     ((0, 0, 0.004), None), ((0, 0, 0.008), "L-20")],
    ids=["17 mm before the pusher", "23 mm", "4 mm beside the groove's middle", "8 mm", "4 mm above it", "8 mm"],
)  # fmt: skip
def test_a_projectile_must_lie_in_the_groove_before_the_pusher(
    offset: tuple[float, float, float], clause: str | None
) -> None:
    """Held there by something, at the instant at which the trigger fires."""
    env = launcher(ONE)
    aim(env, 0, 20)
    pull(env, 0.1)
    item, barrel = env.plant.projectiles[0], env.plant.data.body("barrel")
    s = -env.plant.draw + g.PUSHER_FRONT + item.radius
    item.position[:3] = barrel.xpos + barrel_rotation(0, np.radians(20)) @ np.add([g.REST + s, 0, 0], offset)
    item.velocity[:] = 0.0
    put(env, trigger=0.3)
    env.apply(HOME)
    assert judged(env)[2] == clause
    assert len(env.plant.shots) == (clause is None)


# ---- L-17: the wheels' rest ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("axis", ["azimuth", "elevation"])
@pytest.mark.parametrize(("rest", "clause"), [(0.06, "L-17"), (0.14, None)])
def test_both_wheels_must_have_been_slow_for_a_tenth_of_a_second(axis: str, rest: float, clause: str | None) -> None:
    """A wheel turns at 1 rad/s, is stopped, and the brake is set ``rest`` seconds later."""
    env = launcher(ONE)
    pull(env, 0.1)
    put(env, brake=-0.5)
    dof = env.plant.addresses([f"{axis}_wheel"])[1][0]
    for _ in range(15):
        env.plant.data.qvel[dof] = 1.0
        env.apply(HOME)
    put(env, **{joint: env.plant.angle(joint) for joint in (axis, f"{axis}_wheel")})
    wait(env, rest)
    put(env, brake=0.5)
    env.apply(HOME)
    press(env)
    assert judged(env)[2] == clause
    assert len(env.plant.shots) == (clause is None)


# ---- L-08: the impulse on a pane -----------------------------------------------------------------------------------
def blows(*forces: tuple[int, float, int]) -> bool:
    """Whether a pane of 0.02 N s breaks under (breaker, N, ms), one after the other; the projectiles come first."""
    env = launcher(authored([board("one", 4.0, -1.5), PANE, STONE], required=[{"element": "one"}]))
    pane, broken = env.plant.flight.panes[0], False
    for breaker, force, milliseconds in forces:
        for _ in range(milliseconds):
            pane.force[:] = 0.0
            pane.force[breaker, 0] = force
            broken = pane.load() or broken
    return broken


@pytest.mark.parametrize(("gap", "breaks"), [(4, True), (7, False)])
def test_an_impulse_starts_anew_after_five_milliseconds_without_force(gap: int, breaks: bool) -> None:
    assert blows((0, 4.0, 3), (0, 0.0, gap), (0, 4.0, 3)) == breaks


@pytest.mark.parametrize(("force", "breaks"), [(0.95, False), (1.05, True)])
def test_an_impulse_is_that_of_twenty_milliseconds(force: float, breaks: bool) -> None:
    assert blows((0, force, 100)) == breaks


@pytest.mark.parametrize(("breaker", "breaks"), [(0, True), (1, False), (2, False)])
def test_each_breaker_has_an_impulse_of_its_own(breaker: int, breaks: bool) -> None:
    """Two blows of 0.012 N s: of one projectile, or of two, or of a projectile and the stone."""
    assert blows((0, 4.0, 3), (breaker, 4.0, 3)) == breaks
