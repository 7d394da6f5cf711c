"""KidGym: twelve grid tasks for children, three levels each (first text of the KidGym benchmark, tasks and levels).

``tasks`` holds the rules, ``generate`` draws episodes from seeds, ``episode`` plays one, ``draw`` makes its pictures,
``solve`` finds shortest solutions and exact chances, ``gym`` is the Gymnasium interface, ``environment`` the gateway's.
This module is the engine (``NAME``, ``fingerprint()``, ``create(spec)``); importing it loads nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from images.gateway.environment import Environment

NAME = "kidgym"


def fingerprint() -> dict[str, Any]:
    """Pillow's version, declared determinism, and what draws pictures: no OpenGL."""
    importlib.import_module("images.kidgym.environment")
    pillow = importlib.import_module("PIL")
    return {"pillow": pillow.__version__, "determinism": "bit-exact", "gl": "pillow"}


def create(spec: dict[str, Any]) -> Environment:
    """The environment that the host's ``start`` frame asks for. Raises ValueError naming field and value."""
    environment: Environment = importlib.import_module("images.kidgym.environment").create(spec)
    return environment
