"""Real pairs for the tests of the runtimes: requests, episodes, code in the sandbox."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from images.client.wire import Attachment
from manifests.load import load
from manifests.lookup import conditions
from runner.agents.base import AgentInfo
from runner.runtimes.base import Limits, Pair, PairRequest, Runtime
from runner.runtimes.select import select

ENVIRONMENT_ID = "marble/dual-panda/A007"
TRUSTED = AgentInfo("noop", "baseline", "1", "0" * 64, "L0", trusted=True)
UNTRUSTED = AgentInfo("code", "model", "1", "0" * 64, "L0", trusted=False)


def request(sandbox: str = "sandbox", wall_s: float = 120.0, memory: int = 512 << 20) -> PairRequest:
    environment = load().engines["mujoco"].limits
    return PairRequest(
        run="test",
        engine="mujoco",
        sandbox=sandbox,
        environment_limits=Limits(environment.memory, environment.cpus, environment.pids, environment.tmp, wall_s),
        sandbox_limits=Limits(memory=memory, cpus=1.0, pids=64, tmp=32 << 20, wall_s=wall_s),
    )


def runtime(name: str, home: Path, jobs: int = 0) -> Runtime:
    return select(name, TRUSTED, home, jobs=jobs)


def execute(pair: Pair, code: str, timeout_s: float = 20.0) -> tuple[dict[str, Any], str]:
    """The result header of agent code and what it printed (both streams)."""
    pair.sandbox.send({"op": "exec", "id": 1, "code": code, "timeout_s": timeout_s, "output_limit": 65536})
    header, attachments = _receive(pair.sandbox, "result", timeout_s + 20.0)
    return header, "".join(bytes(attachments[name]).decode() for name in ("stdout", "stderr"))


def begin(pair: Pair) -> dict[str, Any]:
    """Start a real episode at L0; returns the ``ready`` header."""
    condition = conditions(load(), ENVIRONMENT_ID)[0]
    spec = {
        "attempt": "test",
        "environment_id": ENVIRONMENT_ID,
        "mode": "loaded",
        "condition": {"index": condition.index, "parameters": condition.parameters},
        "base_seed": 0,
        "level": "L0",
        "grants": [],
        "budget": {"actions": 1000, "simulated_s": 20.0},
        "pictures": False,
        "record": {"state_hz": 10},
    }
    pair.environment.send({"op": "start", "spec": spec})
    return _receive(pair.environment, "ready", 60.0)[0]


def verdict(pair: Pair, reason: str = "finished") -> dict[str, Any]:
    """End the episode from outside and return the verdict's header."""
    pair.environment.send({"op": "stop", "reason": reason})
    return _receive(pair.environment, "verdict", 30.0)[0]


def _receive(channel: Any, op: str, timeout: float) -> tuple[dict[str, Any], dict[str, Attachment]]:
    deadline = time.monotonic() + timeout
    while True:
        header, attachments = channel.receive(deadline - time.monotonic())
        assert header["op"] != "fault", header
        if header["op"] == op:
            return header, attachments
