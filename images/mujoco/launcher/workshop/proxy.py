"""A launcher that is aimed by hand of the computer: the environment's own plant and referee with sleeping arms.

A shot is staged by writing azimuth, elevation, latched draw and the seated projectile; launch, flight, strikes, glass,
collapse and every judgement are those of an episode. The arms sleep, which leaves a third of the time. ``branch`` runs
a function in a fork of the process, so that one state of a scene can be shot at many times.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import mujoco
import numpy as np

from images.gateway.environment import Judgement, PhysicsSanityError
from images.mujoco.launcher import geometry as g
from images.mujoco.launcher.evaluator import Evaluator
from images.mujoco.launcher.flight import FLYING
from images.mujoco.launcher.mechanism import barrel_rotation, centre_height
from images.mujoco.launcher.model import compile_scene, realize
from images.mujoco.launcher.plant import Plant
from images.mujoco.launcher.reference.ballistics import Ballistics
from images.mujoco.launcher.reference.mechanism import Mechanism
from images.mujoco.launcher.rules import clauses, interlocks
from images.mujoco.launcher.scene import Scene

SETTLES_S = 5.0  # s: what still moves this long after a projectile was taken away is left moving
Result = TypeVar("Result")


@dataclass(frozen=True)
class Aim:
    """Azimuth and elevation of the barrel (rad) and the draw (m)."""

    azimuth: float
    elevation: float
    draw: float

    def __str__(self) -> str:
        az, el = np.degrees([self.azimuth, self.elevation])
        return f"az {az:+6.2f} el {el:5.2f} draw {1000 * self.draw:3.0f}"


@dataclass
class Outcome:
    """What one shot did. ``struck`` in order; ``impact`` is the centre of the projectile (3,) when it first struck;
    ``reached`` and ``fractured`` are new with this shot; ``moved`` is how far the required targets have come (m)."""

    aim: Aim
    struck: list[str] = field(default_factory=list)
    impact: np.ndarray | None = None
    reached: list[str] = field(default_factory=list)
    fractured: list[str] = field(default_factory=list)
    moved: float = 0.0
    muzzle_speed: float | None = None
    judgement: Judgement | None = None

    @property
    def broke(self) -> str | None:
        """Id of the violated clause, if the shot ended the episode badly for another reason than spent ammunition."""
        judgement = self.judgement
        bad = judgement is not None and judgement.cause != "goal_met" and judgement.code != "AMMO"
        return judgement.clause if bad and judgement is not None else None

    @property
    def won(self) -> bool:
        return self.judgement is not None and self.judgement.cause == "goal_met"


class Proxy:
    """One episode of ``scene`` at a condition's ``parameters`` without arms."""

    def __init__(self, scene: Scene, parameters: dict[str, Any]) -> None:
        self.scene, self.realized = scene, realize(parameters)
        compiled = compile_scene(scene, self.realized, parameters["background"], f"{scene.case}.json")
        for arm in g.ARMS:
            tree = compiled.model.body_treeid[compiled.model.body(f"{arm}_link1").id]
            compiled.model.tree_sleep_policy[tree] = mujoco.mjtSleepPolicy.mjSLEEP_INIT
        found = clauses(scene)
        self.plant = Plant(compiled, interlocks(found))
        self.evaluator = Evaluator(self.plant, found)
        mechanism = Mechanism.from_parameters(g.parameters())
        self.ballistics = Ballistics(mechanism, self.realized.stiffness, np.array(self.realized.pivot))
        # What is no part of the scene: mechanism, arms, ammunition.
        elements = {name for built in compiled.built.values() for name in built.bodies + built.shards}
        model = compiled.model
        trees = {int(model.body_treeid[model.body(name).id]) for name in elements}
        self._trees = np.array(sorted(tree for tree in trees if tree >= 0), dtype=int)
        self._required = [item.element for item in scene.task.required]

    @property
    def judgement(self) -> Judgement | None:
        return self.evaluator.judgement

    @property
    def pending(self) -> list[str]:
        """Required targets that have not reached their goals."""
        return [name for name in self._required if self.evaluator.watched[name].reached is None]

    @property
    def settled(self) -> bool:
        """Whether nothing of the scene moves."""
        return bool((self.plant.data.tree_asleep[self._trees] >= 0).all())

    def advance(self, seconds: float) -> None:
        """Let time pass, at most until the episode is judged."""
        for _ in range(round(seconds / g.CONTROL_DT)):
            if self.judgement is not None:
                return
            self._tick()

    def fire(self, aim: Aim) -> Outcome:
        """Shoot the next projectile and wait until the scene is at rest again."""
        outcome = Outcome(aim)
        before = self._progress()
        self._stage(aim)
        self._put(trigger=0.3)
        try:
            self._follow(outcome)
        except PhysicsSanityError as error:
            outcome.judgement = Judgement("physics_sanity", clause="physics", text=str(error))
            return outcome
        after = self._progress()
        outcome.reached = [name for name in after[0] if name not in before[0]]
        outcome.fractured = [name for name in after[1] if name not in before[1]]
        outcome.moved, outcome.judgement = after[2], self.judgement
        return outcome

    def fields(self) -> dict[str, bool]:
        """``reached/NAME`` and ``fractured/NAME`` as the observation has them."""
        reached, fractured, _ = self._progress()
        values = {f"reached/{name}": name in reached for name in self._required}
        return values | {f"fractured/{p.name}": p.name in fractured for p in self.plant.flight.panes}

    def position(self, name: str) -> np.ndarray:
        """Where an element's first body is (3,), as ``pose/NAME`` says; of a pane the centre of its sheet."""
        plant, built = self.plant, self.plant.compiled.built[name]
        if built.shards:
            return np.array(plant.data.geom_xpos[plant.model.geom(name).id])
        return np.array(plant.data.xpos[plant.model.body(built.bodies[0]).id])

    # ---- the mechanism ---------------------------------------------------------------------------------------------
    def _put(self, **joints: float) -> None:
        for name, value in joints.items():
            q, v = self.plant.addresses([name])
            self.plant.data.qpos[q], self.plant.data.qvel[v] = value, -0.0

    def _stage(self, aim: Aim) -> None:
        plant = self.plant
        notch = round(aim.draw / g.RATCHET_PITCH)
        draw = notch * g.RATCHET_PITCH
        self._put(azimuth=aim.azimuth, azimuth_wheel=aim.azimuth / g.GEAR, trigger=0.0, draw=-draw)
        self._put(elevation=aim.elevation, elevation_wheel=aim.elevation / g.GEAR)
        brakes = [plant.model.equality(f"{axis}_brake").id for axis in ("azimuth", "elevation")]
        plant.model.eq_data[brakes, 0] = [aim.azimuth, aim.elevation]
        plant.model.jnt_range[plant.model.joint("draw").id, 1] = -draw
        plant.notch, plant.armed, plant.released, plant.settled = notch, True, True, True
        plant.trigger_down = False
        item = plant.projectiles[len(plant.shots)]
        s = -draw + g.PUSHER_FRONT + item.radius
        local = [g.REST + s, 0, centre_height(item.radius)]
        item.position[:3] = np.asarray(self.realized.pivot) + barrel_rotation(aim.azimuth, aim.elevation) @ local
        item.velocity[:] = -0.0

    # ---- the shot --------------------------------------------------------------------------------------------------
    def _tick(self) -> None:
        self.plant.advance()
        self.evaluator.tick()

    def _follow(self, outcome: Outcome) -> None:
        plant = self.plant
        item = plant.projectiles[len(plant.shots)]
        position, velocity, time = item.position[:3].copy(), item.velocity[:3].copy(), plant.time
        deadline = None
        while self.judgement is None:
            if item.status == FLYING and outcome.impact is None:
                position, velocity, time = item.position[:3].copy(), item.velocity[:3].copy(), plant.time
            self._tick()
            shot = plant.shots[-1] if plant.shots else None
            if shot is None or shot.projectile != item.index:
                raise RuntimeError(f"the proxy's launch was held back: {plant.misfires}")
            if outcome.impact is None and shot.struck:
                strike = next(at for at, number, _ in plant.flight.strikes if number == shot.number)
                t = strike - time
                outcome.impact = position + velocity * t - np.array([0, 0, 4.905 * t * t])
            outcome.struck, outcome.muzzle_speed = list(shot.struck), shot.muzzle_speed
            if plant.flight.flying:
                continue
            deadline = plant.time + SETTLES_S if deadline is None else deadline
            if plant.shots_left and (self.settled or plant.time > deadline):
                return

    def _progress(self) -> tuple[list[str], list[str], float]:
        watched = self.evaluator.watched
        reached = [name for name in self._required if watched[name].reached is not None]
        moved = [watched[name].moved for name in self._required]
        fractured = [pane.name for pane in self.plant.flight.panes if pane.broken is not None]
        return reached, fractured, sum(min(m.shift, 0.2) for m in moved if m is not None)


def branch(work: Callable[[], Result]) -> Result:
    """The result of ``work`` in a fork: whatever it does to a scene is undone. Raises RuntimeError with its text."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer: tuple[bool, Any] = True, work()
        except Exception as error:
            answer = False, f"{type(error).__name__}: {error}"
        with os.fdopen(send, "wb") as pipe:
            pickle.dump(answer, pipe)
        sys.stdout.flush()
        os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    done, value = pickle.loads(data)
    if not done:
        raise RuntimeError(value)
    return value
