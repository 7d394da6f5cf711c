"""A stored transcript as text for people. Nothing in it is obeyed by a terminal (``runner.terminal``)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from runner.episode.captions import agent_name, event, verdict
from runner.episode.choices import letter, turns_of
from runner.episode.stored import TRANSCRIPT, Episode
from runner.terminal import printable_lines
from runner.words import count, one_line

RULE = "──"
LONGEST_REPLY = 300  # characters; --transcript has all of them
LONGEST_DATA = 2000  # characters of fields that have no text form of their own


def summary(episode: Episode) -> Iterator[str]:
    """What the attempt was and how it ended, in a few lines."""
    record, found = episode.record, verdict(episode.record)
    where = f"{record.environment_id} condition {record.condition}"
    yield f"{episode.name}: {where}, {agent_name(episode)}"
    yield f"{found.word.upper()}: {found.text}" + (f" [{found.clause}]" if found.clause else "")
    yield (
        f"{record.simulated_s:.2f} s simulated, {count(record.actions, 'action')}, {record.wall_s:.1f} s; opened "
        f"{record.opened_at:%Y-%m-%d %H:%M:%S} UTC; id {record.attempt}"
    )


def timeline(episode: Episode) -> Iterator[str]:
    """The evaluator's events, one line each."""
    for entry in episode.log:
        time, text = event(entry)
        if text:
            yield f"{time:9.3f} s  {text}"


def choices(episode: Episode) -> Iterator[str]:
    """The goal, then every step at which an agent chose: the lettered options, ``>`` before the one that was taken, and
    the reply; nothing for an attempt of another kind."""
    turns = turns_of(episode.record)
    if turns and episode.describe.get("task"):
        yield f"goal: {one_line(str(episode.describe['task']))}"
    for number, turn in enumerate(turns, 1):
        yield f"step {number}" + (": none was taken, the step was used up" if turn.taken is None else "")
        for index, option in enumerate(turn.options):
            yield f"  {'>' if index == turn.taken else ' '} {letter(index)}  {option}"
        if turn.said:
            yield f"    {turn.said if len(turn.said) <= LONGEST_REPLY else turn.said[:LONGEST_REPLY] + ' ...'}"


def transcript(episode: Episode) -> Iterator[str]:
    """Every entry: a heading and its text. Raises EpisodeError for a file that is not what was recorded."""
    if not episode.has_transcript:
        yield "no transcript is stored: the agent kept none"
        return
    for entry in episode.lines(TRANSCRIPT):
        heading, body = _entry(entry)
        yield ""
        yield f"{RULE} {one_line(heading)} {RULE}"
        if body:
            yield printable_lines(body.rstrip("\n"))


def _entry(entry: Mapping[str, Any]) -> tuple[str, str]:
    """(heading, body)."""
    kind = str(entry.get("kind", "entry"))
    if kind == "message":
        message = entry.get("message") or {}
        return f"message {entry.get('index')}: {message.get('role')}", _message(message)
    if kind == "evicted":
        message = entry.get("message") or {}
        heading = f"message {entry.get('index')} from now on: {entry.get('what')} left out"
        return heading, _message(message)
    if kind == "exec":
        return "program", str(entry.get("code", ""))
    if kind == "result":
        return f"result: {entry.get('status')}", _result(entry)
    if kind == "request":
        return f"request {entry.get('turn')}: {entry.get('messages')} messages", ""
    if kind == "reply":
        return _reply(entry), ""
    if kind == "fault":
        return f"fault: {entry.get('cause')}", str(entry.get("text", ""))
    return kind, _data({key: value for key, value in entry.items() if key != "kind"})


def _message(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    lines = [_part(part) for part in parts if isinstance(part, Mapping)]
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        lines.append(f"[call {function.get('name')}] {function.get('arguments')}")
    return "\n".join(line for line in lines if line)


def _part(part: Mapping[str, Any]) -> str:
    if part.get("type") == "text":
        return "" if part.get("text") is None else str(part["text"])
    if part.get("type") == "image_url":
        return f"[picture {str((part.get('image_url') or {}).get('url'))[:200]}]"
    return _data(part)


def _result(entry: Mapping[str, Any]) -> str:
    error = entry.get("error") or {}
    lines = [str(entry.get("stdout") or "")]
    if entry.get("stderr"):
        lines.append(f"[stderr]\n{entry['stderr']}")
    if error:
        lines.append(str(error.get("traceback") or f"{error.get('type')}: {error.get('message')}"))
    if entry.get("truncated"):
        lines.append(f"[{entry['truncated']:,} bytes more were cut off]")
    if entry.get("restarted"):
        lines.append("[the variables of earlier code are gone]")
    return "\n".join(line.rstrip("\n") for line in lines if line)


def _reply(entry: Mapping[str, Any]) -> str:
    tokens, cost = entry.get("tokens") or {}, entry.get("cost_usd")
    used = ", ".join(f"{key} {value:,}" for key, value in tokens.items() if type(value) is int)
    price = "" if cost is None else f", ${cost:.4f}"
    took = f", {entry['latency_s']:.1f} s" if isinstance(entry.get("latency_s"), int | float) else ""
    return f"reply {entry.get('turn')} of {entry.get('model')}: {entry.get('finish')}; tokens {used}{price}{took}"


def _data(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_DATA else f"{text[:LONGEST_DATA]}... ({len(text):,} characters)"
