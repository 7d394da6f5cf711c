"""Attempts made elsewhere, from a ledger CSV into the store: marked by their kind, without records, never ranked.

The file is checked as a whole before anything is written, and written in one transaction (docs/incidents.md, 'Ledgers
from elsewhere').
"""

from __future__ import annotations

import hashlib
import itertools
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manifests import lookup
from manifests.errors import nearest
from manifests.load import Manifests
from runner.errors import BadInput
from runner.store.status import IMPORTED
from runner.store.store import Run, Store, check_name
from scoring.eligibility import assess
from scoring.ledger import Attempt, LedgerError, attempts_from_csv
from scoring.plan import selection_of
from scoring.rules import Rules

LEVELS = ("L0", "L1", "L2", "L3")
ELSEWHERE = "elsewhere"  # runtime of attempts that no runtime of ours ran


@dataclass(frozen=True)
class Source:
    """What is said of a file: whose attempts they are, and under which settings. ``model`` defaults to ``name``."""

    name: str
    kind: str
    subset: str
    protocol: str
    model: str | None = None
    profile: str = "native"
    level: str = "L3"


def import_ledger(store: Store, path: Path, source: Source, manifests: Manifests) -> tuple[Run, bool]:
    """Make a run of the attempts in ``path``. False with a run that is there already, of the same file and settings.

    Raises BadInput or ManifestError: one line with the row, the field, its value and what to do.
    """
    _check_source(source)
    content = _read(path)
    attempts = _attempts(path, content, source, manifests)
    settings = _settings(path, content, len(attempts), source, manifests)
    for run in store.runs():
        if run.name == source.name:
            if run.settings == settings:
                return run, False
            raise BadInput(
                f"name {source.name!r}: there is a run of that name with other attempts; give another --name"
            )
        if run.settings.get("source", {}).get("sha256") == settings["source"]["sha256"]:
            raise BadInput(f"ledger {path}: run {run.name!r} holds the same file; withdraw it, or leave this one out")
    return store.import_run(source.name, settings, map(_payload, attempts)), True


def _check_source(source: Source) -> None:
    check_name(source.name)
    if source.kind not in IMPORTED:
        raise BadInput(f"kind {source.kind!r} is not one of {', '.join(IMPORTED)}")
    if source.level not in LEVELS:
        raise BadInput(f"level {source.level!r} is not one of {', '.join(LEVELS)}")
    if source.model is not None and not source.model.strip():
        raise BadInput("model '': give the name of what was evaluated, or leave --model out")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"ledger {path}: cannot be read ({error.strerror})") from None


def _attempts(path: Path, content: bytes, source: Source, manifests: Manifests) -> list[Attempt]:
    """In sequence order, each checked against the catalog, the codes and the protocol."""
    rules = Rules(manifests, source.protocol)
    selection = selection_of(manifests, source.subset, profile=source.profile, level=source.level)
    planned = [task.environment_id for task in selection.tasks]
    try:
        attempts = attempts_from_csv(content.decode("utf-8"))
        if not attempts:
            raise LedgerError("has no attempt; give at least one row")
        _unique(attempts)
        for attempt in attempts:
            _check(attempt, planned, source.subset, manifests)
        assess(attempts, selection, rules)
    except UnicodeDecodeError as error:
        raise BadInput(f"ledger {path}: is not UTF-8 text: byte {error.start}; save it as UTF-8") from None
    except LedgerError as error:
        raise BadInput(f"ledger {path}: {error}") from None
    return sorted(attempts, key=lambda attempt: attempt.sequence)


def _unique(attempts: Sequence[Attempt]) -> None:
    ordered = sorted(attempts, key=lambda attempt: attempt.sequence)
    for first, second in itertools.pairwise(ordered):
        if first.sequence == second.sequence:
            raise LedgerError(
                f"attempt {first.sequence}: sequence {first.sequence} stands twice; number each attempt once"
            )


def check_known(attempt: Attempt, manifests: Manifests) -> None:
    """Raises LedgerError when the catalog, the conditions or the table of codes do not have what an attempt names."""
    name, environment_id = f"attempt {attempt.sequence}", attempt.environment_id
    if environment_id not in manifests.environments:
        near = nearest(environment_id, manifests.environments)
        raise LedgerError(
            f"{name}: environment_id {environment_id!r} is unknown{near}; `assay tasks` lists all of them"
        )
    if attempt.condition >= manifests.conditions.count:
        raise LedgerError(f"{name}: condition {attempt.condition} is not one of 0 to {manifests.conditions.count - 1}")
    outcome, _, code = attempt.ruling
    if code is not None and code not in manifests.codes:
        raise LedgerError(f"{name}: failure_code {code!r} is not one of {', '.join(manifests.codes)}")
    if outcome == "success" and code is not None:
        raise LedgerError(f"{name}: failure_code {code!r} on a success; leave it empty")


def _check(attempt: Attempt, planned: Iterable[str], subset: str, manifests: Manifests) -> None:
    """An attempt made elsewhere is known, planned and over."""
    check_known(attempt, manifests)
    name, environment_id = f"attempt {attempt.sequence}", attempt.environment_id
    if environment_id not in planned:
        raise LedgerError(f"{name}: environment_id {environment_id!r} is not in subset {subset!r}; choose a larger one")
    outcome, _, code = attempt.ruling
    if outcome is None:
        raise LedgerError(f"{name}: outcome is empty; an attempt made elsewhere has ended: success, failure or invalid")
    if outcome == "failure" and code in (None, "ERR"):
        raise LedgerError(f"{name}: failure_code {code or ''!r} on a failure; give the code of its first violation")


def _settings(path: Path, content: bytes, count: int, source: Source, manifests: Manifests) -> dict[str, Any]:
    """The settings of a run as far as a file can have them; budgets and versions are not known."""
    entries = lookup.members(manifests, source.subset)
    model = source.model or source.name
    return {
        "kind": source.kind,
        "source": {"file": path.name, "sha256": hashlib.sha256(content).hexdigest(), "attempts": count},
        "board": "ep",
        "model": model,
        "agent": {"name": model, "kind": source.kind, "parameters": {}, "version": "", "digest": None},
        "subset": source.subset,
        "tasks": None,
        "environments": {entry.id: lookup.engine_name(manifests, entry.id, source.profile) for entry in entries},
        "protocol": source.protocol,
        "profile": source.profile,
        "level": source.level,
        "grants": [],
        "seed": 0,
        "budgets": {},
        "runtime": ELSEWHERE,
        "gpus": False,
        "images": {},
        "versions": {},
    }


def _payload(attempt: Attempt) -> dict[str, Any]:
    """Of the ledger's ``imported`` entry. ``sequence`` is that of the file, so that reports name its rows."""
    ruled = None
    if attempt.incident == "rejected":
        ruled = {"outcome": attempt.ruled_outcome, "cause": attempt.ruled_cause, "code": attempt.ruled_code}
    return {
        "attempt": uuid.uuid4().hex,
        "sequence": attempt.sequence,
        "environment_id": attempt.environment_id,
        "condition": attempt.condition,
        "outcome": attempt.outcome,
        "code": attempt.code,
        "incident": attempt.incident,
        "ruled": ruled,
    }
