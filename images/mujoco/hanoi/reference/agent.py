"""The Hanoi boards' reference agent: plans, moves ring by ring, looks, and plans again.

It uses the public operations alone: ``describe`` for geometry and limits, L3 fields for poses. It draws no random
numbers, so that the same episode gets the same actions, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from images.client.results import Description, Terminal
from images.client.sdk import Client
from images.mujoco.hanoi.reference.planner import shortest
from images.mujoco.hanoi.reference.strategy import Lost, Mover
from images.mujoco.hanoi.reference.table import PEGS, Table
from images.mujoco.hanoi.reference.tool import Tool
from images.reference.motion import Crew, Program
from images.reference.session import play

NEEDED = ("pose/ring_1", "seated", "touched")
WAIT_S = 2.0  # s after the last move: the arrangement must stand for a while
BATCH = 30  # actions in one call
TOOLS = {
    "panda": ("images.mujoco.hanoi.reference.panda_tool", "PandaTool"),
    "fr3-sharpa": ("images.mujoco.hanoi.reference.hands", "HandOnArm"),
    "floating-sharpa": ("images.mujoco.hanoi.reference.hands", "FloatingHand"),
}
"""Robot to its tool, which is built from ``describe``."""


def solve(client: Client, report: Callable[[str], None]) -> Terminal:
    """Play the episode to its end. Raises Unequipped below level L3."""
    return play(client, NEEDED, lambda description: Player(client, description, report).play(), (Lost,), report)


def tool(description: Description) -> Tool:
    """The tool of the episode's robot."""
    module, name = TOOLS[description.environment_id.split("/")[1]]
    made: Tool = getattr(import_module(module), name)(description)
    return made


class Player:
    """One episode."""

    def __init__(self, client: Client, description: Description, report: Callable[[str], None]) -> None:
        self.report = report
        self.tool = tool(description)
        self.crew = Crew(client, [self.tool], batch=BATCH)
        self.table = Table(self.crew, description)
        self.mover = Mover(self.tool, self.table, report)

    def play(self) -> str:
        """Move until the goal stands; returns why it stops. Raises Lost and Terminated."""
        table = self.table
        self.crew.sense()
        while plan := shortest(table.arrangement(), table.goal):
            ring, peg = plan[0]
            self.report(f"{len(plan)} to go: ring {ring + 1} to {PEGS[peg]} at {self.crew.time:.1f} s")
            self._run(self.mover.move(ring, peg))
            self.crew.sense()
        self._run(self.tool.hold(WAIT_S))
        self.crew.sense()
        return "the goal stands, and the episode goes on"

    def _run(self, program: Program) -> None:
        self.crew.run({self.tool.name: program})
