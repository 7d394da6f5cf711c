"""Baselines of the atlas: doing nothing, random poses, and a planner without recentring or re-search."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from images.client.results import Terminal
from images.mujoco.hanoi.reference.agent import WAIT_S, Player
from images.mujoco.hanoi.reference.planner import shortest
from images.mujoco.hanoi.reference.strategy import LOW, SET_DOWN, Mover, up
from images.mujoco.hanoi.workshop.episode import Episode
from images.mujoco.workshop.baselines import noop, random_play
from images.reference.motion import SENSE, Program, Terminated

CONDITIONS = (0, 1)  # that baselines are measured in
NOOP_S = 20.0  # s: a board that nobody touches lies still, so that more of the budget would show the same


class Straight(Mover):
    """Moves rings as if the hand were the ring: it grasps and lowers by the poses at the start of a move, never
    corrects where a ring hangs, and tries nothing twice."""

    def move(self, ring: int, peg: int) -> Program:
        tool, table = self.tool, self.table
        yield SENSE
        middle, azimuth = table.handle(ring)
        centre, seat = table.centre(ring), table.seat(ring, peg)
        high = table.highest + tool.clearance
        yield from self._rise(high)
        yield from tool.open()
        yield from self._way(np.array([middle[0], middle[1], high]), 0.8, tool.over(azimuth))
        yield from self._way(middle + up(LOW), 0.7)
        yield from tool.hold(0.15)
        yield from tool.close()
        lifted = table.highest + table.height
        yield from self._way(tool.position + up(lifted - centre[2]), 0.8)
        yield from self._way(tool.position + np.append(table.pegs[peg] - centre[:2], 0.0), 1.0)
        yield from self._way(tool.position + up(seat + SET_DOWN - lifted), 0.9)
        yield from tool.open()
        yield from self._shift(up(0.04), 0.4)


def straight(client: Episode) -> Terminal:
    """How an episode of the straight planner ends."""
    player = Player(client, client.describe(), lambda line: None)
    mover = Straight(player.tool, player.table, player.report)
    try:
        player.crew.sense()
        for ring, peg in shortest(player.table.arrangement(), player.table.goal):
            player.crew.run({player.tool.name: mover.move(ring, peg)})
        player.crew.run({player.tool.name: player.tool.hold(WAIT_S)})
        player.crew.sense()
    except Terminated as ended:
        return ended.terminal
    return client.finish()


BASELINES: dict[str, Callable[[str, int], Terminal]] = {
    "noop": lambda task, index: noop(Episode(task, index, level="L0"), NOOP_S),
    "random": lambda task, index: random_play(Episode(task, index, level="L0"), task, index),
    "straight": lambda task, index: straight(Episode(task, index)),
}


def measure(task: str) -> dict[str, list[str]]:
    """How each baseline ends under each of the conditions: ``success``, or the clause that it broke, or the cause."""
    return {name: [_told(play(task, index)) for index in CONDITIONS] for name, play in BASELINES.items()}


def _told(terminal: Terminal) -> str:
    broken = str(terminal.clause).startswith("H-")
    return "success" if terminal.success else str(terminal.clause if broken else terminal.cause)
