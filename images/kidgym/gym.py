"""KidGym as Gymnasium environments (extra ``gym``), registered when this module is imported:

>>> import gymnasium, images.kidgym.gym
>>> env = gymnasium.make("assay/KidGym-CL-L1-v0")  # any task, any level

Observation: uint8 picture (9 cells, 9 cells, 3). Action: the index of an option; which options there are stands in
``info["options"]``, as words. An index without an option uses up a step and changes nothing, like a reply that names no
action. Reward 1.0 for success. An episode terminates with success or with a wrong choice that cannot be undone, and is
truncated when its steps are used up.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from images.kidgym.catalog import LEVELS, NAMES
from images.kidgym.draw import SIDES, frame
from images.kidgym.episode import MAX_OPTIONS, Episode

MAX_SEED = 2**31


class KidGymEnv(gymnasium.Env[np.ndarray, np.int64]):
    """One task at one level. ``reset(seed=n)`` starts the episode of seed n; without a seed, a random one."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 1}  # noqa: RUF012 (as in the base class)

    def __init__(self, task: str, level: int, cell: int = 64, render_mode: str | None = None) -> None:
        if cell not in SIDES:
            raise ValueError(f"cell {cell!r} is not one of {', '.join(map(str, SIDES))} pixels")
        self._task, self._level, self._cell = task, level, cell
        self.render_mode = render_mode
        self.observation_space = gymnasium.spaces.Box(0, 255, (9 * cell, 9 * cell, 3), np.uint8)
        self.action_space = gymnasium.spaces.Discrete(MAX_OPTIONS)
        self._episode: Episode | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(MAX_SEED)) if seed is None else seed
        self._episode = Episode(self._task, self._level, drawn)
        return self._frame(), self._info()

    def step(self, action: np.int64 | int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        episode = self._running()
        index = int(action)
        end = episode.choose(index if 0 <= index < len(episode.options) else None)
        reward = 1.0 if end == "success" else 0.0
        return self._frame(), reward, end in ("success", "wrong"), end == "steps", self._info()

    def render(self) -> np.ndarray | None:
        return self._frame() if self.render_mode == "rgb_array" else None

    def _running(self) -> Episode:
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        return self._episode

    def _frame(self) -> np.ndarray:
        episode = self._running()
        return frame(episode.scene, episode.task.theme, self._cell)

    def _info(self) -> dict[str, Any]:
        episode = self._running()
        return {
            "goal": episode.task.goal,
            "options": [option.action.text for option in episode.options],
            "episode_seed": episode.seed,
            "steps": episode.steps,
            "budget": episode.budget,
            "end": episode.end,
        }


for _task in NAMES:
    for _level in LEVELS:
        gymnasium.register(
            id=f"assay/KidGym-{_task}-L{_level}-v0",
            entry_point="images.kidgym.gym:KidGymEnv",
            kwargs={"task": _task, "level": _level},
        )
