"""The MuJoCo engine (``NAME``, ``fingerprint()``, ``create(spec)``) and the parts that its families share.

Importing this package loads nothing: a sandbox imports the reference agents below it and has no MuJoCo. The
environment's process calls ``fingerprint()`` first, which loads everything, so that a pooled process is warm.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from images.gateway.environment import Environment

NAME = "mujoco"
FAMILIES = {
    "marble": "images.mujoco.launcher.environment",
    "hanoi_panda": "images.mujoco.hanoi.environment",
    "hanoi_sharpa": "images.mujoco.hanoi.environment",
    "hanoi_floating": "images.mujoco.hanoi.environment",
}
"""Family prefix of an environment id and the module whose ``create(spec)`` builds it."""


def fingerprint() -> dict[str, Any]:
    """Engine version, declared determinism and the OpenGL backend that pictures would use (None without one)."""
    gl = importlib.import_module("images.mujoco.gl")  # before mujoco: decides what it imports of OpenGL
    mujoco = importlib.import_module("mujoco")
    for module in dict.fromkeys(FAMILIES.values()):
        importlib.import_module(module)
    return {"mujoco": mujoco.__version__, "determinism": "bit-exact", "gl": gl.installed()}


def create(spec: dict[str, Any]) -> Environment:
    """The environment that the host's ``start`` frame asks for. Raises ValueError naming field and value."""
    identifier = str(spec.get("environment_id"))
    family = identifier.split("/")[0]
    if family not in FAMILIES:
        raise ValueError(f"environment_id {identifier!r}: the MuJoCo engine has {', '.join(FAMILIES)}")
    importlib.import_module("images.mujoco.gl")
    environment: Environment = importlib.import_module(FAMILIES[family]).create(spec)
    return environment
