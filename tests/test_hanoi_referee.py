"""The Hanoi referee on what its clauses say in passing: who touches which ring and when, either sign of a speed, either
end of a range, all sides of the space, where a peg ends, the hole of each ring. Each beside the nearest legal case."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from images.gateway.environment import Judgement
from images.mujoco.hanoi import board as boards
from images.mujoco.hanoi import geometry as g
from images.mujoco.hanoi.board import Board
from images.mujoco.hanoi.state import NONE, Contacts, State
from tests.hanoi_histories import RINGS, ROBOT, STILL, cast, referee, touching
from tests.test_hanoi_rules import solved, told, touched, with_sample


def standing(case: str, arrangement: str) -> Board:
    """A board on which the rings stand like this at the start."""
    return boards.load(case).model_copy(update={"start": arrangement})


BOARD = standing("H01", "AAAAC")  # as in ``solved``: all rings where the goal wants them
GRADED = standing("H16", "AAAAA")
PEG_A, PEG_C = cast(BOARD).posts[0], cast(BOARD).posts[2]
PARTS = tuple(ROBOT.parts)
HELD = touching("finger1", "ring_5")


def play(state: State, seconds: float = 0.1, board: Board = BOARD) -> Judgement | None:
    """The judgement after so long of the same state; its samples share each control step."""
    judge, count = referee(board), len(state.samples)
    for step in range(round(seconds / g.CONTROL_DT)):
        samples = tuple(
            replace(sample, time=(step + (i + 1) / count) * g.CONTROL_DT) for i, sample in enumerate(state.samples)
        )
        judge.tick(replace(state, time=samples[-1].time, samples=samples))
    return judge.judgement


def ends(state: State, seconds: float = 0.1, board: Board = BOARD) -> str | None:
    found = play(state, seconds, board)
    return None if found is None else "goal_met" if found.success else found.clause


def seat(place: int) -> float:
    """Height (m) at which a ring lies on a peg of H01 or H16 on so many others."""
    return 0.03 + 0.02 * place


def put(centres: Mapping[int, Sequence[float]], contacts: Contacts = NONE) -> State:
    """The solved H01, but for the centres of some rings (index)."""
    places = solved().centres.copy()
    for ring, centre in centres.items():
        places[ring] = centre
    return with_sample(solved(), centres=places, contacts=contacts)


# ---- touch ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("other", RINGS[:4])
def test_a_raised_ring_is_lost_although_the_robot_touches_another_ring(other: str) -> None:
    elsewhere = touching("finger1", other)
    for untouched, clause in ((2, None), (3, "H-60")):
        looks = [HELD] * 8 + [elsewhere] * untouched + [HELD] * (8 - untouched)
        assert told([(contacts, 0.12) for contacts in looks]) == clause


@pytest.mark.parametrize("part", PARTS)
def test_a_raised_ring_is_held_by_whatever_part_of_the_robot_touches_it(part: str) -> None:
    for pair in (("ring_5", part), (part, "ring_5")):
        assert told([(HELD, 0.12)] * 4 + [(touching(*pair), 0.12)] * 8) is None
    assert told([(HELD, 0.12)] * 4 + [(touching(part, "peg_A"), 0.12)] * 8) == "H-60"


@pytest.mark.parametrize("part", PARTS)
def test_a_ring_is_released_when_no_part_of_the_robot_touches_it(part: str) -> None:
    assert ends(touched(touching(part, "peg_A")), 1.2) == "goal_met"
    for pair in (("ring_5", part), (part, "ring_5")):
        assert ends(touched(touching(*pair)), 1.2) is None


@pytest.mark.parametrize("look", range(g.SAMPLES))
@pytest.mark.parametrize("part", ["finger1", "hand"])
def test_a_ring_is_released_when_it_is_touched_in_no_look_of_a_control_step(part: str, look: int) -> None:
    def brushed(thing: str) -> State:
        looks = [solved().samples[0]] * g.SAMPLES
        looks[look] = replace(looks[look], contacts=touching(part, thing))
        return replace(solved(), samples=tuple(looks))

    assert ends(brushed("peg_A"), 1.2) == "goal_met"
    assert ends(brushed("ring_5"), 1.2) is None


# ---- limits --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("index", range(len(ROBOT.joints)))
def test_a_joint_is_too_fast_in_either_direction(index: int, sign: int) -> None:
    joint = ROBOT.joints[index]

    def turning(share: float) -> State:
        speeds = STILL.copy()
        speeds[index] = sign * share * joint.speed
        return with_sample(solved(), joint_speeds=speeds)

    assert ends(turning(1.149)) is None
    found = play(turning(1.151))
    assert found is not None
    assert found.text.startswith(f"H-30: {joint.name} ({1.151 * joint.speed:.4g} rad/s; ")


@pytest.mark.parametrize("end", ["low", "high"])
@pytest.mark.parametrize("index", range(len(ROBOT.joints)))
def test_a_joint_is_too_far_beyond_either_end_of_its_range(index: int, end: str) -> None:
    joint, outwards = ROBOT.joints[index], {"low": -1, "high": 1}[end]

    def beyond(far: float) -> State:
        positions = solved().joint_positions.copy()
        positions[index] = getattr(joint, end) + outwards * far
        return replace(solved(), joint_positions=positions)

    assert ends(beyond(0.0199)) is None
    found = play(beyond(0.0201))
    assert found is not None
    assert found.text == f"H-31: {joint.name} (0.0201 rad; limit 0.02)"


# ---- the space -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("look", range(g.SAMPLES))
@pytest.mark.parametrize(
    ("axis", "side", "outwards"),
    [(0, 0.1, -1), (0, 0.9, 1), (1, -0.5, -1), (1, 0.5, 1), (2, 0.0, -1), (2, 0.8, 1)],
    ids=["near", "far", "right", "left", "below", "above"],
)
def test_a_ring_leaves_the_space_on_each_of_its_six_sides(axis: int, side: float, outwards: int, look: int) -> None:
    """In any look of a control step, though the robot holds it."""

    def carried(beyond: float) -> State:
        inside, there = [0.5, 0.0, 0.4], [0.5, 0.0, 0.4]
        inside[axis], there[axis] = side - outwards * 0.0001, side + outwards * beyond
        looks = [put({4: inside}, HELD).samples[0]] * g.SAMPLES
        looks[look] = put({4: there}, HELD).samples[0]
        return replace(solved(), samples=tuple(looks))

    assert ends(carried(-0.0001)) is None
    assert ends(carried(0.0001)) == "H-61"


# ---- on a peg ------------------------------------------------------------------------------------------------------
AROUND = [0.0, 0.8, math.pi / 2, 2.5, math.pi, 4.0, 3 * math.pi / 2]  # rad


def above_the_smallest(off: float, z: float, angle: float = 0.0) -> State:
    """Ring 4 is held over ring 5, so far (m) from the axis of peg C and so high."""
    centre = PEG_C.x + off * math.cos(angle), PEG_C.y + off * math.sin(angle), z
    return put({3: centre}, touching("finger1", "ring_4"))


def test_a_ring_is_above_a_smaller_one_when_its_middle_is_below_the_tip_of_the_peg() -> None:
    tip = 0.020 + 0.115  # m: a support of H01 and the length of its pegs
    assert ends(above_the_smallest(0.0, tip + 0.0001)) is None
    assert ends(above_the_smallest(0.0, tip - 0.0001)) == "H-11"


@pytest.mark.parametrize("angle", AROUND)
def test_a_ring_is_above_a_smaller_one_within_its_clearance_and_3_mm_of_the_pegs_axis(angle: float) -> None:
    assert ends(above_the_smallest(0.0051, 0.1, angle)) is None
    assert ends(above_the_smallest(0.0049, 0.1, angle)) == "H-11"


@pytest.mark.parametrize("ring", range(g.RINGS))
def test_a_ring_leaves_its_peg_beyond_the_clearance_of_its_own_hole_and_3_mm(ring: int) -> None:
    """Another ring is in the robot's hand, so that a second one off all pegs is one too many."""
    carried = 3 if ring == 4 else 4
    board = standing("H16", "".join("C" if i == ring else "A" for i in range(g.RINGS)))
    clearance = GRADED.clearances[ring]

    def aside(off: float) -> State:
        others = [i for i in range(g.RINGS) if i not in (ring, carried)]
        centres = {i: (PEG_A.x, PEG_A.y, seat(place)) for place, i in enumerate(others)}
        centres[ring] = PEG_C.x + 0.6 * off, PEG_C.y + 0.8 * off, seat(0)
        centres[carried] = 0.5, 0.0, 0.3
        return put(centres, touching("finger1", RINGS[carried]))

    assert ends(aside(clearance + 0.0029), board=board) is None
    assert ends(aside(clearance + 0.0031), board=board) == "H-12"


# ---- seated --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("angle", AROUND)
@pytest.mark.parametrize("ring", range(g.RINGS))
def test_a_ring_is_seated_within_the_clearance_of_its_own_hole_and_1_mm(ring: int, angle: float) -> None:
    clearance = GRADED.clearances[ring]

    def aside(off: float) -> State:
        centres = {i: (PEG_A.x, PEG_A.y, seat(i)) for i in range(g.RINGS)}
        centres[ring] = PEG_A.x + off * math.cos(angle), PEG_A.y + off * math.sin(angle), seat(ring)
        return put(centres)

    assert ends(aside(clearance + 0.0009), 1.2, GRADED) == "goal_met"
    assert ends(aside(clearance + 0.0011), 1.2, GRADED) is None
