"""Reference episodes to measure with: played once by the product itself, then replayed action by action."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.tools import evaluate
from manifests.load import load
from runner.agents.base import Agent
from runner.agents.registry import AgentRequest, make_agent
from runner.plan import Planned, Slot, plan
from runner.runtimes.base import PairRequest
from runner.settings import Choices
from runner.startup import pair_request, start_spec

A007 = "marble/dual-panda/A007"
SMOKE = (A007, "marble/dual-panda/A025", "marble/dual-panda/A026")


@dataclass(frozen=True)
class Recording:
    """A played episode: ``spec`` starts it again, ``actions`` float64 (n, dim) replays it."""

    environment_id: str
    condition: int
    spec: dict[str, Any]
    actions: np.ndarray
    simulated_s: float

    @property
    def name(self) -> str:
        return f"{self.environment_id.rsplit('/', 1)[-1]} c{self.condition}"


def reference() -> Agent:
    return make_agent(AgentRequest("reference"))


def planned(environment_id: str, agent: Agent) -> Planned:
    """The environment as a run of ``agent`` on the smoke subset would have it."""
    choices = Choices(model=agent.info.name, subset="smoke", tasks=environment_id)
    return plan(load(), choices, agent.info)[0]


def request(environment_id: str, sandbox: str = "sandbox") -> PairRequest:
    """The pair of an attempt, with the limits that its images have."""
    agent = reference() if sandbox == "reference" else make_agent(AgentRequest("noop"))
    return pair_request(load(), "bench", planned(environment_id, agent), agent.info, False)


@cache
def record(environment_id: str) -> tuple[Recording, ...]:
    """The reference episodes of all four conditions, played without isolation: actions do not depend on the runtime."""
    agent = reference()
    slots = {
        item.index: Slot(planned(environment_id, agent), item) for item in planned(environment_id, agent).conditions
    }
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as home:
        choices = ["--model", "reference", "--subset", "smoke", "--tasks", environment_id]
        choices += ["--protocol", "single", "--runtime", "process", "--run", "recorded"]
        evaluate(home, choices)
        found = [_read(folder.parent, slots, agent) for folder in Path(home, "recorded").glob("*/record.json")]
    return tuple(sorted(found, key=lambda item: item.condition))


def _read(folder: Path, slots: dict[int, Slot], agent: Agent) -> Recording:
    entry = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    slot = slots[entry["condition"]]
    spec = start_spec("bench", slot, agent.info)
    actions = np.load(folder / "actions.npy")
    return Recording(entry["environment_id"], entry["condition"], spec, actions, float(entry["simulated_s"]))
