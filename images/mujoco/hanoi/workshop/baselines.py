"""Baselines of the atlas: a planner without recentring or re-search, and random poses."""

from __future__ import annotations

from typing import Any

import numpy as np

from images.client.results import Terminal
from images.mujoco.hanoi.reference.agent import WAIT_S, Player
from images.mujoco.hanoi.reference.planner import shortest
from images.mujoco.hanoi.reference.strategy import LOW, SET_DOWN, Lost, Mover, up
from images.mujoco.hanoi.workshop.episode import Episode
from images.reference.motion import SENSE, Program, Terminated

RANDOM_S = 4.0  # s: the random baseline takes this long from one random pose to the next
RANDOM_POSES = 20
CONDITIONS = (0, 1)  # that baselines are measured in


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


def straight(task: str, index: int) -> str:
    """How an episode of the straight planner ends: ``success``, or the clause or cause."""
    client = Episode(task, index)
    player = Player(client, client.describe(), lambda line: None)
    mover = Straight(player.tool, player.table, player.report)
    try:
        player.crew.sense()
        for ring, peg in shortest(player.table.arrangement(), player.table.goal):
            player.crew.run({player.tool.name: mover.move(ring, peg)})
        player.crew.run({player.tool.name: player.tool.hold(WAIT_S)})
        player.crew.sense()
    except Terminated as ended:
        return _told(ended.terminal)
    except Lost:
        pass
    return _told(client.finish())


def random_play(task: str, index: int) -> str:
    """How slow ways between random poses end."""
    client = Episode(task, index, level="L0")
    controls = client.describe().controls
    low, high = np.array([(control.low, control.high) for control in controls]).T
    rng = np.random.default_rng(index)
    present = client.observe(fields=["commanded"]).fields["commanded"]
    for _ in range(RANDOM_POSES):
        goal = rng.uniform(low, high)
        count = round(RANDOM_S * client.describe().control_hz)
        reply = client.step(present + (goal - present) * np.arange(1, count + 1)[:, None] / count)
        if reply.terminal is not None:
            return _told(reply.terminal)
        present = goal
    return _told(client.finish())


def _told(terminal: Terminal) -> str:
    return "success" if terminal.success else str(terminal.clause or terminal.cause)


def measure(task: str) -> dict[str, Any]:
    """What the atlas says of a task besides its certificates."""
    return {
        "straight": [straight(task, index) for index in CONDITIONS],
        "random": [random_play(task, index) for index in CONDITIONS],
    }
