"""KidGym for the runner's tests: attempts in this process, and whole evaluations on real processes.

``python tests/kidgym_house.py HOME TASK CONDITIONS`` evaluates the random baseline, so that tests can kill it.
"""

from __future__ import annotations

import base64
import io
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from slider_runtime import Silent

import images.kidgym
from images.client.wire import Attachment
from images.gateway.requests import RequestError
from images.gateway.session import Session
from images.gateway.spec import parse_spec
from images.kidgym import solve
from images.kidgym.draw import frame
from images.kidgym.episode import Episode
from manifests.load import Manifests, load
from manifests.lookup import budget, conditions
from runner.agents.base import Agent, AttemptContext
from runner.agents.choice_text import lettered
from runner.agents.registry import AgentRequest, make_agent
from runner.evaluate import Evaluation
from runner.plan import Planned, plan
from runner.runtimes.children import ChildRuntime
from runner.runtimes.process import ProcessLauncher
from runner.settings import Choices
from runner.store.store import Store

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = load().seed_lists["kidgym"].example


def make_spec(code: str, level: int, seed: int, access: str = "L0", **changes: Any) -> dict[str, Any]:
    environment_id = f"kidgym/grid/{code}-L{level}"
    limits = budget(load(), environment_id)
    spec = {
        "attempt": "a-1",
        "environment_id": environment_id,
        "mode": "zero-shot",
        "condition": {"index": 0, "parameters": {"seed": seed, "example": EXAMPLE}},
        "base_seed": 0,
        "level": access,
        "grants": [],
        "budget": {"actions": limits.actions, "simulated_s": limits.simulated_s},
        "pictures": True,
        "record": {"state_hz": 25.0},
    }
    return {**spec, **changes}


class Alone:
    """A supervisor that never stops anything."""

    def acted(self) -> None: ...

    def tick(self, meter: Any) -> None: ...


class Local:
    """The gateway's session in this process, as an agent's sandbox."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.environment = images.kidgym.create(spec)
        self.session = Session(self.environment, parse_spec(spec), Alone())

    def call(
        self, request: Mapping[str, Any], attachments: Mapping[str, np.ndarray] | None = None
    ) -> tuple[dict[str, Any], dict[str, Attachment]]:
        try:
            reply, parts = self.session.answer({"v": 1, **request}, attachments or {})
        except RequestError as error:
            return {"ok": False, "error": {"kind": error.kind, "text": str(error)}}, {}
        assert not isinstance(reply, str), "a reply with options is no plain one"
        return {"ok": True, **reply}, dict(parts)

    def execute(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("an agent of options runs no code")


def attempt(agent: Agent, code: str, level: int, seed: int, agent_seed: int = 0) -> tuple[str | None, dict[str, Any]]:
    """One attempt of a baseline in this process: the cause of its end and the facts for the record."""
    local = Local(make_spec(code, level, seed, agent.info.level))
    context = AttemptContext(
        attempt="a-1",
        describe=local.session.description,
        sandbox=local,
        seed=agent_seed,
        deadline=float("inf"),
        stop=threading.Event(),
        note=lambda text: None,
        report_usage=lambda usage: None,
        transcript=lambda entry: None,
        keep=lambda name, data: None,
    )
    agent.run(context)
    judgement = local.session.judgement
    return (None if judgement is None else judgement.cause), context.facts


# ---- evaluations ----------------------------------------------------------------------------------------------------
def baseline(name: str) -> Agent:
    return make_agent(AgentRequest(name, board="kidgym"))


def planned(agent: Agent, tasks: str, count: int, manifests: Manifests | None = None) -> tuple[Planned, ...]:
    """The tasks (``CL-L1,SE-L*``) with their first ``count`` episodes."""
    found = plan(manifests or load(), choices(agent, tasks), agent.info)
    return tuple(replace(item, conditions=item.conditions[:count]) for item in found)


def choices(agent: Agent, tasks: str) -> Choices:
    patterns = ",".join(f"kidgym/grid/{task}" for task in tasks.split(","))
    model = agent.info.model or agent.info.name
    return Choices(model=model, board="kidgym", subset="kidgym", tasks=patterns, protocol="pass1", runtime="process")


def evaluation(
    home: Path, agent: Agent, tasks: str, count: int, *, manifests: Manifests | None = None, jobs: int = 1
) -> Evaluation:
    """An evaluation on real processes, ready to run."""
    manifests = manifests or load()

    def runtime() -> ChildRuntime:
        return ChildRuntime(ProcessLauncher("tests"), jobs=jobs, locks=home / "locks")

    items = planned(agent, tasks, count, manifests)
    return Evaluation(Store(home), manifests, choices(agent, tasks), agent, items, "test", jobs, runtime, Silent())


# ---- what a model that plays well sees and says ---------------------------------------------------------------------
def seed_of(environment_id: str, condition: int = 0) -> int:
    return int(conditions(load(), environment_id)[condition].parameters["seed"])


def course(code: str, level: int, seed: int) -> Iterator[tuple[Episode, int]]:
    """Each step of a shortest solution: the episode before it and the index of the right option."""
    episode = Episode(code, level, seed)
    for action in solve.solution(episode.task):
        index = episode.index_of(action)
        yield episode, index
        episode.choose(index)


def answers(code: str, level: int, seed: int) -> dict[str, str]:
    """The right letter by the lettered list that a step shows."""
    found = {}
    for episode, index in course(code, level, seed):
        found[lettered([option.action.text for option in episode.options])] = "ABCDEFGHIJKLMNOP"[index]
    return found


def frames(code: str, level: int, seed: int) -> list[np.ndarray]:
    """The picture of every step of a shortest solution, at 64 pixels a cell."""
    return [frame(episode.scene, episode.task.theme) for episode, _ in course(code, level, seed)]


def pictures(messages: list[dict[str, Any]]) -> list[np.ndarray]:
    """Every picture of a request, in order, decoded."""
    found = []
    for message in messages:
        for part in message["content"] if isinstance(message["content"], list) else ():
            if part["type"] == "image_url":
                data = base64.b64decode(part["image_url"]["url"].removeprefix("data:image/png;base64,"))
                found.append(np.asarray(Image.open(io.BytesIO(data)).convert("RGB")))
    return found


def last_text(messages: list[dict[str, Any]]) -> str:
    content = messages[-1]["content"]
    return content if isinstance(content, str) else "\n".join(p["text"] for p in content if p["type"] == "text")


def main(home: str, task: str, count: str) -> int:
    from runner.halt import signals

    made = evaluation(Path(home), baseline("random"), task, int(count))
    with signals(made.halt, lambda text: print(text, flush=True), made.running):
        made.run()
    return 130 if made.halt.signalled else 0


def killed_after(home: Path, task: str, count: int, done: Callable[[], bool]) -> None:
    """Evaluate in another process and kill it once ``done()``."""
    command = [sys.executable, __file__, str(home), task, str(count)]
    variables = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, env=variables, stdout=log, stderr=log) as child:
        for _ in range(600):
            if done() or child.poll() is not None:
                break
            threading.Event().wait(0.05)
        child.send_signal(signal.SIGKILL)
    threading.Event().wait(1.0)  # a child that it was just starting holds its lock until it has become its program


def kill_environments() -> None:
    """Kill every environment process that this process has started, as a machine that runs out of memory does."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and b"images.kidgym" in (process / "cmdline").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:  # it ended meanwhile
            continue


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
