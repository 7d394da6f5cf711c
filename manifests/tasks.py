"""What ``assay tasks`` and ``assay tasks show`` print, as plain JSON data; the command adds what runs here and now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from manifests.load import load
from manifests.lookup import (
    budget,
    condition_count,
    condition_rule,
    conditions,
    engine_name,
    meant,
    select,
    why_not,
)

if TYPE_CHECKING:
    from manifests.load import Manifests
    from manifests.models import EnvironmentEntry


def rows(subset: str = "full", patterns: str | None = None, manifests: Manifests | None = None) -> list[dict[str, Any]]:
    """One row per environment: id, index, title, suite, type, split, family, embodiment, native level, engines."""
    manifests = manifests or load()
    return [_row(manifests, entry) for entry in select(manifests, subset, patterns)]


def show(environment_id: str, manifests: Manifests | None = None) -> dict[str, Any]:
    """Everything about one environment: its row, subsets, budget, rates, conditions, and how Table 4 was read."""
    manifests = manifests or load()
    entry = meant(manifests, environment_id)
    family = manifests.budgets.families[entry.family]
    rule = condition_rule(manifests, entry.id)
    return _row(manifests, entry) | {
        "printed_as": entry.printed_as,
        "simulator": entry.simulator,
        "subsets": [name for name in manifests.subsets if entry in select(manifests, name)],
        "budget": budget(manifests, entry.id).model_dump(),
        "budget_note": family.note,
        "event_deadline_s": list(family.event_deadline_s) if family.event_deadline_s else None,
        "physics_hz": family.physics_hz,
        "control_hz": family.control_hz,
        "conditions": {
            "mode": rule.mode,
            "text": rule.text,
            "count": condition_count(manifests, entry.id),
            "generated": rule.generated,
            "factors": {name: factor.model_dump(mode="json") for name, factor in rule.factors.items()},
            # whole: they are public in the repository, only not told to the agent
            "explicit": [{"index": c.index, **c.parameters} for c in conditions(manifests, entry.id)]
            if rule.generated
            else None,
        },
    }


def _row(manifests: Manifests, entry: EnvironmentEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "index": entry.index,
        "title": entry.title,
        "objective": entry.objective,
        "suite": entry.suite,
        "type": entry.type,
        "split": entry.split,
        "family": entry.family,
        "embodiment": entry.embodiment,
        "case": entry.case,
        "native_level": entry.native_level,
        "engines": {profile: _engine(manifests, entry.id, profile) for profile in manifests.profiles},
    }


def _engine(manifests: Manifests, environment_id: str, profile: str) -> dict[str, Any]:
    name = engine_name(manifests, environment_id, profile)
    reason = why_not(manifests, environment_id, name)
    return {"engine": name, "implemented": reason is None, "reason": reason}
