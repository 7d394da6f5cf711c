"""The referee's limits: joint speed and position, aim, contact force and depth of the arms (clauses L-30 to L-50)."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from images.mujoco.launcher import geometry as g
from images.mujoco.launcher.model import ARM_DOFS, BODIES, CONTACTS, FINGERS
from images.mujoco.launcher.plant import Plant


class Violate(Protocol):
    """Records a violation of ``clause`` by ``what``, with the measured value."""

    def __call__(
        self, clause: str, what: str, value: Any, limit: Any = None, time: float | None = None
    ) -> None: ...  # pragma: no cover


class Limits:
    """Judges the samples of one control step. ``value`` holds the disclosed numbers by clause id; ``parts`` names the
    contact sensors in order."""

    def __init__(self, plant: Plant, value: dict[str, Any], violate: Violate) -> None:
        self._plant, self._violate = plant, violate
        first = int(plant.addresses(["left_joint1"])[0][0])
        self._position = plant.data.qpos[first : first + ARM_DOFS]
        free = [np.inf, np.inf]  # fingers
        self._slack = float(value["L-33"])
        self._speed_limit = np.array([*value["L-32"], *free] * 2)
        low, high = np.array(g.JOINT_LIMITS).T
        self._low = np.array([*(low - self._slack), *np.negative(free)] * 2)
        self._high = np.array([*(high + self._slack), *free] * 2)
        arm = [value["L-41"]] * len(BODIES) + [value["L-42"]] * len(FINGERS)
        forces = np.full((CONTACTS, 3), np.inf)  # only the normal component, the first, is limited
        forces[:, 0] = [*arm, *arm, value["L-40"]]
        self._sensor_limit = np.concatenate([forces.ravel(), [value["L-50"]] * 2])
        self.parts = [f"{arm} {part}" for arm in g.ARMS for part in BODIES + FINGERS] + ["both arms"]
        self._azimuth = math.radians(value["L-30"])
        self._elevation_low, self._elevation_high = (math.radians(angle) for angle in value["L-31"])

    def check(self) -> None:
        """Samples of every physics step first, then the pose at the end of the control step."""
        self._check_samples()
        self._check_positions()
        azimuth, elevation = self._plant.angle("azimuth"), self._plant.angle("elevation")
        if abs(azimuth) > self._azimuth:
            self._violate("L-30", "azimuth", math.degrees(azimuth))
        if not self._elevation_low <= elevation <= self._elevation_high:
            self._violate("L-31", "elevation", math.degrees(elevation))

    def _check_samples(self) -> None:
        """Joint speeds and contacts; the earliest excess counts."""
        speeds = np.abs(self._plant.speed_log) > self._speed_limit
        contacts = np.abs(self._plant.sensor_log) > self._sensor_limit
        fast, hard = _first(speeds), _first(contacts)
        if fast is not None and (hard is None or fast[0] <= hard[0]):
            step, column = fast
            value, limit = abs(float(self._plant.speed_log[step, column])), float(self._speed_limit[column])
            self._violate("L-32", _joint(column), value, limit=limit, time=self._time(step))
        elif hard is not None:
            self._touched(*hard)

    def _touched(self, step: int, column: int) -> None:
        value, time = abs(float(self._plant.sensor_log[step, column])), self._time(step)
        if column >= 3 * CONTACTS:
            self._violate("L-50", f"a contact of the {g.ARMS[column - 3 * CONTACTS]} arm", value, time=time)
            return
        part = self.parts[column // 3]
        clause = "L-40" if part == "both arms" else "L-42" if "finger" in part else "L-41"
        self._violate(clause, part, value, time=time)

    def _check_positions(self) -> None:
        position = self._position
        if ((position < self._low) | (position > self._high)).any():
            beyond = np.maximum(self._low - position, position - self._high)
            column = int(beyond.argmax())
            self._violate("L-33", _joint(column), float(beyond[column]) + self._slack)

    def _time(self, step: int) -> float:
        return self._plant.time - (g.SUBSTEPS - 1 - step) * g.PHYSICS_DT

    def forces(self) -> np.ndarray:
        """Normal contact forces (N) at the last physics step, in the order of ``parts``."""
        return np.abs(self._plant.sensor_log[-1, : 3 * CONTACTS : 3])


def _joint(column: int) -> str:
    return f"{g.ARMS[column // 9]} joint {column % 9 + 1}"


def _first(mask: np.ndarray) -> tuple[int, int] | None:
    """Row and column of the first true entry, if there is one."""
    row, column = divmod(int(mask.argmax()), mask.shape[1])
    return (row, column) if mask[row, column] else None
