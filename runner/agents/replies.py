"""What a reply asks for when the model writes plain text: Python code or one JSON call, whatever prose is around it.

Fenced blocks are those of CommonMark: at least three backticks or tildes, indented by at most three spaces; closed by a
line of at least as many of the same, or by the end of the text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from runner.models.base import ToolCall

PYTHON = frozenset(("python", "py", "python3"))
CALL = frozenset(("json", "tool", "tool_call"))
MAX_STARTS = 64  # places of a text that are tried as the beginning of a JSON object
_FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,})(.*)$")


@dataclass(frozen=True)
class Block:
    """A fenced block: the first word of its info string in lower case, and its lines."""

    language: str
    text: str


def blocks(text: str) -> list[Block]:
    """Every fenced block, in order. A block that is not closed reaches to the end."""
    found: list[Block] = []
    lines: list[str] = []
    language, fence, indent = "", "", 0
    for line in re.split(r"\r\n|\r|\n", text):  # not splitlines(): code may hold form feeds and line separators
        match = _FENCE.match(line)
        if not fence:
            if match and not (match[2][0] == "`" and "`" in match[3]):
                fence, indent, lines = match[2], len(match[1]), []
                language = next(iter(match[3].split()), "").lower()
        elif match and match[2].startswith(fence) and not match[3].strip():
            found.append(Block(language, "\n".join(lines)))
            fence = ""
        else:
            lines.append(line[min(indent, len(line) - len(line.lstrip(" "))) :])
    if fence:
        found.append(Block(language, "\n".join(lines)))
    return found


def code_blocks(text: str) -> list[str]:
    """The blocks marked as Python; where there is none, those that are not marked at all. Empty ones do not count."""
    found = [block for block in blocks(text) if block.text.strip()]
    return [block.text for block in found if block.language in PYTHON] or [
        block.text for block in found if not block.language
    ]


def json_calls(text: str) -> list[ToolCall]:
    """Calls ``{"tool": name, "arguments": {...}}``: in blocks marked as JSON or not at all, else in the text itself."""
    inside = [
        call for block in blocks(text) if block.language in CALL or not block.language for call in _calls(block.text)
    ]
    return inside or _calls(text)


def _calls(text: str) -> list[ToolCall]:
    found: list[ToolCall] = []
    at, decoder = 0, json.JSONDecoder()
    for _ in range(MAX_STARTS):
        at = text.find("{", at)
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        at = end
        if (call := _call(value)) is not None:
            found.append(call)
    return found


def _call(value: Any) -> ToolCall | None:
    if not isinstance(value, dict) or not isinstance(value.get("tool"), str):
        return None
    arguments = value.get("arguments", {})
    return ToolCall("", value["tool"], arguments if isinstance(arguments, str) else json.dumps(arguments))
