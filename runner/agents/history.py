"""The messages of one attempt as a model gets them, and which of their parts go when they become too many.

Sizes are estimated from characters and corrected by what the provider counted for the last request. Parts go oldest
first, pictures before outputs before replies (``prompts/policy.json``); the prompt and the newest turns stay.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from runner.agents.pictures import Picture
from runner.agents.policy import History as HistoryPolicy
from runner.agents.policy import Kind
from runner.agents.prompting import phrase
from runner.models.base import Message

PROMPT = "prompt"  # kind of what is never evicted
LEFT_OUT = "left_out"


@dataclass
class Item:
    """One message. ``kind`` is ``prompt``, ``outputs`` or ``replies``; ``message`` names pictures by their artifact."""

    message: Message
    kind: str
    turn: int
    tokens: float = 0.0
    pictures: list[Picture] = field(default_factory=list)
    shortened: bool = False


@dataclass(frozen=True)
class Eviction:
    """``message`` is what stands at ``index`` from now on."""

    index: int
    what: Kind
    message: Message


class History:
    """``window`` is the model's input window in tokens."""

    def __init__(self, policy: HistoryPolicy, window: int) -> None:
        self.items: list[Item] = []
        self._policy, self._window = policy, window
        self._correction = 1.0  # counted by the provider / estimated here
        self._shorteners: dict[Kind, Callable[[Item], Message | None]] = {
            "pictures": _without_pictures,
            "outputs": self._without_output,
            "replies": self._without_reply,
        }

    def add(self, message: Message, kind: str, turn: int, pictures: list[Picture] | None = None) -> int:
        """Returns the index of the message."""
        item = Item(message, kind, turn, pictures=list(pictures or ()))
        item.tokens = self._size(item)
        self.items.append(item)
        return len(self.items) - 1

    def sent(self) -> list[Message]:
        """The messages with their pictures as data URLs: what goes to the provider."""
        return [_expand(item) if item.pictures else item.message for item in self.items]

    @property
    def tokens(self) -> float:
        """Estimated size of the next request."""
        return self._correction * sum(item.tokens for item in self.items)

    def counted(self, tokens: int) -> None:
        """The provider's count for the messages as they are now."""
        estimated = sum(item.tokens for item in self.items)
        if tokens > 0 and estimated > 0:
            self._correction = tokens / estimated

    def make_room(self) -> Iterator[Eviction]:
        """Evict what the policy wants gone before the next request."""
        policy = self._policy
        pictures = sum(len(item.pictures) for item in self.items)
        if pictures > policy.pictures_at_most:
            yield from self._evict_pictures(policy.pictures_down_to)
        if self.tokens > policy.evict_above * self._window:
            yield from self._evict_to(policy.evict_down_to * self._window, newest=None)

    def make_room_after_overflow(self) -> Iterator[Eviction]:
        """The provider found the request too long: bring it to a part of its size, sparing the newest turn only."""
        yield from self._evict_to(self._policy.evict_down_to * self.tokens, newest=1)

    # ---- inside -----------------------------------------------------------------------------------------------------
    def _evict_pictures(self, keep: int) -> Iterator[Eviction]:
        for index in self._old("pictures", None):
            if sum(len(item.pictures) for item in self.items) <= keep:
                return
            yield from self._shorten(index, "pictures")

    def _evict_to(self, tokens: float, newest: int | None) -> Iterator[Eviction]:
        for kind in self._policy.order:
            for index in self._old(kind, newest):
                if self.tokens <= tokens:
                    return
                yield from self._shorten(index, kind)

    def _old(self, kind: Kind, newest: int | None) -> list[int]:
        """Indexes of messages with something of ``kind`` outside the newest turns."""
        kept = getattr(self._policy.newest_turns_kept, kind) if newest is None else newest
        turns = sorted({item.turn for item in self.items if item.kind != PROMPT})[-kept:]
        first = turns[0] if turns else 0
        return [
            index
            for index, item in enumerate(self.items)
            if item.turn < first
            and item.kind != PROMPT
            and (bool(item.pictures) if kind == "pictures" else item.kind == kind and not item.shortened)
        ]

    def _shorten(self, index: int, kind: Kind) -> Iterator[Eviction]:
        item = self.items[index]
        message = self._shorteners[kind](item)
        if kind == "pictures":
            item.pictures = []
        else:
            item.shortened = True
        if message is not None:
            item.message = message
            item.tokens = self._size(item)
            yield Eviction(index, kind, message)

    def _without_output(self, item: Item) -> Message | None:
        content = item.message.get("content")
        if isinstance(content, str):
            short = self._excerpt(content, "evicted_outputs")
            return None if short is None else {**item.message, "content": short}
        if not isinstance(content, list):
            return None
        parts = [self._short_part(part) for part in content]
        return None if parts == content else {**item.message, "content": parts}

    def _short_part(self, part: Message) -> Message:
        if part.get("type") != "text":
            return part
        short = self._excerpt(part["text"], "evicted_outputs")
        return part if short is None else {**part, "text": short}

    def _without_reply(self, item: Item) -> Message | None:
        return shortened_reply(item.message, self._policy.excerpt_characters)

    def _excerpt(self, text: str, name: str) -> str | None:
        return excerpt(text, self._policy.excerpt_characters, name)

    def _size(self, item: Item) -> float:
        characters = sum(len(text) for text in _texts(item.message))
        return characters / self._policy.characters_per_token + len(item.pictures) * self._policy.tokens_per_picture


def excerpt(text: str, limit: int, name: str) -> str | None:
    """The beginning of a text with a note of what is left out; None for one that is not much longer."""
    if len(text) <= 2 * limit:
        return None
    return f"{text[:limit]}\n{phrase(name, count=len(text) - limit)}"


def shortened_reply(message: Message, limit: int) -> Message | None:
    """An assistant message with long texts and arguments left out. Arguments stay JSON: providers parse them."""
    changed = dict(message)
    content = message.get("content")
    if isinstance(content, str) and (short := excerpt(content, limit, "evicted_replies")) is not None:
        changed["content"] = short
    if message.get("tool_calls"):
        changed["tool_calls"] = [_short_call(call, limit) for call in message["tool_calls"]]
    return None if changed == message else changed


def _short_call(call: Mapping[str, Any], limit: int) -> dict[str, Any]:
    function = call["function"]
    size = len(function["arguments"])
    if size <= 2 * limit:
        return dict(call)
    note = json.dumps({LEFT_OUT: phrase("evicted_replies", count=size)})
    return {**call, "function": {**function, "arguments": note}}


def _without_pictures(item: Item) -> Message | None:
    content = item.message["content"]
    left = [part for part in content if part.get("type") != "image_url"]
    note = phrase("evicted_pictures", count=len(content) - len(left))
    return {**item.message, "content": [*left, {"type": "text", "text": note}]}


def _expand(item: Item) -> Message:
    urls = {picture.name: picture for picture in item.pictures}
    parts = [
        {**part, "image_url": {**part["image_url"], "url": urls[part["image_url"]["url"]].url}}
        if part.get("type") == "image_url"
        else part
        for part in item.message["content"]
    ]
    return {**item.message, "content": parts}


def _texts(message: Message) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        yield from (part["text"] for part in content if part.get("type") == "text")
    for call in message.get("tool_calls") or ():
        yield call["function"]["name"]
        yield call["function"]["arguments"]
