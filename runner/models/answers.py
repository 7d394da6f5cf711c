"""From what arrived with HTTP status 200 to an answer, or to the cause why it is none.

An answer of OpenAI's form is read as it came; of any other form (Anthropic, Gemini, Ollama) litellm's reading is taken.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import Any

from runner.models.base import Finish, Message, Tokens, ToolCall
from runner.models.library import Result
from runner.models.redact import Redactor
from runner.models.stream import assembled, parts
from runner.models.usage import says_usage, tokens_of

# Words for the end of an answer that providers use beside OpenAI's.
FINISHES: Mapping[str, Finish] = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "refusal": "refusal",
}


DEEPEST = 100  # levels of nesting in an answer
LONGEST_NAME = 200  # characters of a model's name


@dataclass(frozen=True)
class Answer:
    """What an answer holds. ``cause`` is None for one that an agent can work with, else why it is none, with ``text``;
    ``usage`` is the provider's own, None where it gave none."""

    cause: str | None
    text: str
    content: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"
    message: Message = field(default_factory=dict)
    model: str | None = None
    usage: dict[str, Any] | None = None
    tokens: Tokens | None = None
    raw: dict[str, Any] = field(default_factory=dict)


def body_of(result: Result) -> Any:
    """The body as JSON: whole, or put together from a stream; None when it is neither."""
    body = result.exchange.body()
    if "event-stream" in result.exchange.headers.get("content-type", ""):
        return assembled(body)
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def read(result: Result, body: Any, redactor: Redactor) -> Answer:
    """``body`` is that of :func:`body_of`. Every text of the answer is storable and without secrets."""
    if _too_deep(body) or _too_deep(result.shown):
        return Answer("malformed_reply", f"the answer is nested more than {DEEPEST} deep")
    ours = isinstance(body, dict) and "choices" in body
    found = body if ours else result.shown
    raw = redactor.json(body if isinstance(body, dict) else found or {})
    if not isinstance(found, dict):
        text = "the answer is not JSON" if body is None else f"the answer is no completion{_keys(raw)}"
        usage = _usage(result, body, raw)
        return Answer("malformed_reply", text, usage=usage, tokens=tokens_of(usage), raw=raw)
    if body is None and not _said(result, body):
        return Answer("malformed_reply", "the answer is a stream without an event", raw=raw)
    found = raw if ours else redactor.json(found)
    usage = _usage(result, body, found)
    model = redactor.json(_model(_said(result, body)))
    facts: dict[str, Any] = {"model": model, "usage": usage, "tokens": tokens_of(usage), "raw": raw}
    choices = found.get("choices")
    if not isinstance(choices, list):
        return Answer("malformed_reply", f"the answer's choices are {_kind(choices)}, not a list", **facts)
    if not choices:
        return Answer("no_choices", "the answer's list of choices is empty", **facts)
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, dict) else None
    if message is None:
        return Answer("null_message", "the answer's choice has no message", **facts)
    if not isinstance(message, dict):
        return Answer("malformed_reply", f"the answer's message is {_kind(message)}, not an object", **facts)
    for name, kinds in (("content", (str, list)), ("tool_calls", (list,))):
        if not isinstance(message.get(name), (*kinds, NoneType)):
            text = f"the answer's {name} is {_kind(message[name])}, not {' or '.join(kind.__name__ for kind in kinds)}"
            return Answer("malformed_reply", text, **facts)
    odd = [call for call in message.get("tool_calls") or () if not isinstance(call, dict)]
    if odd:
        return Answer("malformed_reply", f"the answer's tool_calls hold {_kind(odd[0])}, not an object", **facts)
    return _judged(choice, message, facts, redactor.json(_thinking(result.shown)))


def _judged(choice: dict[str, Any], message: dict[str, Any], facts: dict[str, Any], thinking: Any) -> Answer:
    content, calls = _content(message), _calls(message)
    finish = FINISHES.get(str(choice.get("finish_reason") or "stop").lower(), "stop")
    refusal = message.get("refusal")
    cause, text = None, ""
    if isinstance(refusal, str) and refusal and not calls:
        cause, text, content, finish = "refusal", f"the model refused: {refusal[:500]}", content or refusal, "refusal"
    elif finish == "refusal":
        cause, text = "refusal", f"the model refused: {content[:500]}" if content else "the model refused"
    elif finish == "content_filter":
        cause, text = "content_filter", "the provider's content filter withheld the answer"
    elif finish == "length":
        cause, text = "length_stop", "the answer reached the limit of output tokens"
    elif not content.strip() and not calls:
        cause, text = "empty_reply", "the model answered with neither text nor a tool call"
    sent_back = _sent_back(content, calls, thinking)
    return Answer(cause, text, content=content, calls=calls, finish=finish, message=sent_back, **facts)


def _sent_back(content: str, calls: tuple[ToolCall, ...], thinking: Any) -> Message:
    """The assistant message to append. Signed thinking goes back with it where the provider asks for that."""
    message: Message = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    return {**message, "thinking_blocks": thinking} if thinking else message


def _thinking(shown: Any) -> Any:
    """The model's signed thinking, as litellm reads it."""
    try:
        return shown["choices"][0]["message"].get("thinking_blocks")
    except (TypeError, KeyError, IndexError, AttributeError):
        return None


def _content(message: Mapping[str, Any]) -> str:
    """The text; some servers send it in parts."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _calls(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    found = message.get("tool_calls")
    calls: list[ToolCall] = []
    taken: set[str] = set()  # an id that comes twice in one message is refused when it is sent back
    for number, call in enumerate(found if isinstance(found, list) else ()):
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            continue
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments if arguments is not None else {})
        identity = str(call.get("id") or f"call_{number}")
        while identity in taken:
            identity += "_"
        taken.add(identity)
        calls.append(ToolCall(identity, str(function.get("name") or ""), text))
    return tuple(calls)


def _usage(result: Result, body: Any, found: dict[str, Any]) -> dict[str, Any] | None:
    """The provider's usage in OpenAI's form: litellm's reading, which knows the details of every format, as long as the
    provider really gave one."""
    if not any(says_usage(part) for part in _said(result, body)):
        return None
    for usage in (result.shown.get("usage") if result.shown else None, found.get("usage")):
        tokens = tokens_of(usage)
        if usage is not None and tokens is not None and (tokens.input or tokens.output):
            return dict(usage)
    return None


def _said(result: Result, body: Any) -> list[Mapping[str, Any]]:
    """The provider's own words: the body, or the parts of a stream that is not of OpenAI's form."""
    return [body] if isinstance(body, Mapping) else list(parts(result.exchange.body()))


def _model(said: Iterable[Mapping[str, Any]]) -> str | None:
    """The model as the provider names it; litellm, where it names none, would repeat what was asked for."""
    for part in said:
        for value in (part.get("model"), part.get("modelVersion")):
            if isinstance(value, str) and value:
                return value[:LONGEST_NAME]
    return None


def _too_deep(value: Any) -> bool:
    """Whether lists and objects are nested beyond :data:`DEEPEST`; found level by level, since recursion would end."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            item
            for part in level
            if isinstance(part, dict | list)
            for item in (part.values() if isinstance(part, dict) else part)
        ]
        if not level:
            return False
    return any(isinstance(part, dict | list) for part in level)


def _keys(raw: Mapping[str, Any]) -> str:
    return f" (its keys: {', '.join(key[:40] for key in list(raw)[:8])})" if raw else ""


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__
