"""What is stored of an attempt that a replay needs: its actions, and what they led to."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from manifests import arrays, strict
from manifests.load import Manifests
from manifests.records import AttemptRecord
from runner.agents.base import AgentInfo
from runner.plan import Planned, Slot
from runner.seeds import conditions_of
from runner.store.store import default_home
from runner.supervise import ARTIFACTS
from runner.words import count

DESCRIBE = "describe.json"
DEEPEST = 64  # levels of a description: what walks through it is recursive


class CannotReplay(Exception):
    """One line that says why an attempt cannot be replayed."""


@dataclass(frozen=True)
class Course:
    """An episode as the environment reports it, then or now.

    ``actions`` float64 (n, dim). ``digests``: (actions before it, SHA-256 of the exact state). ``states`` float32
    (m, k) with ``times`` float64 (m,) in s of simulated time. ``described`` is what the agent was told.
    """

    actions: np.ndarray
    digests: tuple[tuple[int, str], ...]
    states: np.ndarray
    times: np.ndarray
    scorer_log: bytes
    described: dict[str, Any]
    realized: dict[str, Any]


def read(record: AttemptRecord, folder: Path) -> Course:
    """The stored course of an attempt. Raises CannotReplay for a file that is missing or unreadable."""
    if folder.is_symlink():
        raise CannotReplay("its folder is a link to another place")
    states, times = _array(folder, "states", "float32", 2), _array(folder, "state_times", "float64", 1)
    if len(states) != len(times):
        raise CannotReplay(f"states.npy has {count(len(states), 'row')}, state_times.npy {count(len(times), 'time')}")
    if not np.isfinite(times).all():
        raise CannotReplay("state_times.npy holds a time that is not finite")
    return Course(
        actions=_array(folder, "actions", "float64", 2),
        digests=_digests(_json(folder, ARTIFACTS["digests"])),
        states=states,
        times=times,
        scorer_log=_bytes(folder, ARTIFACTS["scorer_log"]),
        described=_described(_json(folder, DESCRIBE)),
        realized=record.realized,
    )


def slot(record: AttemptRecord, manifests: Manifests) -> Slot:
    """The condition of a record with the limits that it had then. Raises CannotReplay."""
    entry = manifests.environments.get(record.environment_id)
    if entry is None:
        raise CannotReplay(f"the catalog has no environment {record.environment_id!r}")
    if record.settings.engine not in manifests.engines:
        raise CannotReplay(f"there is no engine {record.settings.engine!r}")
    found = {item.index: item for item in conditions_of(record, manifests, default_home())}
    if record.condition not in found:
        raise CannotReplay(f"{record.environment_id} has no condition {record.condition}")
    settings = record.settings
    planned = Planned(
        environment_id=record.environment_id,
        family=entry.family,
        engine=settings.engine,
        mode=settings.mode,
        budgets=settings.budgets,
        settings=settings,
        conditions=tuple(found.values()),
        reason=None,
    )
    return Slot(planned, found[record.condition])


def replayer(record: AttemptRecord, described: dict[str, Any], manifests: Manifests) -> AgentInfo:
    """The replay program in the place of the agent: its access and sandbox, so that it is told exactly the same."""
    sandbox = next((image.role for image in record.images if image.role in manifests.sandboxes), None)
    return AgentInfo(
        name="replay",
        kind=str(record.agent.get("kind", "baseline")),
        version=str(record.agent.get("version", "")),
        digest="",
        level=record.settings.level,
        grants=record.settings.grants,
        sandbox=sandbox,
        pictures=bool(described.get("cameras")),
        trusted=True,
    )


def _file(folder: Path, name: str) -> Path:
    """A regular file of the attempt: opening a pipe would wait for ever, and a link leads to somebody else's."""
    path = folder / name
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise CannotReplay(f"{name} is no regular file")
    except OSError as error:
        raise CannotReplay(f"{name} cannot be read ({error.strerror})") from None
    return path


def _bytes(folder: Path, name: str) -> bytes:
    try:
        return _file(folder, name).read_bytes()
    except OSError as error:
        raise CannotReplay(f"{name} cannot be read ({error.strerror})") from None


def _json(folder: Path, name: str) -> Any:
    try:
        return strict.loads(_bytes(folder, name))
    except RecursionError:
        raise CannotReplay(f"{name} is nested too deeply") from None
    except ValueError as error:
        raise CannotReplay(f"{name} cannot be read: {error}") from None


def _array(folder: Path, kind: str, dtype: str, dimensions: int) -> np.ndarray:
    name = ARTIFACTS[kind]
    try:
        found = arrays.load(_file(folder, name))
    except OSError as error:
        raise CannotReplay(f"{name} cannot be read ({error.strerror})") from None
    except (ValueError, TypeError, EOFError) as error:
        raise CannotReplay(f"{name} cannot be read: {error}") from None
    if found.dtype != dtype or found.ndim != dimensions:
        raise CannotReplay(f"{name} holds {found.dtype} {found.shape}, not {dtype} of {count(dimensions, 'dimension')}")
    return found


def _digests(value: Any) -> tuple[tuple[int, str], ...]:
    """``digests.json``: [[actions before it, SHA-256], ...]."""
    pairs: list[Any] = value if isinstance(value, list) else [None]
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2 and type(pair[0]) is int and isinstance(pair[1], str)):
            raise CannotReplay("digests.json holds no list of [actions, digest]")
    return tuple((before, digest) for before, digest in pairs)


def _described(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CannotReplay("describe.json holds no object")
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        level = [inner for item in level for inner in _inside(item)]
    if level:
        raise CannotReplay(f"describe.json is nested more than {DEEPEST} levels deep")
    return value


def _inside(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    return value if isinstance(value, list) else []
