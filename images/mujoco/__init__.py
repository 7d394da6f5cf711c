"""The MuJoCo engine (``NAME``, ``fingerprint()``, ``create(spec)``) and the parts that its families share."""

from __future__ import annotations

import importlib
from typing import Any

from images.gateway.environment import Environment
from images.mujoco import gl  # first: decides what MuJoCo imports of OpenGL

import mujoco  # isort: skip

NAME = "mujoco"
FAMILIES = {"marble": "images.mujoco.launcher.environment"}
"""Family prefix of an environment id and the module whose ``create(spec)`` builds it."""


def fingerprint() -> dict[str, Any]:
    """Engine version, declared determinism and the OpenGL backend that pictures would use (None without one)."""
    return {"mujoco": mujoco.__version__, "determinism": "bit-exact", "gl": gl.installed()}


def create(spec: dict[str, Any]) -> Environment:
    """The environment that the host's ``start`` frame asks for. Raises ValueError naming field and value."""
    identifier = str(spec.get("environment_id"))
    family = identifier.split("/")[0]
    if family not in FAMILIES:
        raise ValueError(f"environment_id {identifier!r}: the MuJoCo engine has {', '.join(sorted(FAMILIES))}")
    module = importlib.import_module(FAMILIES[family])
    environment: Environment = module.create(spec)
    return environment
