"""Tasks that a command of the workshop names: by their own names, by parts of them or by full identifiers."""

from __future__ import annotations

from fnmatch import fnmatchcase


def is_meant(task: str, pattern: str) -> bool:
    """Whether a glob names the task: the task 'panda/H01' by 'panda/H01', 'H0*' or 'hanoi_panda/panda/H01'."""
    ends = task.split("/"), pattern.split("/")
    parts = min(map(len, ends))
    return fnmatchcase("/".join(ends[0][-parts:]), "/".join(ends[1][-parts:]))


def patterns_of(text: str) -> list[str]:
    """The globs of a comma-separated list."""
    return [part.strip() for part in text.split(",") if part.strip()]
