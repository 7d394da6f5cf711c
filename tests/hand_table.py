"""A robot alone on a bare floor, and a ring with a handle on a support, for the tests of the hand."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from images.mujoco.embodiment import Embodiment

SUBSTEPS, TIMESTEP = 16, 1 / 480
RADIUS, HOLE, HEIGHT = 0.062, 0.012, 0.020
HANDLE = (0.038, 0.016, 0.018)


def ring(mass: float, friction: float) -> str:
    """A hexagonal ring of six boxes whose handle points to the robot, on a support at (0.5, 0)."""
    surface = f'friction="{friction} .005 .0001" condim="4" priority="1" contype="1" conaffinity="33"'
    boxes = "".join(
        f'<geom type="box" size="{(RADIUS - HOLE) / 2} {RADIUS * math.tan(math.pi / 6)} {HEIGHT / 2}" '
        f'pos="{(RADIUS + HOLE) / 2 * math.cos(a)} {(RADIUS + HOLE) / 2 * math.sin(a)} 0" euler="0 0 {a}" '
        f'mass="{0.15 * mass}" {surface}/>'
        for a in np.arange(6) * math.pi / 3
    )
    length, width, height = (side / 2 for side in HANDLE)
    handle = (
        f'<geom type="box" size="{length} {width} {height}" pos="{RADIUS + length} 0 0" mass="{0.1 * mass}" {surface}/>'
    )
    return (
        f'<body><geom type="box" size=".076 .076 .01" pos=".5 0 .01" contype="1" conaffinity="33"/></body>'
        f'<body name="ring" pos=".5 0 .0302" euler="0 0 {math.pi}"><freejoint/>{boxes}{handle}</body>'
    )


class Table:
    """One robot, and what else is in the world; ``act`` applies one action for a control step of 1/30 s."""

    def __init__(self, robot: Embodiment, things: str = "") -> None:
        made = robot.mjcf("")
        self.robot = robot
        self.model = mujoco.MjModel.from_xml_string(
            f"""<mujoco><compiler angle="radian"/><option timestep="{TIMESTEP}" integrator="implicitfast"
 cone="elliptic" impratio="{robot.impratio}"><flag sleep="enable"/></option>
<default><geom solref=".005 1" solimp=".95 .99 .001"/>{made.defaults}</default><asset>{made.assets}</asset>
<worldbody><geom type="plane" size="0 0 .1" contype="32" conaffinity="0"/>{things}{made.bodies}</worldbody>
<contact>{made.exclusions}</contact><tendon>{made.tendons}</tendon><equality>{made.equalities}</equality>
<actuator>{made.actuators}</actuator></mujoco>"""
        )
        self.data = mujoco.MjData(self.model)
        for name, value in robot.start().items():
            self.data.joint(name).qpos = value
        self.data.ctrl[:] = robot.rest()
        mujoco.mj_forward(self.model, self.data)
        self.seconds = 0.0

    def act(self, action: np.ndarray, steps: int = 1) -> None:
        self.data.ctrl[:] = action
        mujoco.mj_step(self.model, self.data, steps * SUBSTEPS)
        self.seconds += steps * SUBSTEPS * TIMESTEP

    @property
    def positions(self) -> np.ndarray:
        """Positions of the judged joints in order."""
        return np.array([float(self.data.joint(joint.name).qpos[0]) for joint in self.robot.joints])

    @property
    def speeds(self) -> np.ndarray:
        return np.array([float(self.data.joint(joint.name).qvel[0]) for joint in self.robot.joints])

    def touched(self, body: str) -> set[str]:
        """Names of the bodies that ``body`` touches."""
        pairs = self.model.geom_bodyid[self.data.contact.geom].reshape(-1, 2)
        own = self.model.body(body).id
        found = {int(b) for pair in pairs if own in pair for b in pair} - {own}
        return {self.model.body(b).name for b in found}
