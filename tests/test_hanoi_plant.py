"""What the Hanoi plant tells the referee of MuJoCo's state, and what the observation tells of the referee's."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from images.mujoco.hanoi import geometry as g
from images.mujoco.hanoi.environment import Hanoi
from tests.test_hanoi_environment import hanoi


def set_down(env: Hanoi, at: tuple[float, float, float], velocity: np.ndarray | None = None) -> None:
    """Ring 5 is level at a place, with a velocity (6,): linear, then angular."""
    joint = env.plant.data.joint("ring_5")
    joint.qpos[:3] = at
    joint.qvel[:] = 0.0 if velocity is None else velocity
    mujoco.mj_forward(env.plant.model, env.plant.data)


# ---- rates ---------------------------------------------------------------------------------------------------------
WAYS = [*np.eye(3), -np.eye(3)[2], np.full(3, 3**-0.5), np.array([0.6, 0.0, -0.8])]


@pytest.mark.parametrize("way", WAYS, ids=["x", "y", "z", "-z", "all", "x and z"])
@pytest.mark.parametrize(("first", "limit"), [(0, 0.005), (3, 0.1)], ids=["moves", "turns"])
def test_a_ring_is_seated_while_it_moves_and_turns_slowly_whichever_way(
    first: int, limit: float, way: np.ndarray
) -> None:
    env = hanoi("H01")
    ring = tuple(env.plant.data.body("ring_5").xpos)
    for share, seated in ((0.98, 0), (1.02, -1)):
        velocity = np.zeros(6)
        velocity[first : first + 3] = share * limit * way
        set_down(env, ring, velocity)
        env.evaluator.look(env.plant.now())
        assert env.read("seated").tolist() == [0, 0, 0, 0, seated]


# ---- contacts ------------------------------------------------------------------------------------------------------
def in_a_pad(depth: float, away: float) -> Hanoi:
    """The first look after the handle of ring 5 came so deep (m) into a pad of the Panda's gripper, from which it moves
    away (m/s)."""
    env = hanoi("H01")
    data, model = env.plant.data, env.plant.model
    pad, handle = model.geom("pad2"), model.geom("handle_5")
    x, y, z = data.geom("pad2").xpos
    place = x + handle.pos[0], y - pad.size[1] - handle.size[1] + depth, z  # the handle points to the robot
    set_down(env, place, np.array([0.0, -away, 0.0, 0.0, 0.0, 0.0]))
    assert -data.contact.dist[-1] == pytest.approx(depth, abs=2e-5)  # of the pad, the last that MuJoCo lists
    env.evaluator.look(env.plant.now())
    data.time = g.PHYSICS_DT
    env.evaluator.tick(env.plant.now())
    return env


@pytest.mark.parametrize(
    ("depth", "away", "touched", "clause"),
    [(0.0014, 0.0, 1, None), (0.0016, 0.0, 1, "H-50"), (0.0014, 1.0, 0, None), (0.0016, 1.0, 0, None)],
    ids=["pressed", "pressed too deep", "leaving", "leaving from too deep"],
)
def test_a_contact_counts_while_it_bears_force(depth: float, away: float, touched: int, clause: str | None) -> None:
    """MuJoCo lists a pair that overlaps and parts already, without force: it is neither touch nor penetration."""
    env = in_a_pad(depth, away)
    assert env.read("touched").tolist() == [0, 0, 0, 0, touched]
    found = env.judge()
    assert clause == (None if found is None else found.clause)


# ---- observation ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("place", "seated"),
    [
        ((0.5, 0.18, 0.11), 0),
        ((0.5, 0.0, 0.03), 1),
        ((0.5, -0.18, 0.03), 2),
        ((0.5, 0.18, 0.113), -1),  # 3 mm above its seat on A
        ((0.5, 0.0, 0.2), -1),
        ((0.5, 0.09, 0.03), -1),
    ],
    ids=["on A", "on B", "on C", "raised", "in the air", "between pegs"],
)
def test_seated_is_the_peg_of_a_ring_or_minus_1(place: tuple[float, float, float], seated: int) -> None:
    env = hanoi("H01")
    set_down(env, place)
    env.evaluator.look(env.plant.now())
    assert env.read("seated").tolist() == [0, 0, 0, 0, seated]
