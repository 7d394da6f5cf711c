"""What the host asks for in its ``start`` frame, checked before anything is created."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from images.gateway.environment import LEVELS

KEYS = (
    "attempt",
    "environment_id",
    "mode",
    "condition",
    "base_seed",
    "level",
    "grants",
    "budget",
    "pictures",
    "record",
)


class SpecError(ValueError):
    """The specification is not usable. One line with the field, its value and what it must be."""


@dataclass(frozen=True)
class Spec:
    """The part of a specification that the gateway itself uses; ``raw`` is what the engine receives."""

    environment_id: str
    mode: str
    level: str
    grants: tuple[str, ...]
    max_actions: int
    max_simulated_s: float
    budgets: dict[str, Any]  # as disclosed: also those that the host enforces, where it names them
    pictures: bool
    state_hz: float
    raw: dict[str, Any]


def parse_spec(raw: Any) -> Spec:
    """Raises SpecError."""
    if not isinstance(raw, dict):
        raise SpecError(f"spec must be an object, not {type(raw).__name__}")
    for key in KEYS:
        if key not in raw:
            raise SpecError(f"spec.{key} is missing")
    unknown = sorted(set(raw) - set(KEYS))
    if unknown:
        raise SpecError(f"spec.{unknown[0]} is unknown; fields are {', '.join(KEYS)}")
    if raw["level"] not in LEVELS:
        raise SpecError(f"spec.level {raw['level']!r} is not one of {', '.join(LEVELS)}")
    grants = raw["grants"]
    if not isinstance(grants, list) or not all(isinstance(grant, str) for grant in grants):
        raise SpecError(f"spec.grants {grants!r} is not a list of strings")
    if not isinstance(raw["pictures"], bool):
        raise SpecError(f"spec.pictures {raw['pictures']!r} is not true or false")
    if not isinstance(raw["condition"], dict):
        raise SpecError(f"spec.condition {raw['condition']!r} is not an object with index and parameters")
    max_actions = _positive(raw["budget"], "spec.budget", "actions")
    if max_actions != int(max_actions):
        raise SpecError(f"spec.budget.actions {max_actions} is not a whole number")
    return Spec(
        environment_id=_text(raw, "environment_id"),
        mode=_text(raw, "mode"),
        level=raw["level"],
        grants=tuple(grants),
        max_actions=int(max_actions),
        max_simulated_s=_positive(raw["budget"], "spec.budget", "simulated_s"),
        budgets=dict(raw["budget"]),
        pictures=raw["pictures"],
        state_hz=_positive(raw["record"], "spec.record", "state_hz"),
        raw=raw,
    )


def _text(raw: Mapping[str, Any], key: str) -> str:
    if not isinstance(raw[key], str) or not raw[key]:
        raise SpecError(f"spec.{key} {raw[key]!r} is not a non-empty string")
    return str(raw[key])


def _positive(owner: Any, path: str, key: str) -> float:
    if not isinstance(owner, dict) or key not in owner:
        raise SpecError(f"{path}.{key} is missing")
    value = owner[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        raise SpecError(f"{path}.{key} {value!r} is not a positive number")
    return value
