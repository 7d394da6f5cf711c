"""Deciding on incidents: by the policy when an attempt closes, by people afterwards (docs/incidents.md).

What a decision is and which one binds is :mod:`runner.store.decisions`; here they are made, and refused when they can
have no effect.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manifests import lookup
from manifests.errors import nearest
from manifests.load import Manifests
from manifests.policy import POLICY_REVIEWER
from manifests.records import AttemptRecord
from runner.errors import BadInput
from runner.keys import Key, key_path, load_key
from runner.store.decisions import (
    PAYLOAD_TYPE,
    IncidentState,
    body,
    incident_state,
    is_failure,
    policy_confirms,
    signed_bytes,
    why_proposal,
)
from runner.store.store import Run, Store
from runner.store.tables import AttemptRow
from runner.store.text import now, parse

LONGEST = 4000  # characters of a reason: it stands in every report
LONGEST_NAME = 100  # characters of a reviewer
LARGEST_EVIDENCE = 1 << 30  # bytes of a file of evidence


@dataclass(frozen=True)
class Reviewer:
    """Who decides. Without a key, or with one that the board does not trust (yet), it is a proposal."""

    name: str
    key: Key | None
    trusted: bool


def reviewer(name: str | None, key: Key | None, manifests: Manifests) -> Reviewer:
    """A trusted key has its name on the trust list. Raises BadInput for another, missing or reserved name."""
    trusted = manifests.trust.name_of(key.public, now()) if key is not None else None
    if trusted is not None and name not in (None, trusted):
        raise BadInput(f"reviewer {name!r}: the trust list calls this key {trusted!r}; leave --reviewer out")
    chosen = trusted or " ".join((name or "").split())
    if not chosen:
        raise BadInput("reviewer: no trusted key says who you are; give --reviewer NAME")
    if len(chosen) > LONGEST_NAME or not chosen.isprintable():
        raise BadInput(f"reviewer {chosen[:40]!r}: give 1 to {LONGEST_NAME} characters, none that cannot be printed")
    if chosen.casefold() == POLICY_REVIEWER:
        raise BadInput(f"reviewer {chosen!r} is the name of automatic decisions; give your own")
    return Reviewer(chosen, key, trusted is not None)


def has_trusted_key() -> bool:
    """Whether the key of this user has its name on the trust list, so that a decision needs no ``--reviewer``."""
    from manifests.load import load

    try:
        key = load_key(key_path())
    except BadInput:  # what is wrong with it is said to whoever decides
        return False
    return key is not None and load().trust.name_of(key.public, now()) is not None


def automatic(store: Store, run: Run, record: AttemptRecord, manifests: Manifests) -> dict[str, Any] | None:
    """The policy's decision on an attempt that closes now, or None. Only where the protocol replaces an attempt."""
    exclusion = manifests.protocols[record.settings.protocol].exclusion
    if exclusion is None or not policy_confirms(record, manifests):
        return None
    before = sum(
        row.decisions is not None
        and (row.environment_id, row.condition) == (record.environment_id, record.condition)
        and (binding := incident_state(row, manifests).binding) is not None
        and binding.by_policy
        for row in store.attempts(run)
    )
    if before >= exclusion.automatic_per_condition:
        return None
    reason = f"{record.cause} before the agent's first action, with its evidence in the record"
    found = body(run.id, record.model_dump(mode="json"), "confirmed", reviewer=POLICY_REVIEWER, reason=reason)
    return {**found, "key": None, "signature": None}


def confirm(
    store: Store,
    run: Run,
    sequence: int,
    manifests: Manifests,
    who: Reviewer,
    reason: str,
    evidence: Sequence[Path] = (),
) -> IncidentState:
    """Append the decision that an attempt was an infrastructure incident; returns what is known of it now.

    Raises BadInput on a success, on an attempt without evidence, and where the same was decided already.
    """
    files = [_file(path) for path in evidence]

    def make(row: AttemptRow) -> list[tuple[str, dict[str, Any]]]:
        name = f"attempt {sequence}"
        record = _record(row, name)
        if record.outcome == "success":
            raise BadInput(f"{name} is a success: a success is never an incident")
        if not files and not (record.incident == "candidate" and (record.evidence or record.artifacts)):
            what = "its record holds no evidence" if record.incident == "candidate" else f"it is a {record.outcome}"
            raise BadInput(f"{name}: {what}; give --evidence FILE that shows the fault of the infrastructure")
        _check_first(incident_state(row, manifests), "confirmed", who, name)
        return [("decision", _payload(run, row, who, "confirmed", reason, files))]

    return _decide(store, run, sequence, manifests, reason, make)


def reject(
    store: Store,
    run: Run,
    sequence: int,
    manifests: Manifests,
    who: Reviewer,
    reason: str,
    ruled: str,
    code: str | None = None,
    evidence: Sequence[Path] = (),
) -> IncidentState:
    """Append the decision that a candidate was no incident, and with a trusted key the cause that takes its place.

    Raises BadInput for an attempt that is no candidate, for a cause that would not count as the agent's own failure,
    and where the same was decided already.
    """
    files = [_file(path) for path in evidence]

    def make(row: AttemptRow) -> list[tuple[str, dict[str, Any]]]:
        name = f"attempt {sequence}"
        record = _record(row, name)
        if record.incident != "candidate":
            raise BadInput(f"{name} is {record.outcome} ({record.cause}) and claims no incident: nothing to reject")
        ruling = _ruling(record, manifests, ruled, code)
        _check_first(incident_state(row, manifests), "rejected", who, name)
        payload = _payload(run, row, who, "rejected", reason, files, {"cause": ruled, "code": ruling.code})
        if not who.trusted:
            return [("decision", payload)]
        after = {"attempt": row.id, "outcome": ruling.outcome, "cause": ruled, "code": ruling.code, "reason": reason}
        return [("decision", payload), ("ruled", after)]

    return _decide(store, run, sequence, manifests, reason, make)


def incidents(store: Store, run: Run, manifests: Manifests, *, decided: bool) -> list[dict[str, Any]]:
    """Attempts that claim an incident or carry a decision, as plain data in ledger order. Without ``decided``, those
    that wait for somebody: open candidates, and proposals to confirm what is no candidate."""
    found = []
    for row in store.attempts(run):
        if row.record is None or (row.incident != "candidate" and row.decisions is None):
            continue
        state = incident_state(row, manifests)
        if decided or state.binding is None:
            found.append(_plain(AttemptRecord.model_validate_json(row.record), state, manifests))
    return found


def _plain(record: AttemptRecord, state: IncidentState, manifests: Manifests) -> dict[str, Any]:
    decisions = [*state.proposals, *([state.binding] if state.binding is not None else [])]
    return {
        "sequence": record.sequence,
        "environment_id": record.environment_id,
        "condition": record.condition,
        "outcome": record.outcome,
        "cause": record.cause,
        "incident": state.incident,
        "acted": record.acted,
        "text": record.text,
        "evidence": record.evidence,
        "artifacts": [artifact.model_dump() for artifact in record.artifacts],
        "decisions": [
            {
                "sequence": decision.sequence,
                "binding": decision is state.binding,
                "trusted": decision.trusted,
                "reviewer": decision.reviewer,
                "why_proposal": None if decision is state.binding else why_proposal(decision, manifests),
                **{name: decision.payload.get(name) for name in ("decision", "reason", "evidence", "ruled")},
            }
            for decision in sorted(decisions, key=lambda decision: decision.sequence)
        ],
    }


def _decide(store: Store, run: Run, sequence: int, manifests: Manifests, reason: str, make: Any) -> IncidentState:
    if not reason.strip() or len(reason) > LONGEST:
        raise BadInput(f"reason: {len(reason)} characters; give 1 to {LONGEST} that others can follow")
    store.decide(run, store.attempt(run, sequence).id, make)
    return incident_state(store.attempt(run, sequence), manifests)


def _record(row: AttemptRow, name: str) -> AttemptRecord:
    if row.state != "closed":
        raise BadInput(f"{name} is {row.state} and has no record yet: decide after it has ended")
    if row.record is None:
        raise BadInput(f"{name} was made elsewhere: there is no record to decide on")
    return AttemptRecord.model_validate_json(row.record)


def _ruling(record: AttemptRecord, manifests: Manifests, ruled: str, code: str | None) -> lookup.Ruling:
    """What the cause means under the protocol of the attempt. Raises BadInput for one that is no failure anywhere."""
    failures = [name for name in manifests.causes if is_failure(manifests, name)]
    if ruled not in failures:
        known = "no failure of the agent" if ruled in manifests.causes else "unknown"
        near = nearest(ruled, failures)
        raise BadInput(f"ruled {ruled!r} is {known}{near}; choose one of {', '.join(failures)}")
    found = lookup.rule(manifests, ruled, record.settings.protocol, code)
    if not found.known:
        codes = ", ".join(name for name in manifests.codes if name != "ERR")
        raise BadInput(f"code {code!r}: cause {ruled} takes the code of its violation; give --code, one of {codes}")
    if code not in (None, found.code):
        raise BadInput(f"code {code!r}: cause {ruled} has the code {found.code}; leave --code out")
    return found


def _check_first(state: IncidentState, decision: str, who: Reviewer, name: str) -> None:
    """Refuse what was decided already: a binding decision is final, and nobody proposes the same twice."""
    binding = state.binding
    if binding is not None and not (binding.by_policy and who.trusted and decision == "rejected"):
        raise BadInput(
            f"{name} was {binding.decision} by {binding.reviewer} (ledger entry {binding.sequence}): it is decided"
        )
    for proposal in state.proposals:
        same = (proposal.payload.get("reviewer"), proposal.decision) == (who.name, decision)
        if same and not who.trusted:
            raise BadInput(f"{name}: {who.name} has proposed that already (ledger entry {proposal.sequence})")


def _payload(
    run: Run,
    row: AttemptRow,
    who: Reviewer,
    decision: str,
    reason: str,
    evidence: Sequence[dict[str, Any]],
    ruled: dict[str, Any] | None = None,
) -> dict[str, Any]:
    record = parse(row.record or "")
    found = body(run.id, record, decision, reviewer=who.name, reason=reason.strip(), evidence=evidence, ruled=ruled)
    if who.key is None:
        return {**found, "key": None, "signature": None}
    return signed(found, who.key)


def signed(payload: dict[str, Any], key: Key) -> dict[str, Any]:
    """A decision's payload with ``key`` and its signature."""
    return {**payload, "key": key.public, "signature": key.sign(PAYLOAD_TYPE, signed_bytes(payload))}


def _file(path: Path) -> dict[str, Any]:
    """Name, size and hash of a file of evidence. The file itself stays with the reviewer."""
    try:
        if not stat.S_ISREG((status := path.stat()).st_mode):
            raise BadInput(f"evidence {path}: is no file; give one, and not a folder, a pipe or a device")
        if status.st_size > LARGEST_EVIDENCE:
            raise BadInput(
                f"evidence {path}: {status.st_size} bytes, at most {LARGEST_EVIDENCE} are read; give the part"
            )
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
    except OSError as error:
        raise BadInput(f"evidence {path}: cannot be read ({error.strerror})") from None
    if not size:
        raise BadInput(f"evidence {path}: the file is empty and shows nothing")
    return {"name": path.name, "size": size, "sha256": found}
