"""A Hanoi board as the gateway sees it (``images/gateway/environment.py``): one episode of one board with one robot."""

from __future__ import annotations

from typing import Any

import numpy as np

from images.gateway.environment import Camera, Clause, Control, Event, Field, Judgement
from images.mujoco.embodiments import embodiment
from images.mujoco.hanoi import board as boards
from images.mujoco.hanoi import geometry as g
from images.mujoco.hanoi import look
from images.mujoco.hanoi.board import Board
from images.mujoco.hanoi.evaluator import Evaluator
from images.mujoco.hanoi.model import Compiled, compile_board, realize
from images.mujoco.hanoi.observation import Observation
from images.mujoco.hanoi.plant import Plant
from images.mujoco.hanoi.rules import clauses
from images.mujoco.render import Pictured

MODE = "default"
PREFIXES = {"hanoi_panda": "panda", "hanoi_sharpa": "fr3-sharpa", "hanoi_floating": "floating-sharpa"}
"""First part of an environment's id and the robot that comes with it."""


def create(spec: dict[str, Any]) -> Hanoi:
    """The environment of a ``start`` frame. Raises ValueError or BoardError naming field and value."""
    parts = str(spec["environment_id"]).split("/")
    if len(parts) != 3 or PREFIXES.get(parts[0]) != parts[1]:
        known = " or ".join(f"{prefix}/{robot}/CASE" for prefix, robot in PREFIXES.items())
        raise ValueError(f"environment_id {spec['environment_id']!r} is not {known}")
    if spec["mode"] != MODE:
        raise ValueError(f"mode {spec['mode']!r} is not offered by a Hanoi board; use {MODE}")
    board, robot = boards.load(parts[2]), embodiment(parts[1])
    parameters = dict(spec["condition"]["parameters"])
    compiled = compile_board(board, realize(board, parameters), robot)
    return Hanoi(compiled, parameters, bool(spec["pictures"]))


class Hanoi(Pictured):
    """One episode."""

    control_dt = g.CONTROL_DT

    def __init__(self, compiled: Compiled, parameters: dict[str, Any], pictures: bool) -> None:
        self._board, self._robot, self._parameters = compiled.board, compiled.robot, parameters
        self.plant = Plant(compiled)
        super().__init__(compiled.model, self.plant.data, pictures)
        self._clauses = clauses(self._board, self._robot)
        self.evaluator = Evaluator(self._board, self.plant.cast(), self._robot.joints, self._clauses)
        self.evaluator.look(self.plant.now())
        self._observation = Observation(self.plant, self.evaluator)
        self._told = 0

    # ---- disclosure ------------------------------------------------------------------------------------------------
    def controls(self) -> list[Control]:
        return self._robot.controls()

    def fields(self) -> list[Field]:
        return list(self._observation.fields)

    def cameras(self) -> list[Camera]:
        return look.calibration(self._robot, self._observation.read(f"camera_pose/{look.WRIST}"))

    def clauses(self) -> list[Clause]:
        return list(self._clauses)

    def public(self) -> dict[str, Any]:
        board = self._board
        parameters = {
            **g.parameters(),
            "case": board.case,
            "theme": board.theme,
            "level": board.level,
            "start": board.start,
            "goal": board.goal,
            "board_pegs": [peg.model_dump(mode="json") for peg in board.pegs],
            "board_barriers": [barrier.model_dump(mode="json") for barrier in board.barriers],
            "masses": list(board.masses),
            "clearances": list(board.clearances),
            "frictions": list(board.frictions),
            "handle_reach": board.handle_reach,
            "handle_yaws": list(board.handle_yaws),
            "robot": self._robot.parameters(),
        }
        return {"title": board.title, "task": _statement(board), "parameters": parameters}

    # ---- the episode -----------------------------------------------------------------------------------------------
    def apply(self, action: np.ndarray) -> list[Event]:
        """Advance one control step (16 integration steps) with these targets. Raises PhysicsSanityError."""
        self.evaluator.tick(self.plant.advance(action))
        notes = [note for note in self.evaluator.log[self._told :] if note["event"] in ("raised", "put")]
        self._told = len(self.evaluator.log)
        return [Event(note["event"], f"{note['ring']} {note['event']}", dict(note), "L3") for note in notes]

    def judge(self) -> Judgement | None:
        return self.evaluator.judgement

    def finish(self) -> Judgement:
        if self.evaluator.judgement is not None:
            return self.evaluator.judgement
        left = self.evaluator.open_goals()
        text = f"{', '.join(left)} not seated" if left else "the arrangement had not stood long enough"
        return Judgement("quit", text=text)

    def read(self, name: str) -> np.ndarray:
        return self._observation.read(name)

    def state(self) -> np.ndarray:
        """float32: positions of the whole model."""
        return np.array(self.plant.data.qpos, dtype=np.float32)

    def redraw(self, state: np.ndarray, camera: str, width: int, height: int, *, shadows: bool) -> np.ndarray:
        self.painter.pose(state)
        return self.painter.picture(camera, width, height, shadows=shadows)

    def digest(self) -> str:
        return self.plant.digest()

    def realized(self) -> dict[str, Any]:
        realized = self.plant.compiled.realized
        return {
            **self._parameters,
            "case": self._board.case,
            "pegs": [list(realized.place(peg.at)) for peg in self._board.pegs],
            "masses": list(realized.masses),
            "frictions": list(realized.frictions),
        }

    def scorer_log(self) -> list[dict[str, Any]]:
        return [*self.evaluator.log, {"event": "moves", **self.evaluator.summary()}]


def _statement(board: Board) -> str:
    """The task in words."""
    start = ", ".join(f"ring {i + 1} on {letter}" for i, letter in enumerate(board.start))
    goal = ", ".join(f"ring {i + 1} on {letter}" for i, letter in enumerate(board.goal))
    return (
        f"{board.brief} Five rings (ring 1 is the largest) stand on three pegs A, B, C. Start: {start}. Goal: {goal}. "
        "Move one ring at a time: take it by its handle, lift it off its peg, carry it, and let it go when it lies on "
        "another peg. Only a ring with nothing on it may be moved, and never onto a smaller one. In the end every ring "
        "must lie still, level and untouched where it belongs for 1 s. The parameters tell the board as authored: in "
        "an episode it may stand up to 12 mm aside in x and in y and be turned by up to 3 degrees about its middle, "
        "each handle by up to 12 degrees about its ring's peg, and masses and friction differ by up to 20 %."
    )
