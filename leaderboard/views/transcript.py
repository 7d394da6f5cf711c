"""The transcript of an attempt: messages, programs, their output and the pictures as they were sent.

All of it is text of strangers: nothing in it is markup here.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from html import escape
from typing import Any

from leaderboard.episode import Stored
from leaderboard.markup import Safe, join, link, small, tag
from leaderboard.public import public
from manifests.records import AttemptRecord
from manifests.words import count

ENTRIES = 60  # on one page
LONGEST = 20_000  # characters of one text
PICTURES = 12  # on one page
LARGEST = 1 << 20  # bytes of one picture


def build(run: str, record: AttemptRecord, stored: Stored, part: int) -> Safe:
    """Page ``part`` of the transcript."""
    entries = stored.transcript
    title = tag("h2", "Transcript")
    if not entries:
        return join((title, tag("p", "No transcript is stored: the agent kept none.", class_="quiet")))
    pages = pages_of(stored)
    part = min(max(part, 1), pages)
    first = (part - 1) * ENTRIES
    room = [PICTURES]
    shown = [_entry(record, stored, entry, room) for entry in entries[first : first + ENTRIES]]
    said = tag("p", f"Entries {first + 1} to {first + len(shown)} of {len(entries)}.", class_="quiet")
    steps = [
        tag("li", tag("span", index, aria_current="page") if index == part else _step(run, record, index))
        for index in range(1, pages + 1)
    ]
    more = tag("nav", tag("ol", *steps), class_="pages", aria_label="Pages of the transcript") if pages > 1 else ""
    return tag("section", title, said, more, *shown, more, id="transcript")


def pages_of(stored: Stored) -> int:
    return -(-len(stored.transcript) // ENTRIES)


def _step(run: str, record: AttemptRecord, index: int) -> Safe:
    return link(index, run=run, attempt=record.sequence, part=index)


def _entry(record: AttemptRecord, stored: Stored, entry: Mapping[str, Any], room: list[int]) -> Safe:
    kind = str(entry.get("kind", "entry"))
    message = entry.get("message")
    if kind in ("message", "evicted") and isinstance(message, Mapping):
        role = str(message.get("role"))
        heading = f"message {entry.get('index')}: {role}"
        if kind == "evicted":
            heading = f"message {entry.get('index')} from now on: {entry.get('what')} left out"
        return _turn(
            role, heading, *_message(record, stored, message, room), closed=role == "system" or kind == "evicted"
        )
    if kind == "exec":
        return _turn("program", "program", _pre(entry.get("code")))
    if kind == "result":
        return _turn("result", f"result: {entry.get('status')}", *_result(entry))
    rest = {key: value for key, value in entry.items() if key != "kind"}
    return _turn("note", _heading(kind, entry), _pre(json.dumps(rest, ensure_ascii=False, indent=1)), closed=True)


def _heading(kind: str, entry: Mapping[str, Any]) -> str:
    if kind == "request":
        messages = entry.get("messages")
        said = count(messages, "message") if isinstance(messages, int) else "unknown messages"
        return f"request {entry.get('turn')}: {said}"
    if kind == "reply":
        return f"reply {entry.get('turn')} of {entry.get('model')}: {entry.get('finish')}"
    return f"{kind}: {entry.get('cause')}" if kind == "fault" else kind


def _message(record: AttemptRecord, stored: Stored, message: Mapping[str, Any], room: list[int]) -> list[Safe]:
    content = message.get("content")
    found = []
    for part in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        if not isinstance(part, Mapping):
            continue
        if part.get("type") == "text" and part.get("text"):
            found.append(_pre(part["text"]))
        elif part.get("type") == "image_url":
            where = part.get("image_url")
            url = where.get("url") if isinstance(where, Mapping) else where
            found.append(_picture(record, stored, str(url), room))
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            continue
        found.append(_pre(f"[call {function.get('name')}] {function.get('arguments')}"))
    return found


def _picture(record: AttemptRecord, stored: Stored, url: str, room: list[int]) -> Safe:
    """A picture as it was sent; its name where it is not stored, too large, or one too many for a page."""
    data = stored.picture(record, url) if room[0] > 0 else None
    if data is None or len(data) > LARGEST:
        return tag("p", small("picture ", public(url, 200)))
    room[0] -= 1
    source = "data:image/png;base64," + base64.b64encode(data).decode()
    return tag("img", src=Safe(source), alt="picture as it was sent to the model", class_="sent")


def _result(entry: Mapping[str, Any]) -> list[Safe]:
    error = entry.get("error") or {}
    found = [_pre(entry["stdout"])] if entry.get("stdout") else []
    if entry.get("stderr"):
        found += [small("stderr"), _pre(entry["stderr"])]
    if isinstance(error, Mapping) and error:
        found.append(_pre(error.get("traceback") or f"{error.get('type')}: {error.get('message')}"))
    if entry.get("truncated"):
        found.append(small(f"more was cut off, bytes: {entry['truncated']}"))
    return found


def _turn(kind: str, heading: str, *content: Safe, closed: bool = False) -> Safe:
    known = kind if kind in ("system", "user", "assistant", "tool", "program", "result") else "note"
    opened = None if closed else "open"
    return tag("details", tag("summary", heading), *content, class_=f"turn {known}", open=opened)


def _pre(value: Any) -> Safe:
    """A text in a box that scrolls by itself, and is reached by the keyboard for that."""
    text = public("" if value is None else str(value), LONGEST)
    return Safe(f'<pre tabindex="0"><code>{escape(text)}</code></pre>')
