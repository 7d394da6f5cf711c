"""The board as ``describe`` and the L3 fields tell it: where pegs, rings and handles are."""

from __future__ import annotations

from typing import Any

import numpy as np

from images.client.results import Description
from images.reference.motion import Crew
from images.reference.rotations import quaternion_matrix

Array = np.ndarray
PEGS = ("A", "B", "C")


class Table:
    """``pegs`` (3, 2) are the axes as they really stand, ``supports`` and ``tips`` (3,) heights, ``highest`` that of
    the highest peg or barrier (m)."""

    def __init__(self, crew: Crew, description: Description) -> None:
        p: dict[str, Any] = description.parameters
        self._crew = crew
        self.count = int(p["rings"])
        self.radii, self.height = np.array(p["radii"]), float(p["ring_height"])
        self.clearances = np.array(p["clearances"])
        self.reach, self.yaws = float(p["handle_reach"]), np.radians(p["handle_yaws"])
        self.supports = np.array([peg["support"] for peg in p["board_pegs"]])
        self.tips = self.supports + np.array([peg["length"] for peg in p["board_pegs"]])
        barriers = [barrier["size"][2] for barrier in p["board_barriers"]]
        self.highest = max([*self.tips.tolist(), *barriers])
        self.goal = tuple(PEGS.index(letter) for letter in p["goal"])
        standing = crew.read([f"pose/peg_{letter}" for letter in PEGS])
        self.pegs = np.array([standing[f"pose/peg_{letter}"][:2] for letter in PEGS])
        crew.watch([*(f"pose/ring_{i + 1}" for i in range(self.count)), "seated", "touched", "joint_positions"])

    def centre(self, ring: int) -> Array:
        """Middle (3,) of a ring as last read."""
        return self._crew.world[f"pose/ring_{ring + 1}"][:3]

    def rotation(self, ring: int) -> Array:
        """World from ring (3, 3)."""
        return quaternion_matrix(self._crew.world[f"pose/ring_{ring + 1}"][3:])

    def handle(self, ring: int) -> tuple[Array, float]:
        """Middle (3,) of a ring's handle, and the azimuth (rad) of its long axis."""
        rotation = self.rotation(ring)
        middle = self.centre(ring) + rotation @ np.array([self.radii[ring] + self.reach, 0.0, 0.0])
        return middle, float(np.arctan2(rotation[1, 0], rotation[0, 0]) + self.yaws[ring])

    def touched(self, ring: int) -> bool:
        """Whether the robot touches a ring."""
        return bool(self._crew.world["touched"][ring])

    def seated(self, ring: int) -> bool:
        """Whether a ring is seated on some peg."""
        return bool(self._crew.world["seated"][ring] >= 0)

    def nearest(self, ring: int) -> int:
        """The peg nearest to a ring."""
        return int(np.hypot(*(self.pegs - self.centre(ring)[:2]).T).argmin())

    def arrangement(self) -> tuple[int, ...]:
        """The peg of every ring, seated or not."""
        return tuple(self.nearest(ring) for ring in range(self.count))

    def seat(self, ring: int, peg: int) -> float:
        """Height (m) of a ring's middle when it lies on a peg, above the larger ones that are there."""
        below = sum(self.nearest(other) == peg for other in range(ring))
        return float(self.supports[peg] + self.height * (below + 0.5))
