"""``chain``: the ledger's hashes, sequence and time stamps, its first entry, and the signatures of decisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from manifests.load import Manifests
from runner.audit.findings import Check, Finding, check, note, problem
from runner.audit.snapshot import Folded, Snapshot
from runner.store.decisions import (
    DECISIONS,
    PAYLOAD_TYPE,
    incident_state,
    ruling_of,
    signed_bytes,
    why_proposal,
)
from runner.store.ledger import GENESIS, entry_hash
from runner.store.signature import holds
from runner.store.tables import AttemptRow, EntryRow, RunRow
from runner.store.text import canonical, digest, parse, stamp
from runner.submission.received import KIND
from runner.words import count

BEGINNING = timedelta(hours=1)  # from the row of a run to its first entry, on a database that many wait for


def check_chain(
    found: Snapshot, folded: Folded, fold_findings: Sequence[Finding], manifests: Manifests, head: str | None
) -> Check:
    """``head`` is the hash of an entry that an earlier reader saw, or its first digits: a ledger only grows, so it must
    still be there."""
    findings = [*_links(found.entries), *_first(found), *_table(found, folded), *fold_findings]
    findings += _decisions(found, folded, manifests)
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


def _table(found: Snapshot, folded: Folded) -> Iterator[Finding]:
    """What the table of runs says beside name and settings."""
    with folded.store.database.read() as session:
        row = session.get_one(RunRow, found.run.id)
        if (row.withdrawn, row.withdrawn_at) != (found.run.withdrawn, found.run.withdrawn_at):
            yield problem("run", "whether it is withdrawn is in the table of runs not what its ledger says")
    if found.entries:
        created, first = found.run.created_at, found.entries[0].time
        if not timedelta() <= first - created <= BEGINNING:
            yield problem(
                "run", f"was made {stamp(created)} by the table of runs, and its ledger begins {stamp(first)}"
            )


def _names_here(found: Snapshot) -> list[str]:
    """What an import called the run in this store."""
    return [str(parse(entry.payload).get("run_name")) for entry in found.entries if entry.kind == KIND]


def _decisions(found: Snapshot, folded: Folded, manifests: Manifests) -> list[Finding]:
    """Of every ``decision`` and ``ruled`` entry. What is wrong with an attempt's record is said of the record."""
    rows = {row.id: row for row in folded.attempts}
    findings = []
    for entry in (entry for entry in found.entries if entry.kind in ("decision", "ruled")):
        try:
            payload = parse(entry.payload)
            row = rows[payload["attempt"]]
        except (ValueError, KeyError, TypeError):
            continue  # the fold has said so
        record, where = folded.records.get(row.id), f"entry {entry.sequence}"
        text = _decision(payload, row.record, found.run.id) if entry.kind == "decision" else None
        if text is None and record is not None:
            text = _ruled(payload, record.settings.protocol, manifests)
        if text is not None:
            findings.append(problem(where, text))
        elif entry.kind == "decision" and record is not None:
            findings += _proposal(row, entry.sequence, manifests)
    return findings


def _proposal(row: AttemptRow, sequence: int, manifests: Manifests) -> Iterator[Finding]:
    """That and why the decision of an entry does not bind."""
    for decision in incident_state(row, manifests).proposals:
        if decision.sequence != sequence:
            continue
        what, where = decision.decision, f"entry {sequence}"
        if decision.by_policy:
            yield problem(where, f"{what} in the name of the policy, which does not decide this one")
        else:
            why = why_proposal(decision, manifests)
            yield note(where, f"{what} by {decision.reviewer} is only a proposal: {why}")


def _ruled(payload: dict[str, Any], protocol: str, manifests: Manifests) -> str | None:
    """What makes of a rejected incident something that it cannot become."""
    if payload.get("decision") == "confirmed":
        return None
    ruled = payload.get("ruled") if "decision" in payload else {name: payload[name] for name in ("cause", "code")}
    found = ruling_of(manifests, protocol, ruled)
    if found is None:
        return f"rules a rejected incident to be {ruled}, which is no failure of the agent"
    if payload.get("outcome", found.outcome) != found.outcome:
        return f"rules a rejected incident to be a {payload['outcome']}, and its cause makes it a {found.outcome}"
    return None


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
