"""An off-screen OpenGL context for MuJoCo: EGL where it works, else OSMesa; opened only when pictures are asked for.

``MUJOCO_GL`` (``egl`` or ``osmesa``) forces one. This module must be imported before ``mujoco``: it keeps MuJoCo from
importing a window system of its own, and PyOpenGL can only be bound to one platform per process, so EGL is probed with
plain ctypes before anything of PyOpenGL is loaded.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

MENDS = {"egl": "libegl1 libgl1-mesa-dri", "osmesa": "libosmesa6"}  # Debian packages
_VENDORS = ("/etc/glvnd/egl_vendor.d", "/usr/share/glvnd/egl_vendor.d")
_EGL_PLATFORM_DEVICE = 0x313F

FORCED = os.environ.get("MUJOCO_GL", "").lower()
os.environ["MUJOCO_GL"] = "disable"


class NoBackend(RuntimeError):
    """No OpenGL backend draws here; the text names the Debian packages that mend it."""


def installed() -> str | None:
    """The backend that pictures would use, from the files there; nothing is opened (an EGL driver takes 0.3 s)."""
    if FORCED:
        return FORCED if FORCED in MENDS else None
    if _library("libEGL.so.1") and any(next(Path(folder).glob("*.json"), None) for folder in _VENDORS):
        return "egl"
    return "osmesa" if _library("libOSMesa.so.8") or _library("libOSMesa.so.6") else None


def working() -> str | None:
    """As ``installed``, but an EGL without a driver that initializes gives way to OSMesa."""
    backend = installed()
    if backend != "egl" or FORCED or _egl_works():
        return backend
    return "osmesa" if _library("libOSMesa.so.8") or _library("libOSMesa.so.6") else None


def _library(name: str) -> Any:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def _egl_works() -> bool:
    """Whether some EGL device has a driver that initializes; the library alone does not say so."""
    egl = _library("libEGL.so.1")
    if egl is None:
        return False
    egl.eglGetProcAddress.restype = ctypes.c_void_p
    query, display = egl.eglGetProcAddress(b"eglQueryDevicesEXT"), egl.eglGetProcAddress(b"eglGetPlatformDisplayEXT")
    if not query or not display:
        return False
    devices, count = (ctypes.c_void_p * 16)(), ctypes.c_int()
    listing = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(query)
    if not listing(16, ctypes.addressof(devices), ctypes.addressof(count)):
        return False
    opening = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p)(display)
    for device in devices[: count.value]:
        handle = opening(_EGL_PLATFORM_DEVICE, device, None)
        if handle and egl.eglInitialize(ctypes.c_void_p(handle), None, None):
            return True
    return False


def open_context(width: int, height: int) -> Any:
    """A current context of at least this size, with ``make_current`` and ``free``. Raises NoBackend."""
    backend = working()
    if backend is None:
        wanted = f"MUJOCO_GL={FORCED} is not egl or osmesa" if FORCED else "neither EGL nor OSMesa works"
        raise NoBackend(f"pictures: {wanted}; install {MENDS['egl']} or {MENDS['osmesa']}")
    os.environ["PYOPENGL_PLATFORM"] = backend
    try:
        if backend == "egl":
            from mujoco.egl import GLContext
        else:
            from mujoco.osmesa import GLContext
        context = GLContext(width, height)
        context.make_current()
    except Exception as error:
        raise NoBackend(f"pictures: {backend} does not start ({error}); install {MENDS[backend]}") from None
    return context
