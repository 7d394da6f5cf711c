"""One episode as it is played: lettered options in random order, a budget of steps, and its end."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

from images.kidgym.catalog import budget
from images.kidgym.generate import generate
from images.kidgym.rules import LETTERS, Action, Scene, State, Task

End = Literal["success", "wrong", "steps"]
"""``wrong``: a choice that cannot be undone was wrong; ``steps``: the step budget is used up."""
MAX_OPTIONS = 16  # sorting at level 3: four animals, four positions


@dataclass(frozen=True)
class Option:
    """One lettered choice."""

    letter: str
    action: Action


class Episode:
    """Plays one seed of a task at a level. The order of the options follows from seed and step alone."""

    def __init__(self, code: str, level: int, seed: int) -> None:
        self.task: Task = generate(code, level, seed)
        self.seed = seed
        self.state: State = self.task.start
        self.steps = 0
        self.budget = budget(code, level)
        self.end: End | None = None
        self.options = self._lettered()

    @property
    def scene(self) -> Scene:
        """What the picture of this moment shows."""
        return self.task.scene(self.state)

    def choose(self, index: int | None) -> End | None:
        """Take the option with this index; None, a reply that named no action, uses up a step and changes nothing.
        Returns how the episode has ended, if it has. Raises ValueError for an index without an option, or after the
        end."""
        if self.end is not None:
            raise ValueError(f"the episode has ended: {self.end}")
        if index is not None:
            if not 0 <= index < len(self.options):
                raise ValueError(f"option {index} does not exist; there are 0 to {len(self.options) - 1}")
            self.state = self.task.after(self.state, self.options[index].action.move)
        self.steps += 1
        verdict = self.task.verdict(self.state)
        if verdict is not None:
            self.end = "success" if verdict else "wrong"
        elif self.steps >= self.budget:
            self.end = "steps"
        self.options = self._lettered()
        return self.end

    def index_of(self, action: Action) -> int:
        """The present index of an action. Raises ValueError when it cannot be chosen now."""
        for index, option in enumerate(self.options):
            if option.action == action:
                return index
        raise ValueError(f"{action.text!r} is not among the options")

    def _lettered(self) -> list[Option]:
        if self.end is not None:
            return []
        actions = self.task.actions(self.state)
        Random(f"{self.task.code} {self.task.level} {self.seed} step {self.steps}").shuffle(actions)
        return [Option(letter, action) for letter, action in zip(LETTERS, actions, strict=False)]
