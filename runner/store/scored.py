"""From a stored attempt to what scoring reads of it: the schedule, the score and the pages use this one conversion."""

from __future__ import annotations

from manifests.records import AttemptRecord
from runner.store.tables import AttemptRow
from runner.store.text import parse
from scoring.ledger import Attempt


def scored_attempt(row: AttemptRow) -> Attempt:
    """What scoring needs of an attempt in the store. ``tokens_input`` counts cached input too."""
    record = AttemptRecord.model_validate_json(row.record) if row.record else None
    ruling = parse(row.ruling) if row.ruling else {}
    usage = record.usage if record else None
    known = usage is not None and usage.tokens_input is not None and usage.tokens_output is not None
    return Attempt(
        sequence=row.sequence,
        environment_id=row.environment_id,
        condition=row.condition,
        outcome=record.outcome if record else None,
        cause=record.cause if record else None,
        code=record.code if record else None,
        incident=row.incident or "none",  # type: ignore[arg-type]
        ruled_outcome=ruling.get("outcome"),
        ruled_cause=ruling.get("cause"),
        ruled_code=ruling.get("code"),
        wall_s=record.wall_s if record else None,
        success_wall_s=record.success_wall_s if record else None,
        tokens=(usage.tokens_input or 0) + (usage.tokens_output or 0) if usage and known else None,
    )
