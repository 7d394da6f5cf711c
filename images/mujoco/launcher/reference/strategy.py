"""Which shot comes next: the order of targets, the panes in the way, and the aim for either."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from images.mujoco.launcher.reference.aiming import Aim, Limits, NoAim, Wish, search
from images.mujoco.launcher.reference.ballistics import Ballistics, Projectile
from images.mujoco.launcher.reference.plan import Stage
from images.mujoco.launcher.reference.range import Range

AIM_HEIGHT = 0.65  # of a target's height: high enough to topple it, low enough not to fly over
BREAKING = 1.2  # impulse on a pane over its threshold


@dataclass(frozen=True)
class Plan:
    """The next shot: its aim, and what it is for."""

    aim: Aim
    purpose: str


class Strategy:
    """Chooses shots: first those of the scene's plan, ``stages`` in order, each until it has done what it is for; then,
    or without a plan, straight at what is left."""

    def __init__(
        self, ballistics: Ballistics, limits: Limits, parameters: Mapping[str, Any], stages: Sequence[Stage]
    ) -> None:
        self.ballistics, self.limits = ballistics, limits
        self.stages = list(stages)
        self.protected = frozenset(parameters["protected"])
        self.required = {item["element"]: item for item in parameters["required"]}
        self.order = [*parameters["order"], *(name for name in self.required if name not in parameters["order"])]

    def next(self, field: Range, projectile: Projectile, present: tuple[float, float], drawn: float) -> Plan | None:
        """The next shot from the ``present`` aim (azimuth, elevation) with the spring ``drawn`` so far, or None when
        every required goal is reached. Raises NoAim."""
        pending = [name for name in self.order if not field.reached(name)]
        if not pending:
            return None
        low, high = self.limits.draw
        limits = Limits(self.limits.azimuth, self.limits.elevation, (max(low, drawn), high))
        while self.stages and self.stages[0].until and field.done(self.stages[0].until):
            del self.stages[0]
        if self.stages:
            stage = self.stages[0] if self.stages[0].until else self.stages.pop(0)
            aim = stage.aim(self.ballistics, projectile, field.position(stage.hit), limits)
            return Plan(aim, f"hit {stage.hit} as planned")
        name = self._first_step(field, pending[0])
        try:
            return Plan(self._aim(field, name, projectile, present, limits), f"hit {name}")
        except NoAim as blocked:
            for pane in field.panes_towards(name, self.ballistics.pivot):
                if pane not in self.protected:
                    return Plan(self._aim(field, pane, projectile, present, limits), f"break {pane} before {name}")
            raise blocked

    def _first_step(self, field: Range, name: str) -> str:
        """The target itself, or the first element of its damage path that has not had its event yet."""
        for step in self.required[name]["after"]:
            if not field.happened(step["element"], step["event"]):
                return str(step["element"])
        return name

    def _aim(
        self, field: Range, name: str, projectile: Projectile, present: tuple[float, float], limits: Limits
    ) -> Aim:
        goal = field.solid(name)
        height = 0.5 if field.is_pane(name) else AIM_HEIGHT
        point = goal.centre + (2 * height - 1) * goal.half[2] * goal.rotation[:, 2]
        low = BREAKING * field.threshold(name) / projectile.mass if field.is_pane(name) else 0.0
        wish = Wish(goal, point, frozenset(), (low, np.inf))
        return search(self.ballistics, projectile, wish, field.boxes(), limits, present)
