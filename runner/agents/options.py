"""An episode whose actions are lettered options, through the public operations: what can be chosen, and choosing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from images.client.wire import Attachment
from runner.agents.base import Sandbox
from runner.store.text import decode_text

OPTIONS = "options"  # the field that holds them, one a line
NOTHING = -1  # the action that names no option


class Unreachable(RuntimeError):
    """The environment does not answer any more. Why is the supervisor's to say."""


@dataclass
class Options:
    """``now`` are the options' words in the order of their letters; ``over`` is true from the terminal event on."""

    sandbox: Sandbox
    now: list[str] = field(default_factory=list)
    over: bool = False

    def look(self, cameras: Sequence[str] = (), side: int = 0) -> list[bytes]:
        """Read the options; returns a PNG of ``side`` pixels for each camera, in order. Raises Unreachable."""
        pictures = [{"camera": camera, "width": side, "height": side} for camera in cameras]
        reply, parts = self._call({"op": "observe", "fields": [OPTIONS], "pictures": pictures})
        self._take(reply, parts)
        return [bytes(parts[f"picture/{number}"]) for number in range(len(cameras))]

    def choose(self, index: int | None) -> None:
        """Take an option; None uses up a step and changes nothing. Raises Unreachable."""
        action = [float(NOTHING if index is None else index)]
        self._take(*self._call({"op": "step", "action": action, "fields": [OPTIONS]}))

    def read(self, name: str) -> np.ndarray:
        """A field. Raises Unreachable, also where it may not be read."""
        return np.asarray(self._call({"op": "observe", "fields": [name]})[1][name])

    def _take(self, reply: dict[str, Any], parts: dict[str, Attachment]) -> None:
        self.over = reply["terminal"] is not None
        text = decode_text(np.asarray(parts[OPTIONS]).tobytes().rstrip(b"\0"))
        self.now = text.split("\n") if text else []

    def _call(self, request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Attachment]]:
        reply, parts = self.sandbox.call(request)
        if not reply.get("ok"):
            error = reply.get("error") or {}
            raise Unreachable(f"{error.get('kind')}: {error.get('text')}")
        return reply, parts
