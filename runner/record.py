"""How an attempt ended, and the terminal record made of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from manifests.load import Manifests
from manifests.lookup import rule
from manifests.records import Artifact, AttemptRecord, ImageIdentity, Usage, Violation
from runner.agents.base import AgentInfo
from runner.plan import Planned
from runner.runtimes.base import RuntimeFacts
from runner.store.text import now, storable, storable_text

CLAUSE_TEXT = "clause_text"  # key of a violation's data: the clause as it was disclosed


@dataclass
class Ending:
    """The end of an attempt before the cause table has ruled on it.

    ``success_at`` is the time.monotonic() value at which the verdict of a success arrived; ``files`` are artifacts by
    file name.
    """

    cause: str
    code: str | None = None
    clause: str | None = None
    text: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    evidence: dict[str, Any] = field(default_factory=dict)
    meter: dict[str, Any] = field(default_factory=dict)
    digest: str | None = None
    event_simulated_s: float | None = None
    acted: bool = False
    success_at: float | None = None
    files: dict[str, bytes | np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Identity:
    """What the record says of an attempt whatever its end."""

    attempt: str
    run: str
    sequence: int
    planned: Planned
    condition: int
    agent: AgentInfo
    facts: RuntimeFacts
    opened_at: datetime


@dataclass(frozen=True)
class Course:
    """What happened before the end. Durations in seconds."""

    began_at: datetime | None = None
    wall_s: float = 0.0
    success_wall_s: float | None = None
    images: tuple[ImageIdentity, ...] = ()
    fingerprint: dict[str, Any] = field(default_factory=dict)
    realized: dict[str, Any] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)


def make_record(
    manifests: Manifests, identity: Identity, course: Course, ending: Ending, artifacts: tuple[Artifact, ...]
) -> AttemptRecord:
    """The terminal record: the cause table decides outcome, code and candidate; an unknown cause is invalid."""
    ruling = rule(manifests, ending.cause, identity.planned.settings.protocol, ending.code)
    meter = ending.meter
    return AttemptRecord(
        attempt=identity.attempt,
        run=identity.run,
        sequence=identity.sequence,
        environment_id=identity.planned.environment_id,
        condition=identity.condition,
        settings=identity.planned.settings,
        agent=agent_entry(identity.agent),
        runtime=identity.facts.name,
        official=identity.facts.official,
        images=course.images,
        fingerprint=storable(course.fingerprint),
        realized=storable(course.realized),
        opened_at=identity.opened_at,
        began_at=course.began_at,
        closed_at=now(),
        acted=ending.acted,
        wall_s=round(course.wall_s, 3),
        success_wall_s=round(course.success_wall_s, 3) if course.success_wall_s is not None else None,
        simulated_s=float(meter.get("simulated_s", 0.0)),
        actions=int(meter.get("actions", 0)),
        image_reads=int(meter.get("image_reads", 0)),
        usage=course.usage,
        outcome=ruling.outcome,
        cause=storable_text(ending.cause),
        code=ruling.code,
        incident="candidate" if ruling.incident else "none",
        violation=_violation(ending, ruling.code) if ruling.outcome == "failure" and ending.clause else None,
        text=storable_text(ending.text),
        evidence=storable(ending.evidence),
        final_digest=ending.digest,
        artifacts=artifacts,
    )


def agent_entry(info: AgentInfo) -> dict[str, Any]:
    """The agent's identity as records and settings carry it."""
    return {
        "name": info.name,
        "kind": info.kind,
        "version": info.version,
        "digest": info.digest,
        "model": info.model,
        "parameters": storable(info.parameters),
    }


def _violation(ending: Ending, code: str | None) -> Violation:
    return Violation(
        code=code or "",
        clause=ending.clause,
        text=storable_text(ending.text),
        simulated_s=ending.event_simulated_s,
        data=storable(ending.data),
    )
