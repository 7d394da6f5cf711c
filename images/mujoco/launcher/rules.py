"""Every rule and threshold of the launcher's evaluator as a disclosed clause; its numbers come from here.

Groups: L-0x goal, L-1x and L-2x rules, L-3x limits, L-4x contact, L-5x penetration, L-6x loss, L-7x ammunition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from images.gateway.environment import Clause
from images.mujoco.launcher import geometry as g
from images.mujoco.launcher.kinds import Pane
from images.mujoco.launcher.possible import CLEARED, DROPPED, TOPPLED
from images.mujoco.launcher.scene import WORKSPACE, Scene
from images.mujoco.referee import SPEED_MARGIN

SETTLED_S = 0.1  # s: the wheels must have been at rest this long when the brake is set
BLOW_S = 0.02  # s: what leans on a pane presses for longer, and does not break it
PROJECTILE_LIFE_S = 6.0  # s: a projectile is taken away this long after its launch at the latest


@dataclass(frozen=True)
class Interlocks:
    """The numbers of the interlock clauses that the mechanism itself uses."""

    min_draw: float  # m
    seat_gap: float  # m
    settled_speed: float  # rad/s


def interlocks(found: list[Clause]) -> Interlocks:
    """Taken from the disclosed clauses."""
    value: dict[str, Any] = {clause.id: clause.value for clause in found}
    return Interlocks(min_draw=value["L-19"], seat_gap=value["L-20"], settled_speed=value["L-17"])


def clauses(scene: Scene) -> list[Clause]:
    """The clauses that apply to ``scene``, in order of their ids."""
    found = [*_goal(scene), *_rules(scene), *_interlocks(), *_limits(), *_contact(), *_loss(scene)]
    return sorted(found, key=lambda clause: clause.id)


def _goal(scene: Scene) -> list[Clause]:
    goals = {item.goal for item in scene.task.required}
    for item in scene.task.required:
        goals |= {step.event for step in item.after if step.event != "struck"}
    out = [
        Clause(
            "L-01",
            "Required targets, each with the goal that it must reach. All of them make a success.",
            [[item.element, item.goal] for item in scene.task.required],
            "target, goal",
            None,
            None,
        ),
        Clause("L-06", "A goal must hold for this long without a break before it counts.", 0.2, "s", None, None),
    ]
    if "cleared" in goals:
        out += [
            Clause("L-02", "Cleared: the target's centre has moved this far horizontally, or", 0.10, "m", None, None),
            Clause("L-03", "cleared: the target's centre has dropped by this much, or", DROPPED, "m", None, None),
            Clause(
                "L-04", "cleared: the target, unless it is round, has tilted by this much.", CLEARED, "deg", None, None
            ),
        ]
    groups = [[item.element, item.share] for item in scene.task.required if item.share < 1]
    if groups:
        text = "Elements of several bodies: a goal is reached when at least this share of the bodies has reached it."
        out.append(Clause("L-09", text, groups, "target, share", None, None))
    if "toppled" in goals:
        out.append(Clause("L-05", "Toppled: the target has tilted by this much.", TOPPLED, "deg", None, None))
    panes = [element for element in scene.elements if isinstance(element, Pane)]
    if panes:
        text = (
            "A pane fractures when the normal impulse of one contact with one projectile, or with one of the bodies "
            f"that are listed as its breakers, within {BLOW_S} s reaches its threshold."
        )
        out.append(Clause("L-08", text, [[pane.name, pane.threshold] for pane in panes], "pane, N s", None, None))
    if scene.task.protected:
        text = (
            "Success is declared when the last required goal to count (L-06) began to hold this long ago; protection "
            "is watched meanwhile."
        )
        out.append(Clause("L-07", text, 3.0, "s", None, None))
    return out


def _rules(scene: Scene) -> list[Clause]:
    out = []
    if scene.task.order:
        text = "No target may be struck by a projectile or reach its goal before those ahead of it reached theirs."
        out.append(Clause("L-10", text, list(scene.task.order), "targets in order", None, "RULE"))
    paths = [
        f"{item.element} after " + ", ".join(f"{step.element} {step.event}" for step in item.after)
        for item in scene.task.required
        if item.after
    ]
    if paths:
        text = (
            "A target may reach its goal only after these events ('struck': by the projectile of the same shot, before "
            "it strikes the target itself)."
        )
        out.append(Clause("L-11", text, list(paths), "target, events", None, "RULE"))
    protected = list(scene.task.protected)
    if protected:
        out += [
            Clause("L-12", "These elements may not be struck by a projectile.", protected, "elements", None, "RULE"),
            Clause("L-13", "No protected element's centre may move by more than this.", 0.02, "m", None, "RULE"),
            Clause(
                "L-14",
                "No protected element, unless it is round, may tilt by more than this.",
                10.0,
                "deg",
                None,
                "RULE",
            ),
        ]
    if scene.task.shard_free:
        text = "No shard of a broken pane may touch these elements."
        out.append(Clause("L-22", text, list(scene.task.shard_free), "elements", None, "RULE"))
    panes = [name for name in protected if isinstance(scene.element(name), Pane)]
    if panes:
        out.append(Clause("L-15", "No protected pane may fracture.", panes, "elements", None, "RULE"))
    return out


def _interlocks() -> list[Clause]:
    """What must be true when the trigger passes its firing angle; otherwise the sear holds and the rule is broken."""
    fires = f"When the trigger passes {g.TRIGGER_FIRES} rad, "
    return [
        Clause(
            "L-16",
            fires + "the brake must have been released since the last launch.",
            g.BRAKE_RELEASED,
            "rad",
            None,
            "RULE",
        ),
        Clause(
            "L-17",
            fires + f"both wheels must have turned slower than this for {SETTLED_S} s when the brake was set last.",
            0.2,
            "rad/s",
            None,
            "RULE",
        ),
        Clause("L-18", fires + "the brake must be set.", g.BRAKE_SET, "rad", None, "RULE"),
        Clause("L-19", fires + "the spring must be latched at no less than this draw.", 0.05, "m", None, "RULE"),
        Clause(
            "L-20",
            fires + "a projectile must lie in the groove, its surface within this distance of the pusher.",
            0.02,
            "m",
            None,
            "RULE",
        ),
        Clause(
            "L-21",
            "A projectile that the spring has not launched may not get beyond this x.",
            1.0,
            "m",
            None,
            "RULE",
        ),
    ]


def _limits() -> list[Clause]:
    speeds = [round(speed * SPEED_MARGIN, 4) for speed in g.JOINT_SPEED_LIMITS]
    return [
        Clause("L-30", "Azimuth of the barrel stays within plus and minus this.", 25.0, "deg", None, "LIMIT"),
        Clause("L-31", "Elevation of the barrel stays between these.", [5.0, 45.0], "deg", None, "LIMIT"),
        Clause(
            "L-32",
            f"Measured speed of each arm joint, checked at 1000 Hz: rated speed times {SPEED_MARGIN}. Commands far "
            "from the present pose are not slowed down for you; the servo follows with a lag of 0.1 s.",
            list(speeds),
            "rad/s",
            None,
            "LIMIT",
        ),
        Clause("L-33", "No arm joint may be beyond its position limits by more than this.", 0.02, "rad", None, "LIMIT"),
    ]


def _contact() -> list[Clause]:
    return [
        Clause("L-40", "Normal force of any contact between the two arms.", 5.0, "N", None, "COLL"),
        Clause(
            "L-41", "Normal force of any contact of an arm link or a hand (not its fingers).", 10.0, "N", None, "COLL"
        ),
        Clause("L-42", "Normal force of any contact of a finger.", 120.0, "N", None, "COLL"),
        Clause("L-50", "Depth of any contact of an arm, checked at 1000 Hz.", 0.003, "m", None, "PEN"),
    ]


def _loss(scene: Scene) -> list[Clause]:
    (x0, x1), (y0, y1), _ = WORKSPACE
    shots = len(scene.projectiles)
    return [
        Clause(
            "L-60",
            "A projectile that is not launched may not sink below this height; one that lies on the floor at the start "
            "(ground mode), once it has been lifted above 0.1 m.",
            0.08,
            "m",
            None,
            "DROP",
        ),
        Clause(
            "L-61",
            "A required target that has not reached its goal, or a protected element, may not leave this area (x, y).",
            [[x0, x1], [y0, y1]],
            "m",
            None,
            "DROP",
        ),
        Clause(
            "L-70",
            f"Shots: there are {shots}, and the trigger may not be pulled for another. The episode fails this long "
            "after the last one is over while a required target is left. A projectile is taken away when it rests, "
            f"leaves the area, or {PROJECTILE_LIFE_S:.0f} s after its launch.",
            2.0,
            "s",
            None,
            "AMMO",
        ),
    ]
