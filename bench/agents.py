"""Our share of a model's turn: everything between a model's answer and its next request, with a model that answers at
once behind HTTP. Raw: a bare client that sends the same bodies to the same server and does nothing else.

A turn runs a small program in the sandbox, asks the gateway where the episode stands, writes transcript and account,
and sends the whole conversation again. With a picture it also encodes, carries, checks, hashes, stores and sends one.
Then the memory of the runner: the whole command with four attempts at once, beside the bare import of litellm.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from bench.figures import Figure, Target, paired
from bench.pairs import available, opened, sandbox, started
from bench.recording import A007, planned
from bench.submission import spend
from bench.tools import PROGRAMS, say
from manifests.load import load
from runner.agents.base import AttemptContext
from runner.agents.factory import model_agent
from runner.agents.model_agent import Manner
from runner.agents.registry import AgentRequest
from runner.models.base import Allowance, Message, ModelClient, Reply, Sampling
from runner.models.open import OpenedModel, open_model
from runner.plan import Slot
from runner.startup import pair_request, start_spec
from runner.store.artifacts import AttemptFolder

PLAIN, PICTURE = Target("ours", "<=", 15.0), Target("ours", "<=", 40.0)
MEMORY = Target("ours", "<", 250.0)
JOBS = 4
SIDE = 512
TURNS = 8
WITHOUT = "```python\nn = globals().get('n', 0) + 1\nprint(n)\n```"
# The scene is rendered once: drawing it is the environment's work. Another pixel each time makes another picture.
WITH = f"""```python
if 'view' not in globals():
    view, n = env.observe(pictures=[('wide', {SIDE}, {SIDE})]).pictures[0], 0
n += 1
view.putpixel((n, 0), (n, 0, 0))
show(view)
```"""
FINISHING = WITH.replace("show(view)", f"show(view)\nif n == {TURNS}: env.finish()")
IMPORT = """
import os, re
os.environ.update(LITELLM_MODE="PRODUCTION", LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_LOG="CRITICAL")
import litellm
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""


def run(quick: bool) -> list[Figure]:
    runtime = next((name for name in ("docker", "bubblewrap") if name in available()), None)
    if runtime is None:
        return []
    attempts = 1 if quick else 4
    note = f"in {runtime}; each of {attempts} attempts has {TURNS} turns, and its conversation grows with each"
    return [
        paired("model turn", "ms", *_repeated(runtime, WITHOUT, attempts), PLAIN, note),
        paired(f"model turn with a {SIDE} x {SIDE} picture", "ms", *_repeated(runtime, WITH, attempts), PICTURE, note),
        _memory(runtime),
    ]


def _memory(runtime: str) -> Figure:
    """Peak resident memory of the whole command, MB: containers and their processes are not in it."""
    with _server(FINISHING) as port, tempfile.TemporaryDirectory(prefix="assay-bench-") as home:
        options = ["--model", "openai/instant", "--base-url", f"http://127.0.0.1:{port}/v1", "--jobs", str(JOBS)]
        tasks = ["--subset", "smoke", "--tasks", A007, "--protocol", "single", "--runtime", runtime]
        ours = spend(["evaluate", *options, *tasks], os.environ | {"ASSAY_HOME": home}).peak
    raw = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True)
    alone = int(raw.stdout) * 1024 / 1e6
    note = f"raw: a process that only imports litellm; {JOBS} attempts of {TURNS} turns with a picture in each"
    return Figure(f"runner with {JOBS} jobs", "MB at most", ours, alone, ours / alone, target=MEMORY, note=note)


def _repeated(runtime: str, reply: str, attempts: int) -> tuple[list[float], list[float]]:
    """The turns of several attempts."""
    ours, raw = zip(*(_turns(runtime, reply, TURNS) for _ in range(attempts)), strict=True)
    return list(chain(*ours)), list(chain(*raw))


def _turns(runtime: str, reply: str, turns: int) -> tuple[list[float], list[float]]:
    """Milliseconds of every turn but the first two, ours and raw."""
    with _server(reply) as port:
        model = Watched(open_model("openai/instant", Sampling(base_url=f"http://127.0.0.1:{port}/v1")))
        agent = model_agent("code", AgentRequest(model.name, "code"), model, Manner(functions=False, sees=True))
        item = planned(A007, agent)
        slot = Slot(item, item.conditions[0])
        request = pair_request(load(), "bench", item, agent.info, False)
        with opened(runtime) as opened_runtime, tempfile.TemporaryDirectory(prefix="assay-bench-") as home:
            spec = start_spec("bench", slot, agent.info)
            with started(opened_runtime, request, spec) as pair:
                context = _context(pair, Path(home), turns)
                end = agent.run(context)
        if end.cause is not None:
            raise RuntimeError(f"the attempt ended as {end.cause}: {end.text}")
        ours, bodies = _arrivals(port), model.bodies()
        client = http.client.HTTPConnection("127.0.0.1", port)
        for body in bodies:
            client.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
            client.getresponse().read()
        client.close()
        raw = _arrivals(port)
    say(f"last request: {len(bodies[-1]) >> 10} KiB")
    return _steps(ours), _steps(raw)


def _steps(arrivals: list[float]) -> list[float]:
    return [1e3 * (after - before) for before, after in pairwise(arrivals[1:])]


def _context(pair: Any, home: Path, turns: int) -> AttemptContext:
    """An attempt that ends after so many requests, with a transcript on disk."""
    folder, stop, asked = AttemptFolder(home, "bench"), threading.Event(), 0
    folder.start()

    def transcript(entry: dict[str, Any]) -> None:
        nonlocal asked
        folder.append("transcript.jsonl", entry)
        asked += entry["kind"] == "reply"
        if asked >= turns:
            stop.set()

    return AttemptContext(
        attempt="bench",
        describe=pair.ready.header["describe"],
        sandbox=sandbox(pair),
        seed=0,
        deadline=time.monotonic() + 600.0,
        stop=stop,
        note=lambda text: None,
        report_usage=lambda usage: None,
        transcript=transcript,
        keep=folder.keep,
    )


class Watched:
    """A model whose requests are remembered, to be sent again by a bare client."""

    def __init__(self, model: OpenedModel) -> None:
        self.name, self.context_tokens, self.priced = model.name, model.context_tokens, model.priced
        self.sees_pictures, self.calls_functions = model.sees_pictures, model.calls_functions
        self.preflight, self.close = model.preflight, model.close
        self.sent: list[Sequence[Message]] = []
        self._model = model

    def client(self, allowance: Allowance) -> ModelClient:
        client = self._model.client(allowance)
        complete = client.complete

        def watched(messages: Sequence[Message], **options: Any) -> Reply:
            reply = complete(messages, **options)
            self.sent.append(reply.sent)
            return reply

        setattr(client, "complete", watched)  # noqa: B010
        return client

    def bodies(self) -> list[bytes]:
        return [json.dumps({"model": "instant", "messages": list(messages)}).encode() for messages in self.sent]


@contextmanager
def _server(reply: str) -> Iterator[int]:
    command = [sys.executable, str(PROGRAMS / "model_server.py"), reply]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()


def _arrivals(port: int) -> list[float]:
    client = http.client.HTTPConnection("127.0.0.1", port)
    client.request("GET", "/arrivals")
    found: list[float] = json.loads(client.getresponse().read())
    client.close()
    return found
