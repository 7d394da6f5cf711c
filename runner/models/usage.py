"""Tokens and cost: the provider's own count by kind, an estimate marked as one where it gives none, the sum of an
attempt."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from manifests.calls import Estimate
from manifests.records import Usage
from runner.models.base import Message, Tokens, Tool

MOST_TOKENS = 10**9  # of one request
# Keys under which the formats of the providers give usage: OpenAI and Anthropic, Gemini, Ollama.
USAGE_KEYS = ("usage", "usageMetadata", "prompt_eval_count", "eval_count")


def tokens_of(usage: Mapping[str, Any] | None) -> Tokens | None:
    """Tokens by kind of a usage in OpenAI's form, whose prompt count includes what was cached; None without counts.

    ``cached`` is None where the provider does not say how much of the prompt was cached; all of it counts as uncached.
    """
    if not isinstance(usage, Mapping):
        return None
    prompt, output = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if prompt is None or output is None:
        return None
    details = usage.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, Mapping) else None
    if cached is None:
        cached = _count(usage.get("cache_read_input_tokens"))
    if cached is None:
        return Tokens(uncached=prompt, cached=None, output=output)
    cached = min(cached, prompt)
    return Tokens(uncached=prompt - cached, cached=cached, output=output)


def says_usage(body: Any) -> bool:
    """Whether a provider's answer has a count at all: litellm fills in zeros or guesses where there is none."""
    return isinstance(body, Mapping) and any(body.get(key) for key in USAGE_KEYS)


def priceable(usage: Mapping[str, Any] | None, tokens: Tokens) -> dict[str, Any]:
    """What litellm's price table is asked with: the tokens as they are recorded, in OpenAI's form. Of the provider's
    ``usage`` come only parts of them that some models price by themselves, none larger than what it is a part of."""
    prompt, output, cached = tokens.input or 0, tokens.output or 0, tokens.cached or 0
    written = min(_part(usage, "cache_creation_input_tokens"), prompt - cached)
    thought = min(_part(usage, "completion_tokens_details", "reasoning_tokens"), output)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
        **({"prompt_tokens_details": {"cached_tokens": cached}} if cached else {}),
        **({"cache_creation_input_tokens": written} if written else {}),
        **({"completion_tokens_details": {"reasoning_tokens": thought}} if thought else {}),
    }


def _part(usage: Any, *names: str) -> int:
    """A count within a usage; 0 where there is none."""
    for name in names:
        usage = usage.get(name) if isinstance(usage, Mapping) else None
    return _count(usage) or 0


def estimate_input(messages: Sequence[Message], tools: Sequence[Tool] | None, policy: Estimate) -> int:
    """Tokens of a prompt by its length; pictures by number."""
    size, pictures = 0, 0
    for message in messages:
        for part in _parts(message.get("content")):
            if part.get("type") in ("image_url", "image"):
                pictures += 1
            else:
                size += len(str(part.get("text", "")).encode("utf-8", "replace"))
        size += sum(len(str(call.get("function", ""))) for call in message.get("tool_calls") or ())
    size += sum(len(str(tool)) for tool in tools or ())
    by_length = math.ceil(size / policy.bytes_per_token)
    return by_length + len(messages) * policy.tokens_per_message + pictures * policy.tokens_per_picture


def estimate_output(text: str, arguments: str, policy: Estimate) -> int:
    """Tokens of an answer by its length."""
    return math.ceil((len(text.encode("utf-8", "replace")) + len(arguments)) / policy.bytes_per_token)


class Meter:
    """Cumulative usage of one attempt. What is unknown of one call is unknown of the sum, never zero."""

    def __init__(self) -> None:
        self._input, self._output, self._calls, self._pictures = 0, 0, 0, 0
        self._cached: int | None = 0
        self._cost: float | None = 0.0
        self._estimated = False

    def called(self, pictures: int) -> None:
        """A call begins; ``pictures`` are sent for the first time."""
        self._calls += 1
        self._pictures += pictures

    def count(self, tokens: Tokens, cost_usd: float | None) -> None:
        """What a request used, answered well or not."""
        self._input += tokens.input or 0
        self._output += tokens.output or 0
        self._cached = None if self._cached is None or tokens.cached is None else self._cached + tokens.cached
        self._cost = None if self._cost is None or cost_usd is None else self._cost + cost_usd
        self._estimated = self._estimated or tokens.estimated

    @property
    def total(self) -> int:
        """Input, cached input included, and output: what counts against the allowance."""
        return self._input + self._output

    @property
    def pictures(self) -> int:
        return self._pictures

    def usage(self) -> Usage:
        return Usage(
            tokens_input=self._input,
            tokens_cached=self._cached,
            tokens_output=self._output,
            estimated=self._estimated,
            images_sent=self._pictures,
            model_calls=self._calls,
            cost_usd=self._cost,
        )


def _parts(content: Any) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [part for part in content or () if isinstance(part, Mapping)]


def _count(value: Any) -> int | None:
    """A number of tokens, or None for what is none: no request has a billion."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS else None
