"""From a stored attempt to what scoring reads of it: the schedule, the score and the pages use this one conversion."""

from __future__ import annotations

from typing import Any

from manifests.load import Manifests
from manifests.records import AttemptRecord
from runner.store.decisions import incident_state
from runner.store.tables import AttemptRow
from runner.store.text import parse
from scoring.ledger import Attempt


def scored_attempt(row: AttemptRow, manifests: Manifests) -> Attempt:
    """What scoring needs of an attempt in the store. ``tokens_input`` counts cached input too.

    Only decisions that bind count (:mod:`runner.store.decisions`). An imported attempt has no record: its row holds
    what its file says, decisions included.
    """
    if row.record is None:
        ruling: dict[str, Any] = parse(row.ruling) if row.ruling else {}
        return Attempt(
            sequence=row.sequence,
            environment_id=row.environment_id,
            condition=row.condition,
            outcome=row.outcome,  # type: ignore[arg-type]
            cause=row.cause,
            code=row.code,
            incident=row.incident or "none",  # type: ignore[arg-type]
            ruled_outcome=ruling.get("outcome"),
            ruled_cause=ruling.get("cause"),
            ruled_code=ruling.get("code"),
        )
    record = AttemptRecord.model_validate_json(row.record)
    state = incident_state(row, manifests)
    outcome, cause, code = state.ruled or (None, None, None)
    usage = record.usage
    known = usage.tokens_input is not None and usage.tokens_output is not None
    return Attempt(
        sequence=row.sequence,
        environment_id=row.environment_id,
        condition=row.condition,
        outcome=record.outcome,
        cause=record.cause,
        code=record.code,
        incident=state.incident,
        ruled_outcome=outcome,
        ruled_cause=cause,
        ruled_code=code,
        wall_s=record.wall_s,
        success_wall_s=record.success_wall_s,
        tokens=(usage.tokens_input or 0) + (usage.tokens_output or 0) if known else None,
    )
