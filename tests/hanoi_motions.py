"""Motions of a robot on a Hanoi board through the public operations: what breaks a clause, and what barely does not.

Lengths in metres, times in seconds; rings are 1 to 5."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from images.mujoco.hanoi import geometry as g
from images.mujoco.hanoi.reference.agent import Player
from images.mujoco.hanoi.reference.strategy import up
from images.reference.motion import SENSE, Program, Terminated
from images.reference.rotations import rotation_about

Motion = Callable[[Player], Program]
PAD = np.array([0.0085, 0.0095, 0.008])  # m: a corner of the Panda's closed pads in the tool's frame
HALF_HANDLE = g.HANDLE[0] / 2
HANDLE_LOW = g.HANDLE[2] / 2
FINGERS = ("index", "middle", "ring", "little")


def moves(*steps: tuple[int, str]) -> Motion:
    """Bring rings to pegs, one after the other."""

    def program(player: Player) -> Program:
        for ring, peg in steps:
            yield from player.mover.move(ring - 1, g.PEGS.index(peg))

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
    """Carry the smallest ring ``distance`` to the left, and hold it there."""

    def program(player: Player) -> Program:
        yield from carry(let_go=False)(player)
        yield SENSE
        aside = np.array([0.0, distance - player.table.centre(4)[1], 0.0])
        yield from player.tool.line(player.tool.position + aside, 2.5)
        yield from player.tool.hold(0.3)

    return program


def hook(rise: float) -> Motion:
    """Take ring 5 from its peg, bring the end of its handle below that of ring 4, which juts out over its high support,
    and raise it by ``rise``: ring 4 comes along."""

    def program(player: Player) -> Program:
        tool, table = player.tool, player.table
        upright = np.array([0.0, 0.0, 1.0])
        yield from player.mover._pick(4)
        yield SENSE
        over, azimuth = table.handle(3)
        for _ in range(2):  # half a turn, so that the handle comes foremost
            yield from tool.line(tool.position + up(0.015), 1.2, rotation_about(upright, np.pi / 2) @ tool.rotation)
        yield SENSE
        left = np.angle(np.exp(1j * (azimuth + np.pi - table.handle(4)[1])))
        yield from tool.line(tool.position, 0.6, rotation_about(upright, float(left)) @ tool.rotation)
        outwards = np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
        below = table.centre(3) * [1, 1, 0] + up(over[2] - 2 * HANDLE_LOW - 0.003)
        foremost = g.SUPPORT_HALF + 0.004 + HALF_HANDLE  # from the peg's axis, just before the support
        for distance, height, seconds in ((0.05, 0.15, 2.0), (0.05, 0.0, 1.5), (0.0, 0.0, 1.0), (0.0, rise, 1.5)):
            yield SENSE
            goal = below + outwards * (foremost + distance) + up(height)
            yield from tool.line(tool.position + goal - table.handle(4)[0], seconds)
            yield from tool.hold(0.2)

    return program


def drop(height: float) -> Motion:
    """Let ring 5 go around the peg C, or above it, ``height`` above its seat."""

    def program(player: Player) -> Program:
        tool, table = player.tool, player.table
        yield from player.mover._pick(4)
        yield from player.mover._carry(4, 2)
        yield SENSE
        goal = table.seat(4, 2) + height
        yield from tool.line(tool.position + up(goal - table.centre(4)[2]), 1.5)
        yield from tool.hold(0.2)
        yield from tool.drive(0.08)

    return program


def throw(speed: float, lead: float) -> Motion:
    """Swing ring 5 sideways over the peg C, 0.12 m above its tip, at up to ``speed`` (m/s), and open the hand ``lead``
    before its axis, so that the ring flies onto the peg."""

    def program(player: Player) -> Program:
        tool, table = player.tool, player.table
        yield from player.mover._pick(4)
        yield from player.mover._carry(4, 2)
        yield SENSE
        aside = np.array([0.0, 0.08, 0.0])
        yield from tool.line(tool.position + up(table.tips[2] + 0.12 - table.centre(4)[2]), 1.5)
        yield from player.mover._centre(4, 2)
        yield from tool.line(tool.position + aside, 1.5)
        yield from tool.drive(g.HANDLE[1] - LOOSE)
        yield from tool.hold(0.4)
        axis = tool.position[1] - aside[1]
        for word in tool.line(tool.position - 2 * aside, PEAK * 2 * aside[1] / speed):
            if tool.position[1] - axis <= lead:
                tool.grip = 0.08
            yield word
        yield from tool.hold(2.0, 0.08)

    return program


def thrust(speed: float, lead: float) -> Motion:
    """Bring ring 5 down along the peg C at up to ``speed`` (m/s) and open the hand, in which it hangs loosely, ``lead``
    (m) above its seat."""

    def program(player: Player) -> Program:
        tool, table = player.tool, player.table
        yield from player.mover._pick(4)
        yield from player.mover._carry(4, 2)
        yield SENSE
        seat = table.seat(4, 2)
        yield from tool.line(tool.position + up(seat + 0.08 - table.centre(4)[2]), 2.0)
        yield from tool.drive(g.HANDLE[1] - LOOSE)
        yield from tool.hold(0.2)
        yield SENSE
        hanging = table.centre(4)[2] - seat
        high = tool.position[2]
        for word in tool.line(tool.position - up(2 * hanging), PEAK * 2 * hanging / speed):
            if hanging - (high - tool.position[2]) <= lead:
                tool.grip = 0.08
            if high - tool.position[2] > hanging - 0.003:
                break
            yield word
        yield from tool.drive(0.08)
        yield from tool.hold(0.5)

    return program


LOOSE = 0.004  # m: of squeeze, 4 N
PEAK = 1.875  # highest over mean speed of a minimum-jerk line


# ---- pressing and striking -----------------------------------------------------------------------------------------
def press(goal: np.ndarray, depth: float, player: Player, rotation: np.ndarray | None = None) -> Program:
    """Down on a point, or ``depth`` below it."""
    yield from player.tool.line(goal + up(0.1), 1.5, rotation)
    yield from player.tool.line(goal - up(depth), 1.5)
    yield from player.tool.hold(0.3)


def press_the_peg(depth: float) -> Motion:
    """The closed fingers go down to the tip of the empty peg, or ``depth`` below it."""

    def program(player: Player) -> Program:
        yield from player.tool.close()
        yield from press(np.array([*player.table.pegs[1], player.table.tips[1] + 0.0095]), depth, player)

    return program


def press_the_palm(depth: float) -> Motion:
    """The open hand goes down over the empty peg until the palm is at its tip, or ``depth`` below."""

    def program(player: Player) -> Program:
        yield from press(np.array([*player.table.pegs[1], player.table.tips[1] - 0.037]), depth, player)

    return program


def press_the_handle(depth: float) -> Motion:
    """The closed fingers go down to the handle of the smallest ring, or ``depth`` below its top."""

    def program(player: Player) -> Program:
        yield SENSE
        middle, _ = player.table.handle(4)
        yield from player.tool.close()
        yield from press(middle + up(0.009 + 0.0085), depth, player)

    return program


def press_a_corner(depth: float) -> Motion:
    """The closed fingers, leaning outwards, come down on the smallest ring with one corner, between two of its feet."""

    def program(player: Player) -> Program:
        tool, table = player.tool, player.table
        yield SENSE
        yield from tool.close()
        turned = table.rotation(4)
        azimuth = float(np.arctan2(turned[1, 0], turned[0, 0])) + np.pi / 3
        outwards = np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
        upright = tool.over(azimuth + np.pi / 4)  # a corner towards the peg
        rotation = rotation_about(np.cross(outwards, up(1.0)), 0.35) @ upright
        corners = [PAD * [x, y, 1] for x in (-1, 1) for y in (-1, 1)]
        lowest = rotation @ min(corners, key=lambda corner: float((rotation @ corner)[2]))
        point = table.centre(4) + outwards * 0.026 + up(g.RING_HEIGHT / 2)
        yield from press(point - lowest, depth, player, rotation)

    return program


def squeeze(strength: float, seconds: float) -> Motion:
    """Close the fingers on the smallest ring's handle with a share of the firm grasp, at once or within a time."""

    def program(player: Player) -> Program:
        yield from above(player, 5)
        fingers = player.tool.fingers
        yield from fingers.to(fingers.touching + strength * (fingers.pressing - fingers.touching), seconds)
        yield from player.tool.hold(0.5)

    return program


# ---- joints --------------------------------------------------------------------------------------------------------
def turn(seconds: float, start: dict[str, float], goal: dict[str, float]) -> Motion:
    """Bring controls to ``start`` slowly, then to ``goal``, in a leap or in so many seconds; others keep still."""

    def program(player: Player) -> Program:
        names = [control.name for control in player.crew.session.describe().controls]
        now, actions = player.tool.command(), []
        for wanted, duration in ((start, 0.5), (goal, seconds)):
            end = np.array([wanted.get(name, value) for name, value in zip(names, now, strict=True)])
            count = max(1, round(duration * 30))
            actions += [now + (end - now) * i / count for i in range(1, count + 1)] + [end] * 10
            now = end
        reply = player.crew.session.step(np.array(actions))
        if reply.terminal is not None:
            raise Terminated(reply.terminal)
        yield SENSE

    return program


def swing(seconds: float) -> Motion:
    """Turn the first joint of an arm by half a radian."""
    return turn(seconds, {}, {"joint1": 0.5})


def slide(seconds: float) -> Motion:
    """Move a floating hand by 20 cm."""
    return turn(seconds, {}, {"base_y": 0.2})


def bend_the_thumb(seconds: float) -> Motion:
    """From straight fingers, bend the thumb at both joints to the ends of their ranges."""
    straight = {f"{finger}_{joint}_flexion": 0.0 for finger in FINGERS for joint in ("mcp", "pip", "dip")}
    thumb = {"thumb_cmc_abduction": -0.6, "thumb_cmc_flexion": 0.6, "thumb_mcp_flexion": 0.6}
    return turn(seconds, straight | thumb, {"thumb_cmc_flexion": 1.5, "thumb_mcp_flexion": -1.6})
