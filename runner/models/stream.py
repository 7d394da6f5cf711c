"""Streams: events of OpenAI's form put together to the completion that would have come whole, and what streams of
other forms say of themselves (litellm puts those together)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def assembled(body: bytes) -> dict[str, Any] | None:
    """The completion of a streamed body; None when it holds no event of this form. An error in the stream is kept under
    ``error``; ``choices`` is empty when no event had one."""
    completion: dict[str, Any] = {"object": "chat.completion", "choices": []}
    choices: dict[int, dict[str, Any]] = {}
    known = False
    for event in _events(body):
        if "choices" not in event and "error" not in event:
            continue
        known = True
        for name in ("id", "created", "model", "system_fingerprint"):
            if event.get(name) is not None:
                completion.setdefault(name, event[name])
        for name in ("usage", "error"):
            if event.get(name) is not None:
                completion[name] = event[name]
        found = event.get("choices") or []
        if not isinstance(found, list):
            return {**completion, "choices": found}  # as it would have come whole
        for choice in found:
            if isinstance(choice, Mapping):
                _add(choices, choice)
    for index in sorted(choices):
        choice = choices[index]
        calls = choice["message"].pop("tool_calls", {})
        if calls:
            whole = [calls[number] for number in sorted(calls)] if isinstance(calls, dict) else calls
            choice["message"]["tool_calls"] = whole
        completion["choices"].append(choice)
    return completion if known else None


def parts(body: bytes) -> Iterator[Mapping[str, Any]]:
    """The objects of a stream of another form that may name the model or count tokens: events, lines of JSON, and the
    messages in them."""
    for event in _objects(body.splitlines()):
        yield event
        if isinstance(message := event.get("message"), Mapping):
            yield message


def _events(body: bytes) -> Iterator[dict[str, Any]]:
    return _objects(line for line in body.splitlines() if line.startswith(b"data:"))


def _objects(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            event = json.loads(line.removeprefix(b"data:"))
        except (ValueError, RecursionError):
            continue  # [DONE], or half an event at the end of a broken body
        if isinstance(event, dict):
            yield event


def _add(choices: dict[int, dict[str, Any]], part: Mapping[str, Any]) -> None:
    index = part.get("index") if isinstance(part.get("index"), int) else 0
    empty = {"index": index, "message": {"role": "assistant", "content": None}, "finish_reason": None}
    choice = choices.setdefault(int(index or 0), empty)
    choice["finish_reason"] = part.get("finish_reason") or choice["finish_reason"]
    if part.get("error"):
        choice["error"] = part["error"]
    delta = part.get("delta")
    if not isinstance(delta, Mapping):
        return
    message = choice["message"]
    for name in ("content", "refusal", "reasoning_content"):
        part_of, before = delta.get(name), message.get(name)
        if isinstance(part_of, str) and isinstance(before, str | None):
            message[name] = (before or "") + part_of
        elif part_of is not None and name == "content":
            message[name] = part_of  # what is no text is judged as it came
    calls, more = message.setdefault("tool_calls", {}), delta.get("tool_calls") or []
    if not isinstance(more, list):
        message["tool_calls"] = more
    elif isinstance(calls, dict):
        for number, call in enumerate(more):
            if isinstance(call, Mapping):
                _add_call(calls, number, call)


def _add_call(calls: dict[int, dict[str, Any]], number: int, part: Mapping[str, Any]) -> None:
    index = part.get("index") if isinstance(part.get("index"), int) else number
    call = calls.setdefault(int(index or 0), {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
    call["id"] = call["id"] or str(part.get("id") or "")
    function = part.get("function")
    if isinstance(function, Mapping):
        call["function"]["name"] += str(function.get("name") or "")
        call["function"]["arguments"] += str(function.get("arguments") or "")
