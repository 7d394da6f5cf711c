"""What the claims check says: one finding per figure or pair of figures, and all of them as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from ..exact import percent


@dataclass(frozen=True)
class Finding:
    """``holds`` is None where it could not be decided; that is no contradiction. ``remark``: it holds, and there is
    something to know. ``where`` names table, agent, subset and suite; ``data`` has the figures."""

    check: str
    where: str
    holds: bool | None
    text: str
    remark: bool = False
    data: dict[str, Any] = field(default_factory=dict)


def span(low: Fraction, high: Fraction) -> str:
    """Two rates in percent, or one where both are printed alike."""
    return percent(low) if percent(low) == percent(high) else f"{percent(low)} to {percent(high)}"


def result(title: str, findings: Iterable[Finding]) -> dict[str, Any]:
    """The findings with their counts by check; ``consistent`` when none fails."""
    found = list(findings)
    counts: dict[str, dict[str, int]] = {}
    for finding in found:
        row = counts.setdefault(finding.check, {"holds": 0, "fails": 0, "undecided": 0})
        row["undecided" if finding.holds is None else "holds" if finding.holds else "fails"] += 1
    return {
        "title": title,
        "consistent": not any(row["fails"] for row in counts.values()),
        "counts": counts,
        "findings": [asdict(finding) for finding in found],
    }
