"""Fields that an agent may read of a MuJoCo scene, each with its reader.

Poses are (x, y, z, qw, qx, qy, qz), velocities (vx, vy, vz, wx, wy, wz), in the world.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mujoco
import numpy as np

from images.gateway.environment import Field

Reader = Callable[[], np.ndarray]


class Readings:
    """``fields`` in the order in which they were added."""

    def __init__(self, model: Any, data: Any) -> None:
        self._model, self._data = model, data
        self.fields: list[Field] = []
        self._readers: dict[str, Reader] = {}

    def read(self, name: str) -> np.ndarray:
        """A fresh copy of the field's present value. Raises KeyError."""
        return self._readers[name]()

    def add(self, name: str, unit: str, shape: tuple[int, ...], level: str, text: str, read: Reader) -> None:
        """A field; ``read`` gives a fresh array."""
        self.fields.append(Field(name, unit, shape, level, text))
        self._readers[name] = read

    def number(self, name: str, unit: str, level: str, text: str, read: Callable[[], float]) -> None:
        """A field of one number."""
        self.add(name, unit, (), level, text, lambda: np.array(float(read())))

    def bodies(self, name: str, bodies: Sequence[str], level: str = "L3") -> None:
        """``pose/NAME`` and ``velocity/NAME`` of one body, or of several as rows."""
        d, ids = self._data, np.array([self._model.body(body).id for body in bodies])
        single = len(bodies) == 1
        shape = () if single else (len(bodies),)

        def pose() -> np.ndarray:
            value = np.concatenate([d.xpos[ids], d.xquat[ids]], axis=1)
            return value[0] if single else value

        def velocity() -> np.ndarray:
            value = np.stack([self._velocity(int(i)) for i in ids])
            return value[0] if single else value

        text = "pose in the world" if single else f"poses of {bodies[0]} .. {bodies[-1]}"
        self.add(f"pose/{name}", "m, quaternion", (*shape, 7), level, text, pose)
        self.add(f"velocity/{name}", "m/s, rad/s", (*shape, 6), level, "velocity in the world", velocity)

    def _velocity(self, body: int) -> np.ndarray:
        value = np.zeros(6)
        kind = mujoco.mjtObj.mjOBJ_XBODY
        mujoco.mj_objectVelocity(self._model, self._data, kind, body, value, 0)
        return np.concatenate([value[3:], value[:3]])
