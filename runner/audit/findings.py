"""What an audit says: findings of checks, and whether they let the run pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["problem", "doubt", "note"]
Status = Literal["passed", "undecided", "failed", "skipped"]


@dataclass(frozen=True)
class Finding:
    """One line. ``where`` names the place (``entry 7``, ``attempt 3 actions.npy``), ``text`` what is wrong there.

    A problem fails its check. A doubt leaves it undecided: what was found neither confirms nor refutes the records, and
    such a check does not pass. A note is something that a reader of the report should know.
    """

    severity: Severity
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


@dataclass(frozen=True)
class Check:
    """One check of an audit. ``data`` is what it looked at, ready for JSON."""

    name: str
    status: Status
    summary: str
    findings: tuple[Finding, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def problems(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == "problem")


def problem(where: str, text: str) -> Finding:
    return Finding("problem", where, text)


def note(where: str, text: str) -> Finding:
    return Finding("note", where, text)


def check(name: str, summary: str, findings: Iterable[Finding], data: dict[str, Any] | None = None) -> Check:
    """Failed when one of the findings is a problem, undecided when one is a doubt."""
    found = tuple(findings)
    severities = {finding.severity for finding in found}
    status: Status = "failed" if "problem" in severities else "undecided" if "doubt" in severities else "passed"
    return Check(name, status, summary, found, data or {})


def skipped(name: str, why: str) -> Check:
    return Check(name, "skipped", why)
