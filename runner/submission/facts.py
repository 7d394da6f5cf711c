"""What a submission states of a run: a pure function of its ledger, used by who submits and by who verifies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from manifests.records import AttemptRecord
from manifests.submission import (
    BLOBS,
    LEDGER_FILE,
    PREDICATE_TYPE,
    STATEMENT_TYPE,
    SUBMISSION_VERSION,
    RunSettings,
    Submitter,
)
from runner.store.text import canonical, digest, parse

_PARTS = ("tokens_input", "tokens_cached", "tokens_output", "cost_usd")  # unknown in one attempt: unknown in the sum


@dataclass
class Tally:
    """Sums over the records of a run, in ledger order. ``blobs`` maps every artifact's SHA-256 to its size."""

    counts: Counter[str] = field(default_factory=Counter)
    fingerprints: Counter[tuple[str, str]] = field(default_factory=Counter)
    usage: dict[str, Any] = field(default_factory=lambda: dict.fromkeys(_PARTS, 0))
    meters: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=lambda: {"simulated_s": 0.0, "wall_s": 0.0})
    blobs: dict[str, int] = field(default_factory=dict)
    official: bool = True

    def add(self, record: AttemptRecord) -> None:
        self.counts[record.outcome] += 1
        self.counts["candidates"] += record.incident == "candidate"
        if record.fingerprint:
            self.fingerprints[record.settings.engine, canonical(record.fingerprint).decode()] += 1
        for part in _PARTS:
            value = getattr(record.usage, part)
            known = self.usage[part] is not None and value is not None
            self.usage[part] = self.usage[part] + value if known else None
        for name in ("images_sent", "model_calls", "estimated"):
            self.meters[name] += int(getattr(record.usage, name))
        self.meters["actions"] += record.actions
        self.seconds["simulated_s"] += record.simulated_s
        self.seconds["wall_s"] += record.wall_s
        self.official = self.official and record.official
        for artifact in record.artifacts:
            self.blobs.setdefault(artifact.sha256, artifact.size)


@dataclass(frozen=True)
class LedgerEnd:
    """Where a ledger ends: its last hash, and its file's size in bytes and SHA-256."""

    entries: int
    head: str
    size: int
    sha256: str


def predicate(
    run: Mapping[str, str],
    settings: RunSettings,
    tally: Tally,
    ledger: LedgerEnd,
    conditions: Mapping[str, tuple[str, ...]],
    submitter: Submitter,
) -> dict[str, Any]:
    """The predicate as plain JSON. ``run`` has ``id``, ``name`` and ``created_at``."""
    counts, meters = tally.counts, tally.meters
    value = {
        "schema_version": SUBMISSION_VERSION,
        "submitter": submitter.model_dump(),
        "run": dict(run),
        **settings.model_dump(exclude_unset=True),
        "conditions": dict(conditions),
        "official": tally.official and bool(counts),
        "fingerprints": [
            {"engine": engine, "fingerprint": parse(text), "attempts": count}
            for (engine, text), count in sorted(tally.fingerprints.items())
        ],
        "attempts": {name: counts[name] for name in ("success", "failure", "invalid", "candidates")},
        "usage": {
            **tally.usage,
            "estimated": meters["estimated"] > 0,
            "images_sent": meters["images_sent"],
            "model_calls": meters["model_calls"],
            "actions": meters["actions"],
            **{name: round(value, 3) for name, value in tally.seconds.items()},
        },
        "artifacts": {"files": len(tally.blobs), "size": sum(tally.blobs.values())},
        "ledger": {"entries": ledger.entries, "head": ledger.head, "size": ledger.size},
    }
    return dict(parse(canonical(value).decode()))


def statement(stated: Mapping[str, Any], ledger_sha256: str, blobs: Iterable[str]) -> dict[str, Any]:
    """The in-toto statement of a predicate; subjects in the order of their names."""
    files = {LEDGER_FILE: ledger_sha256, **{f"{BLOBS}{sha256}": sha256 for sha256 in blobs}}
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": files[name]}} for name in sorted(files)],
        "predicateType": PREDICATE_TYPE,
        "predicate": dict(stated),
    }


def condition_hashes(parameters: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """SHA-256 of the canonical parameters of each prescribed condition."""
    return tuple(digest(item) for item in parameters)
