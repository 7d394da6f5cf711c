"""The record of one attempt and the settings of a group, as they stand in the ledger (design: sections 2, 7 and 9)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

SCHEMA_VERSION = 1

Outcome = Literal["success", "failure", "invalid"]
Level = Literal["L0", "L1", "L2", "L3"]

LARGEST = 2**53  # what every reader of JSON holds exactly, and every sum of ours too
Whole = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]


def _on_utc(value: datetime) -> datetime:
    """A zone may move the first and the last day of the calendar out of it, and no such time can be written on UTC."""
    try:
        value.astimezone(UTC)
    except OverflowError:
        raise ValueError("is before the year 1 or after the year 9999 on UTC; write it as UTC") from None
    return value


Moment = Annotated[AwareDatetime, AfterValidator(_on_utc)]


class Strict(BaseModel):
    """Base of every schema: unknown fields are errors, instances do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Budgets(Strict):
    """Limits of one attempt (text: Table 4 and 'Experimental Setup'). Times in seconds; None means not limited."""

    actions: int
    simulated_s: float
    wall_s: float
    tokens: int | None
    images: int | None


class GroupSettings(Strict):
    """What a group fixes besides its environment; scores of two different settings never mix."""

    profile: str
    engine: str
    mode: str
    base_seed: int
    level: Level
    grants: tuple[str, ...]
    observation_profile: str
    budgets: Budgets
    protocol: str
    versions: dict[str, str]


class Usage(Strict):
    """Model usage of one attempt. None means unknown, never zero. ``cost_usd`` is None when the price is unknown."""

    tokens_input: Whole | None = None
    tokens_cached: Whole | None = None
    tokens_output: Whole | None = None
    estimated: bool = False
    images_sent: Whole = 0
    model_calls: Whole = 0
    cost_usd: Number | None = None


class Violation(Strict):
    """The first recorded violation, with the disclosed clause that it broke."""

    code: str
    clause: str | None
    text: str
    simulated_s: Number | None = None
    data: dict[str, Any] = Field(default_factory=dict)


class ImageIdentity(Strict):
    """``content`` is the canonical identity (root layers and configuration hash), ``id`` what the Engine calls it."""

    role: str
    reference: str
    id: str
    content: str


class Artifact(Strict):
    """One stored file of an attempt, relative to the attempt's folder."""

    name: str
    sha256: str
    size: Whole
    media_type: str


class AttemptRecord(Strict):
    """The terminal record of an attempt. Times are UTC; durations in seconds."""

    schema_version: int = SCHEMA_VERSION
    attempt: str
    run: str
    sequence: Whole
    environment_id: str
    condition: Whole
    settings: GroupSettings
    agent: dict[str, Any]
    runtime: str
    official: bool
    images: tuple[ImageIdentity, ...]
    fingerprint: dict[str, Any]
    realized: dict[str, Any]
    opened_at: Moment
    began_at: Moment | None
    closed_at: Moment
    acted: bool
    wall_s: Number
    success_wall_s: Number | None = None
    simulated_s: Number
    actions: Whole
    image_reads: Whole
    usage: Usage
    outcome: Outcome
    cause: str
    code: str | None
    incident: Literal["none", "candidate"]
    violation: Violation | None = None
    text: str = ""
    evidence: dict[str, Any] = Field(default_factory=dict)
    final_digest: str | None = None
    artifacts: tuple[Artifact, ...] = ()


def utc(value: datetime) -> datetime:
    """The same instant, aware and on UTC; a naive time is refused."""
    if value.tzinfo is None:
        raise ValueError(f"time {value.isoformat()} has no zone")
    return value.astimezone(UTC)
