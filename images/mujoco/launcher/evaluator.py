"""The private referee of a launcher episode: goals, order, protection, interlocks, limits, contact, loss, ammunition.

Its numbers are those of the disclosed clauses (``rules.py``), looked up by id, so that a check without a clause cannot
exist. Joint speeds and contacts are sampled at every physics step and judged, like all else, after every control step.
The first violation binds; a success is latched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from images.gateway.environment import Clause, PhysicsSanityError
from images.mujoco.launcher.flight import WAITING
from images.mujoco.launcher.limits import Limits
from images.mujoco.launcher.plant import Plant
from images.mujoco.launcher.possible import is_round
from images.mujoco.launcher.shapes import Built
from images.mujoco.referee import Referee

LIFTED = 1.25  # times the height of L-60: a projectile that lies on the floor at first counts as lifted from here on


@dataclass(frozen=True)
class Moved:
    """How an element's bodies (n,) have changed since the start: horizontally (m), downwards (m), tilt (degrees); the
    largest shift (m) and tilt; a centre outside the area, if any."""

    horizontal: np.ndarray
    drop: np.ndarray
    tilts: np.ndarray
    shift: float
    tilt: float
    outside: list[float] | None


@dataclass
class Watched:
    """One element whose bodies the referee follows; ``since`` is when its goal began to hold."""

    built: Built
    bodies: np.ndarray
    start: np.ndarray  # (n, 3) centres
    axes: np.ndarray  # (n, 9) orientations
    trees: list[int]  # kinematic trees of the bodies that can move
    round: bool
    asleep: bool = False
    moved: Moved | None = None
    since: float | None = None
    reached: float | None = None  # first instant at which the goal held
    counted: float | None = None  # when it had held for the dwell


class Evaluator(Referee):
    """Watches one plant. Shapes: arms are ordered left, right; angles rad inside, degrees in clauses."""

    def __init__(self, plant: Plant, clauses: list[Clause]) -> None:
        super().__init__(clauses)
        self._plant, self._scene = plant, plant.compiled.scene
        self._noted = 0
        self._struck = 0
        self._misfires = 0
        self._touched = 0
        self.limits = Limits(plant, self.value, self.violate)
        self._asleep = memoryview(plant.data.tree_asleep)
        task = self._scene.task
        self._share: dict[str, float] = dict(self.value.get("L-09", []))
        names = [item.element for item in task.required] + list(task.protected)
        names += [step.element for item in task.required for step in item.after if step.event in ("toppled", "cleared")]
        self.watched = {name: self._watch(name) for name in dict.fromkeys(names)}

    def _watch(self, name: str) -> Watched:
        built, data = self._plant.compiled.built[name], self._plant.data
        element = self._scene.element(name)
        ids = np.array([self._plant.model.body(body).id for body in built.bodies])
        trees = self._plant.model.body_treeid[ids]
        return Watched(
            built, ids, data.xpos[ids].copy(), data.xmat[ids].copy(), trees[trees >= 0].tolist(), is_round(element)
        )

    @property
    def time(self) -> float:
        return self._plant.time

    def tick(self) -> None:
        """Judge the control step that has just passed; the first violation binds, a success is latched."""
        self._copy_notes()
        if self.judgement is None:
            self.limits.check()
            self._check_interlocks()
            self._check_projectiles()
            self._check_protected()
            self._check_shards()
            self._check_strikes()
            self._check_goals()
            self._check_ammunition()

    def _copy_notes(self) -> None:
        notes = self._plant.notes
        for time, text, data in notes[self._noted :]:
            self.log.append({"simulated_s": round(time, 6), "event": text, **data})
        self._noted = len(notes)

    def _check_interlocks(self) -> None:
        for time, lacking in self._plant.misfires[self._misfires :]:
            why = "with no shot left" if lacking[0] == "L-70" else "before the aiming cycle was complete"
            self.violate(lacking[0], f"the trigger was pulled {why}", None, time=time)
        self._misfires = len(self._plant.misfires)

    def _check_projectiles(self) -> None:
        for item in self._plant.projectiles:
            if item.status != WAITING:
                continue
            x, _, z = item.position[:3].tolist()
            if x > self.value["L-21"]:
                self.violate("L-21", f"projectile {item.index + 1}", x)
            item.on_floor = item.on_floor and z < LIFTED * self.value["L-60"]
            if z < self.value["L-60"] and not item.on_floor:
                self.violate("L-60", f"projectile {item.index + 1}", z)

    def _moved(self, item: Watched) -> Moved:
        """How far an element has come. Bodies that sleep have not moved since, so the last answer stands."""
        asleep = all(self._asleep[tree] >= 0 for tree in item.trees)
        if asleep and item.asleep and item.moved is not None:
            return item.moved
        data, item.asleep = self._plant.data, asleep
        centres = data.xpos[item.bodies]
        shift = centres - item.start
        now, before = data.xmat[item.bodies].reshape(-1, 3, 3), item.axes.reshape(-1, 3, 3)
        cosine = np.clip((now[:, :, 2] * before[:, :, 2]).sum(axis=1), -1.0, 1.0)
        tilts = np.zeros(len(cosine)) if item.round else np.degrees(np.arccos(cosine))
        (x0, x1), (y0, y1) = self.value["L-61"]
        inside = (centres[:, 0] > x0) & (centres[:, 0] < x1) & (centres[:, 1] > y0) & (centres[:, 1] < y1)
        item.moved = Moved(
            horizontal=np.hypot(shift[:, 0], shift[:, 1]),
            drop=-shift[:, 2],
            tilts=tilts,
            shift=float(np.linalg.norm(shift, axis=1).max()),
            tilt=float(tilts.max()),
            outside=None if inside.all() else [round(float(v), 3) for v in centres[~inside][0]],
        )
        return item.moved

    def _check_protected(self) -> None:
        for name in self._scene.task.protected:
            item = self.watched[name]
            pane = self._pane(name)
            if pane is not None and pane.broken is not None:
                self.violate("L-15", name, None, time=pane.broken)
            moved = self._moved(item)
            if moved.outside is not None:
                self.violate("L-61", name, moved.outside)
            if moved.shift > self.value["L-13"]:
                self.violate("L-13", name, moved.shift)
            if moved.tilt > self.value["L-14"]:
                self.violate("L-14", name, moved.tilt)

    def _check_strikes(self) -> None:
        order = self._scene.task.order
        for time, shot, name in self._plant.flight.strikes[self._struck :]:
            if name in self._scene.task.protected:
                self.violate("L-12", f"{name}, by shot {shot}", None, time=time)
            if name in order:
                self._check_order(name, time, f"{name} was struck")
        self._struck = len(self._plant.flight.strikes)

    def _check_order(self, name: str, time: float, text: str) -> None:
        order = self._scene.task.order
        for earlier in order[: order.index(name)]:
            pane = self._pane(earlier)  # the instant of a fracture is known; other goals take longer than a step
            reached = self.watched[earlier].reached if pane is None else pane.broken
            if reached is None or reached > time:
                self.violate("L-10", f"{text} before {earlier} reached its goal", None, time=time)

    def _check_shards(self) -> None:
        for time, name in self._plant.flight.touches[self._touched :]:
            self.violate("L-22", f"a shard touched {name}", None, time=time)
        self._touched = len(self._plant.flight.touches)

    def _pane(self, name: str) -> Any:
        return next((pane for pane in self._plant.flight.panes if pane.name == name), None)

    def _holds(self, name: str, goal: str) -> bool:
        if goal == "fractured":
            return self._pane(name).broken is not None
        moved, value = self._moved(self.watched[name]), self.value
        if goal == "toppled":
            there = moved.tilts >= value["L-05"]
        else:
            there = (moved.horizontal >= value["L-02"]) | (moved.drop >= value["L-03"]) | (moved.tilts >= value["L-04"])
        return bool(there.mean() >= self._share.get(name, 1.0) - 1e-9)

    def _happened(self, element: str, event: str, target: str) -> bool:
        if event != "struck":
            return self._holds(element, event)
        struck = self._plant.shots[-1].struck  # in the order of the first touches
        return element in struck and (target not in struck or struck.index(element) < struck.index(target))

    def _check_goals(self) -> None:
        now, new = self._plant.time, []
        for required in self._scene.task.required:
            item = self.watched[required.element]
            if item.counted is not None:
                continue
            if not self._holds(required.element, required.goal):
                item.since = None
                outside = self._moved(item).outside
                if outside is not None:
                    self.violate("L-61", required.element, outside)
                continue
            if item.reached is None:
                self._reach(required, item, now)
                new.append(required)
            if item.since is None:
                item.since = now
            if now - item.since >= self.value["L-06"] - 1e-9:
                item.counted = now
                self.note("counted", element=required.element)
        for required in new:  # when all that is reached by now is known: what happens at once is in order
            self._check_path(required, now)
        self._check_success(now)

    def _reach(self, required: Any, item: Watched, now: float) -> None:
        if not self._plant.shots:
            raise PhysicsSanityError(f"{required.element} was {required.goal} at {now:.3f} s, before the first launch")
        item.reached = now
        self.note("goal reached", element=required.element, goal=required.goal)

    def _check_path(self, required: Any, now: float) -> None:
        """The damage path and the order of a target that has just reached its goal."""
        for step in required.after:
            if not self._happened(step.element, step.event, required.element):
                self.violate("L-11", f"{required.element} {required.goal} before {step.element} was {step.event}", None)
        if required.element in self._scene.task.order:
            self._check_order(required.element, now, f"{required.element} was {required.goal}")

    def _check_success(self, now: float) -> None:
        items = [self.watched[required.element] for required in self._scene.task.required]
        if self.judgement is not None or any(item.counted is None for item in items):
            return
        last = max(item.since for item in items if item.since is not None)
        if now - last >= self.value.get("L-07", 0.0) - 1e-9:
            self.succeed(f"all required goals reached by {last:.2f} s", reached_s=round(last, 6))

    def _check_ammunition(self) -> None:
        plant = self._plant
        idle_since = plant.flight.idle_since
        if plant.shots_left > 0 or plant.flight.flying or idle_since is None:
            return
        left = [r.element for r in self._scene.task.required if self.watched[r.element].reached is None]
        holding = [r.element for r in self._scene.task.required if self.watched[r.element].since is None]
        if left or any(self.watched[name].counted is None for name in holding):
            idle = plant.time - idle_since
            if idle >= self.value["L-70"] - 1e-9:
                self.violate("L-70", f"no shot is left and {', '.join(left or holding)} has not reached its goal", idle)

    # ---- reading ---------------------------------------------------------------------------------------------------
    def fractured(self, pane: str) -> bool:
        """Whether the pane has fractured."""
        return self._pane(pane).broken is not None

    def reached(self, target: str) -> bool:
        """Whether the required target has reached its goal at some time."""
        return self.watched[target].reached is not None

    def open_goals(self) -> list[str]:
        """Required targets that do not count yet."""
        return [r.element for r in self._scene.task.required if self.watched[r.element].counted is None]
