"""What the last start of a run left open (design: section 4.1): killing a run must not be a way to draw again.

An attempt that began and never closed is closed as interrupted, with the transcript that it had and the usage that
this says. If its complete record
had already been published beside its artifacts, only the ledger entry was missing and that record is closed as it is.
An attempt that had not begun keeps its slot and its sequence number; the schedule takes it up again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from manifests.load import Manifests
from manifests.records import AttemptRecord, Usage
from runner.agents.base import AgentInfo
from runner.incidents import automatic
from runner.plan import Planned
from runner.record import Course, Ending, Identity, make_record
from runner.runtimes.base import RuntimeFacts
from runner.store.leases import Owner
from runner.store.store import Run, Store
from runner.store.tables import AttemptRow

TRANSCRIPT = "transcript.jsonl"


def close_interrupted(
    store: Store,
    run: Run,
    owner: Owner,
    planned: Mapping[str, Planned],
    manifests: Manifests,
    agent: AgentInfo,
    facts: RuntimeFacts,
) -> list[AttemptRecord]:
    """Close what began and never ended; returns the records. The caller holds the run's lock."""
    closed = []
    for row in store.attempts(run):
        if row.state != "began":
            continue
        folder = store.attempt_folder(run, row.id)
        record = folder.published()
        if record is None or (record.run, record.attempt, record.sequence) != (run.id, row.id, row.sequence):
            identity = Identity(
                row.id, run.id, row.sequence, planned[row.environment_id], row.condition, agent, facts, row.opened_at
            )
            ending = Ending(
                "interrupted",
                text="the episode began and its end was not recorded: its runner was killed or could not write",
                evidence={"wall_s": "up to the last file that the attempt wrote"},
                acted=True,  # unknown, and the stricter of the two
            )
            wall_s, usage = _last_sign(folder.part, row), _usage(folder.part, agent)
            course = Course(began_at=row.began_at, wall_s=wall_s, usage=usage)
            record = make_record(manifests, identity, course, ending, folder.seal())
            if folder.part.is_dir() and not folder.final.exists():
                folder.publish(record)
        store.close_attempt(run, record, owner, automatic(store, run, record, manifests))
        closed.append(record)
    return closed


def _usage(part: Path, agent: AgentInfo) -> Usage:
    if agent.model is None:
        return Usage()
    from runner.agents.recovered import usage_of  # a baseline imports nothing of models

    return usage_of(part / TRANSCRIPT, agent.model)


def _last_sign(part: Path, row: AttemptRow) -> float:
    """Seconds from the opening to the last thing that is known of the attempt."""
    assert row.began_at is not None
    times = [row.began_at.timestamp(), *(path.stat().st_mtime for path in part.glob("*"))]
    return max(0.0, max(times) - row.opened_at.timestamp())
