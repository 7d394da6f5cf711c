"""What is stored of an attempt that a replay needs: its actions, and what they led to."""

from __future__ import annotations

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

DESCRIBE = "describe.json"


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
    try:
        return Course(
            actions=_array(folder, "actions"),
            digests=tuple((int(count), str(found)) for count, found in strict.loads(_bytes(folder, "digests"))),
            states=_array(folder, "states"),
            times=_array(folder, "state_times"),
            scorer_log=_bytes(folder, "scorer_log"),
            described=strict.loads((folder / DESCRIBE).read_bytes()),
            realized=record.realized,
        )
    except OSError as error:
        raise CannotReplay(f"{Path(str(error.filename)).name} cannot be read ({error.strerror})") from None
    except (ValueError, TypeError, EOFError) as error:
        raise CannotReplay(f"its artifacts cannot be read: {error}") from None


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


def _bytes(folder: Path, name: str) -> bytes:
    return (folder / ARTIFACTS[name]).read_bytes()


def _array(folder: Path, name: str) -> np.ndarray:
    return arrays.load(folder / ARTIFACTS[name])
