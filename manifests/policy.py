"""Schemas of policy: protocols, causes, failure codes, trust, profiles and engines (design: sections 5 and 7)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import Field, RootModel, model_validator

from manifests.models import Name, Positive, PositiveFloat
from manifests.records import Moment, Outcome, Strict

# protocols.json, causes.json, codes.json


class Exclusion(Strict):
    """Which attempts leave the opportunity budget, and the largest part of a run's attempts that may before the run is
    no longer rankable.

    ``automatic_per_condition``: so many incidents of one condition are confirmed without a person; a fault that still
    comes back is a defect of the environment, and the next attempt stays a candidate."""

    what: Literal["confirmed_incidents"]
    max_fraction: Annotated[float, Field(ge=0, le=1)]
    automatic_per_condition: Annotated[int, Field(ge=0, le=10)]


class Protocol(Strict):
    """How attempts at one condition count (text: 'Trial Design', 'Attempt eligibility').

    ``metrics`` maps a metric's key to its name in print: within the first k attempts, then in all conditions.
    ``opportunities`` valid attempts are scored, in ledger order. With an ``exclusion`` an invalid attempt that is no
    confirmed incident leaves its condition open; without one every first attempt takes the slot for good.
    """

    title: Name
    text: Name
    opportunities: Positive
    pass_at: tuple[Positive, ...]
    metrics: dict[str, Name]
    stop_at_success: bool
    exclusion: Exclusion | None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if max(self.pass_at, default=0) != self.opportunities:
            raise ValueError(f"pass_at {list(self.pass_at)} does not end at opportunities {self.opportunities}")
        keys = [f"{kind}_at_{k}" for k in self.pass_at for kind in ("pass", "all_four")]
        if list(self.metrics) != keys:
            raise ValueError(f"metrics names {', '.join(self.metrics) or 'nothing'}, and is to name {', '.join(keys)}")
        return self


class Protocols(RootModel[dict[str, Protocol]]):
    """Protocols by name."""


class CauseOutcome(Strict):
    """What a cause means under one protocol. ``code`` None with a failure: the code of the recorded violation."""

    outcome: Outcome
    code: Name | None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.outcome == "success" and self.code is not None:
            raise ValueError(f"a success carries no code, got {self.code!r}")
        if (self.outcome == "invalid") != (self.code == "ERR"):
            raise ValueError(f"code ERR and outcome invalid belong together, got {self.code!r} with {self.outcome}")
        return self


class Cause(Strict):
    """One row of the cause table (design: section 7).

    ``incident``: the attempt is a candidate for an infrastructure incident. ``automatic_confirmation``: whether that
    candidate may be confirmed without a person, and then only when the agent had not acted. ``start_retries``: how
    often a start that failed before the attempt began is tried again in the same slot. ``stops_after``: so many
    attempts in a row with such a cause stop the run, since the next would end alike; None: never.
    """

    text: Name
    outcomes: dict[str, CauseOutcome]
    incident: bool
    automatic_confirmation: Literal["never", "before_action"]
    start_retries: Annotated[int, Field(ge=0, le=5)]
    stops_after: Annotated[int, Field(ge=1, le=10)] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.incident and any(row.outcome != "invalid" for row in self.outcomes.values()):
            raise ValueError("an incident candidate must be invalid under every protocol")
        if not self.incident and (self.automatic_confirmation != "never" or self.start_retries):
            raise ValueError("only an incident candidate may be confirmed automatically or retried")
        return self


class Causes(RootModel[dict[str, Cause]]):
    """Causes by id."""


class Codes(RootModel[dict[str, Name]]):
    """Failure codes and what they mean (text: Table 19)."""


# trust.json

POLICY_REVIEWER = "policy"  # signs nothing: whether the policy confirms follows from the record alone


class TrustedKey(Strict):
    """An Ed25519 public key (32 bytes, hexadecimal) whose decisions bind this board, whose it is, and since when
    (ISO 8601 with its zone): a decision that was recorded before stays a proposal."""

    name: Name
    public_key: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    since: Moment


class TrustList(Strict):
    """Who confirms and rejects incidents. Empty: only the policy confirms, and every decision is a proposal."""

    keys: tuple[TrustedKey, ...]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for field in ("name", "public_key"):
            values = [getattr(key, field) for key in self.keys]
            for number, value in enumerate(values):
                if value in values[:number]:
                    raise ValueError(f"keys[{number}].{field}: {value!r} stands twice")
                if value == POLICY_REVIEWER:
                    raise ValueError(
                        f"keys[{number}].name: {value!r} is the name of automatic decisions; choose another"
                    )
        return self

    def entry(self, public_key: str) -> TrustedKey | None:
        """What the list says of a key, or None."""
        return next((key for key in self.keys if key.public_key == public_key), None)

    def name_of(self, public_key: str, moment: datetime) -> str | None:
        """The name of a key that is trusted at an instant, or None."""
        found = self.entry(public_key)
        return found.name if found is not None and found.since <= moment else None


# profiles.json, engines.json


class Profile(Strict):
    """One engine for every family."""

    text: Name
    engines: dict[str, str]


class Profiles(RootModel[dict[str, Profile]]):
    """Profiles by name."""


class ContainerLimits(Strict):
    """Limits of one container. ``memory`` and ``tmp`` in bytes, ``cpus`` in cores."""

    memory: Positive
    cpus: PositiveFloat
    pids: Positive
    tmp: Positive


class Engine(Strict):
    """``role`` is the image, ``module`` what ``images.gateway --engine`` takes; without a module there is a ``reason``.
    ``families`` lists the cases implemented now, as ``embodiment/case`` where a family has several embodiments; an
    empty list: meant for this engine, nothing implemented yet.
    ``evaluator`` numbers what its evaluators decide: whoever changes a verdict raises it, and scores of verdicts of an
    older one are shown as stale."""

    text: Name
    role: Name
    module: Name | None
    reason: Name | None
    determinism: Literal["bit-exact", "tolerance", "statistical"]
    evaluator: Positive
    gpu: Literal["none", "preferred", "required"]
    limits: ContainerLimits
    families: dict[str, tuple[str, ...]]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.module is None) != (self.reason is not None):
            raise ValueError("give a module, or a reason why there is none, and not both")
        if self.module is None and any(self.families.values()):
            raise ValueError("an engine without a module has no implemented cases")
        for family, cases in self.families.items():
            if len({"/" in case for case in cases}) > 1:
                raise ValueError(f"{family}: name every case with its embodiment, or none")
        return self


class SandboxImage(Strict):
    """The agent's side of the pair."""

    text: Name
    module: Name
    limits: ContainerLimits


class Engines(Strict):
    engines: dict[str, Engine]
    sandboxes: dict[str, SandboxImage]
