"""Pictures of one episode from the fixed cameras."""

from __future__ import annotations

import weakref
from typing import Any

import mujoco
import numpy as np

from images.mujoco.gl import MENDS, NoBackend, installed, open_context

MAX_SIDE = 1024  # pixels: size of the off-screen buffer
DRAWN = 2
"""Group of the sites that are drawn: shapes that collide with nothing and leave the physics as it is, to the bit."""


class Pictured:
    """The part of an environment that draws. Without ``pictures`` nothing is opened."""

    def __init__(self, model: Any, data: Any, pictures: bool) -> None:
        self._painter = Painter(model, data) if pictures else None

    @property
    def painter(self) -> Painter:
        """Raises RuntimeError for an episode without pictures."""
        if self._painter is None:
            raise RuntimeError("this episode was created without pictures")
        return self._painter

    def render(self, camera: str, width: int, height: int) -> np.ndarray:
        """uint8 (height, width, 3), row 0 at the top."""
        return self.painter.picture(camera, width, height)

    def close(self) -> None:
        """Free what draws; harmless twice."""
        if self._painter is not None:
            self._painter.close()
            self._painter = None


class Painter:
    """An off-screen renderer of one model. Raises NoBackend when it cannot draw or draws nothing but black."""

    def __init__(self, model: Any, data: Any) -> None:
        self._model, self._data = model, data
        self._gl = open_context(MAX_SIDE, MAX_SIDE)
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        self._release = weakref.finalize(self, _free, self._gl, self._context)
        self._release.atexit = False  # the display may be gone by then
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        self._scene = mujoco.MjvScene(model, maxgeom=2000)
        self._option, self._camera = mujoco.MjvOption(), mujoco.MjvCamera()
        self._option.geomgroup[3] = 0  # collision hulls of the arms
        self._option.sitegroup[:] = 0
        self._option.sitegroup[DRAWN] = 1
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        frame = self.picture(model.camera(0).name, 64, 64)
        if not frame.any():
            raise NoBackend(f"pictures: {installed()} draws only black; install {MENDS[str(installed())]}")

    def pose(self, positions: np.ndarray) -> None:
        """Put every joint in place, for pictures only: nothing is simulated."""
        self._data.qpos[:] = positions
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_camlight(self._model, self._data)

    def picture(self, camera: str, width: int, height: int, *, shadows: bool = True) -> np.ndarray:
        """uint8 (height, width, 3) of the present state, row 0 at the top. Without ``shadows`` it takes a third of the
        time in software. Raises ValueError for an unusable size."""
        if not (16 <= width <= MAX_SIDE and 16 <= height <= MAX_SIDE):
            raise ValueError(f"picture size {width} x {height} is outside 16..{MAX_SIDE} pixels")
        self._gl.make_current()
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW.value] = shadows
        self._camera.fixedcamid = self._model.camera(camera).id
        mujoco.mjv_updateScene(
            self._model,
            self._data,
            self._option,
            None,
            self._camera,
            mujoco.mjtCatBit.mjCAT_ALL.value,
            self._scene,
        )
        view = mujoco.MjrRect(0, 0, width, height)
        frame = np.empty((height, width, 3), dtype=np.uint8)
        mujoco.mjr_render(view, self._scene, self._context)
        mujoco.mjr_readPixels(frame, None, view, self._context)
        return frame[::-1]

    def close(self) -> None:
        """Free the context; harmless twice."""
        self._release()


def _free(gl: Any, context: Any) -> None:
    """Objects of one context have the names of another's: whoever is dropped unclosed must not free those."""
    gl.make_current()
    context.free()
    gl.free()
