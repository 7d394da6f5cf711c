"""Every clause that ends a Hanoi episode, broken by the robot through the public operations, beside the nearest motion
that is legal."""

from __future__ import annotations

import pytest

from images.client.results import Terminal
from images.mujoco.embodiments import embodiment
from images.mujoco.hanoi import board as boards
from images.mujoco.hanoi.evaluator import Evaluator
from images.mujoco.hanoi.reference.agent import Player
from images.mujoco.hanoi.reference.strategy import Lost
from images.mujoco.hanoi.rules import clauses
from images.mujoco.hanoi.state import Contacts
from images.mujoco.hanoi.workshop.episode import Episode
from images.mujoco.workshop.baselines import noop
from images.reference.motion import Terminated
from tests import hanoi_motions as go
from tests.hanoi_motions import Motion

TRAJECTORIES: dict[str, tuple[str, Motion, str, Motion]] = {
    "H-10": ("panda/H01", go.moves((4, "B")), "panda/H01", go.moves((5, "B"))),
    "H-11": ("panda/H04", go.moves((5, "C"), (4, "C")), "panda/H04", go.moves((5, "C"), (4, "B"))),
    "H-12": ("panda/H38", go.hook(0.06), "panda/H38", go.hook(0.012)),
    "H-30": ("panda/H01", go.swing(0.0), "panda/H01", go.swing(0.5)),
    "H-31": ("floating-sharpa/H01", go.bend_the_thumb(0.0), "floating-sharpa/H01", go.bend_the_thumb(0.5)),
    "H-40": ("panda/H01", go.press_the_palm(0.0005), "panda/H01", go.press_the_palm(0.0002)),
    "H-41": ("panda/H01", go.press_the_peg(0.004), "panda/H01", go.press_the_peg(0.0025)),
    "H-42": ("panda/H01", go.press_a_corner(0.01), "panda/H01", go.press_a_corner(0.005)),
    "H-43": ("panda/H01", go.press_the_handle(0.006), "panda/H01", go.press_the_handle(0.004)),
    "H-50": ("floating-sharpa/H17", go.squeeze(0.4, 0.0), "floating-sharpa/H17", go.squeeze(0.4, 0.1)),
    "H-60": ("panda/H01", go.drop(0.012), "panda/H01", go.drop(0.005)),
    "H-61": ("panda/H01", go.carry_away(0.53), "panda/H01", go.carry_away(0.47)),
    "H-62": ("panda/H01", go.thrust(0.4, 0.02), "panda/H01", go.thrust(0.4, 0.015)),
}
"""By clause: task and motion that break it, task and motion that do not."""
GUARD = "H-51"  # a fall that ends so deep is lost by H-60 before, and a ring in the hand breaks H-43 before


def play(motion: Motion, task: str) -> tuple[Terminal | None, Player]:
    """How the episode ended, if it did, when the robot went through ``motion``."""
    client = Episode(task, 0)
    player = Player(client, client.describe(), lambda line: None)
    player.crew.sense()
    try:
        player.crew.run({player.tool.name: motion(player)})
        player.crew.sense()
    except Terminated as ended:
        return ended.terminal, player
    except Lost:
        pass
    return None, player


def ends(motion: Motion, task: str) -> str | None:
    """Clause that was broken, if one was; it must be one that was disclosed, with its code."""
    terminal, player = play(motion, task)
    if terminal is None or terminal.success:
        return None
    disclosed = {clause.id: clause for clause in player.crew.session.describe().clauses}
    assert terminal.clause is not None
    assert disclosed[terminal.clause].code == terminal.code
    return terminal.clause


def test_every_clause_that_ends_an_episode_but_one_guard_has_a_trajectory() -> None:
    found = clauses(boards.load("H01"), embodiment("panda"))
    assert list(TRAJECTORIES) == [clause.id for clause in found if clause.code is not None and clause.id != GUARD]


@pytest.mark.parametrize("clause", TRAJECTORIES)
def test_a_motion_breaks_its_clause_and_the_nearest_legal_one_passes(clause: str) -> None:
    breaking, motion, passing, legal = TRAJECTORIES[clause]
    assert ends(motion, breaking) == clause
    assert ends(legal, passing) is None


@pytest.mark.parametrize("clause", ["H-40", "H-41", "H-42", "H-43"])
def test_the_nearest_legal_motion_presses_too_but_not_too_hard(clause: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, task, legal = TRAJECTORIES[clause]
    forces, check = [0.0], Evaluator._check_contacts

    def heard(judge: Evaluator, contacts: Contacts) -> int:
        judged = [judge._clauses[a, b] == clause for a, b in contacts.bodies.tolist()]
        forces.extend(contacts.forces[judged].tolist())
        return check(judge, contacts)

    monkeypatch.setattr(Evaluator, "_check_contacts", heard)
    _, player = play(legal, task)
    (limit,) = [found.value for found in player.crew.session.describe().clauses if found.id == clause]
    assert 0.4 * limit < max(forces) <= limit


@pytest.mark.parametrize(
    ("task", "motion"),
    [
        ("panda/H01", go.carry(let_go=True)),  # beside all pegs
        ("panda/H01", go.drop(0.02)),
        ("panda/H01", go.drop(0.09)),
        ("panda/H01", go.drop(0.21)),
        ("panda/H01", go.drop(0.27)),  # 15 cm above the tip
    ],
    ids=["beside", "2 cm", "below the tip", "9 cm above the tip", "15 cm above the tip"],
)
def test_a_ring_that_is_dropped_onto_a_peg_does_not_win(task: str, motion: Motion) -> None:
    assert ends(motion, task) == "H-60"


def test_a_ring_that_is_thrown_onto_a_peg_does_not_win() -> None:
    assert ends(go.throw(0.6, 0.06), "panda/H13") == "H-62"


@pytest.mark.parametrize(
    ("task", "motion", "clause"),
    [
        ("fr3-sharpa/H01", go.swing(0.0), "H-30"),
        ("fr3-sharpa/H01", go.swing(1.0), None),
        ("fr3-sharpa/H01", go.bend_the_thumb(0.0), "H-31"),
        ("fr3-sharpa/H01", go.bend_the_thumb(0.5), None),
        ("floating-sharpa/H01", go.slide(0.0), None),  # its drives cannot get faster than they are rated
        ("fr3-sharpa/H17", go.squeeze(1.0, 0.0), "H-42"),
        ("fr3-sharpa/H17", go.squeeze(1.0, 0.1), None),
    ],
)
def test_limits_of_speed_joints_and_contact_hold_for_the_hands_too(
    task: str, motion: Motion, clause: str | None
) -> None:
    assert ends(motion, task) == clause


def test_the_text_of_an_end_has_the_joint_its_value_and_its_unit() -> None:
    terminal, _ = play(go.swing(0.0), "fr3-sharpa/H01")
    assert terminal is not None
    assert terminal.text.startswith("H-30: joint1 (")
    assert terminal.text.endswith(" rad/s; limit 3.013)")


@pytest.mark.slow
def test_doing_nothing_runs_out_of_simulated_time() -> None:
    assert noop(Episode("panda/H01", 0, level="L0"), 601.0).cause == "simulated_time"


def test_leaving_early_is_quitting() -> None:
    leaves = Episode("panda/H01", 0)
    leaves.step(leaves.observe(fields=["commanded"]).fields["commanded"][None])
    assert leaves.finish().cause == "quit"
