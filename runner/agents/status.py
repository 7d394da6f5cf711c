"""Where an episode stands, as every turn tells it to the model."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from manifests.records import Usage
from runner.agents.base import Sandbox
from runner.agents.prompting import phrase

UNLIMITED = "unlimited"


@dataclass(frozen=True)
class Status:
    """What an observation without fields says. ``ended`` is true from the terminal event on."""

    simulated_s: float
    actions: int
    ended: bool

    def line(self, budgets: Mapping[str, Any], usage: Usage, deadline: float) -> str:
        """One line: what is used of every budget. ``deadline`` is a time.monotonic() value."""
        tokens = (usage.tokens_input or 0) + (usage.tokens_output or 0)
        return phrase(
            "status",
            simulated_s=round(self.simulated_s, 3),
            max_simulated_s=budgets["simulated_s"],
            actions=self.actions,
            max_actions=budgets["actions"],
            wall_s=max(0, round(deadline - time.monotonic())),
            tokens=tokens,
            max_tokens=_limit(budgets.get("tokens")),
            pictures=usage.images_sent,
            max_pictures=_limit(budgets.get("images")),
        )


def read_status(sandbox: Sandbox) -> Status | None:
    """Ask the gateway; None when nothing answers any more. Raises SandboxGone and EngineGone."""
    header, _ = sandbox.call({"op": "observe"})
    if not header.get("ok"):
        return None
    return Status(float(header["simulated_s"]), int(header["actions"]), header["terminal"] is not None)


def _limit(value: Any) -> Any:
    return UNLIMITED if value is None else value
