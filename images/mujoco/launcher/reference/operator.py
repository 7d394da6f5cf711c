"""Motion primitives of the launcher: brake, handwheels, draw, pick, load and trigger, worked by contact alone.

Every primitive is a program (see :mod:`images.reference.motion`) that returns whether it did its work, judged by the
fields that it reads afterwards, and that tries again when it did not.
"""

from __future__ import annotations

import numpy as np

from images.mujoco.launcher.reference.mechanism import Mechanism, barrel_rotation, up
from images.mujoco.launcher.reference.readings import Readings
from images.reference.motion import SENSE, TICK, Arm, Program, minimum_jerk

Array = np.ndarray

CLEAR = 0.09  # m, how far above a part the hand travels
TURN_S = 3.2  # s for one turn of a wheel
WHEEL_TOLERANCE = np.deg2rad(0.3)  # of the wheel: 0.03 degrees of the barrel
KNOB_LOST = np.deg2rad(12)  # of the wheel: more than this behind means that the knob has slipped out
DRAW_TILT = 0.6  # hand pitch over elevation while drawing: the hand may pivot about the T-bar, which spares the elbow
CREEP_FROM = 0.006  # m before the wanted tooth: the ratchet cannot go back
BAR_ROOM = 0.02  # m of opening beyond the T-bar's thickness while the hand goes down over it
FINGER_ROOM = 0.06  # m from the carriage forward to a hand that lets go: its rear finger must clear the T-bar
PRESS_TIGHT = 0.004  # m off a cylinder's surface at which a closed hand pushes it


class Operator:
    """The two arms at the launcher. ``speed`` divides every motion time."""

    def __init__(self, mechanism: Mechanism, readings: Readings, left: Arm, right: Arm, speed: float = 1.0) -> None:
        self.mechanism, self.readings, self.left, self.right, self.speed = mechanism, readings, left, right, speed

    # ---- moves ------------------------------------------------------------------------------------------------------
    def _line(
        self, arm: Arm, goal: Array, seconds: float, turn: Array | None = None, grip: float | None = None
    ) -> Program:
        yield from arm.line(goal, seconds / self.speed, turn, grip)

    def _lift(self, arm: Arm, height: float = CLEAR, seconds: float = 0.45) -> Program:
        yield from self._line(arm, arm.position + up(height), seconds)

    def park(self, arm: Arm, seconds: float = 0.9) -> Program:
        """Back to the parking pose, closed, with no correction left."""
        arm.offset_goal = np.zeros(3)
        yield from self._line(arm, self.mechanism.park[arm.name], seconds, self.mechanism.down[arm.name])

    def barrel_point(self, s: float, h: float) -> Array:
        """World position (3,) of the point ``s`` along and ``h`` above the barrel axis, at the present aim."""
        now, m = self.readings, self.mechanism
        return now.pivot + barrel_rotation(now.azimuth, now.elevation) @ np.array([m.rest + s, 0.0, h])

    def _barrel_hand(self, arm: Arm, tilt: float) -> Array:
        """A hand that points down into the barrel, pitched by ``tilt`` times the elevation."""
        now = self.readings
        return barrel_rotation(now.azimuth, tilt * now.elevation) @ self.mechanism.down[arm.name]

    # ---- brake ------------------------------------------------------------------------------------------------------
    def brake(self, arm: Arm, engage: bool) -> Program:
        """Swing the brake lever: setting pulls its post towards the arms, releasing pushes it away."""
        m, now = self.mechanism, self.readings
        side = 1 if engage else -1
        for attempt in range(4):
            yield SENSE
            reach = m.brake_length * np.sin(0.45 + 0.04 * attempt)
            y, z = m.brake_hinge[1] + m.brake_length - PRESS_TIGHT, m.brake_hinge[2] + 0.045
            post = np.array([m.brake_hinge[0] - m.brake_length * np.sin(now.brake) + side * 0.042, y, z])
            stop = np.array([m.brake_hinge[0] - side * (reach - 0.020), y, z])
            yield from self._line(arm, post + up(CLEAR), 1.0, m.down[arm.name], 0.0)
            yield from self._line(arm, post, 0.5)
            yield from self._line(arm, stop, 0.6)
            yield from self._line(arm, arm.position + np.array([side * 0.02, 0, CLEAR]), 0.45)
            yield SENSE
            if now.brake > m.brake_set if engage else now.brake < m.brake_released:
                return True
        return False

    # ---- handwheels -------------------------------------------------------------------------------------------------
    def crank(self, arm: Arm, axis: str, barrel_angle: float) -> Program:
        """Turn the wheel of ``axis`` until the barrel stands at ``barrel_angle`` (rad). The knob spins freely on its
        pin, so the hand only carries it round the circle; a lost knob is grasped again."""
        m, now = self.mechanism, self.readings
        goal = barrel_angle / m.gear
        for attempt in range(4):
            yield SENSE
            start = now.wheel(axis)
            if abs(goal - start) < 2 * WHEEL_TOLERANCE:
                return True
            arm.offset_goal = np.zeros(3)
            above = m.knob(axis, start) + up(CLEAR)
            yield from self._line(arm, above, 0.5 if attempt else 1.0, m.down[arm.name], m.gripper_open)
            yield from self._line(arm, m.knob(axis, start), 0.55)
            yield from self._grasp_knob(arm, axis, start)
            yield SENSE
            held = now.wheel(axis)
            yield from self._carry_knob(arm, axis, held, goal, max(0.8, abs(goal - held) / (2 * np.pi) * TURN_S))
            yield from self._trim(arm, axis, goal)
            yield from arm.hold(0.25, m.gripper_open)
            yield from self._lift(arm)
        yield SENSE
        return abs(goal - now.wheel(axis)) < 5 * WHEEL_TOLERANCE

    def _grasp_knob(self, arm: Arm, axis: str, start: float) -> Program:
        """Close on the knob. A grasp off the pads' middle would push the wheel while the brake is off, so the command
        then becomes the measured pose, and the hand opens and tries again when the wheel moved."""
        m, now = self.mechanism, self.readings
        for _ in range(2):
            yield from arm.hold(0.3, 0.0)
            for _ in range(3):
                yield SENSE
                knob = m.knob(axis, now.wheel(axis))
                arm.offset = arm.offset + arm.position - knob
                arm.position = knob
                arm.offset_goal = now.hand(arm) - knob
                yield from arm.hold(0.12)
            yield SENSE
            if abs(now.wheel(axis) - start) < np.deg2rad(2):
                break
            yield from arm.hold(0.25, m.gripper_open)
            yield SENSE
            start = now.wheel(axis)
            arm.offset_goal = arm.offset * [1, 0, 1]
            yield from self._line(arm, m.knob(axis, start), 0.2)
        yield from arm.hold(0.15, m.gripper_squeeze)

    def _carry_knob(self, arm: Arm, axis: str, start: float, goal: float, seconds: float) -> Program:
        count = arm.steps(seconds / self.speed)
        for i in range(1, count + 1):
            arm.position = self.mechanism.knob(axis, start + (goal - start) * minimum_jerk(i / count))
            yield TICK
        yield from arm.hold(0.2)

    def _trim(self, arm: Arm, axis: str, goal: float) -> Program:
        """Close the last tenths of a degree on the wheel's encoder."""
        carried = goal
        for _ in range(4):
            yield SENSE
            error = goal - self.readings.wheel(axis)
            if not WHEEL_TOLERANCE <= abs(error) <= KNOB_LOST:
                break
            yield from self._carry_knob(arm, axis, carried, carried + error, 0.3)
            carried += error

    # ---- spring -----------------------------------------------------------------------------------------------------
    def draw(self, arm: Arm, length: float) -> Program:
        """Draw the carriage to ``length`` (m), a multiple of the ratchet pitch, and leave it on the latch."""
        m, now = self.mechanism, self.readings
        for attempt in range(3):
            yield SENSE
            drawn = now.draw
            if drawn >= length - 0.0005:
                return True
            hand, grip_height = self._barrel_hand(arm, DRAW_TILT), m.tbar_height + 0.002
            above = self.barrel_point(-drawn, grip_height + 0.07)
            yield from self._line(arm, above, 0.8 if attempt else 1.2, hand, m.gripper_open)
            narrow = 2 * m.tbar_radius + BAR_ROOM  # fingers that close from wide open would strike the bar hard
            yield from self._line(arm, self.barrel_point(-drawn, grip_height), 0.5, grip=narrow)
            yield from arm.hold(0.15, 0.0)
            yield from arm.hold(0.2, m.gripper_squeeze)
            pulled = length - CREEP_FROM
            if pulled > drawn:
                yield from self._line(arm, self.barrel_point(-pulled, grip_height), 0.5 + 6 * (pulled - drawn))
            for _ in range(6):
                yield from arm.hold(0.1)
                yield SENSE
                short = length - now.draw
                if short <= 0:
                    break
                pulled += short + 0.0003
                yield from self._line(arm, self.barrel_point(-pulled, grip_height), 0.25)
            yield from arm.hold(0.3, m.gripper_open)
            yield from self._line(arm, self.barrel_point(-pulled, grip_height + 0.08), 0.5)
        yield SENSE
        return now.draw >= length - 0.0005

    # ---- ammunition -------------------------------------------------------------------------------------------------
    def pick(self, arm: Arm, radius: float) -> Program:
        """Take the followed projectile at the end of the tray, or from the floor; True when it hangs in the hand."""
        m, now = self.mechanism, self.readings
        for attempt in range(3):
            yield SENSE
            target = now.projectile + up(0.002)
            above = target + up(CLEAR)
            if above[2] < m.azimuth_wheel[2] < arm.position[2]:  # the straight way down would run into the wheel
                over = np.array([*target[:2], arm.position[2]])
                yield from self._line(arm, over, 1.0, m.down[arm.name], 2 * radius + 0.014)
            yield from self._line(arm, above, 0.5 if attempt else 1.2, m.down[arm.name], 2 * radius + 0.014)
            yield from self._line(arm, target, 0.5)
            yield from arm.hold(0.35, 0.0)
            yield from self._lift(arm, 0.12, 0.5)
            yield SENSE
            if self._holds(arm):
                return True
        return False

    def carry(self, arm: Arm, seconds: float = 0.9) -> Program:
        """Wait with the projectile near the barrel."""
        side = np.sign(self.mechanism.park[arm.name][1])
        yield from self._line(arm, np.array([0.42, side * 0.30, 0.55]), seconds, self.mechanism.down[arm.name])

    def load(self, arm: Arm, radius: float) -> Program:
        """Let the held projectile go into the open breech; True when it lies in the groove."""
        yield SENSE
        s, h = self.mechanism.breech
        s = max(s, FINGER_ROOM - self.readings.draw)
        above, place = self.barrel_point(s, h + 0.07), self.barrel_point(s, h + 0.002)
        yield from self._line(arm, above, 1.2, self._barrel_hand(arm, 1.0))
        yield from self._line(arm, place, 0.4)
        yield from arm.hold(0.3, 2 * radius + 0.002)
        yield from self._line(arm, self.barrel_point(s, h + 0.09), 0.45)
        yield SENSE
        return self.chambered(radius)

    def chambered(self, radius: float) -> bool:
        """Whether the followed projectile lies in the groove in front of the carriage."""
        m, now = self.mechanism, self.readings
        s, w, h = barrel_rotation(now.azimuth, now.elevation).T @ (now.projectile - now.pivot)
        return abs(w) < 0.008 and abs(h - m.groove_height(radius)) < 0.012 and -now.draw < s - m.rest < m.barrel_muzzle

    def _holds(self, arm: Arm) -> bool:
        off = self.readings.hand(arm) - self.readings.projectile
        return float(np.sqrt(off @ off)) < 0.02

    # ---- trigger ----------------------------------------------------------------------------------------------------
    def reach_trigger(self, arm: Arm) -> Program:
        """Close the hand above the paddle."""
        yield from self._line(arm, self._paddle() + up(0.06), 0.9, self.mechanism.down[arm.name], 0.0)

    def pull_trigger(self, arm: Arm) -> Program:
        """Press the paddle; True when the carriage has gone. It may bounce back onto one of the first teeth."""
        yield SENSE
        drawn = self.readings.draw
        for attempt in range(3):
            yield from self._line(arm, self._paddle() - up(0.012 + 0.004 * attempt), 0.35)
            yield from self._line(arm, self._paddle() + up(0.08), 0.4)
            yield SENSE
            if self.readings.draw < drawn - self.mechanism.ratchet_start:
                return True
        return False

    def _paddle(self) -> Array:
        return self.mechanism.trigger + np.array([-0.02, 0, 0])
