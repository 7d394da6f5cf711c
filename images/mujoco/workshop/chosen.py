"""What the commands of the workshop take: tasks by their own names, by parts of them or by full identifiers, conditions
by their numbers, and how many are played at a time."""

from __future__ import annotations

import argparse
from fnmatch import fnmatchcase

CONDITIONS = (0, 1, 2, 3)
MOST_JOBS = 64


def is_meant(task: str, pattern: str) -> bool:
    """Whether a glob names the task: the task 'panda/H01' by 'panda/H01', 'H0*' or 'hanoi_panda/panda/H01'."""
    ends = task.split("/"), pattern.split("/")
    parts = min(map(len, ends))
    return fnmatchcase("/".join(ends[0][-parts:]), "/".join(ends[1][-parts:]))


def patterns_of(text: str) -> list[str]:
    """The globs of a comma-separated list."""
    return [part.strip() for part in text.split(",") if part.strip()]


def jobs(text: str) -> int:
    """How many at a time. Raises ArgumentTypeError."""
    if not text.isdecimal() or not 0 < int(text) <= MOST_JOBS:
        raise argparse.ArgumentTypeError(f"{text!r}: a whole number from 1 to {MOST_JOBS}")
    return int(text)


def conditions(text: str) -> tuple[int, ...]:
    """Numbers of conditions in a comma-separated list. Raises ArgumentTypeError."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part in map(str, CONDITIONS) for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r}: a comma-separated list of {', '.join(map(str, CONDITIONS))}")
    return tuple(sorted(map(int, set(parts))))
