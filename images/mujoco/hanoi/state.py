"""What the referee reads, whatever simulator made it: poses, velocities and contacts by name.

A simulator's adapter (``plant.py`` for MuJoCo) fills these; nothing of a simulator is known here or in the referee.
World frame, metres, seconds, radians, newtons. An episode begins when the rings, which are put 0.2 mm above what they
lie on, have come to rest: 0.5 s here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Contacts:
    """The contacts of one sample: which two bodies touch, as indices (n, 2) into the adapter's names, normal force
    (n,) and depth (n,), positive where bodies overlap. Only what bears force is a contact: the adapter leaves out pairs
    that come near, or overlap, without any."""

    bodies: np.ndarray
    forces: np.ndarray
    depths: np.ndarray


NONE = Contacts(np.empty((0, 2), dtype=int), np.empty(0), np.empty(0))


@dataclass(frozen=True)
class Sample:
    """One judged physics step, 120 of them a second: speeds of the robot's joints (j,) at its end, the contacts of
    every integration step in it, however short a blow is, and centres of the rings (5, 3) at its end, the largest
    first."""

    time: float
    joint_speeds: np.ndarray
    contacts: Contacts
    centres: np.ndarray


@dataclass(frozen=True)
class State:
    """The end of one control step: axes (5, 3; unit z), speeds (5,) in m/s and turning rates (5,) in rad/s of the
    rings, the largest first; positions of the robot's joints (j,); the samples since the last state, at least one."""

    time: float
    axes: np.ndarray
    speeds: np.ndarray
    spins: np.ndarray
    joint_positions: np.ndarray
    samples: tuple[Sample, ...]

    @property
    def centres(self) -> np.ndarray:
        """Centres of the rings now (5, 3)."""
        return self.samples[-1].centres


@dataclass(frozen=True)
class Post:
    """A peg where it really stands: axis (x, y), heights of its support and of its tip."""

    name: str
    x: float
    y: float
    support: float
    tip: float


@dataclass(frozen=True)
class Cast:
    """Who is who: ``names`` of all bodies that contacts may mention; ``rings`` are those of the rings, the largest
    first, ``parts`` says of the robot's bodies whether they are ``arm``, ``hand`` or ``finger``. Everything else
    stands still."""

    names: tuple[str, ...]
    rings: tuple[str, ...]
    parts: dict[str, str]
    posts: tuple[Post, ...]
