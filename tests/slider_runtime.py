"""The runner's tests: real pairs (gateway with the slider engine, sandbox) as child processes, and evaluations on them.

``python tests/slider_runtime.py HOME JOBS AGENT [JSON of condition parameters]`` runs one evaluation, so that tests can
kill it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from manifests.load import load
from manifests.lookup import Condition
from manifests.records import Budgets, ImageIdentity
from runner.agents.base import Agent, AgentEnd, AgentInfo, AttemptContext
from runner.agents.registry import AgentRequest, make_agent
from runner.attempt import AttemptView
from runner.evaluate import Evaluation
from runner.halt import signals
from runner.plan import Planned, plan
from runner.runtimes.base import Channel, EngineGone, Exit, PairRequest, Role, RuntimeFacts, StartFailed
from runner.runtimes.frames import StreamChannel
from runner.settings import Choices
from runner.store.store import Store

ROOT = Path(__file__).resolve().parent.parent
TASK = "marble/dual-panda/A007"  # its catalog entry is used; the engine below is the slider
IMAGE = "0" * 64


class Pair:
    """Two child processes in process groups of their own."""

    def __init__(self, broken: bool = False) -> None:
        begun = time.monotonic()
        self._folder = tempfile.TemporaryDirectory()
        socket = f"{self._folder.name}/s"
        environment = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "OPENBLAS_NUM_THREADS": "1"}
        engine = "no_such_engine" if broken else "gateway_slider"
        commands: dict[Role, list[str]] = {
            "environment": ["images.gateway", "--engine", engine, "--socket", socket],
            "sandbox": ["images.sandbox", "--socket", socket],
        }
        self._processes: dict[Role, subprocess.Popen[bytes]] = {}
        self._logs: dict[Role, Path] = {}
        channels: dict[Role, Channel] = {}
        for role, command in commands.items():
            self._logs[role] = Path(self._folder.name, f"{role}.log")
            with self._logs[role].open("wb") as log:
                process = subprocess.Popen(
                    [sys.executable, "-m", *command],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    env=environment,
                    cwd=ROOT,
                    start_new_session=True,
                )
            self._processes[role] = process
            channels[role] = _channel(role, process)
        self.environment, self.sandbox = channels["environment"], channels["sandbox"]
        self.images = (ImageIdentity(role="slider", reference="slider", id="slider", content=IMAGE),)
        try:
            self.environment_hello = self.environment.receive(60)[0]
            self.sandbox_hello = self.sandbox.receive(60)[0]
        except EOFError:
            evidence = {"log": self._logs["environment"].read_text()[-2000:]}
            self.close()
            raise StartFailed("the environment ended before its hello", evidence) from None
        self.start_s = time.monotonic() - begun

    def exit(self, role: Role, timeout: float) -> Exit | None:
        try:
            code = self._processes[role].wait(timeout)
        except subprocess.TimeoutExpired:
            return None
        log = self._logs[role].read_text(errors="backslashreplace") if self._logs[role].exists() else ""
        return Exit(code, None, log)

    def kill(self, role: Role) -> None:
        process = self._processes[role]
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def close(self) -> None:
        self.kill("environment")
        self.kill("sandbox")
        self._folder.cleanup()


def _channel(role: Role, process: subprocess.Popen[bytes]) -> StreamChannel:
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    def read(size: int) -> bytes:
        data = stdout.read(size)
        if len(data) < size:
            raise EOFError("the process ended")
        return data

    def write(data: bytes) -> None:
        stdin.write(data)
        stdin.flush()

    return StreamChannel(role, read, write, lambda: EOFError("the process ended"))


class SliderRuntime:
    """``broken_starts`` starts fail; ``gone`` makes the Engine disappear; ``before`` runs before each start."""

    def __init__(self, broken_starts: int = 0, gone: bool = False, image: str = IMAGE) -> None:
        self.facts = RuntimeFacts("process", False, "tests")
        self.broken_starts, self.gone, self.image = broken_starts, gone, image
        self.opened = 0
        self.pairs: list[Pair] = []

    def prepare(self, request: PairRequest) -> tuple[ImageIdentity, ...]:
        return (ImageIdentity(role="slider", reference="slider", id="slider", content=self.image),)

    def open(self, request: PairRequest) -> Pair:
        self.opened += 1
        if self.gone:
            raise EngineGone("the Docker Engine stopped answering; start it")
        pair = Pair(broken=self.opened <= self.broken_starts)
        self.pairs.append(pair)
        return pair

    def reap(self) -> list[str]:
        return []

    def close(self) -> None:
        for pair in self.pairs:
            pair.close()


class Silent:
    """An observer that remembers what it was told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)

    def begin(self, schedule: Any, jobs: int) -> None: ...

    def opened(self, view: AttemptView) -> None: ...

    def closed(self, view: AttemptView, record: Any) -> None: ...


class Scripted:
    """An agent that runs ``act(context)``; ``parameters`` go into its identity."""

    def __init__(self, act: Callable[[AttemptContext], AgentEnd | None], **parameters: Any) -> None:
        self._act = act
        self.info = AgentInfo("scripted", "baseline", "1", "d" * 64, "L0", trusted=True, parameters=parameters)

    def run(self, context: AttemptContext) -> AgentEnd:
        return self._act(context) or AgentEnd()


def program(text: str) -> Scripted:
    """An agent that runs ``text`` in the sandbox; ``env`` is a connected client there."""

    def act(context: AttemptContext) -> AgentEnd:
        from runner.agents.baselines import end_of

        return end_of(context.sandbox.execute(f"from images.client import *\nenv = connect()\n{text}", 600.0))

    return Scripted(act)


# Bang-bang to x = 1 and a brake: the slider's goal.
SOLVE = """
import numpy as np
def push(force, n): return env.step(np.tile([force, 0.0], (n, 1)))
push(1.0, 16); result = push(-1.0, 16)
while result.terminal is None: result = push(0.0, 1)
"""


def fail(context: AttemptContext) -> AgentEnd | None:
    """Run into the wall at x = -1: a violation of clause S-02."""
    import numpy as np

    terminal = None
    while terminal is None:
        reply, _ = context.sandbox.call({"op": "step"}, {"actions": np.tile([-1.0, 0.0], (50, 1))})
        terminal = reply.get("terminal") or (None if reply["ok"] else reply)
    return None


def planned(
    parameters: list[dict[str, Any]] | None = None,
    choices: Choices | None = None,
    agent: Agent | None = None,
    **budgets: Any,
) -> tuple[Planned, ...]:
    """The slider as one environment with the given condition parameters (default: two conditions)."""
    choices = choices or Choices("scripted", subset="smoke", tasks=TASK)
    info = agent.info if agent else Scripted(lambda context: None).info
    (item,) = plan(load(), choices, info)
    limits = Budgets(**{**item.budgets.model_dump(), "simulated_s": 10.0, "actions": 500, "wall_s": 60.0, **budgets})
    conditions = tuple(Condition(index, row) for index, row in enumerate(parameters or [{}, {}]))
    settings = item.settings.model_copy(update={"budgets": limits})
    return (Planned(item.environment_id, item.family, item.engine, item.mode, limits, settings, conditions, None),)


def evaluation(
    home: Path, agent: Agent, runtime: SliderRuntime | None = None, *, name: str = "test", jobs: int = 1, **options: Any
) -> Evaluation:
    """An evaluation that is ready to run. ``options``: parameters, protocol, max_cost_usd and budgets."""
    max_cost_usd = options.pop("max_cost_usd", None)
    choices = Choices("scripted", subset="smoke", tasks=TASK, protocol=options.pop("protocol", "pass2"))
    items = planned(options.pop("parameters", None), choices, agent, **options)
    made = runtime or SliderRuntime()
    return Evaluation(
        Store(home), load(), choices, agent, items, name, jobs, lambda: made, Silent(), max_cost_usd=max_cost_usd
    )


def main(home: str, jobs: str, agent: str, parameters: str = "null") -> int:
    agents: dict[str, Callable[[], Agent]] = {
        "solve": lambda: program(SOLVE),
        "fail": lambda: Scripted(fail),
        "noop": lambda: make_agent(AgentRequest("noop")),
        "slow": lambda: program("import time\nwhile True: env.step([0.0, 0.0]); time.sleep(0.05)"),
    }
    made = evaluation(Path(home), agents[agent](), jobs=int(jobs), parameters=json.loads(parameters))
    with signals(made.halt, lambda text: print(text, flush=True), made.running):
        made.run()
    return 130 if made.halt.signalled else 0


if __name__ == "__main__":
    from runner.errors import AssayError

    try:
        sys.exit(main(*sys.argv[1:]))
    except AssayError as error:
        print(f"assay: error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
