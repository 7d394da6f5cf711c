"""One KidGym episode as the gateway sees it (``images/gateway/environment.py``): an action is the index of an option.

There is no physics: one action is one step of one second. The state is what was chosen so far, because seed and choices
decide everything else; so a recorded state is a handful of numbers and draws again exactly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from images.gateway.environment import Camera, Clause, Control, Event, Field, Judgement
from images.kidgym.catalog import LEVELS, NAMES
from images.kidgym.episode import MAX_OPTIONS, Episode
from images.kidgym.solve import Unsolvable, solution

MODES = ("zero-shot", "cot", "icl")
EXAMPLE_MODE = "icl"
VIEW, EXAMPLE = "view", "example/"
SIDE = 9 * 96  # pixels of the largest picture
NOTHING = -1  # as an action: no option is named
UNTAKEN = -2  # in a state: the step has not been taken yet
OPTIONS_BYTES = 2048  # the longest list has 16 options of 70 characters
POSE = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))


def create(spec: dict[str, Any]) -> KidGym:
    """The environment of a ``start`` frame. Raises ValueError naming field and value."""
    identifier = str(spec["environment_id"])
    parts = identifier.split("/")
    code, _, level = parts[-1].partition("-L")
    if parts[:-1] != ["kidgym", "grid"] or code not in NAMES or level not in map(str, LEVELS):
        raise ValueError(f"environment_id {identifier!r} is not kidgym/grid/TASK-LEVEL, for example kidgym/grid/CL-L1")
    if spec["mode"] not in MODES:
        raise ValueError(f"mode {spec['mode']!r} is not one of {', '.join(MODES)}")
    parameters = spec["condition"]["parameters"]
    for name in ("seed", "example"):
        if type(parameters.get(name)) is not int:
            raise ValueError(f"condition.parameters.{name} {parameters.get(name)!r} is not a whole number")
    return KidGym(code, int(level), parameters["seed"], parameters["example"] if spec["mode"] == EXAMPLE_MODE else None)


class KidGym:
    """One episode. ``example`` is the seed of the worked example that ``public`` tells, None for none."""

    control_dt = 1.0

    def __init__(self, code: str, level: int, seed: int, example: int | None) -> None:
        self._code, self._level, self._seed, self._example_seed = code, level, seed, example
        self._episode = Episode(code, level, seed)
        self._example = _worked(code, level, example) if example is not None else []
        self._taken: list[int] = []
        self._log: list[dict[str, Any]] = []

    # ---- disclosure -------------------------------------------------------------------------------------------------
    def controls(self) -> list[Control]:
        text = (
            "index of an option, from 0 in the order of the letters; -1, or an index without an option, names none: it "
            "uses up a step and changes nothing"
        )
        return [Control("option", "index", float(NOTHING), float(MAX_OPTIONS - 1), text)]

    def fields(self) -> list[Field]:
        text = "the options of this step in the order of their letters, UTF-8, one a line, filled up with zeros"
        best = "indices of the options of a shortest solution from here, -1 after its end and where there is none"
        return [
            Field("options", "", (OPTIONS_BYTES,), "L0", text, "uint8"),
            Field("solution", "index", (self._episode.budget,), "L3", best, "int64"),
        ]

    def cameras(self) -> list[Camera]:
        names = [VIEW, *(f"{EXAMPLE}{number}" for number in range(len(self._example)))]
        text = "a drawing of 9 x 9 cells, not a view: the calibration has no meaning"
        return [Camera(name, SIDE, SIDE, (SIDE, SIDE, SIDE / 2, SIDE / 2), POSE, text) for name in names]

    def clauses(self) -> list[Clause]:
        return [
            Clause("K-01", f"Success: {self._episode.task.goal}", None, "", None, None),
            Clause("K-02", "A wrong choice that cannot be undone ends the episode.", None, "", None, "WRONG"),
            Clause(
                "K-03",
                "A step is used up, and nothing changes, by an action that cannot work now and by none at all.",
                None,
                "",
                None,
                None,
            ),
        ]

    def public(self) -> dict[str, Any]:
        task = self._episode.task
        parameters: dict[str, Any] = {
            "task": self._code,
            "level": self._level,
            "memory": task.memory,
            "steps": self._episode.budget,
        }
        if self._example_seed is not None:
            goal = Episode(self._code, self._level, self._example_seed).task.goal
            parameters["example"] = {"goal": goal, "steps": [row for row, _ in self._example]}
        return {"title": f"{NAMES[self._code]}, level {self._level}", "task": task.goal, "parameters": parameters}

    # ---- the episode ------------------------------------------------------------------------------------------------
    def apply(self, action: np.ndarray) -> list[Event]:
        episode, wanted = self._episode, float(action[0])
        index = int(wanted) if wanted.is_integer() and 0 <= wanted < len(episode.options) else None
        text = None if index is None else episode.options[index].action.text
        episode.choose(index)
        self._taken.append(NOTHING if index is None else index)
        self._log.append({"step": episode.steps, "option": index, "text": text, "end": episode.end})
        return []

    def judge(self) -> Judgement | None:
        episode = self._episode
        if episode.end is None:
            return None
        if episode.end == "success":
            return Judgement("goal_met", clause="K-01", text=f"solved in {_steps(episode.steps)}")
        if episode.end == "wrong":
            text = f"{self._log[-1]['text']!r} was wrong and cannot be undone"
            return Judgement("violation", "WRONG", "K-02", text)
        return Judgement("action_budget", clause="G-02", text=f"{_steps(episode.budget)} used up")

    def finish(self) -> Judgement:
        return self.judge() or Judgement("quit", text=f"ended after {_steps(self._episode.steps)}")

    def read(self, name: str) -> np.ndarray:
        return self._options() if name == "options" else self._solution()

    def _options(self) -> np.ndarray:
        """uint8 [OPTIONS_BYTES]"""
        text = "\n".join(option.action.text for option in self._episode.options).encode()
        return np.frombuffer(text.ljust(OPTIONS_BYTES, b"\0"), np.uint8)

    def _solution(self) -> np.ndarray:
        """int64 [budget]: found on a copy of the episode, since the order of the options changes with every step."""
        found = np.full(self._episode.budget, NOTHING, np.int64)
        copy = self._played(self._taken)
        try:
            path = [] if copy.end is not None else solution(copy.task, copy.state)
        except Unsolvable:
            path = []
        for number, action in enumerate(path if len(path) <= copy.budget - copy.steps else []):
            found[number] = copy.index_of(action)
            copy.choose(int(found[number]))
        return found

    # ---- pictures and records ---------------------------------------------------------------------------------------
    def render(self, camera: str, width: int, height: int) -> np.ndarray:
        if camera == VIEW:
            return _picture(self._episode, width)
        return _picture(self._example[int(camera.removeprefix(EXAMPLE))][1], width)

    def encode(self, frame: np.ndarray) -> bytes:
        from images.kidgym import png

        return png.encode(frame)

    def state(self) -> np.ndarray:
        """float32 [1 + budget]: steps taken, then the option taken at each (-1: none), -2 for those still to come."""
        values = np.full(1 + self._episode.budget, UNTAKEN, np.float32)
        values[0] = len(self._taken)
        values[1 : 1 + len(self._taken)] = self._taken
        return values

    def redraw(self, state: np.ndarray, camera: str, width: int, height: int, *, shadows: bool) -> np.ndarray:
        if camera != VIEW:
            return self.render(camera, width, height)
        return _picture(self._played([int(value) for value in state[1 : 1 + int(state[0])]]), width)

    def _played(self, taken: Sequence[int]) -> Episode:
        episode = Episode(self._code, self._level, self._seed)
        for index in taken:
            episode.choose(None if index == NOTHING else index)
        return episode

    def digest(self) -> str:
        episode = self._episode
        return hashlib.sha256(canonical((episode.task, episode.state, episode.steps, episode.end)).encode()).hexdigest()

    def realized(self) -> dict[str, Any]:
        """``puzzle`` identifies the episode without its seed, which a private list keeps to itself."""
        task = self._episode.task
        puzzle = hashlib.sha256(canonical(task).encode()).hexdigest()
        return {"task": self._code, "level": self._level, "theme": task.theme, "puzzle": puzzle}

    def scorer_log(self) -> list[dict[str, Any]]:
        return list(self._log)

    def close(self) -> None: ...


def _worked(code: str, level: int, seed: int) -> list[tuple[dict[str, Any], Episode]]:
    """Each step of a shortest solution: ``options``, ``option`` (index) and ``reason``, and the episode before it."""
    from images.kidgym.explain import reason

    found = []
    path = solution(Episode(code, level, seed).task)
    for number, action in enumerate(path):
        episode = Episode(code, level, seed)
        for before in path[:number]:
            episode.choose(episode.index_of(before))
        row = {
            "options": [option.action.text for option in episode.options],
            "option": episode.index_of(action),
            "reason": reason(episode.task, episode.state, action),
        }
        found.append((row, episode))
    return found


def _picture(episode: Episode, width: int) -> np.ndarray:
    """uint8 (width, width, 3): drawn in a size that there is, and made smaller where another one is wanted."""
    from images.kidgym.draw import SIDES, frame  # only where pictures are wanted: it loads the sprites

    cell = next((side for side in SIDES if 9 * side >= width), SIDES[-1])
    drawn = frame(episode.scene, episode.task.theme, cell)
    if len(drawn) == width:
        return drawn
    from PIL import Image

    return np.asarray(Image.fromarray(drawn).resize((width, width), Image.Resampling.LANCZOS))


def canonical(value: Any) -> str:
    """The same text for equal values in every process: the order of a set follows the texts of its members."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = ", ".join(f"{field.name}={canonical(getattr(value, field.name))}" for field in fields(value))
        return f"{type(value).__name__}({parts})"
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(canonical, value)))}}}"
    if isinstance(value, tuple):
        return f"({', '.join(map(canonical, value))})"
    return repr(value)


def _steps(number: int) -> str:
    return f"{number} step{'s' * (number != 1)}"
