"""What an engine's module offers, and what both uses of one (an episode, a replay) say of it."""

from __future__ import annotations

import contextlib
import os
import platform
import traceback
from typing import Any, Protocol

from images.gateway.environment import Environment
from images.gateway.requests import MIN_PICTURE_SIDE

EXIT_FAULT = 3
CPU_FLAGS = ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512dq", "avx512bw", "avx512vl", "asimd", "sve")


class Engine(Protocol):
    """What an engine's module offers."""

    NAME: str

    def fingerprint(self) -> dict[str, Any]:
        """Engine version and GL backend (``gl``, None without one)."""

    def create(self, spec: dict[str, Any]) -> Environment:
        """The environment of a ``start`` or ``replay`` frame's specification, initialized."""


def platform_fingerprint() -> dict[str, Any]:
    """What decides floating-point results besides the engine."""
    flags: list[str] = []
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(("flags", "Features")):
                present = set(line.split(":", 1)[1].split())
                flags = [flag for flag in CPU_FLAGS if flag in present]
                break
    return {"python": platform.python_version(), "cpu": os.uname().machine, "cpu_flags": flags}


def probe_pictures(environment: Environment, backend: str | None) -> str:
    """The name of the picture backend, after one picture that is not all black: many drivers fail like that. Raises
    RuntimeError, and whatever the environment raises where it cannot draw."""
    for camera in environment.cameras()[:1]:
        height = max(MIN_PICTURE_SIDE, round(64 * camera.height / camera.width))
        if not environment.render(camera.name, 64, height).any():
            raise RuntimeError(f"camera {camera.name} shows only black: the GL backend does not draw")
    return str(backend or "unnamed")


def fault_header(cause: str, error: BaseException) -> dict[str, Any]:
    """The ``fault`` frame of an exception."""
    trace = "".join(traceback.format_exception(error))
    text = f"{type(error).__name__}: {error}"
    return {"op": "fault", "cause": cause, "text": text[:2000], "traceback": trace[-20000:]}
