"""The SDK's client over a gateway session in this process: the same checks and replies, without a socket."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from images import mujoco
from images.client.results import Terminal
from images.client.sdk import Client
from images.client.wire import Frame, read_frame
from images.gateway.session import Meter, Session
from images.gateway.spec import parse_spec
from images.reference import solve

CONDITIONS = Path(__file__).parent.parent / "manifests" / "launcher_conditions.json"


class Unattended:
    """A host that never stops the episode."""

    def acted(self) -> None: ...

    def tick(self, meter: Meter) -> str | None:
        return None


class InProcess(Client):
    """``environment_s`` counts the CPU seconds of the session, ``sent`` keeps the actions."""

    def __init__(self, session: Session) -> None:
        super().__init__("in process")
        self.session, self.environment_s = session, 0.0
        self.sent: list[np.ndarray] = []

    def _exchange(self, data: bytes, fresh: bool) -> Frame:
        request, attachments = read_frame(io.BytesIO(data).read)
        if "actions" in attachments:
            self.sent.append(np.array(attachments["actions"]))
        started = time.process_time()
        members, parts = self.session.answer(request, attachments)
        self.environment_s += time.process_time() - started
        reply = json.loads(f"{{{members}}}") if isinstance(members, str) else members
        return {**reply, "id": request["id"], "ok": True}, parts


def condition(case: str, index: int) -> dict[str, Any]:
    """One of the four prescribed initial conditions."""
    return json.loads(CONDITIONS.read_text())["environments"][f"marble/dual-panda/{case}"][index]


def make_start(case: str, parameters: dict[str, Any], level: str = "L3") -> dict[str, Any]:
    """The specification of the host's ``start`` frame."""
    return {
        "attempt": "a-1",
        "environment_id": f"marble/dual-panda/{case}",
        "mode": "loaded",
        "condition": {"index": 0, "parameters": parameters},
        "base_seed": 0,
        "level": level,
        "grants": ["reference-kit"],
        "budget": {"actions": 7500, "simulated_s": 150.0},
        "pictures": False,
        "record": {"state_hz": 10},
    }


def open_session(case: str, parameters: dict[str, Any], level: str = "L3") -> Session:
    raw = make_start(case, parameters, level)
    return Session(mujoco.create(raw), parse_spec(raw), Unattended())


def run_reference(case: str, parameters: dict[str, Any]) -> tuple[Terminal, InProcess, list[str]]:
    """One episode of the reference agent: how it ended, the client with its counts, and what the agent reported."""
    client, lines = InProcess(open_session(case, parameters)), []
    return solve(client, lines.append), client, lines
