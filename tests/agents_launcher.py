"""The launcher in a runtime that isolates, played by a model behind a real HTTP server."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from agents_model import transcript
from model_server import ModelServer
from model_session import opened
from slider_runtime import Silent

from manifests.load import load
from manifests.records import AttemptRecord
from runner.agents.factory import model_agent
from runner.agents.model_agent import Manner
from runner.agents.policy import Policy
from runner.agents.registry import AgentRequest
from runner.evaluate import Evaluation
from runner.plan import plan
from runner.runtimes.select import select
from runner.settings import Choices
from runner.store.store import Store

A007 = "marble/dual-panda/A007"
RECORDED = Path(__file__).parent / "data" / "launcher_a007_0.npz"
RUN = "played"


def chunks(count: int) -> list[np.ndarray]:
    """Actions that solve A007 in condition 0, float64 (n, 16), in parts."""
    return np.array_split(np.load(RECORDED)["actions"].astype(np.float64), count)


def program(actions: np.ndarray, fields: str = "") -> str:
    """A program that applies them bit by bit as they were recorded, and looks."""
    packed = base64.b64encode(actions.astype(np.float32).tobytes()).decode()
    return (
        "import base64, numpy as np\n"
        f"actions = np.frombuffer(base64.b64decode('{packed}'), np.float32).reshape(-1, 16).astype(float)\n"
        f"result = env.step(actions{fields})\n"
        "print(result.applied, result.terminal)\n"
        "show(env.observe(pictures=['wide']).pictures[0])\n"
    )


class Played:
    """One attempt at condition 0 of A007: its record, transcript and folder. ``name`` is the model's, ``limits`` are
    budgets in place of the usual ones."""

    def __init__(
        self,
        home: Path,
        runtime: str,
        server: ModelServer | str,
        agent: str,
        manner: Manner,
        *,
        name: str = "openai/scripted",
        level: str | None = None,
        rules: Policy | None = None,
        parameters: Mapping[str, Any] | None = None,
        limits: Mapping[str, Any] | None = None,
    ) -> None:
        model = opened(server, name, **(parameters or {}))
        made = model_agent(agent, AgentRequest(name, agent, level), model, manner, rules)
        choices = Choices(name, subset="smoke", tasks=A007, protocol="single", agent=agent)
        (item,) = plan(load(), choices, made.info)
        budgets = item.budgets.model_copy(update=dict(limits or {}))
        settings = item.settings.model_copy(update={"budgets": budgets})
        items = (replace(item, conditions=item.conditions[:1], budgets=budgets, settings=settings),)
        store, observer = Store(home), Silent()
        evaluation = Evaluation(
            store,
            load(),
            choices,
            made,
            items,
            RUN,
            1,
            lambda: select(runtime, made.info, home, observer.say),
            observer,
        )
        run = evaluation.run()
        (row,) = store.attempts(run)
        self.record = AttemptRecord.model_validate_json(row.record or "")
        self.folder = home / RUN / self.record.attempt
        self.entries = transcript(self.folder)
        self.notes = observer.lines
        store.close()

    def outputs(self) -> list[str]:
        """What the model was told, in order, as text."""
        return [
            json.dumps(entry["message"]["content"], ensure_ascii=False)
            for entry in self.entries
            if entry["kind"] == "message" and entry["message"]["role"] != "assistant"
        ]
