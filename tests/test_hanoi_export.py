"""A scene is plain MJCF: written to a file, by us or by MuJoCo, it is read again as the same scene."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from images.mujoco.embodiments import embodiment
from images.mujoco.hanoi import board as boards
from images.mujoco.hanoi.environment import Hanoi
from images.mujoco.hanoi.model import Compiled, compile_board, mjcf, realize
from images.mujoco.hanoi.state import State
from images.mujoco.hanoi.workshop.episode import Episode, condition
from images.reference import solve

TASKS = ("panda/H29", "fr3-sharpa/H01", "floating-sharpa/H25")


def played(task: str) -> np.ndarray:
    """The actions of the reference agent, (n, controls)."""
    client = Episode(task, 0)
    assert solve(client, lambda line: None).success
    return client.actions


def run(task: str, compiled: Compiled, actions: np.ndarray) -> tuple[Hanoi, list[State]]:
    """The environment after the actions, and what the referee was told of each."""
    environment = Hanoi(compiled, condition(task, 0), pictures=False)
    told: list[State] = []
    tick = environment.evaluator.tick

    def heard(state: State) -> None:
        told.append(state)
        tick(state)

    environment.evaluator.tick = heard  # type: ignore[method-assign]
    for action in actions:
        environment.apply(action)
    return environment, told


def outcome(environment: Hanoi) -> tuple[str | None, list[tuple[int, int]]]:
    """Why the episode ended, and which ring went to which peg."""
    end = environment.judge()
    return end and end.cause, [(ring, peg) for ring, _, peg, _ in environment.evaluator.moves]


def touching(environment: Hanoi, states: list[State]) -> list[set[tuple[str, str]]]:
    """Pairs of bodies, by name, that touch in each control step."""
    names = environment.plant.cast().names
    return [
        {tuple(sorted((names[a], names[b]))) for sample in state.samples for a, b in sample.contacts.bodies.tolist()}
        for state in states
    ]


@pytest.mark.parametrize(
    "task", [pytest.param(task, marks=[pytest.mark.slow] if task.startswith("fr3") else []) for task in TASKS]
)
def test_an_exported_scene_runs_an_episode_as_the_original_does(task: str, tmp_path: Path) -> None:
    """Our own text to the bit. MuJoCo writes its numbers with six digits: the same contacts by name, the same verdict,
    and poses within a tenth of a millimetre."""
    robot, case = task.split("/")
    board, made = boards.load(case), embodiment(robot)
    realized = realize(board, condition(task, 0))
    actions, compiled = played(task), compile_board(board, realized, made)
    ours, theirs = tmp_path / "ours.xml", tmp_path / "theirs.xml"
    ours.write_text(mjcf(board, realized, made), encoding="utf-8")
    mujoco.mj_saveLastXML(str(theirs), compiled.model)
    again, rewritten = (replace(compiled, model=_read(path)) for path in (ours, theirs))

    original, told = run(task, compiled, actions)
    copy, _ = run(task, again, actions)
    assert copy.digest() == original.digest()

    other, heard = run(task, rewritten, actions)
    assert outcome(other) == outcome(original)
    assert other.plant.cast() == original.plant.cast()
    near = [np.abs(a.centres - b.centres).max() for a, b in zip(told, heard, strict=True)]
    same = [a == b for a, b in zip(touching(original, told), touching(other, heard), strict=True)]
    assert max(near) < 1e-4
    assert np.mean(same) > 0.99


def _read(path: Path) -> Any:
    return mujoco.MjModel.from_xml_path(str(path))


@pytest.mark.parametrize("task", TASKS)
def test_a_scene_has_nothing_that_an_export_would_lose(task: str) -> None:
    """Bodies that contacts or fields mention have names; there are no sensors, keyframes, plugins or welds."""
    robot, case = task.split("/")
    board = boards.load(case)
    model = compile_board(board, realize(board, condition(task, 0)), embodiment(robot)).model
    assert (model.nsensor, model.nkey, model.nplugin) == (0, 0, 0)
    assert not (np.asarray(model.eq_type) == mujoco.mjtEq.mjEQ_WELD).any()
    names = [model.body(index).name for index in range(model.nbody)]
    assert all(names)
    assert len(set(names)) == len(names)
