"""Numbers with their nouns, for every text that people read: no ``1 notes``."""

from __future__ import annotations


def count(number: int, what: str) -> str:
    """``1 entry``, ``3 entries``, ``2 attempts``, ``0 successes``, ``1,234 keys``."""
    return f"{number:,} {what if number == 1 else plural(what)}"


def plural(what: str) -> str:
    """Of a regular English noun, or of a phrase that ends with one."""
    if what.endswith("y") and what[-2:-1] not in "aeou":
        return f"{what[:-1]}ies"
    return f"{what}es" if what.endswith(("s", "x", "ch", "sh")) else f"{what}s"
