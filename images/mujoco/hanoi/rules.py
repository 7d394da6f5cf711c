"""Every rule and threshold of the Hanoi referee as a disclosed clause; its numbers come from here.

Groups: H-0x goal, H-1x rules, H-3x limits, H-4x contact, H-5x penetration, H-6x loss.
"""

from __future__ import annotations

from images.gateway.environment import Clause
from images.mujoco.embodiment import Embodiment
from images.mujoco.hanoi import geometry as g
from images.mujoco.hanoi.board import Board
from images.mujoco.referee import SPEED_MARGIN


def clauses(board: Board, robot: Embodiment) -> list[Clause]:
    """The clauses that apply, in order of their ids."""
    return [*_goal(board), *_rules(), *_limits(robot), *_contact(), *_loss()]


def _goal(board: Board) -> list[Clause]:
    arrangement = [[f"ring_{i + 1}", letter] for i, letter in enumerate(board.goal)]
    return [
        Clause(
            "H-01",
            "Ring 1 is the largest. Every ring must be seated (H-02 to H-07) on its peg of this list, all at once.",
            arrangement,
            "ring, peg",
            None,
            None,
        ),
        Clause(
            "H-02",
            "Seated: the ring's axis is no further from the peg's axis than the clearance of its hole and this.",
            0.001,
            "m",
            None,
            None,
        ),
        Clause("H-03", "Seated: the ring is tilted by no more than this.", 2.0, "deg", None, None),
        Clause(
            "H-04",
            "Seated: the ring's middle differs by no more than this from the height at which it lies: its support, the "
            f"larger rings on its peg and half of its own height ({g.RING_HEIGHT} m each).",
            0.0015,
            "m",
            None,
            None,
        ),
        Clause("H-05", "Seated: the ring's middle is no faster than this.", 0.005, "m/s", None, None),
        Clause("H-06", "Seated: the ring turns no faster than this.", 0.1, "rad/s", None, None),
        Clause(
            "H-07", "Seated: so many contacts between the ring and the robot (released).", 0, "contacts", None, None
        ),
        Clause("H-08", "The whole arrangement must stay seated for this long without a break.", 1.0, "s", None, None),
    ]


def _rules() -> list[Clause]:
    return [
        Clause(
            "H-10",
            "A ring that carries a smaller one may not be raised above the height at which it lies by more than this, "
            "nor leave its peg: only an exposed ring is moved.",
            0.005,
            "m",
            None,
            "RULE",
        ),
        Clause(
            "H-11",
            "No ring may be put onto a peg above a smaller ring. A ring is on a peg while its middle is below the "
            "peg's tip and its axis no further from the peg's than the clearance of its hole and this.",
            0.003,
            "m",
            None,
            "RULE",
        ),
        Clause(
            "H-12",
            "Only one ring at a time may be off its seat: off all pegs, or raised by more than this. All rules are "
            "judged at 120 Hz.",
            0.010,
            "m",
            None,
            "RULE",
        ),
    ]


def _limits(robot: Embodiment) -> list[Clause]:
    return [
        Clause(
            "H-30",
            "Measured speed of each joint, checked at 120 Hz: rated speed times "
            f"{SPEED_MARGIN}. Commands far from the present pose are obeyed as fast as the drives can.",
            [round(joint.speed * SPEED_MARGIN, 4) for joint in robot.joints],
            ", ".join(f"{joint.name} {joint.unit}/s" for joint in robot.joints),
            None,
            "LIMIT",
        ),
        Clause(
            "H-31",
            "No joint may be beyond its position limits by more than this after a control step.",
            0.02,
            "rad, m",
            None,
            "LIMIT",
        ),
    ]


def _contact() -> list[Clause]:
    return [
        Clause(
            "H-40",
            "Normal force of any contact of an arm or a hand (not its fingers). All contacts are judged in every "
            "integration step, 480 times a second.",
            10.0,
            "N",
            None,
            "COLL",
        ),
        Clause("H-41", "Normal force of any contact of a finger with anything but a ring.", 30.0, "N", None, "COLL"),
        Clause("H-42", "Normal force of any contact of a finger with a ring.", 60.0, "N", None, "COLL"),
        Clause(
            "H-43",
            "Normal force of any contact of a ring with what is not the robot, judged 480 times a second.",
            40.0,
            "N",
            None,
            "COLL",
        ),
        Clause("H-50", "Depth of any contact of the robot, judged 480 times a second.", 0.0015, "m", None, "PEN"),
        Clause("H-51", "Depth of any contact between other bodies.", 0.003, "m", None, "PEN"),
    ]


def _loss() -> list[Clause]:
    (x0, x1), (y0, y1), (z0, z1) = g.WORKSPACE
    return [
        Clause(
            "H-60",
            "A ring that was raised (H-12) must be held by the robot until its middle is no further than the first "
            "value above the height at which it lies on a peg. Until then it may be out of the robot's touch for no "
            "longer than the second, counted at 120 Hz from the last interval with a touch. That it touches a peg or "
            "another ring does not count.",
            [0.004, 0.02],
            "m, s",
            None,
            "DROP",
        ),
        Clause(
            "H-61",
            "No ring's middle may leave this space (x, y, z), judged at 120 Hz.",
            [[x0, x1], [y0, y1], [z0, z1]],
            "m",
            None,
            "DROP",
        ),
        Clause(
            "H-62",
            "Speed of a ring's middle over an interval of 1/120 s in which the robot does not touch the ring: none is "
            "thrown, nor down onto its seat.",
            0.4,
            "m/s",
            None,
            "DROP",
        ),
    ]
