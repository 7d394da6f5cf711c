"""What an audit says: findings of checks, and whether they let the run pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["problem", "note"]
Status = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True)
class Finding:
    """One line. ``where`` names the place (``entry 7``, ``attempt 3 actions.npy``), ``text`` what is wrong there.

    A problem fails its check; a note is something that a reader of the report should know.
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
    """Failed when one of the findings is a problem."""
    found = tuple(findings)
    failed = any(finding.severity == "problem" for finding in found)
    return Check(name, "failed" if failed else "passed", summary, found, data or {})


def skipped(name: str, why: str) -> Check:
    return Check(name, "skipped", why)
