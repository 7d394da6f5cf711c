"""Every failure code that the launcher knows, produced by the arms through the public operations, beside the nearest
motion that is legal.

What an arm presses breaks a force limit (COLL) long before it is 3 mm deep; what flies against it is light, and gets
that deep (PEN) at a few newtons: a closed hand stands in the way of the carriage. Only L-33 has no such motion: a
command cannot be beyond a joint's limits, the servos do not overshoot, and to bend one by 0.02 rad takes more force
than L-41 and L-42 allow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from images.client.results import Terminal
from images.client.sdk import ActionError
from images.mujoco.launcher import geometry as g
from images.mujoco.launcher.reference.agent import Gunner
from images.mujoco.launcher.reference.aiming import Aim
from images.mujoco.launcher.reference.mechanism import up
from images.mujoco.launcher.workshop.episode import Episode
from images.reference.motion import SENSE, Arm, Program, Terminated
from images.reference.rotations import rotation_about
from manifests.load import load
from manifests.lookup import rule

Motion = Callable[[Gunner], dict[str, Program]]
CODES = {"L-16": "RULE", "L-31": "LIMIT", "L-40": "COLL", "L-41": "COLL", "L-42": "COLL", "L-50": "PEN", "L-60": "DROP"}


def play(motion: Motion, case: str = "A007") -> tuple[Terminal | None, Gunner]:
    """How the episode ended, if it did, when the arms went through ``motion``."""
    client = Episode(case, 0)
    gunner = Gunner(client, client.describe(), lambda line: None)
    gunner.readings.follow(1)
    gunner.crew.sense()
    try:
        gunner.crew.run(motion(gunner))
        gunner.crew.sense()
    except Terminated as ended:
        return ended.terminal, gunner
    return None, gunner


def ends(terminal: Terminal | None, gunner: Gunner) -> str | None:
    """The code of the end; its clause must be one that was disclosed."""
    if terminal is None:
        return None
    disclosed = {clause.id: clause for clause in gunner.crew.session.describe().clauses}
    if terminal.clause is not None:
        assert disclosed[terminal.clause].code == terminal.code
    return terminal.code or terminal.cause


# ---- motions of the right arm, or of both --------------------------------------------------------------------------
def press_the_ball(depth: float) -> Motion:
    """Closed fingers go down on the ball that lies in the tray, ``depth`` (m) further than to touch it."""

    def program(gunner: Gunner) -> Program:
        arm, m = gunner.operator.right, gunner.mechanism
        yield SENSE
        ball = gunner.readings.projectile
        yield from arm.line(ball + up(0.1), 1.5, m.down["right"], 0.0)
        yield from arm.hold(0.3)
        yield from arm.line(ball + up(0.0245 - depth), 1.5)
        yield from arm.hold(0.5)

    return lambda gunner: {"right": program(gunner)}


def lower_the_palm(depth: float) -> Motion:
    """The open hand goes down over the knob of the azimuth wheel, ``depth`` (m) below its grip point."""

    def program(gunner: Gunner) -> Program:
        arm, m = gunner.operator.right, gunner.mechanism
        yield SENSE
        knob = m.knob("azimuth", gunner.readings.wheel("azimuth"))
        yield from arm.line(knob + up(0.1), 1.5, m.down["right"], m.gripper_open)
        yield from arm.line(knob - up(0.015), 1.5)
        yield from arm.line(knob - up(depth), 1.0)
        yield from arm.hold(0.4)

    return lambda gunner: {"right": program(gunner)}


def bring_fingers_together(gap: float) -> Motion:
    """Both hands, tilted towards each other, bring their fingers ``gap`` (m) close, slowly at last."""

    def program(gunner: Gunner, arm: Arm, side: int) -> Program:
        tilt = rotation_about(np.array([1.0, 0.0, 0.0]), -side * np.pi / 4)
        for y, seconds in ((0.15, 1.5), (0.015, 1.2), (gap / 2, 1.0)):
            place = np.array([0.42, side * y, 0.55])
            yield from arm.line(place, seconds, tilt @ gunner.mechanism.down[arm.name], 0.0)
        yield from arm.hold(0.5)

    return lambda gunner: {
        "left": program(gunner, gunner.operator.left, 1),
        "right": program(gunner, gunner.operator.right, -1),
    }


def turn_to(elevation: float) -> Motion:
    """Release the brake and crank the barrel to ``elevation`` (degrees)."""

    def program(gunner: Gunner) -> Program:
        act = gunner.operator
        yield from act.brake(act.left, engage=False)
        yield from act.crank(act.left, "elevation", float(np.radians(elevation)))

    return lambda gunner: {"left": program(gunner)}


def lift_and(let_go: bool) -> Motion:
    """Pick the ball from the tray, carry it beside, and open the fingers or not."""

    def program(gunner: Gunner) -> Program:
        act, m = gunner.operator, gunner.mechanism
        yield from act.pick(act.right, 0.018)
        yield from act.right.line(np.array([0.30, -0.25, 0.35]), 1.5)
        yield from act.right.hold(1.0, m.gripper_open if let_go else None)

    return lambda gunner: {"right": program(gunner)}


def pull_the_trigger(after_cycle: bool) -> Motion:
    """Press the paddle at once, or after the brake was released and set and the spring drawn."""

    def program(gunner: Gunner) -> Program:
        act = gunner.operator
        if after_cycle:
            yield from act.brake(act.left, engage=False)
            yield from act.left.hold(0.3)
            yield from act.brake(act.left, engage=True)
            yield from act.draw(act.left, 0.1)
            yield from act.park(act.left)
        yield from act.reach_trigger(act.right)
        yield from act.pull_trigger(act.right)
        yield from act.park(act.right)

    return lambda gunner: {"right": program(gunner)}


def stand_in_the_way(draw: float) -> Motion:
    """A whole aiming cycle with ``draw`` (m); when the trigger is pressed, the closed left hand is before the T-bar."""

    def program(gunner: Gunner) -> Program:
        act, m = gunner.operator, gunner.mechanism
        yield from act.brake(act.left, engage=False)
        yield from act.left.hold(0.3)
        yield from act.brake(act.left, engage=True)
        yield from act.draw(act.left, draw)
        yield SENSE
        place = act.barrel_point(-0.03, m.tbar_height)
        yield from act.left.line(place + up(0.12), 1.0, m.down["left"], 0.0)
        yield from act.left.line(place, 0.6)
        yield from act.reach_trigger(act.right)
        yield from act.pull_trigger(act.right)
        yield from act.right.hold(0.5)

    return lambda gunner: {"right": program(gunner)}


@pytest.mark.parametrize(
    ("motion", "clause"),
    [
        (press_the_ball(0.01), None),
        (press_the_ball(0.02), "L-42"),
        (lower_the_palm(0.0197), None),
        (lower_the_palm(0.0205), "L-41"),
        (bring_fingers_together(0.022), None),
        (bring_fingers_together(0.018), "L-40"),
        (stand_in_the_way(0.12), None),
        (stand_in_the_way(0.14), "L-50"),
        (turn_to(44.0), None),
        (turn_to(46.0), "L-31"),
        (lift_and(let_go=False), None),
        (lift_and(let_go=True), "L-60"),
        (pull_the_trigger(after_cycle=True), None),
        (pull_the_trigger(after_cycle=False), "L-16"),
    ],
    ids=[
        "press with 100 N",
        "press with 120 N",
        "the palm touches",
        "the palm presses",
        "fingers touch",
        "fingers press",
        "drawn 120 mm",
        "drawn 140 mm",
        "44 degrees",
        "46 degrees",
        "lift",
        "let go",
        "whole cycle",
        "no cycle",
    ],
)
def test_a_motion_breaks_its_clause_and_the_nearest_legal_one_does_not(motion: Motion, clause: str | None) -> None:
    terminal, gunner = play(motion)
    assert (terminal.clause if terminal else None) == clause
    assert ends(terminal, gunner) == (CODES[clause] if clause else None)


def test_a_joint_driven_into_its_limit_stops_there_and_no_command_goes_beyond() -> None:
    """Joint 7 at its rated speed."""
    client = Episode("A007", 0)
    action = client.observe(fields=["commanded"]).fields["commanded"].copy()
    (_, limit), speed, actions = g.JOINT_LIMITS[6], 0.0, []
    while action[6] < limit:
        speed = min(g.JOINT_SPEED_LIMITS[6], speed + 4.0 * g.CONTROL_DT)
        action[6] = min(action[6] + speed * g.CONTROL_DT, limit)
        actions.append(action.copy())
    assert client.step(np.array([*actions, *[action] * 50])).terminal is None
    reached = client.observe(fields=["joint_positions"]).fields["joint_positions"][6]
    assert reached == pytest.approx(limit, abs=1e-3)
    action[6] = limit + 0.001
    with pytest.raises(ActionError, match=r"left_joint7.* is outside"):
        client.step(action[None])


@pytest.mark.parametrize(("draw", "end"), [(0.10, "AMMO"), (0.166, "goal_met")])
def test_all_ammunition_fired_short_fails_and_the_right_draw_does_not(draw: float, end: str) -> None:
    """The same azimuth and elevation three times; with a third less draw the ball falls before the target."""
    client = Episode("A007", 2)
    gunner = Gunner(client, client.describe(), lambda line: None)
    aim = Aim(float(np.radians(3.5)), float(np.radians(9.0)), draw, 0.0, 0.0, 1.0)
    with pytest.raises(Terminated) as ended:
        _fire_all(gunner, aim)
    assert ends(ended.value.terminal, gunner) == end


def _fire_all(gunner: Gunner, aim: Aim) -> None:
    for index, projectile in enumerate(gunner.projectiles):
        gunner.readings.follow(index)
        gunner.crew.sense()
        gunner.cycle.shoot(aim, projectile, loaded=index == 0)
    gunner.crew.run({"left": gunner.operator.left.hold(6.0)})
    gunner.crew.sense()


def test_holding_still_is_legal_until_the_simulated_time_is_used_up() -> None:
    idle = Episode("A007", 0)
    described = idle.describe()
    assert described.budgets["simulated_s"] == {clause.id: clause.value for clause in described.clauses}["G-03"] == 150
    hold = idle.observe(fields=["commanded"]).fields["commanded"]
    for count in [100] * 74 + [99]:
        assert idle.step(np.tile(hold, (count, 1))).terminal is None
    terminal = idle.step(hold[None]).terminal
    assert terminal is not None
    assert (terminal.clause, ruled(terminal)) == ("G-03", "TIME")


def test_finishing_without_a_success_is_quitting() -> None:
    leaves = Episode("A007", 0)
    assert leaves.step(leaves.observe(fields=["commanded"]).fields["commanded"][None]).terminal is None
    assert ruled(leaves.finish()) == "QUIT"


def ruled(terminal: Terminal) -> str | None:
    """The code that the manifests give the cause of an end."""
    return rule(load(), terminal.cause, "single", terminal.code).code
