"""Numbers with their nouns, and the time that a person reads: no ``1 notes``, no ``3661 s``."""

from __future__ import annotations


def count(number: int, what: str) -> str:
    """``1 entry``, ``3 entries``, ``2 attempts``."""
    if number == 1:
        return f"1 {what}"
    return f"{number:,} {what[:-1]}ies" if what.endswith("y") else f"{number:,} {what}s"


def clock(seconds: float) -> str:
    """``1:02:03``, ``2:03`` or ``3 s``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
