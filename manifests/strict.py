"""JSON with one meaning: no key twice in an object, no NaN. Of two equal keys Python's reader takes the last one and
others the first, so that one text would say different things to two programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


class DuplicateKey(ValueError):
    """A key stands twice in one object."""


class NotFinite(ValueError):
    """NaN or an infinity, which JSON does not have."""


def loads(text: str | bytes, parse_int: Callable[[str], Any] | None = None) -> Any:
    """The value of a JSON text. Raises ValueError in a few words (DuplicateKey and NotFinite are two), and
    RecursionError for one that is nested too deeply."""
    return json.loads(text, object_pairs_hook=unique, parse_constant=_no_constant, parse_int=parse_int)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of its members. Raises DuplicateKey naming the first key that comes again."""
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise DuplicateKey(f"the key {key!r:.80} stands twice in one object")
            seen.add(key)
    return result


def _no_constant(text: str) -> None:
    raise NotFinite(f"{text} is no JSON number")
