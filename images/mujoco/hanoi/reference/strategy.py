"""How any hand moves a ring: grasp, recentre, lift, carry, insert; and what it does when a ring sticks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from images.mujoco.hanoi.reference.table import Table
from images.mujoco.hanoi.reference.tool import Tool
from images.reference.motion import SENSE, Program

Array = np.ndarray
ABOVE = 0.012  # m between the bottom of a carried ring and what it passes
LOW = 0.002  # m above its middle at which a handle is grasped
SET_DOWN = 0.0012  # m above its seat at which a ring is let go
CENTRED, SHARE = 0.0006, 0.4  # m, and of a narrow hole's clearance: how far from the axis a ring may hang to go down
SEEK = (0.0, 0.0), (0.001, 0.0), (-0.001, 0.0), (0.0, 0.001), (0.0, -0.001)
"""Where a ring that sticks is tried next, relative to the peg (m)."""
PACE = 0.28  # m/s: mean speed of a long way through the air
INSERTING = 0.13  # m/s: mean speed of a ring along a peg
BEHIND = 0.003  # m by which it may stay behind the hand, whose command is followed a control step later
HELD = 0.6  # share of the way up by which a ring that is held has come along


class Lost(RuntimeError):
    """A ring could not be moved; the text says what was tried."""


class Mover:
    """Moves rings one at a time. ``report`` takes progress lines."""

    def __init__(self, tool: Tool, table: Table, report: Callable[[str], None]) -> None:
        self.tool, self.table, self.report = tool, table, report
        self.retries = 0

    def move(self, ring: int, peg: int) -> Program:
        """Bring a ring onto a peg and let it go seated. Raises Lost."""
        yield SENSE
        for _ in range(4):
            if (yield from self._pick(ring)):
                yield from self._carry(ring, peg)
                if (yield from self._insert(ring, peg)):
                    return
            self.retries += 1
        raise Lost(f"ring {ring + 1} could not be brought to peg {peg}")

    # ---- picking ---------------------------------------------------------------------------------------------------
    def _pick(self, ring: int) -> Program:
        """Grasp a ring and raise it off its peg; True when it hangs in the hand."""
        tool, table = self.tool, self.table
        yield SENSE
        middle, azimuth = table.handle(ring)
        turned = tool.over(azimuth)
        travel = max(table.highest + tool.clearance, middle[2] + tool.clearance)
        yield from self._rise(travel)
        yield from tool.open()
        yield from self._way(np.array([middle[0], middle[1], travel]), 0.8, turned)
        yield from self._way(middle + up(LOW), 0.7)
        yield from tool.hold(0.15)
        yield from tool.close()
        yield SENSE
        if not table.touched(ring):
            self.report(f"ring {ring + 1}: grasped nothing")
            return False
        yield from self._recentre(ring)
        yield SENSE
        before = table.centre(ring)[2]
        rise = table.highest + table.height / 2 + ABOVE - before
        yield from self._along(rise)
        yield from tool.hold(0.1)
        yield SENSE
        if table.centre(ring)[2] - before > HELD * rise:
            return True
        self.report(f"ring {ring + 1}: stayed behind")
        yield from self._along(before - table.centre(ring)[2])
        yield from tool.open()
        return False

    def _recentre(self, ring: int) -> Program:
        """A ring that is lifted off centre wedges on its peg: bring its hole over the axis first."""
        yield SENSE
        peg = self.table.nearest(ring)
        yield from self._shift(np.append(self.table.pegs[peg] - self.table.centre(ring)[:2], 0.0), 0.25)
        yield from self.tool.hold(0.1)

    # ---- placing ---------------------------------------------------------------------------------------------------
    def _carry(self, ring: int, peg: int) -> Program:
        """Level the ring and bring it over a peg."""
        tool, table = self.tool, self.table
        yield SENSE
        centre, rotation = table.centre(ring), table.rotation(ring)
        level = _upright(rotation) @ rotation.T  # turns the ring upright, and the hand with it
        turned = level @ tool.rotation
        arm = level @ (tool.position - centre)
        over = np.array([*table.pegs[peg], centre[2]])
        yield from self._way(over + arm, 1.0, turned)
        yield from tool.hold(0.15)
        yield from self._centre(ring, peg)

    def _centre(self, ring: int, peg: int, offset: tuple[float, float] = (0.0, 0.0)) -> Program:
        """Correct where the ring really hangs."""
        for _ in range(3):
            yield SENSE
            off = self.table.pegs[peg] + offset - self.table.centre(ring)[:2]
            if float(np.hypot(*off)) < min(CENTRED, SHARE * self.table.clearances[ring]):
                break
            yield from self._shift(np.append(off, 0.0), 0.25)
            yield from self.tool.hold(0.1)

    def _insert(self, ring: int, peg: int) -> Program:
        """Lower the ring onto its seat and let go; where it sticks on the tip, raise it and try beside. A ring that
        comes from high above goes to the tip first: at that speed it would strike it. Raises Lost."""
        tool, table = self.tool, self.table
        yield SENSE
        spare = table.centre(ring)[2] - table.height / 2 - ABOVE - table.tips[peg]
        if spare > ABOVE:
            yield from self._way(tool.position - up(spare), 0.5)
            yield from tool.hold(0.1)
            yield from self._centre(ring, peg)
        for offset in SEEK:
            yield SENSE
            start = table.centre(ring)[2]
            yield from self._lower(ring, peg, table.seat(ring, peg) + SET_DOWN - start)
            yield from tool.hold(0.15)
            yield SENSE
            high = table.centre(ring)[2] - table.seat(ring, peg)
            if high < tool.stuck:
                break
            self.report(f"ring {ring + 1}: {1000 * high:.1f} mm above its seat on {peg}")
            self.retries += 1
            yield from self._along(start - table.centre(ring)[2])
            yield from self._centre(ring, peg, offset)
        else:
            raise Lost(f"ring {ring + 1} does not go down on peg {peg}")
        yield from tool.open()
        yield from self._shift(up(0.04), 0.4)
        yield SENSE
        return table.seated(ring)

    # ---- motions ---------------------------------------------------------------------------------------------------
    def _rise(self, height: float) -> Program:
        x, y, z = self.tool.position
        if z < height - 0.005:
            yield from self._way(np.array([x, y, height]), 0.3)

    def _way(self, goal: Array, least: float, rotation: Array | None = None) -> Program:
        """A line at the usual pace, of at least ``least`` seconds."""
        distance = float(np.linalg.norm(goal - self.tool.position))
        yield from self.tool.line(goal, max(least, distance / PACE), rotation)

    def _along(self, rise: float) -> Program:
        """Up or down along a peg."""
        yield from self.tool.line(self.tool.position + up(rise), max(0.8, abs(rise) / INSERTING))

    def _lower(self, ring: int, peg: int, rise: float) -> Program:
        """Down along a peg; stops where the ring stays behind the hand while its hole comes over the tip."""
        tool, table = self.tool, self.table
        yield SENSE
        above = table.centre(ring)[2] - tool.position[2]
        hand = tool.position[2]
        for word in tool.line(tool.position + up(rise), max(0.8, abs(rise) / INSERTING)):
            if hand + above > table.tips[peg]:
                yield SENSE
                if table.centre(ring)[2] - hand - above > BEHIND:
                    return
            hand = tool.position[2]
            yield word

    def _shift(self, by: Array, seconds: float) -> Program:
        yield from self.tool.line(self.tool.position + by, seconds)


def up(height: float) -> Array:
    """The vector (3,) that points up by ``height``."""
    return np.array([0.0, 0.0, height])


def _upright(rotation: Array) -> Array:
    """The rotation of a level ring with the same azimuth."""
    azimuth = np.arctan2(rotation[1, 0], rotation[0, 0])
    c, s = np.cos(azimuth), np.sin(azimuth)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
