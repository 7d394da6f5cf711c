"""The launcher's reference agent: reads the task, then aims, shoots, looks and corrects until it is done.

It uses the public operations alone: ``describe`` for geometry, masses, stiffness, rules and limits, L3 fields for poses
and progress. It draws no random numbers, so that the same episode gets the same actions, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from images.client.results import Description, Terminal
from images.client.sdk import Client
from images.mujoco.launcher.reference import plan
from images.mujoco.launcher.reference.aiming import Limits, NoAim
from images.mujoco.launcher.reference.ballistics import Ballistics, Projectile
from images.mujoco.launcher.reference.cycle import Cycle, Shot, Stuck
from images.mujoco.launcher.reference.mechanism import Mechanism
from images.mujoco.launcher.reference.operator import Operator
from images.mujoco.launcher.reference.range import Range
from images.mujoco.launcher.reference.readings import Readings
from images.mujoco.launcher.reference.strategy import Plan, Strategy
from images.mujoco.launcher.reference.watching import Experience, fit_flight
from images.reference.motion import Arm, Crew
from images.reference.panda import PandaArm
from images.reference.session import play

SPEED_SHARE = 0.9  # of the rated joint speeds
AIM_MARGIN = np.radians(
    2.0
)  # inside the limits of azimuth and elevation: the wheels swing a little while they are cranked
DRAW_MARGIN = 0.004  # m inside the mechanical end of the draw
WAIT_S = 6.0  # s after the last goal: success may only be declared after an observation period
NEEDED = ("joint_positions", "azimuth", "draw", "pose/barrel")


def solve(client: Client, report: Callable[[str], None]) -> Terminal:
    """Play the episode to its end. Raises Unequipped below level L3."""
    return play(client, NEEDED, lambda description: Gunner(client, description, report).play(), (NoAim, Stuck), report)


class Gunner:
    """One episode."""

    def __init__(self, client: Client, description: Description, report: Callable[[str], None]) -> None:
        parameters = description.parameters
        self.report, self.parameters = report, parameters
        self.loaded = description.mode == "loaded"
        self.mechanism = Mechanism.from_parameters(parameters)
        self.projectiles = [
            Projectile(item["kind"], item["mass"], item["radius"]) for item in parameters["projectiles"]
        ]
        names = [item["name"] for item in parameters["projectiles"]]
        left, right = (_arm(name, self.mechanism, description) for name in ("left", "right"))
        self.crew = Crew(client, [left, right])
        self.readings = Readings(self.crew, names)
        self.operator = Operator(self.mechanism, self.readings, left, right)
        self.cycle = Cycle(self.crew, self.operator, report)
        self.range = Range(parameters)
        self.ballistics = Ballistics(self.mechanism, parameters["stiffness"], self.readings.pivot)
        self.experience = Experience()
        case = description.environment_id.rsplit("/", 1)[-1]
        self.strategy = Strategy(self.ballistics, _limits(self.mechanism, description), parameters, plan.read(case))

    def play(self) -> str:
        """Shoot until every goal is reached or the ammunition is gone; returns why it stops. Raises NoAim, Stuck and
        Terminated."""
        fired = 0
        for index, projectile in enumerate(self.projectiles):
            self.readings.follow(index)
            planned = self._plan(projectile)
            if planned is None:
                break
            aim = planned.aim
            self.report(
                f"shot {index + 1} of {len(self.projectiles)} ({projectile.kind}): {planned.purpose}; azimuth "
                f"{np.degrees(aim.azimuth):.2f}, elevation {np.degrees(aim.elevation):.2f} degrees, draw "
                f"{1000 * aim.draw:.0f} mm; {100 * aim.robustness:.0f} % of disturbed shots hit"
            )
            shot = self.cycle.shoot(aim, projectile, loaded=self.loaded and index == 0)
            fired += shot.fired
            self._learn(shot, projectile)
            self._look()
            self.report(f"struck: {', '.join(sorted(self.range.struck(fired))) or 'nothing'}")
        self.crew.run({"left": self.operator.left.hold(WAIT_S)})
        self.crew.sense()
        return f"waited {WAIT_S:.0f} s after the last of {fired} shots, and the episode goes on"

    def _look(self) -> None:
        events, self.crew.events = self.crew.events, []
        self.range.refresh(self.crew.read(self.range.fields), events)

    def _plan(self, projectile: Projectile) -> Plan | None:
        now = self.crew.sense()
        self._look()
        present = (float(now["azimuth"]), float(now["elevation"]))
        return self.strategy.next(self.range, projectile, present, self.readings.draw)

    def _learn(self, shot: Shot, projectile: Projectile) -> None:
        """Correct the proxy by what the watched flight shows."""
        m = self.mechanism
        release = float(np.hypot(m.rest + m.barrel_muzzle, m.groove_height(projectile.radius)))
        flight = fit_flight(np.array(shot.times), np.reshape(shot.positions, (-1, 3)), self.readings.pivot, release)
        if not shot.fired or flight is None:
            return
        learned = self.experience.learn(self.ballistics, flight, projectile, shot.draw, shot.azimuth, shot.elevation)
        self.ballistics.calibration = learned
        self.report(
            f"flew at {flight.speed:.3f} m/s: speed factor {learned.speed:.4f}, azimuth "
            f"{np.degrees(learned.azimuth):+.2f}, elevation {np.degrees(learned.elevation):+.2f} degrees"
        )


def _arm(name: str, mechanism: Mechanism, description: Description) -> Arm:
    """The arm as the controls ``name_joint1..7`` and ``name_gripper`` move it."""
    controls = {control.name: control for control in description.controls}
    own = [*(controls[f"{name}_joint{i}"] for i in range(1, 8)), controls[f"{name}_gripper"]]
    kinematics = PandaArm(
        mechanism.arm_base[name],
        tool_offset=mechanism.flange + mechanism.grip_point,
        tool_yaw=mechanism.hand_rotation,
    )
    low, high = np.array([control.low for control in own]), np.array([control.high for control in own])
    dt, speed = 1 / description.control_hz, SPEED_SHARE * mechanism.joint_speed_limits
    return Arm(
        name, kinematics, mechanism.home[name], mechanism.gripper_open, dt, mechanism.servo_lag, low, high, speed
    )


def _limits(mechanism: Mechanism, description: Description) -> Limits:
    """Where the disclosed clauses allow to aim, and from which draw on to fire."""
    value: dict[str, Any] = {clause.id: clause.value for clause in description.clauses}
    azimuth = np.radians(value["L-30"]) - AIM_MARGIN
    low, high = np.radians(value["L-31"])
    shortest, longest = value["L-19"] + mechanism.ratchet_pitch, mechanism.max_draw - DRAW_MARGIN
    return Limits((-azimuth, azimuth), (low + AIM_MARGIN, high - AIM_MARGIN), (shortest, longest))
