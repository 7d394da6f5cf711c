"""JSON with one meaning, for every reader inside a container: no key twice in an object, no NaN.

As ``manifests/strict.py``, which no container of an agent holds.
"""

from __future__ import annotations

from typing import Any


class DuplicateKey(ValueError):
    """A key stands twice in one object, so that two readers may take two values for it."""


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of its members (``object_pairs_hook``). Raises DuplicateKey."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise DuplicateKey(f"the key {max(keys, key=keys.count)!r:.80} stands twice in one object")
    return found


def no_constant(text: str) -> None:
    """Refuses NaN and the infinities (``parse_constant``). Raises ValueError."""
    raise ValueError(f"{text} is no JSON number")
