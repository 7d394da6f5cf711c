"""The referee's limits: joint speed and position, aim, contact force and depth of the arms (clauses L-30 to L-50)."""

from __future__ import annotations

import math
from operator import gt, lt
from typing import Any

import numpy as np

from images.mujoco.launcher import geometry as g
from images.mujoco.launcher.model import ARM_DOFS, BODIES, CONTACTS, FINGERS
from images.mujoco.launcher.plant import Plant
from images.mujoco.referee import Violate


class Limits:
    """Judges the samples of one control step. ``value`` holds the disclosed numbers by clause id; ``parts`` names the
    contact sensors in order."""

    def __init__(self, plant: Plant, value: dict[str, Any], violate: Violate) -> None:
        self._plant, self._violate = plant, violate
        first = int(plant.addresses(["left_joint1"])[0][0])
        self._position = memoryview(plant.data.qpos)[first : first + ARM_DOFS]
        free = [np.inf, np.inf]  # fingers
        self._slack = float(value["L-33"])
        self._speed_limit = np.array([*value["L-32"], *free] * 2)
        low, high = np.array(g.JOINT_LIMITS).T
        self._low = [*(low - self._slack).tolist(), -np.inf, -np.inf] * 2
        self._high = [*(high + self._slack).tolist(), *free] * 2
        arm = [value["L-41"]] * len(BODIES) + [value["L-42"]] * len(FINGERS)
        forces = np.full((CONTACTS, 3), np.inf)  # only the normal component, the first, is limited
        forces[:, 0] = [*arm, *arm, value["L-40"]]
        sensors = np.concatenate([forces.ravel(), [value["L-50"]] * 2])
        self._sample_limit = np.concatenate([self._speed_limit, sensors])
        self._size = np.empty_like(plant.samples)
        self._beyond = np.empty(plant.samples.shape, dtype=bool)
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
        np.abs(self._plant.samples, out=self._size)
        np.greater(self._size, self._sample_limit, out=self._beyond)
        if not np.count_nonzero(self._beyond):
            return
        fast, hard = _first(self._beyond[:, :ARM_DOFS]), _first(self._beyond[:, ARM_DOFS:])
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
        if any(map(lt, position, self._low)) or any(map(gt, position, self._high)):
            limits = zip(self._low, position, self._high, strict=True)
            beyond = [max(low - angle, angle - high) for low, angle, high in limits]
            worst = max(beyond)
            self._violate("L-33", _joint(beyond.index(worst)), worst + self._slack)

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
