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

MANIFESTS = Path(__file__).parents[3] / "manifests"


def condition(file: str, environment_id: str, index: int) -> dict[str, Any]:
    """One of the four prescribed initial conditions of an environment, from ``manifests/FILE``."""
    every = json.loads((MANIFESTS / file).read_text(encoding="utf-8"))["environments"]
    return dict(every[environment_id][index])


def start(
    environment_id: str,
    index: int,
    parameters: dict[str, Any],
    mode: str,
    budget: dict[str, float],
    level: str = "L3",
    pictures: bool = False,
) -> dict[str, Any]:
    """The specification of the host's ``start`` frame."""
    return {
        "attempt": "a-1",
        "environment_id": environment_id,
        "mode": mode,
        "condition": {"index": index, "parameters": parameters},
        "base_seed": 0,
        "level": level,
        "grants": ["reference-kit"],
        "budget": budget,
        "pictures": pictures,
        "record": {"state_hz": 10},
    }


class _Host:
    """A host that never stops the episode."""

    def acted(self) -> None: ...

    def tick(self, meter: Meter) -> str | None:
        return None


class Episode(Client):
    """``raw`` is the specification. ``sent`` keeps the actions, (n, controls) each; ``environment_s`` counts the CPU
    seconds of the environment."""

    def __init__(self, raw: dict[str, Any]) -> None:
        super().__init__("in process")
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
        """Everything that was sent, (n, controls)."""
        return np.concatenate(self.sent) if self.sent else np.empty((0, len(self.environment.controls())))

    def action_digest(self) -> str:
        """SHA-256 of the actions as little-endian float64."""
        return hashlib.sha256(np.ascontiguousarray(self.actions, dtype="<f8").tobytes()).hexdigest()
