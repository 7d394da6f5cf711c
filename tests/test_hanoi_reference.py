"""The reference agent of the Hanoi boards plays real episodes through the public operations."""

from __future__ import annotations

import numpy as np
import pytest
from reference_episodes import assert_same_through_a_gateway, imported_besides

from images.client.results import Terminal
from images.mujoco.hanoi.environment import Hanoi
from images.mujoco.hanoi.reference import strategy
from images.mujoco.hanoi.reference.agent import Player
from images.mujoco.hanoi.workshop.episode import Episode, start
from images.reference import solve
from images.reference.motion import Program
from images.reference.session import Unequipped

OUTSIDE = ("images.client", "images.reference", "images.mujoco.hanoi.reference")


def run_reference(task: str, index: int, **choices) -> tuple[Terminal, Episode, list[str]]:
    """One episode of the reference agent: how it ended, the client with its counts, and what the agent reported."""
    client, lines = Episode(task, index, **choices), []
    return solve(client, lines.append), client, lines


@pytest.mark.parametrize("index", range(4))
def test_one_move_is_solved_under_every_condition(index):
    terminal, client, lines = run_reference("panda/H01", index)
    assert terminal.cause == "goal_met", lines
    assert client.session.meter.simulated_s < 10.6


@pytest.mark.parametrize("case", ["H06", "H14", "H26", "H34"])
def test_three_moves_are_solved_on_other_boards(case):
    terminal, client, lines = run_reference(f"panda/{case}", 1)
    assert terminal.cause == "goal_met", lines
    assert isinstance(client.environment, Hanoi)
    assert len(client.environment.evaluator.moves) == 3


@pytest.mark.slow
@pytest.mark.parametrize("case", ["H04", "H40"])
@pytest.mark.parametrize("seed", range(2))
def test_31_moves_are_solved_anywhere_within_the_bounds_of_the_conditions(case, seed):
    draw = np.random.default_rng(seed).uniform
    parameters = {
        "reset_seed": 4 + seed,
        "board_offset": draw(-0.012, 0.012, 2).tolist(),
        "board_yaw": float(draw(-3, 3)),
        "ring_azimuths": draw(-12, 12, 5).tolist(),
        "mass_factors": draw(0.8, 1.2, 5).tolist(),
        "friction_factor": float(draw(0.8, 1.2)),
        "lighting": 1.0,
    }
    terminal, client, lines = run_reference(f"panda/{case}", 0, parameters=parameters)
    assert terminal.cause == "goal_met", lines
    assert client.session.meter.simulated_s < 330


def test_the_same_episode_gets_the_same_actions_bit_for_bit():
    first, second = (run_reference("panda/H01", 2)[1] for _ in range(2))
    assert np.array_equal(first.actions, second.actions)
    assert first.session.digest() == second.session.digest()


def test_the_same_episode_through_a_real_gateway_ends_in_the_same_state(tmp_path):
    _, here, _ = run_reference("panda/H01", 3)
    assert_same_through_a_gateway(tmp_path, start("panda/H01", 3), here)


# ---- when something goes wrong -------------------------------------------------------------------------------------
class Slipping(Episode):
    """The gripper fails once: of the actions that squeeze, all of the first grasp have it open instead."""

    def __init__(self, task: str) -> None:
        super().__init__(task, 0)
        self.failing = self.recovered = False

    def step(self, actions, fields=()):
        actions = np.array(actions, ndmin=2)
        for action in actions:
            grasping = action[7] < 0.03
            self.recovered |= self.failing and not grasping
            self.failing |= grasping
            if grasping and not self.recovered:
                action[7] = 0.038
        return super().step(actions, fields)


def test_a_handle_that_was_not_grasped_is_grasped_again():
    client, lines = Slipping("panda/H01"), []
    assert solve(client, lines.append).success, lines
    assert any("grasped nothing" in line for line in lines)


def test_a_ring_that_sticks_on_the_tip_is_raised_and_tried_again(monkeypatch):
    """The agent first believes the peg to be 14 mm beside where it stands, so the ring comes down on the tip, here at a
    careful pace."""
    monkeypatch.setattr(strategy, "INSERTING", 0.06)
    client, lines = Episode("panda/H01", 0), []
    player = Player(client, client.describe(), lines.append)
    player.crew.sense()
    honest = player.table.pegs[2].copy()

    def program() -> Program:
        yield from player.mover._pick(4)
        player.table.pegs[2] += [0.0, 0.014]
        yield from player.mover._carry(4, 2)
        placed = player.mover._insert(4, 2)
        for word in placed:
            if player.mover.retries:
                player.table.pegs[2] = honest
            yield word

    player._run(program())
    player.crew.sense()
    assert any("above its seat" in line for line in lines)
    assert player.table.seated(4)


def test_below_level_l3_the_agent_says_what_it_lacks_and_does_nothing():
    client = Episode("panda/H01", 0, level="L0")
    with pytest.raises(Unequipped, match="needs access level L3; this session has L0 and no field 'pose/ring_1'"):
        solve(client, lambda line: None)
    assert client.session.meter.actions == 0


def test_the_reference_agent_imports_nothing_of_environment_referee_or_boards():
    assert list(imported_besides(OUTSIDE, ["images/mujoco/hanoi/reference"])) == []
