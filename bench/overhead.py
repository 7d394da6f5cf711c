"""What an attempt costs besides its episode, in containers; and what is left of it when a pair waits in the pool.

The attempts are real ones: ``noop`` through schedule, ledger, supervisor, verdict and record. The clock runs from the
first call to the Engine to the last removal. A raw script of the same containers runs before each.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.figures import Figure, Target, paired
from bench.pairs import available, opened
from bench.pairs import run as execute
from bench.raw_pair import RawScript
from bench.recording import A007, request
from manifests.load import load
from runner.agents.registry import AgentRequest, make_agent
from runner.evaluate import Evaluation
from runner.links import SandboxLink
from runner.plan import Slot, plan
from runner.runtimes.base import Pair, PairRequest, Runtime
from runner.runtimes.commands import entry_points
from runner.settings import Choices
from runner.startup import start_spec
from runner.store.store import Store

ATTEMPT = Target("ratio", "<=", 1.2)
PEER = Target("ratio", "<", 2.6)
HANDOFF = Target("ours", "<", 50.0)
IDLE_S = 1.5


def run(quick: bool) -> list[Figure]:
    if "docker" not in available():
        return []
    return [*_attempts(1 if quick else 2), _handoff(3 if quick else 12)]


class Stopwatch:
    """A runtime that times its pairs from ``open`` to the end of ``close``; ``before`` runs ahead of each."""

    def __init__(self, runtime: Runtime, before: Callable[[], None]) -> None:
        self.facts, self.prepare, self.reap = runtime.facts, runtime.prepare, runtime.reap
        self.seconds: list[float] = []
        self._runtime, self._before = runtime, before

    def open(self, request: PairRequest) -> Pair:
        self._before()
        began = time.perf_counter()
        pair = self._runtime.open(request)
        close = pair.close

        def timed() -> None:
            close()
            self.seconds.append(time.perf_counter() - began)

        setattr(pair, "close", timed)  # noqa: B010
        return pair

    def close(self) -> None:
        """The owner of the runtime ends it."""


class Silent:
    """An observer that shows nothing."""

    def say(self, text: str) -> None: ...

    def begin(self, schedule: Any, jobs: int) -> None: ...

    def opened(self, view: Any) -> None: ...

    def closed(self, view: Any, record: Any) -> None: ...


def _attempts(runs: int) -> list[Figure]:
    """Eight attempts of A007 in each run: every condition fails twice."""
    agent, manifests = make_agent(AgentRequest("noop")), load()
    choices = Choices(model="noop", subset="smoke", tasks=A007)
    planned = plan(manifests, choices, agent.info)
    raw: dict[str, list[float]] = {"pair": [], "environment": [], "sandbox": [], "empty": []}
    with opened("docker") as runtime:
        script = _script(runtime)
        spec = start_spec("bench", Slot(planned[0], planned[0].conditions[0]), agent.info)

        def before() -> None:
            raw["empty"].append(script.empty())
            raw["sandbox"].append(script.sandbox())
            raw["environment"].append(script.environment(spec))
            raw["pair"].append(script.pair(spec))

        watch = Stopwatch(runtime, before)
        before()  # once for the page cache
        for seconds in raw.values():
            seconds.clear()
        with tempfile.TemporaryDirectory(prefix="assay-bench-") as home:
            store = Store(Path(home))
            for number in range(runs):
                name = f"run-{number}"
                Evaluation(store, manifests, choices, agent, planned, name, 1, lambda: watch, Silent()).run()
            store.close()
        script.close()
    ours = [1e3 * value for value in watch.seconds]
    against = {name: [1e3 * value for value in seconds] for name, seconds in raw.items()}
    return [
        paired("attempt, against a raw pair", "ms", ours, against["pair"], ATTEMPT),
        paired("attempt, against one raw environment", "ms", ours, against["environment"], PEER),
        paired("attempt, against one raw sandbox", "ms", ours, against["sandbox"]),
        paired("attempt, against one empty container", "ms", ours, against["empty"]),
    ]


def _handoff(pairs: int) -> Figure:
    """From asking for a pair that waits to the first reply of its sandbox; raw: one such sandbox started afresh."""
    ours, raw = [], []
    with opened("docker", jobs=1) as runtime:
        script, wanted = _script(runtime), request(A007)
        runtime.open(wanted).close()
        for _ in range(pairs):
            raw.append(1e3 * script.sandbox())
            time.sleep(IDLE_S)  # the next pair is started in the background meanwhile
            began = time.perf_counter()
            pair = runtime.open(wanted)
            execute(SandboxLink(pair, lambda note: None), "pass")
            ours.append(1e3 * (time.perf_counter() - began))
            pair.close()
        script.close()
    return paired("hand-off of a pooled pair", "ms", ours, raw, HANDOFF)


def _script(runtime: Runtime) -> RawScript:
    from runner.runtimes import engine

    wanted, api = request(A007), engine.connect()
    images = runtime.prepare(wanted)
    return RawScript(
        api,
        {"environment": images[0].id, "sandbox": images[1].id},
        wanted,
        entry_points(wanted).engine_module,
        int(api.info()["NCPU"]),
    )
