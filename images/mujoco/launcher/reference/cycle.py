"""One shot from aiming to the last bounce: both arms in parallel, and the projectile watched in flight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from images.mujoco.launcher.reference.aiming import Aim
from images.mujoco.launcher.reference.ballistics import Projectile
from images.mujoco.launcher.reference.mechanism import up
from images.mujoco.launcher.reference.operator import Operator
from images.reference.motion import SENSE, TICK, Crew, Program

Array = np.ndarray
WATCH_S = 0.7  # s of flight that are looked at in every control step
SETTLE_S = 1.3  # s more until what was hit has fallen


class Stuck(RuntimeError):
    """A primitive failed for good; the text says which."""


@dataclass
class Shot:
    """What happened: the aim that was really set when the trigger was pulled, and the watched track of the projectile
    (times (n,), positions (n, 3)). ``fired`` is False when the projectile was lost before."""

    fired: bool = False
    azimuth: float = 0.0
    elevation: float = 0.0
    draw: float = 0.0
    times: list[float] = field(default_factory=list)
    positions: list[Array] = field(default_factory=list)


class Cycle:
    """Shoots one projectile after the other."""

    def __init__(self, crew: Crew, operator: Operator, report: Callable[[str], None]) -> None:
        self.crew, self.operator, self.report = crew, operator, report
        self._done: set[str] = set()

    def shoot(self, aim: Aim, projectile: Projectile, loaded: bool) -> Shot:
        """Aim, draw, load the followed projectile unless it is ``loaded`` already, fire and watch. Raises Stuck."""
        self._done = set()
        shot = Shot()
        self.crew.run({"left": self._left(aim, shot), "right": self._right(aim, projectile, loaded, shot)})
        self.crew.sense()
        return shot

    def _await(self, event: str) -> Program:
        while event not in self._done:
            yield TICK

    def _left(self, aim: Aim, shot: Shot) -> Program:
        """Brake, elevation, brake, draw; then the left hand is idle and its program watches the shot."""
        act, arm = self.operator, self.operator.left
        self._check((yield from act.brake(arm, engage=False)), "the brake could not be released")
        self._done.add("released")
        self._check((yield from act.crank(arm, "elevation", aim.elevation)), "the elevation could not be set")
        yield from self._await("azimuth")
        self._check((yield from act.brake(arm, engage=True)), "the brake could not be set")
        self._check((yield from act.draw(arm, aim.draw)), "the spring could not be drawn")
        self._done.add("drawn")
        yield from act.park(arm)
        yield from self._await("trigger")
        yield from self._watch(shot)

    def _right(self, aim: Aim, projectile: Projectile, loaded: bool, shot: Shot) -> Program:
        act, arm = self.operator, self.operator.right
        m = act.mechanism
        over = m.knob("azimuth", act.readings.wheel("azimuth")) + up(0.1)
        yield from arm.line(over, 0.8, m.down["right"], m.gripper_open)
        yield from self._await("released")
        self._check((yield from act.crank(arm, "azimuth", aim.azimuth)), "the azimuth could not be set")
        self._done.add("azimuth")
        if loaded:
            yield from act.park(arm)
        else:
            self._check((yield from act.pick(arm, projectile.radius)), "the projectile could not be picked up")
            yield from act.carry(arm)
        yield from self._await("drawn")
        ready = loaded or (yield from act.load(arm, projectile.radius))
        if ready:
            yield from act.reach_trigger(arm)
            self._done.add("trigger")
            shot.fired = yield from act.pull_trigger(arm)
            self._check(shot.fired, "the trigger did not release the spring")
        else:
            self.report("the projectile fell beside the breech")
            self._done.update(("trigger", "lost"))
        yield from act.park(arm)

    def _watch(self, shot: Shot) -> Program:
        """Remember the aim until the shot, then the projectile's track until it has flown WATCH_S."""
        now = self.operator.readings
        yield SENSE
        while "lost" not in self._done and now.draw > shot.draw - 0.5 * self.operator.mechanism.ratchet_pitch:
            shot.azimuth, shot.elevation, shot.draw = now.azimuth, now.elevation, now.draw
            yield TICK
            yield SENSE
        start = now.time
        while "lost" not in self._done and now.time < start + WATCH_S:
            shot.times.append(now.time)
            shot.positions.append(now.projectile)
            yield TICK
            yield SENSE
        yield from self.operator.left.hold(SETTLE_S)

    def _check(self, done: bool, text: str) -> None:
        if not done:
            raise Stuck(text)
