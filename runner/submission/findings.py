"""What a verification found: every problem and every note, each one line with the path of its field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import ValidationError

from runner.settings import flatten
from runner.store.text import stamp

ABSENT = object()


@dataclass(frozen=True)
class Finding:
    """A ``problem`` refuses the bundle; a ``note`` is what a reader of its score should know."""

    level: Literal["problem", "note"]
    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.level}: {self.path}: {self.text}"


class Report:
    """Findings in the order in which they were made."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def problem(self, path: str, text: str) -> None:
        self.findings.append(Finding("problem", _line(path), _line(text)))

    def note(self, path: str, text: str) -> None:
        self.findings.append(Finding("note", _line(path), _line(text)))

    def schema(self, path: str, error: ValidationError) -> None:
        """Every finding of a schema as a problem of its own."""
        for item in error.errors(include_url=False):
            where = path + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in item["loc"])
            text = {"missing": "field required", "extra_forbidden": "unknown field; leave it out"}.get(item["type"])
            if text is None:
                text = f"{shown(item['input'])}: {item['msg'].removeprefix('Value error, ')}"
            self.problem(where, text)

    def differences(self, path: str, found: Any, expected: Any, source: str) -> None:
        """A problem for each leaf in which ``found`` is not what ``source`` says."""
        here, there = _leaves(found), _leaves(expected)
        for leaf in {**there, **here}:
            mine, right = here.get(leaf, ABSENT), there.get(leaf, ABSENT)
            if not same(mine, right):
                self.problem(path + leaf, f"is {shown(mine)}, and {shown(right)} by {source}")

    @property
    def problems(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.level == "problem"]

    @property
    def notes(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.level == "note"]


def _leaves(value: Any) -> dict[str, Any]:
    """By their path from here: ``.launcher.actions``, ``[0].engine``, or an empty one for a value without parts."""
    if not isinstance(value, Mapping | list | tuple):
        return {"": value}
    return {leaf if leaf.startswith("[") else f".{leaf}": item for leaf, item in flatten(value).items()}


def same(one: Any, other: Any) -> bool:
    """Equality of JSON leaves: 150 is 150.0, and true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping | list | tuple) and isinstance(other, Mapping | list | tuple):
        return isinstance(one, Mapping) == isinstance(other, Mapping) and len(one) == len(other) == 0
    return bool(one == other)


def shown(value: Any) -> str:
    """A value as it fits into a line."""
    text = "absent" if value is ABSENT else stamp(value) if isinstance(value, datetime) else repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


def _line(text: str) -> str:
    """One line that a stranger's text cannot break, nor use to control a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in " ".join(text.split()))
