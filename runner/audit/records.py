"""Each record against its place in the ledger, the settings of its run and the cause table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from manifests.load import Manifests
from manifests.lookup import rule
from manifests.records import AttemptRecord
from runner.audit.findings import Finding, problem
from runner.audit.snapshot import Folded
from runner.store.store import Run
from runner.store.tables import AttemptRow

SETTINGS = {"protocol": "protocol", "profile": "profile", "level": "level", "base_seed": "seed"}
AGENT = ("name", "kind", "version", "digest", "parameters")
EPSILON_S = 1e-6


def check_records(folded: Folded, run: Run, manifests: Manifests) -> list[Finding]:
    """One problem for each field that contradicts something else which is recorded."""
    return [
        problem(f"attempt {row.sequence}", text)
        for row in folded.attempts
        if (record := folded.records.get(row.id)) is not None
        for text in (
            *_place(record, row, run),
            *_settings(record, run, manifests),
            *_ruling(record, manifests),
            *_use(record),
        )
    ]


def _place(record: AttemptRecord, row: AttemptRow, run: Run) -> Iterator[str]:
    expected = {
        "run": run.id,
        "attempt": row.id,
        "sequence": row.sequence,
        "environment_id": row.environment_id,
        "condition": row.condition,
        "opened_at": row.opened_at,
        "began_at": row.began_at,
    }
    for name, value in expected.items():
        if getattr(record, name) != value:
            yield f"record.{name} is {getattr(record, name)}, and {value} by the ledger"


def _settings(record: AttemptRecord, run: Run, manifests: Manifests) -> Iterator[str]:
    settings = run.settings
    for name, key in SETTINGS.items():
        if (value := getattr(record.settings, name)) != settings[key]:
            yield f"record.settings.{name} is {value}, and {settings[key]} in the settings of the run"
    if list(record.settings.grants) != settings["grants"]:
        yield f"record.settings.grants are {list(record.settings.grants)}, and {settings['grants']} of the run"
    engine = settings["environments"].get(record.environment_id)
    if record.settings.engine != engine:
        yield f"record.settings.engine is {record.settings.engine}, and {engine} in the settings of the run"
    entry = manifests.environments.get(record.environment_id)
    if entry is not None:
        limits = settings["budgets"].get(entry.family) or settings["budgets"].get(
            f"{entry.family} {entry.native_level}"
        )
        for name, value in record.settings.budgets.model_dump().items():
            if limits is not None and limits.get(name) != value:
                yield f"record.settings.budgets.{name} is {value}, and {limits.get(name)} in the settings of the run"
    for name in AGENT:
        if record.agent.get(name) != settings["agent"].get(name):
            yield f"record.agent.{name} is not that of the run ({settings['agent'].get(name)})"
    wanted: dict[str, Any] = settings["images"].get(record.settings.engine, {})
    roles = [image.role for image in record.images]
    if len(set(roles)) < len(roles):
        yield f"record.images names a role twice: {', '.join(roles)}"
    for image in record.images:
        if wanted.get(image.role) != image.content:
            yield f"record.images: {image.role} is {image.content[:12]}, and not what the run began with"


def _ruling(record: AttemptRecord, manifests: Manifests) -> Iterator[str]:
    """An unknown cause is the eligibility check's business."""
    found = rule(manifests, record.cause, record.settings.protocol, record.code)
    if not found.known:
        return
    incident = "candidate" if found.incident else "none"
    for name, value in (("outcome", found.outcome), ("code", found.code), ("incident", incident)):
        if getattr(record, name) != value:
            yield f"record.{name} is {getattr(record, name)}; the cause {record.cause} makes it {value}"


def _use(record: AttemptRecord) -> Iterator[str]:
    budgets = record.settings.budgets
    if record.actions > budgets.actions:
        yield f"record.actions is {record.actions}, above the budget of {budgets.actions}"
    if record.simulated_s > budgets.simulated_s + EPSILON_S:
        yield f"record.simulated_s is {record.simulated_s:g}, above the budget of {budgets.simulated_s:g} s"
    if record.outcome == "success" and record.success_wall_s is None:
        yield "record.success_wall_s is missing from a success"
