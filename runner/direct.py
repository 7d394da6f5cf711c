"""The operations of an agent that runs no code and so needs no sandbox: they go over the environment's own stdio."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from images.client.wire import Attachment
from runner.agents.base import ExecResult, Sandbox
from runner.links import EnvironmentLink, SandboxLink
from runner.runtimes.base import Pair

LAST_REPLY_S = 2.0  # the reply to the action that ended the episode comes right after the verdict


class DirectLink:
    """An agent's :class:`~runner.agents.base.Sandbox` without one. ``stop`` is set when the episode has ended."""

    def __init__(self, link: EnvironmentLink, stop: threading.Event) -> None:
        self._link, self._stop = link, stop

    def execute(self, code: str, timeout_s: float, output_limit: int = 65536) -> ExecResult:
        raise RuntimeError("this attempt has no sandbox: its agent runs no code")

    def call(
        self, request: Mapping[str, Any], attachments: Mapping[str, np.ndarray] | None = None
    ) -> tuple[dict[str, Any], dict[str, Attachment]]:
        """One gateway operation; returns the gateway's reply, or an error of kind ``unreachable``."""
        number = self._link.ask({"v": 1, **request}, attachments or {})
        late: float | None = None
        while (frame := self._link.reply(number, 0.2)) is None:
            if self._link.gone is not None or (late is not None and time.monotonic() > late):
                text = f"the environment does not answer: {self._link.gone or 'the episode has ended'}"
                return {"id": number, "ok": False, "error": {"kind": "unreachable", "text": text}}, {}
            if self._stop.is_set() and late is None:
                late = time.monotonic() + LAST_REPLY_S
        return dict(frame.header["header"]), frame.attachments


def sandbox_of(pair: Pair, link: EnvironmentLink, stop: threading.Event, note: Any) -> Sandbox:
    """What an agent reaches its environment through."""
    return DirectLink(link, stop) if pair.sandbox is None else SandboxLink(pair, note)
