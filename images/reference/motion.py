"""Motion programs: several arms move at once, each driven by a generator, and their commands go out in batches.

A program is a generator. It yields :data:`TICK` after it has set its arm's command for the next control step, and
:data:`SENSE` when it needs fresh field values before it goes on (no time passes). Everything between two readings
travels in one call to the gateway.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from images.client.results import Event, Observation, StepResult, Terminal
from images.reference.panda import PandaArm
from images.reference.rotations import rotation_about, rotation_vector

Array = np.ndarray
TICK, SENSE = "tick", "sense"
Program = Generator[str, None, Any]
STILL = 1e-5  # rad in one control step


class Terminated(Exception):
    """The environment ended the episode. ``terminal`` is its public verdict."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__(f"{terminal.cause}: {terminal.text}")
        self.terminal = terminal


class Session(Protocol):
    """The part of the client SDK that motion needs."""

    def step(self, actions: Array, fields: Iterable[str] = ()) -> StepResult: ...

    def observe(self, fields: Iterable[str] | None = None) -> Observation: ...


def minimum_jerk(u: float) -> float:
    """Progress 0..1 of a minimum-jerk motion at the fraction ``u`` of its time (peak speed 1.875 of the mean)."""
    return u * u * u * (10 + u * (6 * u - 15))


class Effector:
    """A commanded tool pose, world from tool, that programs move: ``position`` (3,) in metres, ``rotation`` (3, 3). A
    control step lasts ``dt`` seconds."""

    def __init__(self, name: str, dt: float, position: Array, rotation: Array) -> None:
        self.name, self.dt, self.position, self.rotation = name, dt, position, rotation

    def command(self) -> Array:
        """Its part of the action for the next control step, inside the declared limits."""
        raise NotImplementedError

    def steps(self, seconds: float) -> int:
        return max(1, round(seconds / self.dt))

    def line(self, goal: Array, seconds: float, rotation: Array | None = None) -> Program:
        """Straight minimum-jerk line to ``goal`` (m), turning to ``rotation`` on the way."""
        start, turned = self.position.copy(), self.rotation.copy()
        goal = np.asarray(goal, dtype=float)
        turn = np.zeros(3) if rotation is None else rotation_vector(turned, rotation)
        angle = float(np.sqrt(turn @ turn))
        count = self.steps(seconds)
        for i in range(1, count + 1):
            u = minimum_jerk(i / count)
            self.position = start + u * (goal - start)
            if angle > 1e-9:
                self.rotation = rotation_about(turn / angle, angle * u) @ turned
            yield TICK

    def hold(self, seconds: float) -> Program:
        """Stay where the command is."""
        for _ in range(self.steps(seconds)):
            yield TICK


class Arm(Effector):
    """One arm's command: a tool pose that programs move, solved into joint targets once per control step.

    ``lag`` (s) is the damping over the stiffness of the joint servos: the command leads by ``lag`` times the joint
    velocity, which cancels the servo's lag. ``offset`` (m) is added to the commanded position and approaches
    ``offset_goal`` slowly, so that a correction never jerks a grasped object. ``low`` and ``high`` bound the command
    (8,), ``speed`` (7,) the speed of each joint (rad/s): a faster path is followed late rather than fast.
    """

    OFFSET_RATE = 0.0004  # m per control step

    def __init__(
        self,
        name: str,
        kinematics: PandaArm,
        q: Array,
        grip: float,
        dt: float,
        lag: float,
        low: Array,
        high: Array,
        speed: Array,
    ) -> None:
        self.q = np.array(q, dtype=float)
        super().__init__(name, dt, *kinematics.forward(self.q))
        self.kinematics, self.lag = kinematics, lag
        self.low, self.high, self.largest_lead = low, high, np.asarray(speed) * dt
        self.grip = grip
        self.offset, self.offset_goal = np.zeros(3), np.zeros(3)
        self.worst_error = 0.0  # m, largest residual of the solver
        self._goal, self._still = (self.position, self.rotation), False

    def command(self) -> Array:
        """Joint targets (rad) and gripper command for the next control step, inside the declared limits."""
        return np.minimum(np.maximum(np.append(self.follow(), self.grip), self.low), self.high)

    def follow(self) -> Array:
        """Take the next step towards the commanded pose and return the joint targets (7,) that lead by the lag."""
        correction = self.offset_goal - self.offset
        if correction.any():
            self.offset = self.offset + np.clip(correction, -self.OFFSET_RATE, self.OFFSET_RATE)
        q, goal = self.q, self.position + self.offset
        if not (self._still and np.array_equal(goal, self._goal[0]) and np.array_equal(self.rotation, self._goal[1])):
            q, error = self.kinematics.track(self.q, goal, self.rotation)
            self.worst_error = max(self.worst_error, error)
        lead = q - self.q
        over = float((np.abs(lead) / self.largest_lead).max())
        if over > 1:
            lead = lead / over
            q = self.q + lead
        # A hand that holds its place is solved no further: its posture has settled too.
        self._goal, self._still = (goal, self.rotation), float(np.abs(lead).max()) < STILL
        self.q = q
        return q + (self.lag / self.dt) * lead

    def line(self, goal: Array, seconds: float, rotation: Array | None = None, grip: float | None = None) -> Program:
        """As :meth:`Effector.line`; the gripper goes to ``grip`` at once."""
        self.grip = self.grip if grip is None else grip
        yield from super().line(goal, seconds, rotation)

    def hold(self, seconds: float, grip: float | None = None) -> Program:
        """Stay where the command is, for grasping and letting go."""
        self.grip = self.grip if grip is None else grip
        yield from super().hold(seconds)


class Crew:
    """Arms that act together through one session; their commands stand one after the other in the action.

    ``world`` holds the values of the watched fields as last read, ``time`` (s) when that was; ``events`` collects what
    the replies told. ``batch`` is the largest number of actions in one call.
    """

    def __init__(self, session: Session, arms: Sequence[Effector], fields: Sequence[str] = (), batch: int = 25) -> None:
        self.session, self.arms, self.batch = session, list(arms), batch
        self.world: dict[str, Array] = {}
        self.time = 0.0
        self.events: list[Event] = []
        self.actions = 0
        self.calls = 0
        self._fields = list(fields)
        self._pending: list[Array] = []
        self._fresh = False

    def watch(self, fields: Sequence[str]) -> None:
        """Read these fields whenever a program senses."""
        self._fields, self._fresh = list(fields), False

    def sense(self) -> dict[str, Array]:
        """Send what is pending and return the present values of the watched fields."""
        if self._pending:
            self._send(self._fields)
        elif not self._fresh:
            self._update(self._observe(self._fields))
        return self.world

    def read(self, fields: Sequence[str]) -> dict[str, Array]:
        """Send what is pending and return the present values of other fields, once."""
        if self._pending:
            self._send(self._fields)
        return self._observe(fields).fields

    def run(self, programs: dict[str, Program]) -> dict[str, Any]:
        """Drive the programs in parallel to their ends and return what each returned. Arms that no program moves
        keep still."""
        live, results = dict(programs), {}
        while live:
            for name in list(live):
                try:
                    while next(live[name]) == SENSE:
                        self.sense()
                except StopIteration as end:
                    results[name] = end.value
                    del live[name]
            if live:
                self._pending.append(np.concatenate([arm.command() for arm in self.arms]))
                self._fresh = False
                if len(self._pending) >= self.batch:
                    self._send(())
        return results

    def _send(self, fields: Sequence[str]) -> None:
        actions, self._pending = np.array(self._pending), []
        self.calls += 1
        reply = self.session.step(actions, fields=fields)
        self.actions += reply.applied
        self.events.extend(reply.events)
        if reply.terminal is not None:
            raise Terminated(reply.terminal)
        if fields:
            self._update(reply)

    def _observe(self, fields: Sequence[str]) -> Observation:
        self.calls += 1
        reply = self.session.observe(fields=fields)
        if reply.terminal is not None:
            raise Terminated(reply.terminal)
        return reply

    def _update(self, reply: Observation | StepResult) -> None:
        self.world, self.time, self._fresh = reply.fields, reply.simulated_s, True
