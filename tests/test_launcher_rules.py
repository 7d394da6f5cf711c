"""Every rule of the launcher: a trajectory that breaks it and names its clause, and the nearest one that does not."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from images.mujoco.launcher import evaluator, limits, plant, rules
from images.mujoco.launcher import geometry as g
from images.mujoco.launcher import scene as scenes
from images.mujoco.launcher.environment import Launcher
from images.mujoco.launcher.mechanism import tray_position
from tests.launcher_stage import (
    FAR_WALL,
    HOME,
    aim,
    authored,
    board,
    draw_for,
    judged,
    launcher,
    load,
    press,
    pull,
    put,
    scene_of,
    shoot,
    wait,
    wait_for,
)
from tests.test_launcher_scene import EVERY_KIND

ONE = authored([board("one", 2.0), FAR_WALL], required=[{"element": "one"}])
PANE: dict[str, Any] = {
    "kind": "pane", "name": "window", "width": 0.4, "height": 0.5, "threshold": 0.03,
    "at": [1.6, 0, 0], "material": "glass",
}  # fmt: skip


def with_everything() -> scenes.Scene:
    """A scene to which every clause applies."""
    return scene_of(
        authored(
            EVERY_KIND,
            required=[
                {"element": "one", "after": [{"element": "bank", "event": "struck"}]},
                {"element": "pin", "goal": "toppled"},
                {"element": "ring", "share": 0.5},
            ],
            order=["one", "pin"],
            protected=["window", "ball"],
            shard_free=["ball"],
        )
    )


# ---- disclosure ----------------------------------------------------------------------------------------------------
def test_every_check_has_a_clause_and_every_clause_a_check() -> None:
    checked = set()
    for module in (evaluator, limits, plant):
        checked |= set(re.findall(r'"(L-\d\d)"', Path(str(module.__file__)).read_text(encoding="utf-8")))
    disclosed = {clause.id for clause in rules.clauses(with_everything())}
    informative = {"L-01", "L-08"}  # the targets and the panes' thresholds: their numbers are the scene's own
    assert checked == disclosed - informative


@pytest.mark.parametrize("case", scenes.cases())
def test_the_clauses_of_a_scene_carry_the_numbers_that_its_evaluator_uses(case: str) -> None:
    env = launcher(case)
    scene, values = scenes.load(case), {clause.id: clause.value for clause in env.clauses()}
    assert values["L-01"] == [[item.element, item.goal] for item in scene.task.required]
    thresholds = [[pane.name, pane.threshold] for pane in env.plant.flight.panes]
    assert values.get("L-08", []) == thresholds
    assert env.plant.interlocks.min_draw == values["L-19"]
    assert ("L-10" in values) == bool(scene.task.order)
    assert ("L-11" in values) == any(item.after for item in scene.task.required)
    assert ("L-07" in values) == bool(scene.task.protected)
    for clause in env.clauses():
        assert clause.code in (None, "RULE", "LIMIT", "COLL", "PEN", "DROP", "AMMO"), clause


# ---- goal ----------------------------------------------------------------------------------------------------------
def test_a_hit_that_knocks_the_target_over_is_a_success() -> None:
    env = launcher(ONE)
    shoot(env, 0, 15, draw_for(env, 2.0, 0.2, 15))
    assert judged(env) == ("goal_met", None, None)


def test_a_miss_is_not() -> None:
    env = launcher(ONE)
    shoot(env, 12, 15, draw_for(env, 2.0, 0.2, 15))
    assert judged(env) == ("quit", None, None)


def test_success_is_latched() -> None:
    env = launcher(ONE)
    shoot(env, 0, 15, draw_for(env, 2.0, 0.2, 15))
    put(env, trigger=0.3)
    env.apply(HOME)
    assert judged(env) == ("goal_met", None, None)


def test_finish_grants_no_settling_time() -> None:
    env = launcher(ONE)
    shoot(env, 0, 15, draw_for(env, 2.0, 0.2, 15), after=0.0)
    wait_for(env, lambda: env.plant.shots[0].struck)
    assert judged(env) == ("quit", None, None)


@pytest.mark.parametrize(("height", "expected"), [(0.30, "goal_met"), (0.05, "quit")])
def test_toppled_needs_the_tilt(height: float, expected: str) -> None:
    """A hit near the top of a plate turns it over; one near its foot only pushes it."""
    plate = board("one", 2.0, size=[0.04, 0.3, 0.34])
    env = launcher(
        authored([plate, FAR_WALL], required=[{"element": "one", "goal": "toppled"}], projectiles=["heavy"] * 2)
    )
    shoot(env, 0, 12, draw_for(env, 2.0, height, 12))
    assert env.plant.shots[0].struck[0] == "one"
    assert judged(env)[0] == expected


# ---- order, path, protection ---------------------------------------------------------------------------------------
def two(order: list[str]) -> Launcher:
    boards = [board("near", 1.6, -0.25), board("far", 2.4, 0.4), FAR_WALL]
    return launcher(authored(boards, required=[{"element": "near"}, {"element": "far"}], order=order))


def strike(env: Launcher, x: float, y: float, index: int) -> None:
    azimuth = math.degrees(math.atan2(y, x - g.PIVOT[0]))
    run = g.PIVOT[0] + math.hypot(y, x - g.PIVOT[0])
    shoot(env, azimuth, 18, draw_for(env, run, 0.2, 18, index))


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (["near", "far"], ("goal_met", None, None)),
        (["far", "near"], ("violation", "RULE", "L-10")),
        ([], ("goal_met", None, None)),
    ],
)
def test_order_binds(order: list[str], expected: tuple[str, str | None, str | None]) -> None:
    env = two(order)
    strike(env, 1.6, -0.25, 0)
    if env.judge() is None:
        strike(env, 2.4, 0.4, 1)
    assert judged(env) == expected


def behind_glass(threshold: float, **more: Any) -> Launcher:
    path = [{"element": "window", "event": "fractured"}]
    elements = [PANE | {"threshold": threshold}, board("one", 2.0), FAR_WALL]
    return launcher(authored(elements, required=[{"element": "one", "after": path}], projectiles=["heavy"] * 3, **more))


def test_a_target_behind_glass_counts_after_the_pane_is_broken() -> None:
    env = behind_glass(0.02)
    for _ in range(2):
        if env.judge() is None:
            shoot(env, 0, 10, 0.24)
    assert env.evaluator.fractured("window")
    assert judged(env) == ("goal_met", None, None)


def test_lobbing_over_the_pane_breaks_the_damage_path() -> None:
    env = behind_glass(0.02)
    shoot(env, 0, 44, draw_for(env, 2.0, 0.2, 44))
    assert "window" not in env.plant.shots[0].struck
    assert judged(env) == ("violation", "RULE", "L-11")


def test_a_bank_must_be_struck_by_the_same_shot() -> None:
    elements = [board("one", 2.0), {"kind": "bank", "name": "bank", "size": [0.05, 1.0, 1.0], "at": [2.6, 0, 0]}]
    env = launcher(authored(elements, required=[{"element": "one", "after": [{"element": "bank", "event": "struck"}]}]))
    shoot(env, 0, 15, draw_for(env, 2.0, 0.2, 15))
    assert judged(env) == ("violation", "RULE", "L-11")


@pytest.mark.parametrize("first", ["one", "bank"])
def test_the_bank_must_be_struck_before_the_target_itself(first: str) -> None:
    """A shot that grazes the target and touches the bank before the target has fallen has not come by the bank."""
    elements = [board("one", 2.0), {"kind": "bank", "name": "bank", "size": [0.05, 1.0, 1.0], "at": [2.6, 0, 0]}]
    env = launcher(authored(elements, required=[{"element": "one", "after": [{"element": "bank", "event": "struck"}]}]))
    shoot(env, 0, 15, draw_for(env, 2.0, 0.2, 15), after=0.0)
    wait_for(env, lambda: env.plant.shots[0].struck)
    env.plant.shots[0].struck[:] = ["one", "bank"] if first == "one" else ["bank", "one"]
    wait(env, 2.0)
    expected = ("violation", "RULE", "L-11") if first == "one" else ("goal_met", None, None)
    assert judged(env) == expected


def test_protection_is_watched_from_when_the_last_goal_began_to_hold_for_good() -> None:
    """A target that falls, stands up again and falls four seconds later has reached its goal then."""
    env = guarded(0.8)
    shoot(env, 12, 15, 0.12, after=1.0)
    target = env.evaluator.watched["one"]
    lying = {"now": True}
    env.evaluator._holds = lambda name, goal: lying["now"]
    wait(env, 0.1)
    assert target.reached is not None
    lying["now"] = False
    wait(env, 4.0)
    assert env.judge() is None
    lying["now"] = True
    wait(env, 2.9)
    assert env.judge() is None
    wait(env, 0.3)
    assert judged(env) == ("goal_met", None, None)


def guarded(y: float) -> Launcher:
    elements = [board("one", 2.0), board("guest", 2.0, y), FAR_WALL]
    return launcher(authored(elements, required=[{"element": "one"}], protected=["guest"]))


def test_a_protected_element_that_is_struck_breaks_the_rule() -> None:
    env = guarded(0.45)
    strike(env, 2.0, 0.45, 0)
    assert judged(env) == ("violation", "RULE", "L-12")


def test_with_protection_success_waits_for_the_observation() -> None:
    env = guarded(0.45)
    shoot(env, 0, 15, draw_for(env, 2.0, 0.2, 15), after=1.2)
    assert env.evaluator.reached("one")
    assert judged(env) == ("quit", None, None)
    wait(env, 3.2)
    result = env.judge()
    assert result is not None
    assert result.success
    assert result.data["simulated_s"] - result.data["reached_s"] == pytest.approx(3.0, abs=0.021)


@pytest.mark.parametrize("along", [[1, 0, 0], [0, -1, 0], [0, 0, 1]], ids=["away", "aside", "up"])
@pytest.mark.parametrize(("push", "expected"), [(0.018, None), (0.023, "L-13")])
def test_a_protected_element_may_not_be_moved(along: list[float], push: float, expected: str | None) -> None:
    env = guarded(0.45)
    nudge(env, "guest", [push * component for component in along])
    assert (env.judge().clause if env.judge() else None) == expected


@pytest.mark.parametrize(("degrees", "expected"), [(9.0, None), (11.0, "L-14")])
def test_a_protected_element_may_not_be_tilted(degrees: float, expected: str | None) -> None:
    env = guarded(0.45)
    half = math.radians(degrees) / 2
    q, _ = env.plant.addresses(["guest"])
    env.plant.data.qpos[q[0] + 3 : q[0] + 7] = [math.cos(half), 0, math.sin(half), 0]
    env.plant.data.qpos[q[0] + 2] += 0.005
    env.apply(HOME)
    assert (env.judge().clause if env.judge() else None) == expected


def nudge(env: Launcher, name: str, shift: list[float]) -> None:
    q, _ = env.plant.addresses([name])
    env.plant.data.qpos[q[0] : q[0] + 3] += shift
    env.apply(HOME)


# ---- interlocks ----------------------------------------------------------------------------------------------------
def test_a_whole_aiming_cycle_launches() -> None:
    env = launcher(ONE)
    aim(env, 5, 20)
    pull(env, 0.1)
    assert env.plant.missing() == []
    press(env)
    assert len(env.plant.shots) == 1
    assert env.judge() is None


def skip_release(env: Launcher) -> None:
    pull(env, 0.1)


def unsettled(env: Launcher) -> None:
    pull(env, 0.1)
    put(env, brake=-0.5)
    env.apply(HOME)
    dof = env.plant.addresses(["azimuth_wheel"])[1][0]
    for _ in range(20):
        env.plant.data.qfrc_applied[dof] = 0.3
        env.apply(HOME)
    put(env, brake=0.5)
    env.apply(HOME)
    env.plant.data.qfrc_applied[dof] = 0.0


def brake_off(env: Launcher) -> None:
    pull(env, 0.1)
    put(env, brake=-0.5)
    wait(env, 0.1)


def short_draw(env: Launcher) -> None:
    aim(env, 0, 20)
    pull(env, 0.024)


def empty_barrel(env: Launcher) -> None:
    aim(env, 0, 20)
    item = env.plant.projectiles[0]
    item.position[:3], item.velocity[:] = tray_position(env.plant.compiled.realized, item.radius, 0.2), 0.0
    pull(env, 0.1)


@pytest.mark.parametrize(
    ("prepare", "clause"),
    [(skip_release, "L-16"), (unsettled, "L-17"), (brake_off, "L-18"), (short_draw, "L-19"), (empty_barrel, "L-20")],
)
def test_the_trigger_before_the_cycle_is_complete_breaks_the_interlock_and_launches_nothing(
    prepare: Any, clause: str
) -> None:
    env = launcher(ONE)
    prepare(env)
    assert env.plant.missing()[0] == clause
    press(env)
    assert (judged(env), env.plant.shots) == (("violation", "RULE", clause), [])


def test_each_shot_needs_its_own_aiming_cycle() -> None:
    env = launcher(ONE)
    shoot(env, 12, 15, 0.15, after=1.0)
    pull(env, 0.15)
    load(env, 1)
    press(env)
    assert judged(env) == ("violation", "RULE", "L-16")


@pytest.mark.parametrize(("x", "expected"), [(0.95, None), (1.05, "L-21")])
def test_a_projectile_that_was_not_launched_may_not_go_down_range(x: float, expected: str | None) -> None:
    env = launcher(ONE)
    env.plant.projectiles[1].position[:3] = [x, 0.3, 0.5]
    env.apply(HOME)
    assert (env.judge().clause if env.judge() else None) == expected


# ---- limits --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("azimuth", "expected"), [(24.5, None), (-24.5, None), (25.5, "L-30"), (-25.5, "L-30")])
def test_azimuth_is_limited(azimuth: float, expected: str | None) -> None:
    env = launcher(ONE)
    aim(env, azimuth, 20)
    assert judged(env)[2] == expected


@pytest.mark.parametrize(("elevation", "expected"), [(5.5, None), (44.5, None), (4.5, "L-31"), (45.5, "L-31")])
def test_elevation_is_limited(elevation: float, expected: str | None) -> None:
    env = launcher(ONE)
    aim(env, 0, elevation)
    assert judged(env)[2] == expected


def swing(env: Launcher, control: int, rate: float) -> None:
    """Speed a wrist up to this rate (rad/s) and keep it for a while, without lag."""
    action = HOME.copy()
    for i in range(40):
        now = rate * min(1.0, i / 25)
        action[control] += now * g.CONTROL_DT
        shown = action.copy()
        shown[control] += now * g.SERVO_LAG
        env.apply(shown)


@pytest.mark.parametrize("control", [6, 14], ids=["left", "right"])
@pytest.mark.parametrize(("factor", "expected"), [(1.0, None), (1.25, "L-32")])
def test_joint_speed_is_limited_with_its_margin(control: int, factor: float, expected: str | None) -> None:
    env = launcher(ONE)
    swing(env, control, factor * g.JOINT_SPEED_LIMITS[6])
    assert judged(env)[2] == expected


def test_a_command_far_from_the_present_pose_is_a_speed_violation() -> None:
    env = launcher(ONE)
    env.apply(np.array([low for low, _ in g.JOINT_LIMITS] + [0.0] + [high for _, high in g.JOINT_LIMITS] + [0.0]))
    wait(env, 0.2)
    assert judged(env)[1:] == ("LIMIT", "L-32")


@pytest.mark.parametrize(("arm", "joint", "end"), [("left", 7, 1), ("left", 4, 0), ("right", 7, 0), ("right", 4, 1)])
@pytest.mark.parametrize(("excess", "expected"), [(0.018, None), (0.022, "L-33")])
def test_joint_positions_are_limited(arm: str, joint: int, end: int, excess: float, expected: str | None) -> None:
    env = launcher(ONE)
    q, _ = env.plant.addresses([f"{arm}_joint{joint}"])
    env.plant.data.qpos[q] = g.JOINT_LIMITS[joint - 1][end] + (excess if end else -excess)
    env.evaluator.tick()
    assert judged(env)[2] == expected


# ---- contact -------------------------------------------------------------------------------------------------------
def feel(env: Launcher, part: str, force: float) -> None:
    """One reading of a contact sensor during the last control step."""
    index = env.evaluator.limits.parts.index(part)
    env.plant.sensor_log[7, 3 * index] = -force
    env.evaluator.tick()


@pytest.mark.parametrize(
    ("part", "legal", "excess", "clause"),
    [("both arms", 4.9, 5.1, "L-40"), ("left link5", 9.9, 10.1, "L-41"), ("right hand", 9.9, 10.1, "L-41"),
     ("right finger2", 119.0, 121.0, "L-42")],
)  # fmt: skip
def test_contact_force_is_limited_per_part(part: str, legal: float, excess: float, clause: str) -> None:
    env = launcher(ONE)
    feel(env, part, legal)
    assert env.judge() is None
    feel(env, part, excess)
    assert judged(env) == ("violation", "COLL", clause)


def test_an_arm_that_strikes_the_other_arm_collides() -> None:
    env = launcher(ONE)
    turn(env, [(0, -1.4), (8, 1.4)])
    assert judged(env)[1] == "COLL"


def test_an_arm_that_passes_clear_of_the_other_does_not() -> None:
    env = launcher(ONE)
    turn(env, [(0, 0.5), (8, -0.5)])
    assert env.judge() is None


def turn(env: Launcher, joints: list[tuple[int, float]]) -> None:
    """Move joints of the action vector by these angles (rad) within two seconds."""
    for i in range(100):
        action = HOME.copy()
        u = (i + 1) / 100
        for index, angle in joints:
            action[index] += angle * u * u * (3 - 2 * u)
        if env.judge() is None:
            env.apply(action)


@pytest.mark.parametrize(("depth", "expected"), [(0.0029, None), (0.0031, "L-50")])
def test_penetration_is_limited(depth: float, expected: str | None) -> None:
    env = launcher(ONE)
    env.plant.sensor_log[3, -1] = -depth
    env.evaluator.tick()
    assert judged(env)[2] == expected


def test_the_first_violation_binds() -> None:
    env = launcher(ONE)
    env.plant.sensor_log[3, -1] = -0.01
    env.plant.speed_log[2, 0] = 9.0
    env.evaluator.tick()
    first = judged(env)
    assert env.judge().data["simulated_s"] == pytest.approx(env.plant.time - 0.017)  # the third of 20 ms
    env.plant.projectiles[1].position[2] = 0.0
    env.apply(HOME)
    assert first == judged(env) == ("violation", "LIMIT", "L-32")


# ---- loss and ammunition -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("height", "expected"), [(0.10, None), (0.07, "L-60")])
def test_a_projectile_may_not_be_dropped(height: float, expected: str | None) -> None:
    env = launcher(ONE)
    env.plant.projectiles[1].position[:3] = [-0.6, 0.0, height]
    env.apply(HOME)
    assert judged(env)[2] == expected


@pytest.mark.parametrize(("y", "expected"), [(2.4, "goal_met"), (2.6, "object_lost")])
def test_a_protected_object_may_not_leave_the_area(y: float, expected: str) -> None:
    elements = [board("one", 2.0), board("far", 3.0, y if y < 2.5 else 2.4), FAR_WALL]
    env = launcher(authored(elements, required=[{"element": "one"}], protected=["far"]))
    if y > 2.5:
        watched = env.evaluator.watched["far"]
        watched.start[:] += [0, 0.2, 0]  # as if authored there: leaving is judged by itself
        nudge(env, "far", [0, 0.2, 0])
    else:
        shoot(env, 0, 15, draw_for(env, 2.0, 0.2, 15), after=5.0)
    assert judged(env)[0] == expected


def test_ammunition_used_up_without_clearing_is_a_failure() -> None:
    env = launcher(ONE)
    for _ in range(2):
        shoot(env, 12, 15, 0.15, after=3.0)
    wait(env, 8.0)
    assert judged(env) == ("ammunition", "AMMO", "L-70")


def test_the_last_shot_may_still_succeed() -> None:
    env = launcher(ONE)
    shoot(env, 12, 15, 0.15, after=3.0)
    shoot(env, 0, 15, draw_for(env, 2.0, 0.2, 15, 1), after=3.0)
    assert judged(env) == ("goal_met", None, None)


def test_a_projectile_that_stayed_in_the_barrel_does_not_add_a_shot() -> None:
    env = launcher(ONE)
    shoot(env, 12, 45, 0.05, after=1.2)  # too weak to leave the barrel
    shoot(env, 12, 15, 0.15, after=0.0)
    assert [shot.projectile for shot in env.plant.shots] == [0, 0]
    aim(env, 12, 15)
    pull(env, 0.15)
    load(env, 1)
    press(env)
    assert len(env.plant.shots) == 2
    assert judged(env) == ("ammunition", "AMMO", "L-70")
    assert "the trigger was pulled with no shot left" in env.judge().text
