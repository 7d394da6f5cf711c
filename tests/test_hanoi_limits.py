"""Position, speed and force limits of the three robots of the Hanoi boards: disclosed, and kept by the model.

What a motion beyond them ends in: ``test_hanoi_trajectories.py``."""

from __future__ import annotations

from typing import Any, cast

import mujoco
import numpy as np
import pytest
from hand_table import Table

from images.client.results import Description
from images.client.sdk import ActionError
from images.mujoco.embodiments import EMBODIMENTS, embodiment
from images.mujoco.hanoi.workshop.episode import Episode
from images.mujoco.referee import SPEED_MARGIN

ROBOTS = list(EMBODIMENTS)


@pytest.fixture(params=ROBOTS)
def episode(request: pytest.FixtureRequest) -> Episode:
    """At the lowest level: limits are told to everybody."""
    return Episode(f"{request.param}/H01", 0, level="L0")


def model_of(episode: Episode) -> Any:
    return cast("Any", episode.environment).plant.model


def told_forces(told: Description) -> list[float]:
    """Where the drive of each control saturates (N m, N), from the public parameters."""
    robot = told.parameters["robot"]
    found = [axis["force"] for axis in robot.get("base_axes", [])] + list(robot.get("joint_torque_limits", []))
    found += [robot["gripper_force"]] if "gripper_force" in robot else []
    return [*found, *robot.get("hand", {"torque": []})["torque"]]


def told_speeds(told: Description) -> list[float]:
    """Rated speed of each judged joint (rad/s, m/s), from the public parameters."""
    robot = told.parameters["robot"]
    found = [axis["speed"] for axis in robot.get("base_axes", [])] + list(robot.get("joint_speed_limits", []))
    hand = robot.get("hand", {"torque": [], "drag": 1.0})
    return [*found, *(torque / hand["drag"] for torque in hand["torque"])]


def test_position_limits_are_those_of_the_controls_and_of_the_model(episode: Episode) -> None:
    told, model = episode.describe(), model_of(episode)
    ranges = [(control.low, control.high) for control in told.controls]
    assert [tuple(pair) for pair in model.actuator_ctrlrange.tolist()] == ranges
    robot = embodiment(told.environment_id.split("/")[1])
    for joint, (low, high) in zip(robot.joints, ranges, strict=False):  # a gripper is no judged joint
        assert (joint.low, joint.high) == (low, high)
        assert model.joint(joint.name).limited[0]
        assert tuple(model.joint(joint.name).range) == (low, high)
    (clause,) = [clause for clause in told.clauses if clause.id == "H-31"]
    assert clause.value == 0.02


def test_speed_limits_are_1_15_times_the_rated_speeds_of_the_public_parameters(episode: Episode) -> None:
    told = episode.describe()
    (clause,) = [clause for clause in told.clauses if clause.id == "H-30"]
    assert clause.value == pytest.approx([1.15 * speed for speed in told_speeds(told)], abs=1e-4)
    assert len(clause.value) == told.fields["joint_velocities"].shape[0]


def test_force_limits_are_those_of_the_public_parameters(episode: Episode) -> None:
    forces = told_forces(episode.describe())
    assert model_of(episode).actuator_forcerange.tolist() == [[-force, force] for force in forces]


def test_a_target_beyond_its_range_is_refused_and_nothing_happens(episode: Episode) -> None:
    told = episode.describe()
    rest = episode.observe(["commanded"]).fields["commanded"]
    for index, control in enumerate(told.controls):
        for beyond in (control.low - 1e-6, control.high + 1e-6):
            action = rest.copy()
            action[index] = beyond
            with pytest.raises(ActionError, match=control.name):
                episode.step(action)
    assert episode.observe([]).actions == 0


def test_the_pandas_fingers_are_no_faster_than_they_are_rated() -> None:
    """Closing, opening and in between, whatever is commanded. They follow targets of 120 a second, so their measured
    speed swings by a few per cent."""
    episode = Episode("panda/H01", 0, level="L0")
    told, environment = episode.describe(), cast("Any", episode.environment)
    rated = told.parameters["robot"]["gripper_speed"] / 2
    data, command = environment.plant.data, environment.read("commanded")
    fastest: list[float] = []
    for opening, count in ((-0.04, 40), (0.08, 40), (-0.04, 20), (0.08, 30)):
        command[7] = opening
        for _ in range(count):
            before = environment.read("gripper_opening")
            environment.apply(command)
            assert environment.read("commanded")[7] == opening
            assert abs(environment.read("gripper_opening") - before) <= 1.01 * 2 * rated / told.control_hz
            fastest += [abs(float(data.joint(f"slide{i}").qvel[0])) for i in (1, 2)]
    assert 0.9 * rated < max(fastest) < 1.05 * rated
    assert environment.read("gripper_opening") == pytest.approx(0.08, abs=1e-4)


def test_no_drive_pulls_harder_than_it_says_whatever_is_commanded(episode: Episode) -> None:
    environment, controls = cast("Any", episode.environment), episode.describe().controls
    low, high = np.array([[control.low, control.high] for control in controls]).T
    forces, random = np.array(told_forces(episode.describe())), np.random.default_rng(0)
    largest = np.zeros(len(forces))
    for _ in range(30):
        environment.apply(random.uniform(low, high))
        largest = np.maximum(largest, np.abs(environment.plant.data.actuator_force) / forces)
    assert largest.max() == pytest.approx(1.0)
    assert np.count_nonzero(largest > 0.99) > len(forces) / 2
    assert (np.abs(environment.read("joint_torques")) <= forces[: len(told_speeds(episode.describe()))] + 1e-9).all()


@pytest.mark.parametrize("robot", ROBOTS)
def test_arms_and_bases_stop_at_the_ends_of_their_ranges_at_any_speed_that_is_allowed(robot: str) -> None:
    """From the middle of its range the target of each joint goes to either end as fast as its speed limit; a finger
    alone can overshoot."""
    table = Table(embodiment(robot))
    mujoco.mj_step(table.model, table.data)
    table.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT  # nothing is in its way
    rest, start = table.robot.rest(), table.data.qpos.copy()
    driven = [index for index, joint in enumerate(table.robot.joints) if joint.name.startswith(("joint", "base"))]
    assert len(driven) >= 6
    for index in driven:
        joint = table.robot.joints[index]
        pace = SPEED_MARGIN * joint.speed / 30
        for end in (joint.low, joint.high):
            table.data.qpos[:], table.data.qvel[:] = start, 0.0
            target = table.data.joint(joint.name).qpos = (joint.low + joint.high) / 2
            for _ in range(80):
                target += np.clip(end - target, -pace, pace)
                table.act(np.where(np.arange(len(rest)) == index, target, rest))
                reached = float(table.data.joint(joint.name).qpos[0])
                assert joint.low - 1e-6 <= reached <= joint.high + 1e-6, joint.name
            assert reached == pytest.approx(end, abs=0.05)
