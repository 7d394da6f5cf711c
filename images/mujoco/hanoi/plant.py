"""Physics of a Hanoi board at 1/480 s, and the adapter that tells the referee what happened in neutral words."""

from __future__ import annotations

import mujoco
import numpy as np

from images.mujoco import physics
from images.mujoco.hanoi import geometry as g
from images.mujoco.hanoi.model import Compiled, ring
from images.mujoco.hanoi.state import NONE, Cast, Contacts, Post, Sample, State

SETTLE_S = 0.5  # rings come to rest before the episode begins


class Plant:
    """One episode's physics. ``advance`` is one control step and returns how it ended; ``commanded`` is the last
    action."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled, self.model = compiled, compiled.model
        m, self.data = self.model, mujoco.MjData(self.model)
        d, robot = self.data, compiled.robot
        self._warnings = d.warning.number
        self._body = np.array(m.geom_bodyid)
        joints = [m.joint(joint.name) for joint in robot.joints]
        self.positions = np.array([int(joint.qposadr[0]) for joint in joints])
        self.speeds = np.array([int(joint.dofadr[0]) for joint in joints])
        self._rings = np.array([m.body(ring(i)).id for i in range(g.RINGS)])
        first = [int(m.joint(ring(i)).dofadr[0]) for i in range(g.RINGS)]
        self._velocities = np.array([[start + k for k in range(6)] for start in first])
        for name, value in robot.start().items():
            d.joint(name).qpos = value
        self.commanded = self._targets = robot.rest()
        self._farthest = np.array(robot.slew) * g.CONTROL_DT
        d.ctrl[:] = self._targets
        mujoco.mj_forward(m, d)
        mujoco.mj_step(m, d, round(SETTLE_S / g.TIMESTEP))
        physics.check(self._warnings, 0.0)
        d.time = 0.0

    @property
    def time(self) -> float:
        return float(self.data.time)

    def cast(self) -> Cast:
        """Who is who among the bodies of contacts."""
        m, compiled = self.model, self.compiled
        posts = []
        for letter, peg in zip(g.PEGS, compiled.board.pegs, strict=True):
            x, y = compiled.realized.place(peg.at)
            posts.append(Post(letter, x, y, peg.support, peg.support + peg.length))
        return Cast(
            names=tuple(m.body(i).name for i in range(m.nbody)),
            rings=tuple(ring(i) for i in range(g.RINGS)),
            parts=dict(compiled.robot.parts),
            posts=tuple(posts),
        )

    def advance(self, action: np.ndarray) -> State:
        """One control step: the servos' targets go to the action, or as far towards it as their slew allows, in equal
        steps at 120 Hz, as stiff servos jerk what they hold when a target leaps. Raises PhysicsSanityError."""
        model, data, step, before = self.model, self.data, mujoco.mj_step, self._targets
        self.commanded = np.array(action, dtype=float)
        self._targets = np.clip(self.commanded, before - self._farthest, before + self._farthest)
        samples, rise = [], (self._targets - before) / g.SAMPLES
        for left in range(g.SAMPLES - 1, -1, -1):
            data.ctrl[:] = self._targets - left * rise
            parts: list[tuple[np.ndarray, ...]] = []
            for _ in range(g.SUBSTEPS):
                step(model, data)
                if data.ncon and data.nefc:
                    parts.append(self._bearing())
            contacts = self._contacts(parts)
            samples.append(Sample(float(data.time), data.qvel[self.speeds], contacts, data.xpos[self._rings]))
        physics.check(self._warnings, self.time)
        return self._state(tuple(samples))

    def now(self) -> State:
        """How things stand before the first action."""
        parts = [self._bearing()] if self.data.ncon and self.data.nefc else []
        speeds, centres = self.data.qvel[self.speeds], self.data.xpos[self._rings]
        return self._state((Sample(self.time, speeds, self._contacts(parts), centres),))

    def _contacts(self, parts: list[tuple[np.ndarray, ...]]) -> Contacts:
        """What ``_bearing`` kept of each substep as the contacts of a sample. MuJoCo also reports pairs that only come
        near, and for a step now and then a corner of two boxes in contact as deep as a millimetre or two, without
        force: those are none."""
        if not parts:
            return NONE
        rows, forces, geoms, distances = map(np.concatenate, zip(*parts, strict=True))
        bear = ((forces > 0) & (rows >= 0)).nonzero()[0]
        return Contacts(self._body[geoms[bear]], forces[bear], -distances[bear]) if len(bear) else NONE

    def _bearing(self) -> tuple[np.ndarray, ...]:
        """Of the contacts of the last substep: row among the constraints (-1: none), normal force, which is the first
        of a contact's constraint forces, geoms and distance. Copies alone, as this runs 480 times a second."""
        contact = self.data.contact
        rows = contact.efc_address.copy()
        return rows, self.data.efc_force[rows], contact.geom.copy(), contact.dist.copy()

    def _state(self, samples: tuple[Sample, ...]) -> State:
        d = self.data
        velocity = d.qvel[self._velocities]
        return State(
            time=float(d.time),
            axes=d.xmat[self._rings][:, 2::3],
            speeds=np.sqrt(np.einsum("ij,ij->i", velocity[:, :3], velocity[:, :3])),
            spins=np.sqrt(np.einsum("ij,ij->i", velocity[:, 3:], velocity[:, 3:])),
            joint_positions=d.qpos[self.positions],
            samples=samples,
        )

    def digest(self) -> str:
        """SHA-256 of the exact dynamic state."""
        return str(physics.state_digest(self.model, self.data).hexdigest())
