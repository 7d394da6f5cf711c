"""An episode in this process: the SDK's client over a gateway session, with the same checks as by socket."""

from __future__ import annotations

import hashlib
import io
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from images import mujoco
from images.client.sdk import Client
from images.client.wire import Frame, read_frame
from images.gateway.session import Meter, Session
from images.gateway.spec import parse_spec

CONDITIONS = Path(__file__).parents[4] / "manifests" / "launcher_conditions.json"
BUDGET = {"actions": 7500, "simulated_s": 150.0}


def condition(case: str, index: int) -> dict[str, Any]:
    """One of the four prescribed initial conditions of a case."""
    every = json.loads(CONDITIONS.read_text(encoding="utf-8"))["environments"]
    return dict(every[f"marble/dual-panda/{case}"][index])


def start(
    case: str,
    index: int,
    level: str = "L3",
    mode: str = "loaded",
    parameters: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The specification of the host's ``start`` frame; ``parameters`` in place of the prescribed condition."""
    return {
        "attempt": "a-1",
        "environment_id": f"marble/dual-panda/{case}",
        "mode": mode,
        "condition": {"index": index, "parameters": parameters or condition(case, index)},
        "base_seed": 0,
        "level": level,
        "grants": ["reference-kit"],
        "budget": BUDGET,
        "pictures": False,
        "record": {"state_hz": 10},
    }


class _Host:
    """A host that never stops the episode."""

    def acted(self) -> None: ...

    def tick(self, meter: Meter) -> str | None:
        return None


class Episode(Client):
    """``choices`` are those of :func:`start`. ``sent`` keeps the actions, (n, 16) each; ``environment_s`` counts the
    CPU seconds of the environment."""

    def __init__(self, case: str, index: int, **choices: Any) -> None:
        super().__init__("in process")
        raw = start(case, index, **choices)
        self.environment = mujoco.create(raw)
        self.session = Session(self.environment, parse_spec(raw), _Host())
        self.sent: list[np.ndarray] = []
        self.environment_s = 0.0

    def _exchange(self, data: bytes, fresh: bool) -> Frame:
        request, attachments = read_frame(io.BytesIO(data).read)
        if "actions" in attachments:
            self.sent.append(np.array(attachments["actions"]))
        started = time.process_time()
        members, parts = self.session.answer(request, attachments)
        self.environment_s += time.process_time() - started
        reply = json.loads(f"{{{members}}}") if isinstance(members, str) else members
        return {**reply, "id": request["id"], "ok": True}, parts

    @property
    def actions(self) -> np.ndarray:
        """Everything that was sent, (n, 16)."""
        return np.concatenate(self.sent) if self.sent else np.empty((0, 16))

    def action_digest(self) -> str:
        """SHA-256 of the actions as little-endian float64."""
        return hashlib.sha256(np.ascontiguousarray(self.actions, dtype="<f8").tobytes()).hexdigest()
