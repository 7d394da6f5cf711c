"""``chain``: the ledger's hashes, sequence and time stamps, its first entry, and the signatures of decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from manifests.load import Manifests
from manifests.policy import POLICY_REVIEWER
from runner.audit.findings import Check, Finding, check, note, problem
from runner.audit.snapshot import Folded, Snapshot
from runner.store.decisions import DECISIONS, PAYLOAD_TYPE, incident_state, signed_bytes
from runner.store.ledger import GENESIS, entry_hash
from runner.store.signature import holds
from runner.store.tables import EntryRow
from runner.store.text import canonical, digest, parse
from runner.submission.received import KIND
from runner.words import count


def check_chain(
    found: Snapshot, folded: Folded, fold_findings: Sequence[Finding], manifests: Manifests, head: str | None
) -> Check:
    """``head`` is the hash of an entry that an earlier reader saw, or its first digits: a ledger only grows, so it must
    still be there."""
    findings = [*_links(found.entries), *_first(found), *fold_findings, *_decisions(found, folded, manifests)]
    if head is not None and not any(entry.hash.startswith(head) for entry in found.entries):
        findings.append(
            problem("ledger", f"no entry has the hash {head}, which was its head before: it was cut short or rewritten")
        )
    last = found.entries[-1].hash if found.entries else None
    decided = sum(entry.kind == "decision" for entry in found.entries)
    summary = f"{count(len(found.entries), 'entry')}, {count(decided, 'decision')}, head {(last or 'none')[:12]}"
    return check("chain", summary, findings, {"entries": len(found.entries), "head": last, "decisions": decided})


def _links(entries: Sequence[EntryRow]) -> list[Finding]:
    """Every break, not only the first."""
    if not entries:
        return [problem("ledger", "it is empty: not even the entry that begins every run is there")]
    findings, previous, expected = [], GENESIS, 1
    for entry in entries:
        where = f"entry {entry.sequence}"
        if entry.sequence != expected:
            gone = f"entry {expected} is" if entry.sequence == expected + 1 else f"entries from {expected} are"
            findings.append(problem(where, f"{gone} missing before it"))
        elif entry.previous != previous:
            findings.append(problem(where, "does not follow the entry before it: that one was changed or replaced"))
        if (reason := _changed(entry)) is not None:
            findings.append(problem(where, reason))
        previous, expected = entry.hash, entry.sequence + 1
    return findings


def _changed(entry: EntryRow) -> str | None:
    try:
        payload: Any = parse(entry.payload)
    except ValueError as error:
        return f"its payload is not JSON: {error}"
    if canonical(payload).decode() != entry.payload:
        return "its payload is not canonical JSON"
    right = entry_hash(entry.run_id, entry.sequence, entry.kind, entry.time, payload, entry.previous)
    return None if right == entry.hash else "was changed: its hash does not match its content"


def _first(found: Snapshot) -> list[Finding]:
    """The first entry is the run's, and says what the table of runs says."""
    if not found.entries:
        return []
    entry = found.entries[0]
    if entry.kind != "run":
        return [problem(f"entry {entry.sequence}", f"is of kind {entry.kind!r}; a ledger begins with 'run'")]
    findings = [
        problem(f"entry {other.sequence}", "begins the run a second time")
        for other in found.entries[1:]
        if other.kind == "run"
    ]
    try:
        payload = parse(entry.payload)
        name, settings = payload["name"], canonical(payload["settings"]).decode()
    except (ValueError, KeyError, TypeError):
        return [*findings, problem(f"entry {entry.sequence}", "does not hold the name and the settings of the run")]
    if found.run.name not in (name, *_names_here(found)):
        findings.append(problem("run", f"its name is {found.run.name!r} and was {name!r} when it began"))
    if settings != found.run.settings:
        findings.append(problem("run", "its settings in the table of runs are not those with which it began"))
    return findings


def _names_here(found: Snapshot) -> list[str]:
    """What an import called the run in this store."""
    return [str(parse(entry.payload).get("run_name")) for entry in found.entries if entry.kind == KIND]


def _decisions(found: Snapshot, folded: Folded, manifests: Manifests) -> list[Finding]:
    rows = {row.id: row for row in folded.attempts}
    findings = []
    for entry in (entry for entry in found.entries if entry.kind == "decision"):
        try:
            payload = parse(entry.payload)
            row = rows[payload["attempt"]]
        except (ValueError, KeyError, TypeError):
            continue  # the fold has said so
        where = f"entry {entry.sequence}"
        text = _decision(payload, row.record, found.run.id)
        if text is not None:
            findings.append(problem(where, text))
            continue
        state = incident_state(row, manifests)
        if any(proposal.sequence == entry.sequence for proposal in state.proposals):
            who, what = payload.get("reviewer"), payload["decision"]
            if who == POLICY_REVIEWER:
                findings.append(problem(where, f"{what} in the name of the policy, which does not decide this one"))
            else:
                findings.append(note(where, f"{what} by {who}: no trusted key signed it, so it is only a proposal"))
    return findings


def _decision(payload: dict[str, Any], record: str | None, run: str) -> str | None:
    """What makes a decision false in itself, whoever made it."""
    if payload.get("decision") not in DECISIONS:
        return f"decision {payload.get('decision')!r} is not one of {', '.join(DECISIONS)}"
    if payload.get("run") != run:
        return f"decides on run {payload.get('run')!r}, not on this one"
    if record is None or payload.get("record") != digest(parse(record)):
        return "the record that was decided on is not the one that stands in the ledger"
    key, signature = payload.get("key"), payload.get("signature")
    if key is None and signature is None:
        return None
    if not holds(str(key), str(signature), PAYLOAD_TYPE, signed_bytes(payload)):
        return f"the signature of the decision by {payload.get('reviewer')} does not hold"
    return None
