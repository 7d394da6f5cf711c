"""The FR3 with the five-finger hand and the floating hand: joints, limits, masses, and what their drives can do."""

from __future__ import annotations

import math
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hand_table import Table
from hypothesis import given, settings
from hypothesis import strategies as st

from images.mujoco import fr3, hand
from images.mujoco.embodiment import Embodiment
from images.mujoco.embodiments import EMBODIMENTS, embodiment
from images.mujoco.floating_sharpa import FloatingSharpa
from images.mujoco.fr3_sharpa import Fr3Sharpa
from images.reference.hand import Hand
from images.reference.panda import PandaArm

ROBOTS: list[type[Fr3Sharpa] | type[FloatingSharpa]] = [Fr3Sharpa, FloatingSharpa]
HAND = Hand(hand.parameters(), np.array([h.low for h in hand.HINGES]), np.array([h.high for h in hand.HINGES]))


@pytest.fixture(params=ROBOTS, ids=lambda kind: kind.name)
def robot(request: pytest.FixtureRequest) -> Embodiment:
    found: Embodiment = request.param()
    return found


def test_the_hand_has_22_joints_five_of_the_thumb_four_of_each_finger_and_five_of_the_little_one() -> None:
    names = [hinge.name.split("_")[0] for hinge in hand.HINGES]
    assert {finger: names.count(finger) for finger in hand.FINGERS} == {
        "thumb": 5,
        "index": 4,
        "middle": 4,
        "ring": 4,
        "little": 5,
    }


@pytest.mark.parametrize(("kind", "driven"), [(Fr3Sharpa, 7 + 22), (FloatingSharpa, 6 + 22)])
def test_every_joint_is_driven_and_the_action_has_one_number_for_each(kind: type[Embodiment], driven: int) -> None:
    table = Table(kind())
    assert table.model.nq == table.model.nv == table.model.nu == driven == len(table.robot.controls())
    assert [joint.name for joint in table.robot.joints] == [control.name for control in table.robot.controls()]
    assert [table.model.actuator(i).name for i in range(driven)] == [c.name for c in table.robot.controls()]


def test_limits_of_the_model_are_those_that_are_disclosed(robot: Embodiment) -> None:
    model = Table(robot).model
    for joint, control in zip(robot.joints, robot.controls(), strict=True):
        assert tuple(model.joint(joint.name).range) == (joint.low, joint.high) == (control.low, control.high)
        assert tuple(model.actuator(joint.name).forcerange) == (-joint.force, joint.force)
        assert joint.low <= joint.start <= joint.high


def test_the_arm_has_the_published_ranges_speeds_and_torques_of_the_fr3() -> None:
    assert fr3.JOINT_RANGE[3] == (-3.0421, -0.1518)
    assert fr3.JOINT_RANGE[5] == (0.5445, 4.5169)
    assert fr3.SPEED == (2.62, 2.62, 2.62, 2.62, 5.26, 4.18, 5.26)
    assert fr3.TORQUE == (87, 87, 87, 87, 12, 12, 12)


def test_masses_and_inertias_are_those_of_real_bodies(robot: Embodiment) -> None:
    model = Table(robot).model
    for index in range(1, model.nbody):
        inertia = np.sort(model.body_inertia[index])
        assert model.body_mass[index] > 0.01, model.body(index).name
        assert 0 < inertia[0] <= inertia[2] <= inertia[0] + inertia[1] + 1e-9, model.body(index).name
    palm = model.body(hand.PALM).id
    carried = [i for i in range(1, model.nbody) if model.body_rootid[i] == model.body_rootid[palm] and i >= palm]
    assert 0.8 < sum(model.body_mass[carried]) < 1.3  # the arm carries 3 kg
    if robot.name == "fr3-sharpa":
        assert 17 < sum(model.body_mass) - sum(model.body_mass[carried]) < 19


def test_nothing_holds_but_contact_and_the_model_survives_export(robot: Embodiment, tmp_path: Path) -> None:
    model = Table(robot).model
    assert (model.neq, model.ntendon, model.nsensor, model.nkey) == (0, 0, 0, 0)
    made = robot.mjcf("")
    assert "weld" not in made.bodies + made.equalities
    assert "adhesion" not in made.actuators
    mujoco.mj_saveLastXML(str(tmp_path / "robot.xml"), model)
    again = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    assert np.allclose(again.body_inertia, model.body_inertia)
    assert np.allclose(again.body_pos, model.body_pos)


def test_every_body_that_can_touch_something_is_an_arm_a_hand_or_a_finger(robot: Embodiment) -> None:
    model = Table(robot).model
    touching = {model.body(int(model.geom_bodyid[g])).name for g in range(1, model.ngeom) if model.geom_contype[g]}
    assert touching == set(robot.parts)
    bits = [(int(a), int(b)) for a, b in zip(model.geom_contype[1:], model.geom_conaffinity[1:], strict=True)]
    assert all(contype & 2 and conaffinity & 1 for contype, conaffinity in bits)


def test_the_robot_keeps_its_start_without_touching_itself(robot: Embodiment) -> None:
    table = Table(robot)
    before = table.positions
    table.act(robot.rest(), 30)
    assert table.data.ncon == 0
    assert np.abs(table.positions - before).max() < 1e-6


def test_no_drive_of_hand_or_base_gets_faster_than_its_rated_speed_whatever_is_commanded() -> None:
    """Each joint alone from one end of its range to the other, in single steps."""
    table = Table(FloatingSharpa())
    for index, joint in enumerate(table.robot.joints):
        fastest = 0.0
        for goal in (joint.low, joint.high, joint.start):
            table.data.ctrl[index] = goal
            for _ in range(240):
                mujoco.mj_step(table.model, table.data)
                fastest = max(fastest, abs(float(table.data.joint(joint.name).qvel[0])))
        assert 0.5 * joint.speed < fastest < 1.05 * joint.speed, joint.name


def test_fingers_cannot_pass_through_thumb_and_palm() -> None:
    table = Table(FloatingSharpa())
    fist = {hinge.name: hinge.high for hinge in hand.HINGES if hinge.name.endswith("flexion")}
    action = table.robot.rest()
    for index, joint in enumerate(table.robot.joints):
        action[index] = fist.get(joint.name, action[index])
    table.act(action, 60)
    assert table.data.ncon > 0
    assert table.data.contact.dist.min() > -0.003


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=22, max_size=22))
def test_fingertips_of_the_public_parameters_are_those_of_the_simulator(shares: list[float]) -> None:
    table = _floating()
    q = HAND.low + np.array(shares) * (HAND.high - HAND.low)
    for name, angle in zip(HAND.names, q, strict=True):
        table.data.joint(name).qpos = angle
    mujoco.mj_kinematics(table.model, table.data)
    found = HAND.tips(q)
    for finger, position in zip(hand.FINGERS, table.robot.senses(table.model)[0].read(table.data), strict=True):
        assert found[finger][0] == pytest.approx(position - table.data.body(hand.PALM).xpos, abs=1e-12)


def _floating(cache: list[Table] = []) -> Table:  # noqa: B006 (one table for all examples)
    if not cache:
        cache.append(Table(FloatingSharpa()))
    return cache[0]


def test_jacobians_of_the_fingertips_are_their_derivatives() -> None:
    q = HAND.posture(hand.start())
    step = 1e-6
    for finger, (_, jacobian) in HAND.tips(q).items():
        for joint in range(len(q)):
            ahead, behind = (HAND.tips(q + sign * step * np.eye(len(q))[joint])[finger][0] for sign in (1, -1))
            assert jacobian[:, joint] == pytest.approx((ahead - behind) / (2 * step), abs=1e-7)


def test_pressing_commands_give_the_wanted_fingertip_force() -> None:
    q = HAND.posture(hand.start())
    command = HAND.pressing({"index": np.array([0.0, 8.0, 0.0])}, q)
    torque = HAND.stiffness * (command - q)
    assert torque == pytest.approx(HAND.tips(q)["index"][1].T @ [0.0, 8.0, 0.0], abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0.02, 0.98), min_size=7, max_size=7))
def test_the_arm_of_the_public_parameters_is_that_of_the_simulator(shares: list[float]) -> None:
    table = _arm()
    public = table.robot.parameters()
    low, high = np.array(public["joint_limits"]).T
    q = low + np.array(shares) * (high - low)
    kinematics = PandaArm(
        np.array(public["base"]),
        tool_offset=public["flange"] + public["palm"]["position"][2],
        tool_yaw=0.0,
        joint_range=np.array(public["joint_limits"]),
    )
    table.data.qpos[:7] = q
    mujoco.mj_kinematics(table.model, table.data)
    position, rotation = kinematics.forward(q)
    palm = table.data.body(hand.PALM)
    turned = np.empty(9)
    mujoco.mju_quat2Mat(turned, np.array(public["palm"]["quaternion"]))
    assert position == pytest.approx(palm.xpos, abs=1e-9)
    assert rotation @ turned.reshape(3, 3) == pytest.approx(palm.xmat.reshape(3, 3), abs=1e-9)


def _arm(cache: list[Table] = []) -> Table:  # noqa: B006 (one table for all examples)
    if not cache:
        cache.append(Table(Fr3Sharpa()))
    return cache[0]


def test_base_angles_turn_yaw_first_then_pitch_then_roll() -> None:
    table = Table(FloatingSharpa())
    yaw, pitch, roll = 0.7, -0.4, 0.3
    table.data.qpos[3:6] = yaw, pitch, roll
    mujoco.mj_kinematics(table.model, table.data)

    def turn(axis: int, angle: float) -> np.ndarray:
        quaternion, matrix = np.empty(4), np.empty(9)
        mujoco.mju_axisAngle2Quat(quaternion, np.eye(3)[axis], angle)
        mujoco.mju_quat2Mat(matrix, quaternion)
        return matrix.reshape(3, 3)

    expected = turn(2, yaw) @ turn(1, pitch) @ turn(0, roll)
    assert table.data.body(hand.PALM).xmat.reshape(3, 3) == pytest.approx(expected, abs=1e-12)


def test_robots_are_found_by_the_name_in_the_middle_of_an_environment_id() -> None:
    assert {kind.name for kind in ROBOTS} <= EMBODIMENTS.keys()
    assert all(isinstance(embodiment(kind.name), kind) for kind in ROBOTS)


def test_the_hand_starts_above_every_board() -> None:
    """Boards end at 0.3 m; the hand points down."""
    for kind in ROBOTS:
        table = Table(kind())
        tips = table.robot.senses(table.model)[0].read(table.data)
        assert tips[:, 2].min() - hand.RADIUS > 0.3
        assert table.data.body(hand.PALM).xmat[8] == pytest.approx(1.0, abs=math.radians(0.5))
