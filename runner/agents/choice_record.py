"""What the record of an attempt says of its choices: one object for each step, and counts (docs/kidgym.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from runner.agents.choices import Decoded, as_published, strict

KEPT = 4000  # characters of a reply in the record; the transcript has all of it
CUT = Decoded("none", None, "reply cut")
CHOICES, REPLIES = "choices", "replies"


@dataclass
class Steps:
    """Writes into ``facts``, which become the record's evidence whatever ends the attempt."""

    facts: dict[str, Any]
    _steps: list[dict[str, Any]] = field(default_factory=list)
    _counts: dict[str, int] = field(default_factory=dict)

    def taken(self, options: list[str], index: int | None) -> None:
        """A step of a baseline, which calls no model."""
        self._add(options, None, None, None, index)

    def replied(self, options: list[str], reply: str, *, cut: bool) -> int | None:
        """A step of a model: read its reply with both decoders; returns the index that the strict one finds. A reply
        that was cut at the output limit names nothing: what it would have come to is not known."""
        own, published = CUT if cut else strict(reply, options), as_published(reply, options)
        for name, counted in (
            *((kind, own.kind == kind) for kind in ("chosen", "ambiguous", "none")),
            ("published_differs", own.index != published.index),
        ):
            self._counts[name] = self._counts.get(name, 0) + counted
        self._add(options, reply, own, published, own.index)
        self.facts[REPLIES] = dict(self._counts)
        return own.index

    def _add(
        self, options: list[str], reply: str | None, own: Decoded | None, published: Decoded | None, taken: int | None
    ) -> None:
        step: dict[str, Any] = {
            "step": len(self._steps) + 1,
            "options": list(options),
            "reply": None if reply is None else reply[:KEPT],
            "strict": None if own is None else vars(own),
            "published": None if published is None else vars(published),
            "taken": taken,
        }
        if reply is not None and len(reply) > KEPT:
            step["cut"] = len(reply) - KEPT
        self._steps.append(step)
        self.facts[CHOICES] = list(self._steps)
