"""What an attempt used whose runner was killed: read from its transcript, the only account that was left."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from manifests.load import load
from manifests.records import Usage
from runner.agents.conversation import folded
from runner.models.base import Message, Tokens
from runner.models.library import library
from runner.models.usage import estimate_input, priceable
from runner.store.text import parse


def usage_of(transcript: Path, model: str) -> Usage:
    """Usage of an attempt of ``model`` (provider/model). A request that nothing answered counts with its prompt, by
    estimate, as one does that an attempt itself gives up. What the transcript does not say is None."""
    entries = _entries(transcript)
    calls = [number for number, entry in enumerate(entries) if entry["kind"] == "request"]
    if not calls:
        return Usage(tokens_input=0, tokens_cached=0, tokens_output=0, cost_usd=0.0)
    said = [(number, entry["usage"]) for number, entry in enumerate(entries) if entry.get("usage")]
    number, usage = (said[-1][0], Usage.model_validate(said[-1][1])) if said else (-1, None)
    if usage is not None and number > calls[-1]:
        return usage
    if usage is None:
        known = len(calls) == 1  # before the first call nothing is used; of several without a count nothing is known
        usage = Usage(tokens_input=0, tokens_cached=0, tokens_output=0, cost_usd=0.0) if known else Usage()
    return _with_open(usage, entries[: calls[-1] + 1], len(calls), model)


def _with_open(usage: Usage, entries: Sequence[dict[str, Any]], calls: int, model: str) -> Usage:
    """``usage`` with the request that ends ``entries``."""
    messages = list(folded(entries))[-1]
    tools = next((entry.get("tools") for entry in entries if entry["kind"] == "begin"), None)
    prompt = Tokens(uncached=estimate_input(messages, tools, load().model_calls.estimate), output=0, estimated=True)
    cost = library().cost(model, priceable(None, prompt))
    return usage.model_copy(
        update={
            "tokens_input": None if usage.tokens_input is None else usage.tokens_input + (prompt.input or 0),
            "tokens_cached": None,
            "estimated": True,
            "images_sent": sum(_pictures(entry["message"]) for entry in entries if entry["kind"] == "message"),
            "model_calls": calls,
            "cost_usd": None if usage.cost_usd is None or cost is None else usage.cost_usd + cost,
        }
    )


def _pictures(message: Message) -> int:
    content = message.get("content")
    return sum(part.get("type") == "image_url" for part in content) if isinstance(content, list) else 0


def _entries(transcript: Path) -> list[dict[str, Any]]:
    """The entries up to the first that was not written whole."""
    found: list[dict[str, Any]] = []
    try:
        lines = transcript.read_bytes().split(b"\n")
    except FileNotFoundError:
        return found
    for line in lines[:-1]:
        try:
            found.append(parse(line.decode("utf-8")))
        except ValueError:
            break
    return found
