"""What a family of tasks needs to know of a robot, so that one scene runs with any of them.

A scene puts an embodiment's MJCF beside its own objects, drives it with one action vector, samples its joints and
contacts, and judges them by the numbers that the embodiment declares. Nothing else of a robot is known outside it.

Collision bits: 1 is every object of a scene, 32 the floor (bodies that stand on or may reach the floor say so). Every
geom of an embodiment has bit 2 in ``contype`` and bit 1 in ``conaffinity``; bits 4, 8 and 16 are free for what an
embodiment collides with of itself, bit 32 in ``conaffinity`` for what may touch the floor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from images.gateway.environment import Control, Field

Part = Literal["arm", "hand", "finger"]


@dataclass(frozen=True)
class Joint:
    """One driven joint as its limits are disclosed and judged. ``unit`` is ``rad`` or ``m``; ``low`` and ``high`` bound
    its position, ``speed`` (unit/s) is its rated speed, ``force`` (N m or N) is where its servo saturates, ``start`` is
    where it stands at first."""

    name: str
    unit: str
    low: float
    high: float
    speed: float
    force: float
    start: float


@dataclass(frozen=True)
class Mjcf:
    """Texts to be put between the elements of their names. ``bodies`` goes into ``worldbody``."""

    assets: str
    defaults: str
    bodies: str
    exclusions: str
    tendons: str
    equalities: str
    actuators: str


@dataclass(frozen=True)
class Mount:
    """A camera on a body: position and look-at point (m) in the body's frame, what is up there, vertical field of view
    (degrees)."""

    body: str
    position: tuple[float, float, float]
    target: tuple[float, float, float]
    upwards: tuple[float, float, float]
    fovy: float


@dataclass(frozen=True)
class Sense:
    """One observation of the robot's own that every access level may read, besides joints, torques and the last action;
    ``read`` takes MuJoCo's data."""

    field: Field
    read: Callable[[Any], np.ndarray]


class Embodiment(Protocol):
    """One robot that stands in the world where its module puts it (x away from it, y to its left, z up).

    The actuators of ``mjcf`` stand in the order of ``controls`` and take the action as it is: ``data.ctrl`` goes from
    where it was to this action, no faster than ``slew``, in equal steps at the rate of the physics. Servos follow with
    ``lag`` (s): a joint follows ``command - lag * qdot``, one value for each control (0: as good as none).
    """

    name: str
    """Second part of an environment's id: ``panda``, ``fr3-sharpa``, ``floating-sharpa``."""
    joints: tuple[Joint, ...]
    """Joints whose position and speed are judged, in the order of the fields ``joint_positions`` and
    ``joint_velocities``. Names are those of the MJCF joints."""
    parts: Mapping[str, Part]
    """Every MJCF body that can touch something and what it is: an ``arm`` or a ``hand`` must touch nothing hard, a
    ``finger`` works."""
    wrist: Mount
    """Where the camera ``wrist`` sits."""
    slew: tuple[float, ...]
    """How fast the target that an actuator gets may change, for each control (its unit/s); infinite where any action is
    reached within a control step."""
    impratio: float
    """How much stiffer friction is than normal force in the scene's contacts. Friction creeps: what light fingertips
    hold by one point each turns slowly in the grasp, the less the higher this is."""

    def controls(self) -> list[Control]:
        """The action vector in order."""

    def mjcf(self, camera: str) -> Mjcf:
        """The robot; ``camera`` is the element of the camera ``wrist``, to be put into the body of :attr:`wrist`."""

    def start(self) -> dict[str, float]:
        """Position of every MJCF joint of the robot at the start (rad, m)."""

    def rest(self) -> np.ndarray:
        """The action that keeps the robot where :meth:`start` puts it."""

    def senses(self, model: Any) -> list[Sense]:
        """What else it feels; empty for a robot without more."""

    def parameters(self) -> dict[str, Any]:
        """Public kinematics, limits and servo constants as JSON (key ``robot`` of ``describe``'s parameters): enough
        for an agent to solve the robot's kinematics and to cancel its lag."""
