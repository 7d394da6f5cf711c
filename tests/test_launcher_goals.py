"""When a goal holds, counts, and is lost again: each clause beside the nearest case on its other side.

A shot that misses comes first, since nothing is judged before it; then a body of the scene is moved, or held in a
pose, as something that strikes it would do."""

from __future__ import annotations

import math
from typing import Any

import pytest

from images.mujoco.launcher import geometry as g
from images.mujoco.launcher.environment import Launcher
from tests.launcher_stage import FAR_WALL, HOME, authored, board, judged, launcher, shoot, wait, wait_for

BALL = board("ball", 3.0, shape="ball", size=[0.08, 0.08, 0.08], material="timber")


def after_a_miss(elements: list[dict[str, Any]], after: float = 0.3, **task: Any) -> Launcher:
    """An episode whose first shot went by on the left."""
    env = launcher(authored([*elements, FAR_WALL], **task))
    shoot(env, 22, 10, 0.12, after=after)
    assert env.plant.shots[0].struck == []
    assert env.judge() is None
    return env


def hold(
    env: Launcher, name: str, steps: int, shift: tuple[float, float, float] = (0, 0, 0), tilt: float = 0.0
) -> None:
    """Keep a free body for some control steps ``shift`` (m) away from where it was, tilted about y (degrees); put it
    back afterwards."""
    joint, half = env.plant.data.joint(name), math.radians(tilt) / 2
    before = joint.qpos.copy()
    for _ in range(steps):
        joint.qpos[:3] = before[:3] + shift
        joint.qpos[3:] = [math.cos(half), 0, math.sin(half), 0]
        joint.qvel[:] = -0.0  # awake
        env.apply(HOME)
    joint.qpos[:], joint.qvel[:] = before, -0.0
    env.apply(HOME)


# ---- L-02 to L-06 --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("steps", "cause"), [(10, "quit"), (11, "goal_met")])
def test_a_goal_counts_when_it_has_held_for_a_fifth_of_a_second(steps: int, cause: str) -> None:
    """Seen at the end of eleven control steps, it has held for ten of them."""
    env = after_a_miss([board("one", 3.0)], required=[{"element": "one"}])
    hold(env, "one", steps, shift=(0, 0, 0.1), tilt=50)
    assert env.evaluator.reached("one")
    assert judged(env)[0] == cause


def test_two_short_spells_do_not_add_up() -> None:
    env = after_a_miss([board("one", 3.0)], required=[{"element": "one"}])
    for _ in range(2):
        hold(env, "one", 8, shift=(0, 0, 0.1), tilt=50)
    assert judged(env)[0] == "quit"


@pytest.mark.parametrize(("height", "cause"), [(0.045, "quit"), (0.055, "goal_met")])
def test_a_target_is_cleared_when_it_drops_by_50_mm(height: float, cause: str) -> None:
    """The step under it is taken away, and it comes down upright where it was."""
    step = {"kind": "block", "name": "step", "size": [0.2, 0.3, height], "at": [3.0, 0, 0]}
    env = after_a_miss([step, board("one", 3.0, z=height, size=[0.2, 0.3, 0.1])], required=[{"element": "one"}])
    env.plant.data.joint("step").qpos[1] += 1.0
    for name in ("one", "step"):
        env.plant.data.joint(name).qvel[:] = -0.0
    wait(env, 0.8)
    moved = env.evaluator.watched["one"].moved
    assert moved is not None
    assert moved.horizontal.max() < 1e-3
    assert moved.tilt < 0.5
    assert moved.drop.max() == pytest.approx(height, abs=1e-3)
    assert judged(env)[0] == cause


@pytest.mark.parametrize(("shift", "cause"), [(0.095, "quit"), (0.105, "goal_met")])
def test_a_target_is_cleared_when_it_has_moved_sideways_by_100_mm(shift: float, cause: str) -> None:
    env = after_a_miss([board("one", 3.0)], required=[{"element": "one"}])
    hold(env, "one", 12, shift=(0, shift, 0))
    assert judged(env)[0] == cause


@pytest.mark.parametrize(("target", "cause"), [(board("one", 3.0), "goal_met"), (BALL | {"name": "one"}, "quit")])
def test_what_is_round_is_not_cleared_by_turning(target: dict[str, Any], cause: str) -> None:
    """A ball that has rolled by 80 mm has turned by 115 degrees; a board that has turned so lies down."""
    env = after_a_miss([target], required=[{"element": "one"}])
    hold(env, "one", 12, shift=(0.08, 0, 0.001), tilt=115)
    assert judged(env)[0] == cause


@pytest.mark.parametrize(("guest", "clause"), [(board("ball", 3.0), "L-14"), (BALL, None)])
def test_what_is_round_and_protected_may_turn(guest: dict[str, Any], clause: str | None) -> None:
    env = after_a_miss([board("one", 2.0), guest], required=[{"element": "one"}], protected=["ball"])
    hold(env, "ball", 2, shift=(0.0, 0, 0.015), tilt=25)
    assert (env.judge().clause if env.judge() else None) == clause


# ---- L-10: the order -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("first", "clause"), [("near", None), ("far", "L-10")])
def test_a_target_that_reaches_its_goal_untouched_by_a_ball_keeps_to_the_order_too(
    first: str, clause: str | None
) -> None:
    boards = [board("near", 2.0), board("far", 3.0)]
    env = after_a_miss(boards, required=[{"element": "near"}, {"element": "far"}], order=["near", "far"])
    env.plant.data.joint(first).qvel[:] = [0.5, 0, 0, 0, 5.0, 0]  # it falls away from the launcher
    wait(env, 0.6)
    assert env.evaluator.reached(first)
    assert env.plant.shots[0].struck == []
    assert (env.judge().clause if env.judge() else None) == clause


# ---- L-61: the area ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("push", "clause"), [(0.08, None), (0.12, "L-61")])
def test_a_required_target_may_not_leave_the_area_before_its_goal(push: float, clause: str | None) -> None:
    """A board at y = 2.4 m, to be toppled, slides upright towards the edge at 2.5 m."""
    env = after_a_miss([board("one", 3.0, -2.4)], required=[{"element": "one", "goal": "toppled"}])
    hold(env, "one", 1, shift=(0, -push, 0))
    assert (env.judge().clause if env.judge() else None) == clause


def test_a_required_target_may_leave_the_area_once_it_has_reached_its_goal() -> None:
    env = after_a_miss([board("one", 3.0, -2.4)], required=[{"element": "one"}])
    hold(env, "one", 12, shift=(0, -0.12, 0))
    assert judged(env) == ("goal_met", None, None)


# ---- L-70: ammunition ----------------------------------------------------------------------------------------------
def last_shot_over(**task: Any) -> Launcher:
    """The only shot went by and is over at this instant."""
    env = after_a_miss([board("one", 3.0), board("guest", 3.0, -1.0)], after=0.3, projectiles=["standard"], **task)
    env.plant.projectiles[0].position[0] = 7.0  # out of the area
    env.apply(HOME)
    assert not env.plant.flight.flying
    assert env.plant.flight.idle_since == env.plant.time
    return env


@pytest.mark.parametrize(("seconds", "expected"), [(1.96, ("quit", None)), (2.04, ("ammunition", "L-70"))])
def test_a_target_has_two_seconds_after_the_last_shot_is_over(seconds: float, expected: tuple[str, str | None]) -> None:
    env = last_shot_over(required=[{"element": "one"}])
    wait(env, seconds)
    assert (judged(env)[0], judged(env)[2]) == expected


@pytest.mark.parametrize(("steps", "expected"), [(8, ("ammunition", "L-70")), (11, ("goal_met", None))])
def test_a_goal_that_was_lost_again_before_it_counted_is_left(steps: int, expected: tuple[str, str | None]) -> None:
    env = last_shot_over(required=[{"element": "one"}])
    hold(env, "one", steps, shift=(0, 0, 0.1), tilt=50)
    wait(env, 2.1)
    assert (judged(env)[0], judged(env)[2]) == expected


def test_the_observation_of_a_success_goes_on_when_the_ammunition_is_gone() -> None:
    env = last_shot_over(required=[{"element": "one"}], protected=["guest"])
    over = env.plant.time
    hold(env, "one", 11, shift=(0, 0, 0.1), tilt=50)
    wait(env, 4.0)
    result = env.judge()
    assert result is not None
    assert result.success
    assert result.data["simulated_s"] > over + 2.0 + g.CONTROL_DT


@pytest.mark.parametrize(("seconds", "expected"), [(2.7, None), (3.0, "goal_met")])
def test_the_observation_begins_with_the_last_of_all_goals(seconds: float, expected: str | None) -> None:
    targets = [board("one", 3.0), board("two", 3.0, 1.0), board("guest", 3.0, -1.0)]
    env = after_a_miss(targets, required=[{"element": "one"}, {"element": "two"}], protected=["guest"])
    for name in ("one", "two"):
        wait(env, 1.5)
        hold(env, name, 11, shift=(0, 0, 0.1), tilt=50)  # 0.24 s
    wait(env, seconds - 0.2)
    assert (env.judge().cause if env.judge() else None) == expected


# ---- L-12 ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("aside", "clause"), [(0.125, "L-12"), (0.16, None)])
def test_a_shot_may_pass_close_by_a_protected_element_but_not_touch_it(aside: float, clause: str | None) -> None:
    """The ball, 36 mm thick, goes by a board that is 220 mm wide; one that passes its middle at 128 mm grazes it."""
    guest = board("guest", 2.0, 0.5)
    env = launcher(authored([board("one", 2.0, -0.5), guest, FAR_WALL], required=[{"element": "one"}],
                            protected=["guest"]))  # fmt: skip
    shoot(env, math.degrees(math.atan2(0.5 - aside, 2.0 - g.PIVOT[0])), 12, 0.16, after=0.0)
    ball = env.plant.projectiles[0].position
    wait_for(env, lambda: ball[0] > 2.1)
    assert ball[2] < 0.25  # it went by at the board's height
    assert (env.judge().clause if env.judge() else None) == clause
