"""The private referee of a Hanoi episode: arrangement, legal moves over the whole history, seating, limits, contact,
loss.

It reads the engine-neutral states of ``state.py`` and takes its numbers from the disclosed clauses (``rules.py``).
Rings and joint speeds are judged at 120 Hz, contacts in every integration step, the goal and joint positions after
every control step. The first violation binds; a success is latched.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from images.gateway.environment import Clause
from images.mujoco.embodiment import Joint
from images.mujoco.hanoi import geometry as g
from images.mujoco.hanoi.board import Board
from images.mujoco.hanoi.state import Cast, Contacts, Sample, State
from images.mujoco.referee import Referee

WORLD, RING, FINGER, HAND = range(4)
PART = {"arm": HAND, "hand": HAND, "finger": FINGER}


@dataclass
class Place:
    """Where a ring belongs: its peg (index) while it lies there, or ``out`` since it was raised. ``home`` is the peg
    from which it came. It is ``loose`` from when it was raised until it is back at a seat, and was ``safe`` (s) when it
    was last at a seat or in the robot's touch."""

    home: int
    out: bool = False
    loose: bool = False
    safe: float = 0.0


@dataclass
class Seen:
    """One state by peg: centres of the rings, which ring is on which peg (index or None), and how far it is above its
    seat (m)."""

    centres: list[list[float]]
    on: list[int | None]
    rises: list[float] = field(default_factory=list)


class Evaluator(Referee):
    """Watches one episode. ``moves`` lists what has been moved: ring, from, to (indices), time (s)."""

    def __init__(self, board: Board, cast: Cast, joints: tuple[Joint, ...], clauses: list[Clause]) -> None:
        super().__init__(clauses)
        self._board, self._cast, self._joints, self._now = board, cast, joints, 0.0
        self._tables()
        value = self.value
        self._reach = [clearance + value["H-11"] for clearance in board.clearances]
        self._centred = [clearance + value["H-02"] for clearance in board.clearances]
        self._level = math.cos(math.radians(value["H-03"]))
        self._speed_limit = np.array(value["H-30"])
        slack = value["H-31"]
        self._low = np.array([joint.low - slack for joint in joints])
        self._high = np.array([joint.high + slack for joint in joints])
        self._goal = [g.PEGS.index(letter) for letter in board.goal]
        self.places = [Place(g.PEGS.index(letter)) for letter in board.start]
        self.moves: list[tuple[int, int, int, float]] = []
        self.touched = 0  # bit i: the robot touches ring i
        self.seated: list[int | None] = [None] * g.RINGS
        self._since: float | None = None
        self._before: Sample | None = None

    def _tables(self) -> None:
        """Force limit and touched ring of each pair of bodies; a pair that cannot break a clause has no limit."""
        cast = self._cast
        kinds = [RING if name in cast.rings else PART.get(cast.parts.get(name, ""), WORLD) for name in cast.names]
        count = len(kinds)
        self._robot = [kind in (FINGER, HAND) for kind in kinds]
        robot = np.array(self._robot)
        self._depth = np.where(robot[:, None] | robot[None, :], self.value["H-50"], self.value["H-51"])
        self._clauses = np.full((count, count), "", dtype=object)
        self._limit = np.full((count, count), np.inf)
        self._touch = np.zeros((count, count), dtype=np.int64)
        for a, b in np.ndindex(count, count):
            pair = {kinds[a], kinds[b]}
            clause = ""
            if HAND in pair:
                clause = "H-40"
            elif FINGER in pair:
                clause = "H-42" if RING in pair else "H-41"
            elif RING in pair:
                clause = "H-43"
            if clause:
                self._clauses[a, b], self._limit[a, b] = clause, self.value[clause]
            if RING in pair and pair & {HAND, FINGER}:
                ring = a if kinds[a] == RING else b
                self._touch[a, b] = 1 << cast.rings.index(cast.names[ring])

    @property
    def time(self) -> float:
        return self._now

    def look(self, state: State) -> None:
        """See which rings are seated before the first control step."""
        self._check_seats(state, self._look(state.centres.tolist()))
        self._before = state.samples[-1]

    def tick(self, state: State) -> None:
        """Judge the control step that ``state`` ends."""
        self.touched = 0
        for sample in state.samples:
            self._now = sample.time
            touched = self._check_sample(sample)
            self.touched |= touched
            seen = self._look(sample.centres.tolist())
            self._check_order(seen)
            self._check_moves(seen)
            self._check_lost(seen, touched)
            self._check_speeds(sample, touched)
        self._check_positions(state.joint_positions)
        self._check_goal(state, seen)

    # ---- limits and contact ----------------------------------------------------------------------------------------
    def _check_sample(self, sample: Sample) -> int:
        """Judge speeds and contacts; bit i of the answer: the robot touched ring i."""
        speeds = np.abs(sample.joint_speeds)
        if (speeds > self._speed_limit).any():
            worst = int((speeds / self._speed_limit).argmax())
            joint, limit = self._joints[worst], float(self._speed_limit[worst])
            speed = float(speeds[worst])
            self.violate("H-30", joint.name, speed, limit=limit, unit=f"{joint.unit}/s")
        return self._check_contacts(sample.contacts) if len(sample.contacts.forces) else 0

    def _check_contacts(self, contacts: Contacts) -> int:
        first, second = contacts.bodies.T
        over = contacts.forces > self._limit[first, second]
        if over.any():
            worst = int(np.where(over, contacts.forces, -1.0).argmax())
            a, b = int(first[worst]), int(second[worst])
            force = float(contacts.forces[worst])
            self.violate(str(self._clauses[a, b]), self._pair(a, b), force)
        beyond = contacts.depths / self._depth[first, second]
        deepest = int(beyond.argmax())
        if beyond[deepest] > 1:
            a, b = int(first[deepest]), int(second[deepest])
            clause = "H-50" if self._robot[a] or self._robot[b] else "H-51"
            self.violate(clause, self._pair(a, b), float(contacts.depths[deepest]))
        return int(np.bitwise_or.reduce(self._touch[first, second]))

    def _pair(self, a: int, b: int) -> str:
        return f"{self._cast.names[a]} and {self._cast.names[b]}"

    def _check_positions(self, positions: np.ndarray) -> None:
        if ((positions < self._low) | (positions > self._high)).any():
            beyond = np.maximum(self._low - positions, positions - self._high)
            worst = int(beyond.argmax())
            joint, far = self._joints[worst], float(beyond[worst]) + self.value["H-31"]
            self.violate("H-31", joint.name, far, unit=joint.unit)

    # ---- rings -----------------------------------------------------------------------------------------------------
    def _look(self, centres: list[list[float]]) -> Seen:
        """Which ring is on which peg, and how far above its seat."""
        on: list[int | None] = []
        for (x, y, z), reach in zip(centres, self._reach, strict=True):
            here = None
            for index, post in enumerate(self._cast.posts):
                if z < post.tip and math.hypot(x - post.x, y - post.y) <= reach:
                    here = index
            on.append(here)
        seen = Seen(centres, on)
        piled = [0] * len(self._cast.posts)
        for peg, (_, _, z) in zip(on, centres, strict=True):
            if peg is None:
                seen.rises.append(math.inf)
            else:
                seat = self._cast.posts[peg].support + g.RING_HEIGHT * (piled[peg] + 0.5)
                piled[peg] += 1
                seen.rises.append(z - seat)
        return seen

    def _check_lost(self, seen: Seen, touched: int) -> None:
        """A ring that was raised stays in the robot's touch until it is at a seat: none is dropped, thrown or laid
        elsewhere."""
        near, limit = self.value["H-60"]
        (x0, x1), (y0, y1), (z0, z1) = self.value["H-61"]
        for ring, (x, y, z) in enumerate(seen.centres):
            if not (x0 <= x <= x1 and y0 <= y <= y1 and z0 <= z <= z1):
                self.violate("H-61", self._cast.rings[ring], [round(v, 3) for v in (x, y, z)])
            place, rise = self.places[ring], seen.rises[ring]
            place.loose = rise > (near if place.loose else self.value["H-12"])
            if not place.loose or touched >> ring & 1:
                place.safe = self._now
            elif self._now - place.safe > limit + 1e-9:
                self.violate("H-60", self._cast.rings[ring], self._now - place.safe, limit=limit, unit="s")

    def _check_speeds(self, sample: Sample, touched: int) -> None:
        """A ring that the robot does not touch is slow."""
        before, self._before = self._before, sample
        if before is None:
            return
        ways = np.linalg.norm(sample.centres - before.centres, axis=1)
        limit = self.value["H-62"] * (sample.time - before.time)
        for ring in (ways > limit).nonzero()[0].tolist():
            if not touched >> ring & 1:
                self.violate("H-62", self._cast.rings[ring], float(ways[ring]) / (sample.time - before.time))

    def _check_order(self, seen: Seen) -> None:
        for large, peg in enumerate(seen.on):
            for small in range(large + 1, g.RINGS):
                above = seen.centres[large][2] > seen.centres[small][2]
                if peg is not None and seen.on[small] == peg and above:
                    rings = self._cast.rings
                    self.violate("H-11", f"{rings[large]} above {rings[small]} on peg {g.PEGS[peg]}", None)

    def _check_moves(self, seen: Seen) -> None:
        """Rings leave their seats and come to rest. The largest first: what carries another is named, not what it
        carries."""
        buried, raised = self.value["H-10"], self.value["H-12"]
        for ring, place in enumerate(self.places):
            peg, rise = seen.on[ring], seen.rises[ring]
            if not place.out and (peg != place.home or rise > buried):
                carried = [
                    k for k in range(ring + 1, g.RINGS) if not self.places[k].out and self.places[k].home == place.home
                ]
                if carried:
                    what = f"{self._cast.rings[ring]} under {self._cast.rings[carried[0]]}"
                    self.violate("H-10", what, None if peg != place.home else rise)
            if not place.out and (peg != place.home or rise > raised):
                place.out = True
                self.note("raised", ring=self._cast.rings[ring], peg=g.PEGS[place.home])
            elif place.out and peg is not None and rise <= raised:
                self._put(ring, peg)
        out = [self._cast.rings[ring] for ring, place in enumerate(self.places) if place.out]
        if len(out) > 1:
            self.violate("H-12", " and ".join(out), None)

    def _put(self, ring: int, peg: int) -> None:
        place = self.places[ring]
        if peg != place.home:
            self.moves.append((ring, place.home, peg, self._now))
        self.note("put", ring=self._cast.rings[ring], peg=g.PEGS[peg])
        place.home, place.out = peg, False

    # ---- goal ------------------------------------------------------------------------------------------------------
    def _check_goal(self, state: State, seen: Seen) -> None:
        self._check_seats(state, seen)
        if self.judgement is not None or self.seated != self._goal:
            self._since = None
            return
        if self._since is None:
            self._since = state.time
            self.note("arranged")
        if state.time - self._since >= self.value["H-08"] - 1e-9:
            self.succeed(f"every ring seated since {self._since:.2f} s", moves=len(self.moves))

    def _check_seats(self, state: State, seen: Seen) -> None:
        rates = zip(state.speeds.tolist(), state.spins.tolist(), state.axes[:, 2].tolist(), strict=True)
        self.seated = [self._seat(seen, ring, *rate) for ring, rate in enumerate(rates)]

    def _seat(self, seen: Seen, ring: int, speed: float, spin: float, upright: float) -> int | None:
        """The peg on which a ring is seated, if it is; ``upright`` is the height of its unit axis."""
        peg, value = seen.on[ring], self.value
        if peg is None or self.touched >> ring & 1 or abs(seen.rises[ring]) > value["H-04"]:
            return None
        post, (x, y, _) = self._cast.posts[peg], seen.centres[ring]
        still = speed <= value["H-05"] and spin <= value["H-06"]
        centred = math.hypot(x - post.x, y - post.y) <= self._centred[ring]
        return peg if still and centred and upright >= self._level else None

    def open_goals(self) -> list[str]:
        """Rings that are not seated where they belong."""
        wanted = zip(self._cast.rings, self.seated, self._goal, strict=True)
        return [name for name, seated, goal in wanted if seated != goal]

    def summary(self) -> dict[str, Any]:
        """What has been moved, for the record."""
        return {"moves": [[ring + 1, g.PEGS[a], g.PEGS[b], round(t, 3)] for ring, a, b, t in self.moves]}
