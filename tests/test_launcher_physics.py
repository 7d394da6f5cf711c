"""What a physicist would ask of the launcher: energy, range, latch, glass threshold, rest, determinism."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from images.gateway.environment import PhysicsSanityError
from images.mujoco.launcher import geometry as g
from images.mujoco.launcher import scene as scenes
from images.mujoco.launcher.workshop import checks
from tests.launcher_stage import (
    FAR_WALL,
    HOME,
    aim,
    authored,
    board,
    launcher,
    muzzle_speed,
    press,
    pull,
    put,
    shoot,
    wait,
)

ONE = authored([board("one", 2.0, 1.5), FAR_WALL], required=[{"element": "one"}], projectiles=["standard"] * 2)


@pytest.mark.parametrize("kind", ["light", "standard", "heavy"])
@pytest.mark.parametrize(("stiffness", "draw", "elevation"), [(22, 0.12, 10), (28, 0.12, 40), (24, 0.24, 25)])
def test_muzzle_speed_follows_from_the_spring_energy(
    kind: str, stiffness: float, draw: float, elevation: float
) -> None:
    source = authored([board("one", 2.0, 1.5), FAR_WALL], required=[{"element": "one"}], projectiles=[kind])
    env = launcher(source, stiffness=float(stiffness))
    shoot(env, 0, elevation, draw, after=0.3)
    shot, public = env.plant.shots[0], g.PROJECTILES[kind]
    expected = muzzle_speed(stiffness, shot.draw, elevation, public["mass"], public["radius"])
    assert shot.draw == pytest.approx(draw, abs=0.0021)
    assert shot.muzzle_speed == pytest.approx(expected, rel=0.01)


def test_the_range_is_that_of_a_point_mass() -> None:
    env = launcher(ONE)
    aim(env, 0, 30)
    pull(env, 0.16)
    put(env, trigger=0.3)
    item, speed, start = env.plant.projectiles[0], None, np.zeros(3)
    for _ in range(200):
        env.apply(HOME)
        if speed is None and env.plant.shots[0].muzzle_speed is not None:
            speed, start = item.velocity[:3].copy(), item.position[:3].copy()
        elif speed is not None and item.position[2] < item.radius + 0.05:
            break
    assert speed is not None
    drop = start[2] - item.position[2]
    flown = (speed[2] + math.sqrt(speed[2] ** 2 + 2 * 9.81 * drop)) / 9.81
    assert item.position[0] - start[0] == pytest.approx(speed[0] * flown, rel=0.01)
    assert item.position[1] == pytest.approx(start[1], abs=0.005)


def test_the_latch_holds_and_never_goes_back() -> None:
    env = launcher(ONE)
    pull(env, 0.2)
    held = env.plant.notch * g.RATCHET_PITCH
    assert held >= 0.2
    wait(env, 5.0)
    assert env.plant.draw == pytest.approx(held, abs=2e-4)


def test_the_spring_pulls_back_a_carriage_that_no_tooth_holds() -> None:
    env = launcher(ONE)
    pull(env, g.RATCHET_START - 0.004)
    wait(env, 1.0)
    assert env.plant.notch == 0
    assert env.plant.draw < 0.007  # it sags a little: at rest the spring has no pre-load


@pytest.mark.parametrize("stiffness", [22.0, 28.0])
@pytest.mark.parametrize("elevation_offset", [-2.0, 2.0])
@pytest.mark.parametrize("kind", ["light", "heavy"])
def test_carriage_and_projectile_start_at_rest(stiffness: float, elevation_offset: float, kind: str) -> None:
    source = authored([board("one", 2.0, 1.5), FAR_WALL], required=[{"element": "one"}], projectiles=[kind])
    env = launcher(source, stiffness=stiffness, elevation_offset=elevation_offset)
    draw = env.plant.draw
    wait(env, 0.1)
    asleep = env.plant.data.tree_asleep[env.plant.model.body_treeid[env.plant.model.body("carriage").id]] >= 0
    wait(env, 1.0)
    assert asleep
    assert env.plant.draw == pytest.approx(draw, abs=1e-4)
    assert env.plant.seated() == 0


def test_a_carriage_that_bounces_back_is_caught_when_the_trigger_is_up_by_then() -> None:
    """As the parameters' text says of RATCHET_START: at about 22 mm, and it is no shot's draw."""
    env = launcher(ONE)
    aim(env, 0, 20)
    pull(env, 0.28)
    press(env)
    wait(env, 1.0)
    caught = env.plant.notch * g.RATCHET_PITCH
    assert caught == pytest.approx(0.022, abs=0.0021)
    assert env.plant.draw == pytest.approx(caught, abs=2e-4)
    assert len(env.plant.shots) == 1


def test_the_latch_stays_off_and_the_sear_silent_while_the_trigger_is_held_down() -> None:
    """The same bounce is not caught; nor does a paddle that stays down pull the sear a second time."""
    env = launcher(ONE)
    aim(env, 0, 20)
    pull(env, 0.28)
    for _ in range(50):
        put(env, trigger=0.3)
        env.apply(HOME)
    assert (env.plant.notch, len(env.plant.shots)) == (0, 1)
    assert env.plant.draw < 0.01
    assert env.judge() is None
    wait(env, 0.1)  # the paddle comes up, the carriage is home
    pull(env, 0.1)
    assert env.plant.draw == pytest.approx(0.1, abs=2e-4)


def test_the_brake_holds_the_barrel_against_a_torque_on_the_wheel_and_lets_go_when_released() -> None:
    env = launcher(ONE)
    dof = env.plant.addresses(["azimuth_wheel"])[1][0]
    env.plant.data.qfrc_applied[dof] = 0.5
    wait(env, 1.0)
    assert abs(env.plant.angle("azimuth")) < math.radians(0.2)
    put(env, brake=-0.5)
    wait(env, 0.5)
    assert env.plant.angle("azimuth") > math.radians(1.0)


def test_wheels_turn_the_barrel_by_their_gear() -> None:
    env = launcher(ONE)
    put(env, brake=-0.5)
    env.apply(HOME)
    dof = env.plant.addresses(["elevation_wheel"])[1][0]
    env.plant.data.qfrc_applied[dof] = 0.4
    for _ in range(60):
        env.apply(HOME)
        assert env.plant.angle("elevation") == pytest.approx(g.GEAR * env.plant.angle("elevation_wheel"), abs=1e-3)
    assert env.plant.angle("elevation") > math.radians(16)


def pane_hit(threshold: float) -> tuple[float, bool]:
    """Impulse of a standard ball on a pane that breaks at ``threshold`` (N s), and whether it broke."""
    pane: dict[str, Any] = {
        "kind": "pane", "name": "window", "width": 0.5, "height": 0.6, "threshold": threshold, "at": [1.5, 0, 0],
        "material": "glass",
    }  # fmt: skip
    env = launcher(authored([pane, board("one", 2.2, 1.5), FAR_WALL], required=[{"element": "one"}]))
    aim(env, 0, 10)
    pull(env, 0.16)
    press(env)
    wait(env, 0.6)
    return env.plant.flight.panes[0].peak, env.evaluator.fractured("window")


def test_a_pane_holds_below_its_threshold_and_breaks_above() -> None:
    impulse, broken = pane_hit(10.0)
    speed = muzzle_speed(25, 0.16, 10, 0.015, 0.018)
    assert not broken
    assert 0.8 * 0.015 * speed < impulse < 2.0 * 0.015 * speed  # between no bounce and a full one
    assert not pane_hit(impulse * 1.05)[1]
    assert pane_hit(impulse * 0.9)[1]


def test_shards_of_a_broken_pane_fall() -> None:
    env = launcher("A025")
    pane = env.plant.flight.panes[0]
    pane.fracture(env.plant.model, env.plant.data, np.array([1.0, 0.0, 0.0]))
    names = env.plant.compiled.built["outer_pane"].shards
    ids = [env.plant.model.body(name).id for name in names]
    before = env.plant.data.xpos[ids, 2].copy()
    wait(env, 2.0)
    after = env.plant.data.xpos[ids, 2]
    assert np.isfinite(after).all()
    assert (after > -0.01).all()
    assert after.mean() < 0.5 * before.mean()


@pytest.mark.parametrize("pattern", [0, 1, 3])
def test_shards_come_to_rest(pattern: int) -> None:
    source = scenes.load("A025").model_dump(mode="json")
    source["elements"][0]["pattern"] = pattern
    env = launcher(source)
    env.plant.flight.panes[0].fracture(env.plant.model, env.plant.data, np.array([1.0, 0.0, 0.0]))
    wait(env, 4.0)
    shards = [env.plant.model.body(name).id for name in env.plant.compiled.built["outer_pane"].shards]
    assert (env.plant.data.tree_asleep[env.plant.model.body_treeid[shards]] >= 0).all()


def test_a_target_that_falls_by_itself_is_a_fault_of_the_environment() -> None:
    env = launcher(authored([board("one", 2.0), FAR_WALL], required=[{"element": "one"}]))
    q, _ = env.plant.addresses(["one"])
    env.plant.data.qpos[q[0]] += 0.2
    with pytest.raises(PhysicsSanityError, match="before the first launch"):
        env.apply(HOME)


def test_a_solver_warning_is_a_fault_of_the_environment() -> None:
    env = launcher(ONE)
    q, _ = env.plant.addresses(["one"])
    env.plant.data.qpos[q[0]] = math.nan
    with pytest.raises(PhysicsSanityError, match="MuJoCo warned"):
        env.apply(HOME)


def test_spent_projectiles_are_taken_away() -> None:
    env = launcher(ONE)
    shoot(env, 12, 15, 0.15, after=7.0)
    item = env.plant.projectiles[0]
    assert item.status == "spent"
    assert item.position[0] < 0
    assert not env.plant.flight.flying


def _rest(case: str, seconds: float) -> None:
    env = launcher(case)
    moving = [name for built in env.plant.compiled.built.values() for name in built.bodies]
    ids = [env.plant.model.body(name).id for name in [*moving, *env.plant.compiled.projectiles]]
    start, tray = env.plant.data.xpos[ids].copy(), len(env.plant.compiled.projectiles)
    wait(env, seconds)
    drift = np.linalg.norm(env.plant.data.xpos[ids] - start, axis=1)
    assert env.judge() is None
    assert drift[:-tray].max(initial=0.0) < 1e-4
    assert drift[-tray:].max() < 0.01  # the ammunition settles: the spring has no pre-load


@pytest.mark.parametrize("case", scenes.cases())
def test_an_untouched_scene_stays_put(case: str) -> None:
    """Every body is woken and comes to rest within 0.1 mm; what sleeps stays for the rest of an episode."""
    found = checks.stay(scenes.load(case))
    assert found.asleep_s is not None
    assert found.drift < checks.DRIFT


@pytest.mark.parametrize("case", ["A007", pytest.param("A025", marks=pytest.mark.slow)])
def test_an_untouched_scene_stays_put_for_a_whole_episode(case: str) -> None:
    _rest(case, 150.0)


SCRIPT = """
from tests.launcher_stage import launcher, shoot
env = launcher("A025", stiffness=26.0, azimuth_offset=0.7)
shoot(env, 0, 10, 0.22, after=2.0)
print(env.digest())
"""


def test_the_same_actions_give_the_same_bits_in_two_processes() -> None:
    digests = {
        subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=120).stdout
        for _ in range(2)
    }
    assert len(digests) == 1
    assert len(digests.pop().strip()) == 64
