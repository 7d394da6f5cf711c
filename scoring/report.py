"""The result of scoring as plain data, ready for JSON: no NaN, null means undefined or unknown.

Every number stands with its denominator, and every attempt and condition with its reason. Rows of one shape hold the
whole selection and each breakdown; the headline is there only for a ranked subset.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from manifests.words import count

from . import details, metrics, plain, rows
from .eligibility import Eligibility, assess
from .exact import percent
from .ledger import INCIDENTS, Attempt
from .rows import BREAKDOWNS
from .rules import Rules
from .selection import Selection
from .uncertainty import LEVEL, METHODS, RESAMPLES
from .window import Kind, Status

SCORING_VERSION = 1


def score(
    attempts: Iterable[Attempt],
    selection: Selection,
    rules: Rules,
    *,
    by: Sequence[str] = BREAKDOWNS,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> dict[str, Any]:
    """Judge a ledger and compute everything that is printed of it, with a breakdown for each dimension in ``by``.

    Raises LedgerError for a ledger that cannot be read as one run, ValueError for an unknown dimension.
    """
    return report(assess(attempts, selection, rules), by=by, seed=seed, resamples=resamples)


def report(
    judged: Eligibility,
    *,
    by: Sequence[str] = BREAKDOWNS,
    seed: int = 0,
    resamples: int = RESAMPLES,
    listing: bool = True,
) -> dict[str, Any]:
    """The same from a ledger that is judged already. Without ``listing`` the lists of groups and attempts, which take
    most of the time, are empty."""
    selection, rules = judged.selection, judged.rules
    total = rows.row(judged, selection.name, np.ones(judged.layout.slots, dtype=bool), seed, resamples)
    reasons = _not_rankable(judged, total)
    names = plain.metric_names(rules)
    return {
        "scoring_version": SCORING_VERSION,
        "selection": selection.name,
        "protocol": rules.name,
        "opportunities": rules.opportunities,
        "names": names,
        "interval": {
            "level": LEVEL,
            "resamples": resamples,
            "seed": seed,
            "resampled": selection.resampled,
            "method": f"{METHODS[selection.resampled]}, percentile",
            "exact_bound": f"one-sided, over {selection.resampled}, only where all agree",
        },
        "headline": {key: total["metrics"][key]["balanced"] for key in names} if selection.ranked else None,
        "complete": total["groups_complete"] == total["groups"],
        "rankable": not reasons,
        "not_rankable": reasons,
        "ledger": _ledger_counts(judged),
        "total": total,
        "by": {name: [rows.row(judged, *part, seed, resamples) for part in rows.parts(judged, name)] for name in by},
        "codes_by_suite": {label: metrics.failure_codes(judged, slots) for label, slots in rows.parts(judged, "suite")},
        "groups": details.groups(judged) if listing else [],
        "attempts": details.attempts(judged) if listing else [],
    }


def _not_rankable(judged: Eligibility, total: dict[str, Any]) -> list[str]:
    """Why the run cannot be ranked, as far as its records tell."""
    reasons = []
    if not judged.selection.ranked:
        reasons.append(f"{judged.selection.name} is not a ranked subset")
    if partial := total["groups"] - total["groups_complete"]:
        reasons.append(f"{partial} of {count(total['groups'], 'group')} {'is' if partial == 1 else 'are'} partial")
    cap, share = judged.rules.exclusion_cap, _excluded_share(judged)
    if cap is not None and share is not None and share > cap:
        reasons.append(f"{percent(share)} % of attempts are excluded, above the cap of {percent(cap)} %")
    if judged.unknown_causes:
        reasons.append(f"{count(len(judged.unknown_causes), 'attempt')} ended with a cause or code that no table has")
    return reasons


def _ledger_counts(judged: Eligibility) -> dict[str, Any]:
    """Attempts at planned tasks by status; ``scored`` splits into successes and failures."""
    status, kind = judged.window.status, judged.kind
    scored, extra = status == Status.SCORED, status == Status.EXTRA
    incidents: Counter[str] = Counter(attempt.incident for attempt in judged.attempts)
    return {
        "attempts": len(judged.attempts),
        **{state.name.lower(): int((status == state).sum()) for state in Status},
        "successes": int((scored & (kind == Kind.SUCCESS)).sum()),
        "failures": int((scored & (kind == Kind.FAILURE)).sum()),
        "extra_successes": int((extra & (kind == Kind.SUCCESS)).sum()),
        "excluded_percent": plain.optional_percent(_excluded_share(judged)),
        "incidents": {name: incidents[name] for name in INCIDENTS if name != "none"},
        "unknown_causes": list(judged.unknown_causes),
        "outside_selection": judged.outside,
    }


def _excluded_share(judged: Eligibility) -> Fraction | None:
    """Excluded part of all attempts at planned tasks; None without one."""
    excluded = int((judged.window.status == Status.EXCLUDED).sum())
    return Fraction(excluded, len(judged.attempts)) if judged.attempts else None
