"""What a run is and whether its score may stand in a ranking: made here or elsewhere, withdrawn, stale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from manifests.load import Manifests
from scoring.report import SCORING_VERSION

EVALUATED = "evaluated"
IMPORTED = {
    "published": "figures published by others, not reproduced here",
    "reconstructed": "made to agree with printed figures, not attempts that anybody made",
    "external": "attempts made elsewhere, not reproduced here",
}
EVALUATOR = "evaluator."  # + engine: key of a record's versions
SCORING = "scoring"


@dataclass(frozen=True)
class Withdrawal:
    """The tombstone of a run. Its records stay."""

    time: datetime
    reviewer: str
    reason: str

    def __str__(self) -> str:
        return f"withdrawn {self.time:%Y-%m-%d} by {self.reviewer}: {self.reason}"


def kind_of(settings: Mapping[str, Any]) -> str:
    """``evaluated``, or how an imported run came about: a key of ``IMPORTED``."""
    return str(settings.get("kind", EVALUATED))


def current_versions(manifests: Manifests, engines: Iterable[str]) -> dict[str, str]:
    """Today's version of the scoring and of the evaluators of ``engines``."""
    evaluators = {f"{EVALUATOR}{engine}": str(manifests.engines[engine].evaluator) for engine in sorted(set(engines))}
    return {SCORING: str(SCORING_VERSION), **evaluators}


def stale(recorded: Iterable[Mapping[str, str]], engines: Iterable[str], manifests: Manifests) -> tuple[str, ...]:
    """Why the score of attempts with these recorded versions is of another evaluator or scoring than today's.

    ``recorded`` are the ``settings.versions`` of records (or of the run before its first record). A record carries only
    the evaluator of its own engine.
    """
    known = [engine for engine in engines if engine in manifests.engines]
    today = current_versions(manifests, known)
    found: dict[str, set[str]] = {name: set() for name in today}
    for versions in recorded:
        mine = [name for name in today if name in versions]
        if not any(name.startswith(EVALUATOR) for name in mine):
            found = {name: values | {"not recorded"} for name, values in found.items()}
        for name in mine:
            found[name].add(versions[name])
    reasons = []
    for name, values in found.items():
        if other := sorted(values - {today[name]}):
            what = "scoring" if name == SCORING else f"the evaluator of {name.removeprefix(EVALUATOR)}"
            reasons.append(f"stale: the version of {what} was {', '.join(other)} and is now {today[name]}")
    return tuple(reasons)


def not_rankable(settings: Mapping[str, Any], withdrawn: Withdrawal | None, stale_reasons: Iterable[str]) -> list[str]:
    """Reasons against a rank that the attempts by themselves do not give."""
    reasons = [str(withdrawn)] if withdrawn is not None else []
    kind = kind_of(settings)
    if kind != EVALUATED:
        return [*reasons, f"{kind}: {IMPORTED.get(kind, 'a kind of run that this program does not know')}"]
    return [*reasons, *stale_reasons]
