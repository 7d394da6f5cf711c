"""The launcher's reference agent plays real episodes through the public operations."""

from __future__ import annotations

import numpy as np
import pytest
from reference_episodes import assert_same_through_a_gateway, imported_besides

from images.client.results import Terminal
from images.mujoco.launcher.workshop.episode import Episode, start
from images.reference import NoReference, solve
from images.reference.session import Unequipped

OUTSIDE = ("images.client", "images.reference", "images.mujoco.launcher.reference")


def run_reference(case: str, index: int, **choices) -> tuple[Terminal, Episode, list[str]]:
    """One episode of the reference agent: how it ended, the client with its counts, and what the agent reported."""
    client, lines = Episode(case, index, **choices), []
    return solve(client, lines.append), client, lines


@pytest.mark.parametrize("index", range(4))
def test_the_single_target_is_solved_with_the_preloaded_projectile_under_every_condition(index):
    terminal, client, lines = run_reference("A007", index)
    assert terminal.cause == "goal_met", lines
    assert client.session.meter.actions < 1000
    assert sum(line.startswith("shot") for line in lines) == 1


@pytest.mark.parametrize("case", ["A025", "A026"])
def test_panes_and_order_are_solved_with_projectiles_that_the_arms_load(case):
    terminal, client, lines = run_reference(case, 1)
    assert terminal.cause == "goal_met", lines
    assert sum(line.startswith("shot") for line in lines) >= 2
    assert client.session.meter.simulated_s < 100


@pytest.mark.slow
@pytest.mark.parametrize("case", ["A025", "A026"])
@pytest.mark.parametrize("index", [0, 2, 3])
def test_panes_and_order_are_solved_under_every_other_condition(case, index):
    terminal, _, lines = run_reference(case, index)
    assert terminal.cause == "goal_met", lines


@pytest.mark.slow
@pytest.mark.parametrize("case", ["A007", "A025", "A026"])
@pytest.mark.parametrize("seed", range(3))
def test_scenes_are_solved_anywhere_between_the_prescribed_conditions(case, seed):
    draw = np.random.default_rng(seed).uniform
    parameters = {
        "stiffness": float(draw(22, 28)),
        "azimuth_offset": float(draw(-2, 2)),
        "elevation_offset": float(draw(-2, 2)),
        "pivot_offset": draw(-0.005, 0.005, 3).tolist(),
        "tray_offset": draw(-0.005, 0.005, 2).tolist(),
        "mass_factor": float(draw(0.98, 1.02)),
        "background": "meadow",
    }
    terminal, _, lines = run_reference(case, 0, parameters=parameters)
    assert terminal.cause == "goal_met", lines


def test_the_same_episode_gets_the_same_actions_bit_for_bit():
    first, second = (run_reference("A007", 2)[1] for _ in range(2))
    assert np.array_equal(np.concatenate(first.sent), np.concatenate(second.sent))
    assert first.session.digest() == second.session.digest()


def test_the_same_episode_through_a_real_gateway_ends_in_the_same_state(tmp_path):
    _, here, _ = run_reference("A007", 3)
    assert_same_through_a_gateway(tmp_path, start("A007", 3), here)


class Clumsy(Episode):
    """The right gripper fails once: after ``skip`` actions that command ``trigger`` (m), the next ``count`` ones have
    it open to ``opening`` instead."""

    def __init__(self, case: str, trigger: float, skip: int, count: int, opening: float) -> None:
        super().__init__(case, 0)
        self.trigger, self.skip, self.left, self.opening, self.seen = trigger, skip, count, opening, 0

    def step(self, actions, fields=()):
        actions = np.array(actions, ndmin=2)
        for action in actions:
            self.seen += abs(action[15] - self.trigger) < 1e-9
            if self.seen > self.skip and self.left > 0:
                self.left -= 1
                action[15] = self.opening
        return super().step(actions, fields)


def test_a_knob_that_slips_out_of_the_hand_is_grasped_again():
    client, lines = Clumsy("A007", -0.04, 20, 100, 0.08), []
    assert solve(client, lines.append).success, lines
    assert client.left == 0
    assert client.session.meter.simulated_s > 18  # it took a second grasp


def test_a_projectile_that_stays_in_the_tray_is_picked_again():
    client, lines = Clumsy("A026", 0.05, 80, 50, 0.05), []
    assert solve(client, lines.append).success, lines
    assert client.left == 0
    assert client.seen > 120  # 85 actions of the first approach with open fingers, and those of the second


def test_below_level_l3_the_agent_says_what_it_lacks_and_does_nothing():
    client = Episode("A007", 0, level="L0")
    with pytest.raises(Unequipped, match="needs access level L3; this session has L0 and no field 'azimuth'"):
        solve(client, lambda line: None)
    assert client.session.meter.actions == 0


def test_a_family_without_a_reference_agent_is_named():
    client = Episode("A007", 0)
    client.describe().environment_id = "hanoi/panda/H001"
    with pytest.raises(NoReference, match="no reference agent solves 'hanoi/panda/H001'"):
        solve(client, lambda line: None)


def test_the_reference_agent_imports_nothing_of_environment_evaluator_or_scenes():
    assert list(imported_besides(OUTSIDE, ["images/reference", "images/mujoco/launcher/reference"])) == []
