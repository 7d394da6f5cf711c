"""Decisions about incidents, and which of them bind (design: section 7; docs/incidents.md).

A ``decision`` entry of the ledger holds what :func:`body` gives, and ``key`` and ``signature`` of who signed it, or
null. It binds when a key signed it that was on the board's trust list by then: by the time that is under the signature,
and by that of its entry, which in a submitted ledger anybody can write. One by the reviewer ``policy`` needs no
signature: it binds where the cause table and the record say that it may, which any reader can check. Every other one is
a proposal: it stands in the ledger and changes nothing. The first binding decision is final, except that a person's
overrules the policy's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from manifests import lookup
from manifests.load import Manifests
from manifests.policy import POLICY_REVIEWER
from manifests.records import AttemptRecord, Outcome, utc
from runner.store.signature import holds
from runner.store.tables import AttemptRow
from runner.store.text import canonical, digest, now, parse, stamp
from scoring.ledger import Incident

PAYLOAD_TYPE = "application/vnd.assay.incident-decision.v1+json"
DECISIONS = ("confirmed", "rejected")
SIGNED = ("run", "attempt", "record", "decision", "ruled", "reviewer", "reason", "evidence", "time")


@dataclass(frozen=True)
class Decision:
    """One decision as the ledger has it. ``sequence`` is that of its entry; ``time`` is the earlier one of its entry's
    and of the time that its key signed, or None where none was signed; ``trusted`` is the name that the trust list
    gives to the key of a signature that holds and was trusted then, ``binds`` whether the decision may bind by
    itself."""

    sequence: int
    time: datetime | None
    payload: dict[str, Any]
    trusted: str | None
    binds: bool

    @property
    def decision(self) -> str:
        return str(self.payload.get("decision"))

    @property
    def reviewer(self) -> str:
        """Who decided: as the trust list calls them, or as they call themselves."""
        return self.trusted or str(self.payload.get("reviewer"))

    @property
    def by_policy(self) -> bool:
        return self.payload.get("reviewer") == POLICY_REVIEWER and self.trusted is None


@dataclass(frozen=True)
class IncidentState:
    """What the decisions on an attempt amount to. ``ruled`` (outcome, cause, code) only after a binding rejection;
    ``proposals`` are the decisions that do not bind."""

    incident: Incident
    binding: Decision | None = None
    ruled: tuple[Outcome, str, str | None] | None = None
    proposals: tuple[Decision, ...] = ()


def body(
    run: str,
    record: dict[str, Any],
    decision: str,
    *,
    reviewer: str,
    reason: str,
    evidence: Sequence[dict[str, Any]] = (),
    ruled: dict[str, Any] | None = None,
    time: datetime | None = None,
) -> dict[str, Any]:
    """What is signed. The hash of the record ties the decision to what was decided on; ``evidence`` lists further files
    by name, size and SHA-256; ``ruled`` (cause, code) is what a rejected incident becomes; ``time`` is when it is made,
    by default now."""
    return {
        "run": run,
        "attempt": record["attempt"],
        "record": digest(record),
        "decision": decision,
        "ruled": ruled,
        "reviewer": reviewer,
        "reason": reason,
        "evidence": list(evidence),
        "time": stamp(time or now()),
    }


def signed_bytes(payload: dict[str, Any]) -> bytes:
    """Canonical bytes of the signed part of a decision's payload. One of before times were signed has none."""
    return canonical({field: payload.get(field) for field in SIGNED if field != "time" or field in payload})


def signed_time(payload: dict[str, Any]) -> datetime | None:
    """When a decision says that it was made, or None where it says no instant."""
    try:
        found = datetime.fromisoformat(payload["time"])
        return utc(found)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def incident_state(row: AttemptRow, manifests: Manifests) -> IncidentState:
    """Fold the decisions on an attempt, in ledger order."""
    claimed: Any = row.incident or "none"
    if not row.decisions or not row.record:
        return IncidentState(claimed)
    record = AttemptRecord.model_validate_json(row.record)
    record_hash = digest(parse(row.record))
    binding: Decision | None = None
    proposals = []
    for item in parse(row.decisions):
        decision = _read(item, row, record, record_hash, manifests)
        if decision.binds and (binding is None or (binding.by_policy and not decision.by_policy)):
            binding = decision
        elif not decision.binds:
            proposals.append(decision)
    if binding is None:
        return IncidentState(claimed, proposals=tuple(proposals))
    if binding.decision == "confirmed":
        return IncidentState("confirmed", binding, proposals=tuple(proposals))
    cause, code = str(binding.payload["ruled"]["cause"]), binding.payload["ruled"].get("code")
    found = lookup.rule(manifests, cause, record.settings.protocol, code)
    return IncidentState("rejected", binding, (found.outcome, cause, found.code), tuple(proposals))


def policy_confirms(record: AttemptRecord, manifests: Manifests) -> bool:
    """Whether the policy confirms an incident without a person: the cause table lists its cause for that, its evidence
    is in the record, and it happened before the agent's first action."""
    cause = manifests.causes.get(record.cause)
    return (
        cause is not None
        and cause.automatic_confirmation == "before_action"
        and record.incident == "candidate"
        and bool(record.evidence)
        and not record.acted
        and record.actions == 0
    )


def ruling_of(manifests: Manifests, protocol: str, ruled: Any) -> lookup.Ruling | None:
    """What the cause and code mean that a rejected incident is ruled to be, or None for what cannot take its place: it
    must be a failure of the agent, under some protocol at least, with the code that the cause table gives it."""
    if not isinstance(ruled, dict) or protocol not in manifests.protocols:
        return None
    cause, code = ruled.get("cause"), ruled.get("code")
    if not isinstance(cause, str) or not is_failure(manifests, cause):
        return None
    found = lookup.rule(manifests, cause, protocol, code)
    return found if found.known and code in (None, found.code) else None


def is_failure(manifests: Manifests, cause: str) -> bool:
    """Whether a cause is a failure of the agent under some protocol."""
    row = manifests.causes.get(cause)
    return row is not None and any(found.outcome == "failure" for found in row.outcomes.values())


def why_proposal(decision: Decision, manifests: Manifests) -> str:
    """Why a decision does not bind."""
    if decision.trusted is not None or decision.by_policy:
        return "it does not fit the attempt's record"
    key = decision.payload.get("key")
    listed = manifests.trust.entry(key) if isinstance(key, str) else None
    if listed is None:
        return "no key of this board's trust list signed it"
    if decision.time is None:
        return f"the signature by {listed.name} covers no time, as those of older releases; decide again"
    if listed.since <= decision.time:
        return f"the signature in the name of {listed.name} does not hold"
    return f"this board trusts {listed.name} since {stamp(listed.since)}, and it was made on {stamp(decision.time)}"


def _read(
    item: dict[str, Any], row: AttemptRow, record: AttemptRecord, record_hash: str, manifests: Manifests
) -> Decision:
    payload = item["payload"]
    fits = (
        payload.get("run") == row.run_id
        and payload.get("attempt") == row.id
        and payload.get("record") == record_hash
        and _applies(payload, record, manifests)
    )
    made = signed_time(payload)
    time = min(made, datetime.fromisoformat(item["time"])) if made is not None else None
    trusted = _trusted(payload, time, manifests)
    by_policy = payload.get("reviewer") == POLICY_REVIEWER and payload.get("decision") == "confirmed"
    binds = fits and (trusted is not None or (by_policy and policy_confirms(record, manifests)))
    return Decision(item["sequence"], time, payload, trusted, binds)


def _applies(payload: dict[str, Any], record: AttemptRecord, manifests: Manifests) -> bool:
    """A success is never an incident, and only an incident is rejected, with a failure that takes its place."""
    if payload.get("decision") == "rejected":
        ruling = ruling_of(manifests, record.settings.protocol, payload.get("ruled"))
        return record.incident == "candidate" and ruling is not None
    return payload.get("decision") == "confirmed" and record.outcome != "success"


def _trusted(payload: dict[str, Any], time: datetime | None, manifests: Manifests) -> str | None:
    key, signature = payload.get("key"), payload.get("signature")
    if time is None or not isinstance(key, str) or not isinstance(signature, str):
        return None
    name = manifests.trust.name_of(key, time)
    if name is None or not holds(key, signature, PAYLOAD_TYPE, signed_bytes(payload)):
        return None
    return name
