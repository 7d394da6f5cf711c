"""Every failure code that a Hanoi board knows, produced by the robot through the public operations, beside the nearest
motion that is legal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from images.client.results import Terminal
from images.mujoco.hanoi.reference.agent import Player
from images.mujoco.hanoi.reference.strategy import Lost, up
from images.mujoco.hanoi.workshop.episode import Episode
from images.reference.motion import SENSE, Program, Terminated

Motion = Callable[[Player], Program]


def play(motion: Motion, task: str = "panda/H02") -> tuple[Terminal | None, Player]:
    """How the episode ended, if it did, when the robot went through ``motion``."""
    client = Episode(task, 0)
    player = Player(client, client.describe(), lambda line: None)
    player.crew.sense()
    try:
        player.crew.run({player.tool.name: motion(player)})
        player.crew.sense()
    except Terminated as ended:
        return ended.terminal, player
    except Lost:
        pass
    return None, player


def ends(terminal: Terminal | None, player: Player) -> tuple[str | None, str | None]:
    """Code and clause of the end; the clause must be one that was disclosed."""
    if terminal is None:
        return None, None
    disclosed = {clause.id: clause for clause in player.crew.session.describe().clauses}
    if terminal.clause is not None:
        assert disclosed[terminal.clause].code == terminal.code
    return terminal.code, terminal.clause


def moves(*steps: tuple[int, str]) -> Motion:
    """Bring rings (1 to 5) to pegs, one after the other."""

    def program(player: Player) -> Program:
        for ring, peg in steps:
            yield from player.mover.move(ring - 1, "ABC".index(peg))

    return program


def above(player: Player, ring: int) -> Program:
    """The open hand over the handle of a ring."""
    yield SENSE
    middle, azimuth = player.table.handle(ring - 1)
    high = np.array([middle[0], middle[1], player.table.highest + player.tool.clearance])
    yield from player.tool.open()
    yield from player.tool.line(high, 1.2, player.tool.over(azimuth))
    yield from player.tool.line(middle + up(0.002), 1.0)


def carry(let_go: bool) -> Motion:
    """Lift the smallest ring off its peg, carry it beside, and open the hand or not."""

    def program(player: Player) -> Program:
        yield from above(player, 5)
        yield from player.tool.close()
        yield from player.tool.line(player.tool.position + up(0.18), 1.2)
        yield from player.tool.line(player.tool.position - [0.08, 0.0, 0.0], 1.0)
        if let_go:
            yield from player.tool.open()
        yield from player.tool.hold(0.5)

    return program


def carry_away(distance: float) -> Motion:
    """Carry the smallest ring ``distance`` (m) to the left, and hold it there."""

    def program(player: Player) -> Program:
        yield from carry(let_go=False)(player)
        yield SENSE
        aside = np.array([0.0, distance - player.table.centre(4)[1], 0.0])
        yield from player.tool.line(player.tool.position + aside, 2.5)
        yield from player.tool.hold(0.3)

    return program


def press_the_peg(depth: float) -> Motion:
    """The closed fingers stop above the tip of the empty peg, or ``depth`` (m) below it."""

    def program(player: Player) -> Program:
        x, y = player.table.pegs[1]
        tip = player.table.tips[1] + 0.0095  # where the fingers end
        yield from player.tool.close()
        yield from player.tool.line(np.array([x, y, tip + 0.1]), 1.5)
        yield from player.tool.line(np.array([x, y, tip - depth]), 1.5)
        yield from player.tool.hold(0.3)

    return program


def press_the_handle(depth: float) -> Motion:
    """The closed fingers stop above the handle of the smallest ring, or ``depth`` (m) below its top."""

    def program(player: Player) -> Program:
        yield SENSE
        middle, _ = player.table.handle(4)
        top = middle + up(0.009 + 0.0085)
        yield from player.tool.close()
        yield from player.tool.line(top + up(0.1), 1.5)
        yield from player.tool.line(top - up(depth), 1.5)
        yield from player.tool.hold(0.3)

    return program


def swing(seconds: float) -> Motion:
    """Turn the first joint by half a radian; the command leaps or goes in so many seconds."""

    def program(player: Player) -> Program:
        start = player.tool.command()
        goal = start + np.eye(len(start))[0] * 0.5
        count = max(1, round(seconds * 30))
        steps = [start + (goal - start) * i / count for i in range(1, count + 1)] + [goal] * 15
        reply = player.crew.session.step(np.array(steps))
        if reply.terminal is not None:
            raise Terminated(reply.terminal)
        yield SENSE

    return program


def squeeze(gently: bool) -> Motion:
    """Close the hand on a light ring's handle, step by step or from wider open with all force at once."""

    def program(player: Player) -> Program:
        yield from above(player, 5)
        if gently:
            yield from player.tool.close()
        else:
            yield from player.tool.hold(0.3, 0.05)
            yield from player.tool.hold(0.4, -0.04)
        yield from player.tool.hold(0.3)

    return program


@pytest.mark.parametrize(
    ("motion", "task", "code", "clause"),
    [
        (moves((5, "C"), (4, "B")), "panda/H04", None, None),
        (moves((5, "C"), (4, "C")), "panda/H04", "RULE", "H-11"),
        (moves((4, "B")), "panda/H01", "RULE", "H-10"),
        (carry(let_go=False), "panda/H01", None, None),
        (carry(let_go=True), "panda/H01", "DROP", "H-60"),
        (carry_away(0.47), "panda/H01", None, None),
        (carry_away(0.53), "panda/H01", "DROP", "H-61"),
        (press_the_peg(-0.003), "panda/H01", None, None),
        (press_the_peg(0.02), "panda/H01", "COLL", "H-41"),
        (press_the_handle(-0.003), "panda/H01", None, None),
        (press_the_handle(0.008), "panda/H01", "COLL", "H-43"),
        (swing(1.0), "panda/H01", None, None),
        (swing(0.0), "panda/H01", "LIMIT", "H-30"),
        (squeeze(gently=True), "panda/H17", None, None),
        (squeeze(gently=False), "panda/H17", "PEN", "H-50"),
    ],
    ids=[
        "smaller onto larger",
        "larger onto smaller",
        "covered ring",
        "carry",
        "let go",
        "to the edge",
        "over the edge",
        "above the tip",
        "onto the tip",
        "above the handle",
        "onto the handle",
        "slow swing",
        "leap",
        "gentle grasp",
        "snap",
    ],
)
def test_a_motion_fails_with_its_clause_and_the_nearest_legal_one_passes(
    motion: Motion, task: str, code: str | None, clause: str | None
) -> None:
    assert ends(*play(motion, task)) == (code, clause)


@pytest.mark.slow
def test_doing_nothing_runs_out_of_simulated_time() -> None:
    idle = Episode("panda/H01", 0)
    hold = idle.observe(fields=["commanded"]).fields["commanded"]
    terminal = None
    for _ in range(18):
        terminal = idle.step(np.tile(hold, (1000, 1))).terminal
    assert terminal is not None
    assert terminal.cause == "simulated_time"


def test_leaving_early_is_quitting() -> None:
    leaves = Episode("panda/H01", 0)
    leaves.step(leaves.observe(fields=["commanded"]).fields["commanded"][None])
    assert leaves.finish().cause == "quit"
