"""The reference agent's arm kinematics and motion programs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from images.client.results import Observation, StepResult, Terminal
from images.reference.motion import SENSE, TICK, Arm, Crew, Terminated
from images.reference.panda import JOINT_RANGE, PandaArm
from images.reference.rotations import rotation_about, rotation_vector

DOWN = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
SPEED = np.array([2.0] * 4 + [2.4] * 3)
HOME = np.array([0.617, -0.6679, -0.1701, -2.1872, -0.1052, 1.5266, -0.3072])
angles = st.tuples(*(st.floats(low, high) for low, high in JOINT_RANGE)).map(np.array)
units = st.tuples(*[st.floats(-1, 1)] * 3).map(np.array).filter(lambda v: v @ v > 0.01)


def arm(**options) -> PandaArm:
    return PandaArm(np.array([0.0, 0.3, 0.0]), posture=HOME, **options)


def test_a_straight_arm_reaches_the_heights_of_the_published_link_lengths():
    position, rotation = PandaArm(np.zeros(3), tool_offset=0.107, tool_yaw=0.0).forward(np.zeros(7))
    assert position == pytest.approx([0.088, 0.0, 0.333 + 0.316 + 0.384 - 0.107])
    assert rotation == pytest.approx(np.diag([1.0, -1.0, -1.0]))


@given(angles)
def test_the_jacobian_is_the_derivative_of_forward_kinematics(q):
    panda, step = arm(), 1e-6
    jacobian = panda.jacobian(q)
    _, rotation = panda.forward(q)
    for i in range(7):
        moved = q + step * np.eye(7)[i]
        ahead, turned = panda.forward(moved)
        behind, _ = panda.forward(q - step * np.eye(7)[i])
        assert jacobian[:3, i] == pytest.approx((ahead - behind) / (2 * step), abs=1e-6)
        assert jacobian[3:, i] == pytest.approx(rotation_vector(rotation, turned) / step, abs=1e-4)


@given(units, st.floats(-3.1, 3.1))
def test_the_rotation_vector_undoes_a_rotation(axis, angle):
    axis = axis / np.sqrt(axis @ axis)
    start = rotation_about(np.array([0.0, 0.0, 1.0]), 0.7)
    assert rotation_vector(start, rotation_about(axis, angle) @ start) == pytest.approx(axis * angle, abs=1e-6)


@pytest.mark.parametrize("axis", [[1.0, 0.0, 0.0], [0.0, 0.6, 0.8], [-0.6, 0.0, 0.8]])
def test_half_a_turn_has_an_axis(axis):
    half = rotation_about(np.array(axis), np.pi)
    vector = rotation_vector(np.eye(3), half)
    assert rotation_about(vector / np.pi, np.pi) == pytest.approx(half, abs=1e-9)


@settings(max_examples=50)
@given(st.floats(0.3, 0.55), st.floats(0.1, 0.6), st.floats(0.25, 0.55))
def test_every_place_of_the_workspace_is_reached_inside_the_joint_limits(x, y, z):
    panda = arm()
    q, error = panda.reach(HOME, np.array([x, y, z]), DOWN)
    position, rotation = panda.forward(q)
    assert error < 1e-4
    assert position == pytest.approx([x, y, z], abs=1e-4)
    assert rotation == pytest.approx(DOWN, abs=1e-3)
    assert (q > JOINT_RANGE[:, 0]).all()
    assert (q < JOINT_RANGE[:, 1]).all()


def test_a_line_is_straight_ends_at_rest_and_its_commands_lead_by_the_servo_lag():
    mover = make_arm()
    start = mover.position.copy()
    goal = start + np.array([0.05, -0.1, -0.08])
    positions, joints, commands = [], [mover.q], []
    for _ in mover.line(goal, 1.0):
        commands.append(mover.command())
        joints.append(mover.q)
        positions.append(mover.kinematics.forward(mover.q)[0])
    along = (np.array(positions) - start) @ (goal - start) / ((goal - start) @ (goal - start))
    off = np.array(positions) - start - along[:, None] * (goal - start)
    assert len(positions) == 50
    assert np.abs(off).max() < 1e-4
    assert along[-1] == pytest.approx(1, abs=1e-3)
    assert (np.diff(along) > -1e-6).all()
    speed = np.diff(joints, axis=0) / 0.02
    assert np.array(commands)[:, :7] == pytest.approx(np.array(joints[1:]) + 0.1 * speed)
    assert np.abs(speed).max() < 2.0


def test_a_path_that_is_too_fast_is_followed_late_and_within_the_joint_speeds():
    mover = make_arm()
    goal = mover.position + np.array([0.1, -0.2, -0.1])
    joints = [mover.q]
    for _ in mover.line(goal, 0.1):
        mover.command()
        joints.append(mover.q)
    for _ in mover.hold(2.0):
        mover.command()
        joints.append(mover.q)
    assert (np.abs(np.diff(joints, axis=0)) / 0.02 <= SPEED + 1e-9).all()
    assert mover.kinematics.forward(mover.q)[0] == pytest.approx(goal, abs=1e-4)


def test_an_arm_that_has_come_to_rest_turns_when_told_to():
    mover = make_arm()
    for _ in mover.hold(6.0):
        rest = mover.command()
    assert rest[:7] == pytest.approx(mover.q, abs=1e-4)
    turned = rotation_about(np.array([0.0, 0.0, 1.0]), 0.3) @ mover.rotation
    for _ in mover.line(mover.position, 1.0, turned):
        mover.command()
    assert mover.kinematics.forward(mover.q)[1] == pytest.approx(turned, abs=1e-3)


def make_arm(name: str = "left") -> Arm:
    low, high = np.append(JOINT_RANGE[:, 0], 0.0), np.append(JOINT_RANGE[:, 1], 0.08)
    return Arm(name, arm(), HOME, 0.08, dt=0.02, lag=0.1, low=low, high=high, speed=SPEED)


class Recorder:
    """A session that records batches and reports a clock; it ends after ``last`` actions."""

    def __init__(self, last: int = 10**6) -> None:
        self.batches, self.last, self.time = [], last, 0

    def step(self, actions, fields=()):
        self.batches.append(len(actions))
        self.time += len(actions)
        terminal = Terminal("simulated_time", None, None, "out of time") if self.time >= self.last else None
        fields = {"clock": self.time} if fields else {}
        return StepResult(len(actions), 0.02 * self.time, self.time, {}, [], terminal, fields)

    def observe(self, fields=()):
        return Observation({"clock": self.time}, [], 0.02 * self.time, self.time, None)


def test_programs_run_in_parallel_and_a_reading_sends_exactly_what_came_before_it():
    session = Recorder()
    left, right = make_arm("left"), make_arm("right")
    crew = Crew(session, [left, right], ["clock"], batch=25)
    seen = []

    def sensing():
        for _ in range(3):
            yield TICK
        yield SENSE
        seen.append(crew.world["clock"])
        return "done"

    results = crew.run({"left": sensing(), "right": right.hold(1.2)})
    crew.sense()
    assert results == {"left": "done", "right": None}
    assert seen == [3]
    assert session.batches == [3, 25, 25, 7]


def test_the_end_of_the_episode_stops_every_program():
    crew = Crew(Recorder(last=50), [make_arm()], ["clock"], batch=25)
    with pytest.raises(Terminated, match="simulated_time: out of time"):
        crew.run({"left": crew.arms[0].hold(10.0)})
    assert crew.actions == 50
