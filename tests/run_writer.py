"""Runs and attempts for tests, written through the store as the runner writes them: what was played is made up."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlmodel import Session

from manifests.load import load
from manifests.records import Artifact, AttemptRecord
from runner.agents.base import AgentInfo
from runner.plan import Planned, budget_labels, plan, run_mode, versions
from runner.record import Course, Ending, Identity, make_record
from runner.runtimes.base import RuntimeFacts
from runner.settings import Choices, run_settings
from runner.store import ledger
from runner.store.store import Run, Store


def new_run(
    store: Store, name: str, choices: Choices, info: AgentInfo, changes: Mapping[str, Any]
) -> tuple[Run, tuple[Planned, ...]]:
    """A run without attempts, and what is planned for it. ``changes`` replaces recorded settings."""
    manifests = load()
    planned = plan(manifests, choices, info)
    recorded = run_settings(
        choices,
        info,
        environments={item.environment_id: item.engine for item in planned},
        budgets=budget_labels(manifests, planned),
        runtime=choices.runtime,
        images={},
        versions=versions(manifests, (item.engine for item in planned)),
        mode=run_mode(manifests, choices.board, planned),
    )
    return store.create_run(name, {**recorded, **changes}), planned


@dataclass(frozen=True)
class Begun:
    """An attempt that has begun and not ended."""

    id: str
    sequence: int
    planned: Planned
    condition: int
    opened_at: datetime
    began_at: datetime


@dataclass(frozen=True)
class Writer:
    """Writes attempts of one run in the transaction of ``session``: a whole ranked run takes a second."""

    session: Session
    run: Run
    info: AgentInfo
    facts: RuntimeFacts

    def begin(self, planned: Planned, condition: int) -> Begun:
        attempt = uuid.uuid4().hex
        place = {"environment_id": planned.environment_id, "condition": condition}
        opened = ledger.append(self.session, self.run.id, "opened", {"attempt": attempt, **place})
        began = ledger.append(self.session, self.run.id, "began", {"attempt": attempt})
        return Begun(attempt, opened.sequence, planned, condition, opened.time, began.time)

    def close(self, begun: Begun, course: Course, ending: Ending, files: tuple[Artifact, ...]) -> AttemptRecord:
        """The record of the attempt, as it is in the ledger now."""
        identity = Identity(
            begun.id,
            self.run.id,
            begun.sequence,
            begun.planned,
            begun.condition,
            self.info,
            self.facts,
            begun.opened_at,
        )
        record = make_record(load(), identity, replace(course, began_at=begun.began_at), ending, files)
        payload = {"attempt": begun.id, "record": record.model_dump(mode="json")}
        ledger.append(self.session, self.run.id, "closed", payload)
        return record
