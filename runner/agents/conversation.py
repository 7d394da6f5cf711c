"""The conversation of one attempt with its model, and the transcript from which every request can be read again.

Transcript entries, one JSON object a line: ``message`` (index, message) appends to the messages, ``evicted`` (index,
what, message) replaces one, ``forgotten`` (index) drops it and all after it, ``request`` (turn, messages) was made with
the messages as they then were, ``reply`` has the provider's answer, ``fault`` what came instead of one. Pictures are
named by the artifact that holds them.
:func:`requests` folds a transcript back into what the provider was sent.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from runner.agents.base import AttemptContext
from runner.agents.history import PROMPT, Eviction, History, shortened_reply
from runner.agents.pictures import Picture
from runner.agents.policy import Policy
from runner.agents.returned import returned
from runner.models.base import Message, Model, ModelClient, ModelFault, Reply, Tool
from runner.store.text import storable

OVERFLOW = "context_overflow"  # cause of a fault: the request did not fit the model's window


class Conversation:
    """Calls of one attempt. What is added is made storable first, so that the transcript holds what was sent."""

    def __init__(
        self, context: AttemptContext, model: Model, client: ModelClient, policy: Policy, tools: tuple[Tool, ...]
    ) -> None:
        self.client = client
        self.turn = 0
        self._context, self._policy, self._tools = context, policy, tools
        self._history = History(policy.history, model.context_tokens or policy.history.window_tokens_when_unknown)
        self._stored: set[str] = set()
        self._new_pictures = 0

    @property
    def size(self) -> int:
        """Messages of the next request."""
        return len(self._history.items)

    def forget(self, size: int) -> None:
        """Go on as if only the first ``size`` messages had been: a task that shows each moment alone."""
        if self.size > size:
            del self._history.items[size:]
            self._context.transcript({"kind": "forgotten", "index": size})

    def prompt(self, role: str, text: str) -> None:
        """A message that is never evicted."""
        self._add({"role": role, "content": text}, PROMPT)

    def show(self, message: Message, pictures: list[Picture]) -> None:
        """A message with pictures that is never evicted."""
        self._store(pictures)
        self._add(message, PROMPT, pictures)

    def output(self, message: Message, pictures: list[Picture]) -> None:
        """A result for the model; ``message`` names its pictures by their artifacts, which are stored here."""
        self._store(pictures)
        self._add(message, "outputs", pictures)

    def say(self, text: str) -> None:
        """Something in the place of a reply that cannot stand in a request."""
        self._add({"role": "assistant", "content": text}, "replies")

    def _store(self, pictures: list[Picture]) -> None:
        for picture in pictures:
            if picture.name not in self._stored:
                self._context.keep(picture.name, picture.data)
                self._stored.add(picture.name)
        self._new_pictures += len(pictures)

    def ask(self) -> Reply:
        """The model's next reply, which is then part of the conversation. Raises ModelFault and CallCancelled."""
        self.turn += 1
        self._evict(self._history.make_room())
        for tries_left in reversed(range(self._policy.history.tries_after_overflow + 1)):
            try:
                return self._ask()
            except ModelFault as fault:
                if fault.cause != OVERFLOW or not tries_left:
                    raise
                if not self._evict(self._history.make_room_after_overflow()):
                    raise
        raise AssertionError("unreachable")

    def take(self, reply: Reply, *, calls: bool) -> None:
        """Append a reply to the conversation; a very long one only with its beginning, its function calls as every
        provider takes them. Without ``calls`` they are left out: nothing would answer them, which providers refuse."""
        message = storable(reply.message)
        if not calls and message.pop("tool_calls", None):
            message["content"] = message.get("content") or ""
        limit = self._policy.history.reply_characters
        message = returned(message, limit)
        self._add(shortened_reply(message, limit) or message, "replies")

    # ---- inside -----------------------------------------------------------------------------------------------------
    def _ask(self) -> Reply:
        context = self._context
        context.transcript({"kind": "request", "turn": self.turn, "messages": len(self._history.items)})
        new, self._new_pictures = self._new_pictures, 0
        try:
            reply = self.client.complete(
                self._history.sent(),
                tools=self._tools or None,
                deadline=context.deadline,
                cancel=context.stop,
                pictures=new,
            )
        except ModelFault as fault:
            entry = {"kind": "fault", "turn": self.turn, "cause": fault.cause, "text": fault.text}
            raw, usage = fault.reply.raw if fault.reply else None, self.client.usage.model_dump()
            context.transcript({**entry, "evidence": fault.evidence, "raw": raw, "usage": usage})
            raise
        finally:
            context.report_usage(self.client.usage)
            context.facts.update(self.client.facts)
        if reply.tokens.input and not reply.tokens.estimated:
            self._history.counted(reply.tokens.input)
        context.transcript({**_entry(self.turn, reply), "usage": self.client.usage.model_dump()})
        return reply

    def _add(self, message: Message, kind: str, pictures: list[Picture] | None = None) -> None:
        message = storable(message)
        index = self._history.add(message, kind, self.turn, pictures)
        self._context.transcript({"kind": "message", "index": index, "message": message})

    def _evict(self, evictions: Iterable[Eviction]) -> bool:
        """Carry out and record; whether there was anything to evict."""
        count = 0
        for eviction in evictions:
            count += 1
            self._context.transcript({"kind": "evicted", **vars(eviction)})
        return count > 0


def requests(entries: Iterable[Mapping[str, Any]], folder: Path) -> Iterator[list[Message]]:
    """The messages of every request of a transcript, in order, exactly as they went to the provider. ``folder`` is that
    of the attempt."""
    for messages in folded(entries):
        yield [_restored(message, folder) for message in messages]


def folded(entries: Iterable[Mapping[str, Any]]) -> Iterator[list[Message]]:
    """The messages of every request, with pictures by the names of their artifacts."""
    messages: list[Message] = []
    for entry in entries:
        if entry["kind"] == "message":
            messages.append(entry["message"])
        elif entry["kind"] == "evicted":
            messages[entry["index"]] = entry["message"]
        elif entry["kind"] == "forgotten":
            del messages[entry["index"] :]
        elif entry["kind"] == "request":
            yield list(messages)


def _restored(message: Message, folder: Path) -> Message:
    if not isinstance(message.get("content"), list):
        return dict(message)
    return {**message, "content": [_restored_part(part, folder) for part in message["content"]]}


def _restored_part(part: Message, folder: Path) -> Message:
    if part.get("type") != "image_url":
        return part
    data = (folder / part["image_url"]["url"]).read_bytes()
    return {**part, "image_url": {"url": f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"}}


def _entry(turn: int, reply: Reply) -> dict[str, Any]:
    return {
        "kind": "reply",
        "turn": turn,
        "finish": reply.finish,
        "model": reply.model,
        "tokens": vars(reply.tokens),
        "cost_usd": reply.cost_usd,
        "latency_s": round(reply.latency_s, 4),
        "waited_s": round(reply.waited_s, 4),
        "tries": reply.tries,
        "raw": reply.raw,
    }
