"""What makes a run the same run: its settings, its default name, and the refusal to go on with others.

What the user typed decides the default name; what can drift under the same command (images, prompts, budgets, the
runtime that ``auto`` finds) does not, so that drift is refused by field instead of starting another run in silence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from manifests.records import Budgets, ImageIdentity
from runner.agents.base import AgentInfo
from runner.errors import BadInput
from runner.store.text import digest, storable

MAX_VALUES = 3  # of one field that are named when they differ
_HINTS = {"agent.digest": " (its code and prompts)"}
# What follows from another field is not said beside it: another subset has budgets, images and evaluators of its own,
# another agent its own code.
_FOLLOWING = {
    "environments": ("budgets.", "images.", "versions."),
    "model": ("agent.name", "agent.kind", "agent.version", "agent.digest"),
    "agent.name": ("agent.kind", "agent.version", "agent.digest"),
}


@dataclass(frozen=True)
class Choices:
    """The choices of ``assay evaluate``, defaults filled in."""

    model: str
    board: str = "ep"
    subset: str = "ep-launch"
    tasks: str | None = None
    protocol: str = "pass2"
    profile: str = "embedded"
    seed: int = 0
    runtime: str = "auto"
    gpus: bool = False
    agent: str | None = None
    level: str | None = None
    grants: tuple[str, ...] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


def default_name(choices: Choices, info: AgentInfo) -> str:
    """A readable name with a short hash of the rest: ``reference-smoke-pass2-embedded-L3-s0-1a2b3c``."""
    rest = digest(
        {
            "model": choices.model,
            "board": choices.board,
            "tasks": choices.tasks,
            "runtime": choices.runtime,
            "gpus": choices.gpus,
            "agent": info.name,
            "grants": list(info.grants),
            "parameters": dict(choices.parameters),
        }
    )
    model = re.sub(r"[^A-Za-z0-9._-]+", "-", choices.model).strip("-.")[:40] or "model"
    parts = (model, choices.subset, choices.protocol, choices.profile, info.level, f"s{choices.seed}", rest[:6])
    return "-".join(parts)


def run_settings(
    choices: Choices,
    info: AgentInfo,
    *,
    environments: Mapping[str, str],
    budgets: Mapping[str, Budgets],
    runtime: str,
    images: Mapping[str, tuple[ImageIdentity, ...]],
    versions: Mapping[str, str],
    mode: str | None = None,
) -> dict[str, Any]:
    """The settings as they stand in the first entry of the ledger (plain JSON).

    ``environments`` maps every planned id to its engine, ``budgets`` a family (and level) to its limits, ``images`` an
    engine to the identities of its pair. ``mode`` is the setting in which a run of a board with settings is made.
    """
    return storable(
        {
            "board": choices.board,
            "model": choices.model,
            "agent": {
                "name": info.name,
                "kind": info.kind,
                "parameters": dict(info.parameters),
                "version": info.version,
                "digest": info.digest,
            },
            "subset": choices.subset,
            "tasks": choices.tasks,
            "environments": dict(environments),
            "protocol": choices.protocol,
            "profile": choices.profile,
            "level": info.level,
            "grants": list(info.grants),
            "seed": choices.seed,
            "budgets": {label: limits.model_dump() for label, limits in budgets.items()},
            "runtime": runtime,
            "gpus": choices.gpus,
            "images": {
                engine: {image.role: image.content for image in identities} for engine, identities in images.items()
            },
            "versions": dict(versions),
            **({} if mode is None else {"mode": mode}),
        }
    )


def check_same(name: str, recorded: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raises BadInput naming every field that differs, with both values, and the fix. What only follows from another
    field, as the budgets of another subset, is left out."""
    before, after = _compared(recorded), _compared(now)
    paths = [path for path in {**after, **before} if before.get(path) != after.get(path)]
    if not paths:
        return
    differing: dict[str, list[str]] = {}  # by the first part of their paths, in the order in which they are typed
    for path in paths:
        if not _follows(path, paths, before, after):
            differing.setdefault(path.split(".")[0], []).append(path)
    said = "; ".join(_difference(field, paths, before, after) for field, paths in differing.items())
    raise BadInput(f"run {name}: {said}: go back to what was recorded, or start another run with RUN=...")


def _compared(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Leaves by dotted path. A list is one value, and so are the environments."""
    planned = settings.get("environments")
    whole = {"environments": planned} if planned else {}
    rest = {key: value for key, value in settings.items() if key != "environments"}
    return {**_leaves(rest), **whole}


def _leaves(value: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    leaves: dict[str, Any] = {}
    for key, item in value.items():
        here = f"{path}.{key}" if path else str(key)
        leaves.update(_leaves(item, here) if isinstance(item, Mapping) else {here: item})
    return leaves


def _follows(path: str, paths: list[str], before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether another field that differs explains ``path``: a choice of environments only what stands on one side."""
    one_sided = before.get(path) is None or after.get(path) is None
    return any(
        field in paths and path.startswith(following) and path != field and (field != "environments" or one_sided)
        for field, following in _FOLLOWING.items()
    )


def _difference(field: str, paths: list[str], before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """``seed was 0 and is now 1``; of a field with many values the first ones."""
    if field == "environments":
        return _environments(before.get(field) or {}, after.get(field) or {})
    said = [
        f"{path}{_HINTS.get(path, '')} was {_short(before.get(path))} and is now {_short(after.get(path))}"
        for path in paths[:MAX_VALUES]
    ]
    return "; ".join(said) + (f"; {len(paths) - MAX_VALUES} more of {field}" if len(paths) > MAX_VALUES else "")


def _environments(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """``environments were 34 and are now 3 (31 left out: marble/dual-panda/A001, ...)``."""
    parts = (
        ("left out", [name for name in before if name not in after]),
        ("added", [name for name in after if name not in before]),
        ("on another engine", [name for name in after if name in before and before[name] != after[name]]),
    )
    said = "; ".join(f"{len(names)} {what}: {_first(names)}" for what, names in parts if names)
    return f"environments were {len(before)} and are now {len(after)} ({said})"


def _first(names: list[str]) -> str:
    return ", ".join([*names[:MAX_VALUES], *(["..."] if len(names) > MAX_VALUES else [])])


def flatten(value: Any, path: str = "") -> dict[str, Any]:
    """Leaves of nested objects and lists by dotted path: ``agent.parameters.effort``, ``budgets.launcher.tokens``."""
    if isinstance(value, Mapping) and value:
        items = [(f"{path}.{key}" if path else str(key), item) for key, item in value.items()]
    elif isinstance(value, list | tuple) and value:
        items = [(f"{path}[{index}]", item) for index, item in enumerate(value)]
    else:
        return {path: value} if path else {}
    leaves: dict[str, Any] = {}
    for name, item in items:
        leaves.update(flatten(item, name))
    return leaves


def attempt_seed(base_seed: int, environment_id: str, condition: int, ordinal: int) -> int:
    """The agent's seed, below 2**32: another for every attempt, the same whenever that attempt is run."""
    key = {"base_seed": base_seed, "environment": environment_id, "condition": condition, "ordinal": ordinal}
    return int(digest(key)[:8], 16)


def _short(value: Any) -> str:
    if isinstance(value, list):
        value = ",".join(map(str, value)) or None
    text = "not set" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
