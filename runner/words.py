"""What people read: numbers with their nouns (no ``1 notes``), times (no ``3661 s``), tables that fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from manifests.words import count, plural
from runner.terminal import printable_lines

__all__ = ["clock", "count", "fitting", "one_line", "plural"]


def one_line(text: str) -> str:
    """Stored or foreign text on one line, with single blanks, that cannot steer a terminal."""
    return " ".join(printable_lines(text).split())


def clock(seconds: float) -> str:
    """``1:02:03``, ``2:03`` or ``3 s``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def fitting(widths: Mapping[str, int], room: int, less: Sequence[str], gap: int = 2) -> list[str]:
    """The columns of a table, ``gap`` blanks between them, that ``room`` has space for. Those in ``less`` are given up
    first, in order; the others stay, whatever the room."""
    kept = list(widths)
    for name in less:
        if name in kept and sum(widths[other] for other in kept) + gap * (len(kept) - 1) > room:
            kept.remove(name)
    return kept
