"""A reply as it goes back to a provider in the next request.

Providers check the function calls of a conversation and refuse all of it for a name or arguments that no function can
have. A model's own slip must not end as a fault of its provider, so that what goes back is what each of them takes;
the reply as it came is in the transcript, and the answer to the call says what was wrong with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from manifests import strict
from runner.models.base import Message
from runner.store.text import storable

INVALID = "invalid_arguments"  # the one key of what goes back in the place of arguments that are no JSON object
LONGEST_NAME = 64
DEEPEST = 100  # levels of nesting
_ODD = re.compile(r"[^A-Za-z0-9_-]")
_BEGINS = re.compile(r"[A-Za-z_]")  # Gemini takes no other first character


def returned(message: Message, limit: int) -> Message:
    """An assistant message whose calls have names that match ``^[A-Za-z_][A-Za-z0-9_-]{0,63}$`` and arguments that are
    JSON objects. Of other arguments the first ``limit`` characters are kept, as the text of a key."""
    calls = message.get("tool_calls")
    return {**message, "tool_calls": [_call(call, limit) for call in calls]} if calls else message


def _call(call: Mapping[str, Any], limit: int) -> dict[str, Any]:
    function = call["function"]
    sent = {"name": _name(function["name"]), "arguments": _arguments(function["arguments"], limit)}
    return {**call, "function": {**function, **sent}}


def _name(name: str) -> str:
    name = _ODD.sub("_", name[:LONGEST_NAME])
    return name if _BEGINS.match(name) else f"_{name}"[:LONGEST_NAME]


def _arguments(text: str, limit: int) -> str:
    try:
        value = strict.loads(text)
        if isinstance(value, dict) and not _deep(text):
            plain = storable(value)
            return text if plain == value else json.dumps(plain, ensure_ascii=False)
    except (ValueError, RecursionError):
        pass
    return json.dumps({INVALID: storable(text[:limit])}, ensure_ascii=False) if text else "{}"


def _deep(text: str) -> bool:
    """Whether brackets are nested beyond :data:`DEEPEST`; those within strings count too, which only cuts sooner."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    depth = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth += 1 if bracket in "[{" else -1
        if depth > DEEPEST:
            return True
    return False
