"""The launcher as ``describe`` discloses it: the public parameters as arrays, and the barrel's frames."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Mechanism:
    """The part of the public geometry that the agent uses, under the public names (units: m, kg, rad, N, s)."""

    arm_base: dict[str, Array]
    down: dict[str, Array]
    park: dict[str, Array]
    home: dict[str, Array]
    joint_speed_limits: Array
    flange: float
    hand_rotation: float
    grip_point: float
    servo_lag: float
    gripper_open: float
    gripper_squeeze: float
    rest: float
    barrel_rear: float
    barrel_muzzle: float
    reference_radius: float
    groove_angle: float
    bore_friction: float
    pusher_front: float
    carriage_mass: float
    tbar_height: float
    tbar_radius: float
    ratchet_pitch: float
    ratchet_start: float
    max_draw: float
    breech: Array
    gear: float
    elevation_wheel: Array
    azimuth_wheel: Array
    knob_circle: float
    knob_height: float
    brake_hinge: Array
    brake_length: float
    brake_released: float
    brake_set: float
    trigger: Array
    trigger_rearms: float
    pick: Array
    pick_slope: float
    tray_stop: float

    @classmethod
    def from_parameters(cls, parameters: dict[str, Any]) -> Mechanism:
        """Takes what it needs from ``describe``'s parameters. Raises KeyError naming what is missing."""
        names = [field.name for field in fields(cls)]
        missing = [name for name in names if name not in parameters]
        if missing:
            raise KeyError(f"describe has no mechanism parameter {', '.join(missing)}")
        return cls(**{name: _arrays(parameters[name]) for name in names})

    def wheel(self, axis: str) -> Array:
        """Centre (3,) of the handwheel of ``axis``, ``elevation`` or ``azimuth``."""
        return self.elevation_wheel if axis == "elevation" else self.azimuth_wheel

    def knob(self, axis: str, wheel_angle: float) -> Array:
        """A good grip point (3,) on the knob at ``wheel_angle``."""
        r = self.knob_circle
        return self.wheel(axis) + np.array([r * np.cos(wheel_angle), r * np.sin(wheel_angle), self.knob_height])

    def groove_height(self, radius: float) -> float:
        """Height above the barrel axis at which the centre of a projectile of ``radius`` runs."""
        return (radius - self.reference_radius) / np.sin(self.groove_angle)


def up(height: float) -> Array:
    """The vector (3,) that points up by ``height``."""
    return np.array([0.0, 0.0, height])


def barrel_rotation(azimuth: float, elevation: float) -> Array:
    """World from barrel: Rz(azimuth) Ry(-elevation); x is the bore."""
    ca, sa, ce, se = np.cos(azimuth), np.sin(azimuth), np.cos(elevation), np.sin(elevation)
    return np.array([[ca * ce, -sa, -ca * se], [sa * ce, ca, -sa * se], [se, 0.0, ce]])


def _arrays(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _arrays(item) for key, item in value.items()}
    return np.asarray(value, dtype=float) if isinstance(value, list | tuple) else value
