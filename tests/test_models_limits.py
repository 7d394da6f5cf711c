"""Rates as a run of a model keeps them: parallel jobs, two commands at once, a window that cannot be kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from model_server import ModelServer, Request, say
from model_session import ask, fault, opened, policy
from test_models_window import LONGEST_S, WINDOW_S, most_in_a_window

from runner.models.base import Allowance
from runner.models.window import Rates


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_two_models_in_parallel_jobs_stay_under_one_rate_at_the_server() -> None:
    with ModelServer([say("hello")]) as server:
        calls, rates = policy(rate_window_s=WINDOW_S), Rates(rpm=5)
        models = [opened(server, f"openai/{name}", rates=rates, calls=calls) for name in ("one", "two")]
        models[0].preflight()  # as a run does; the first request of a process takes longer to be prepared
        clients = [model.client(Allowance()) for model in models for _ in range(2)]
        threads = [threading.Thread(target=lambda c=c: [ask(c, within_s=60) for _ in range(4)]) for c in clients]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - began
        times = [request.at for request in server.calls]
    assert len(times) == 1 + 16
    assert most_in_a_window(times) <= 5
    assert took < LONGEST_S  # 17 requests, 5 a window: three full waits, and no more than that


def test_tokens_a_minute_are_kept_by_the_providers_count() -> None:
    with ModelServer([say("hello")]) as server:  # 150 tokens each
        calls = policy(rate_window_s=WINDOW_S)
        estimate = calls.estimate.model_copy(update={"tokens_per_answer": 150})
        model = opened(server, rates=Rates(tpm=600), calls=calls.model_copy(update={"estimate": estimate}))
        asked = model.client(Allowance())
        for _ in range(9):
            ask(asked)
        times = [request.at for request in server.calls]
    assert most_in_a_window(times) <= 4


def test_a_window_that_cannot_be_kept_is_a_fault_of_the_machine_and_nothing_is_sent(home: Path) -> None:
    home.write_text("a file where a folder should be")
    with ModelServer([say("hello")]) as server:
        found = fault(opened(server, rates=Rates(rpm=5)).client(Allowance()))
        assert server.calls == []
    assert found.cause == "adapter_fault"
    assert str(home) not in f"{found.text} {found.evidence}"


@pytest.mark.slow
@pytest.mark.bubblewrap
@pytest.mark.timeout(400)
def test_two_commands_at_once_stay_under_one_rate_at_the_server(tmp_path: Path, home: Path) -> None:
    """Two models, each a run of its own in a process of its own, at 6 requests a minute: a check and four attempts of
    two turns each make 18 requests, and so three full waits."""
    moves = json.dumps({"actions": [[0.0] * 16]})

    def answer(request: Request) -> object:
        first = len(request.body["messages"]) <= 2
        return say(f'```json\n{{"tool": "step", "arguments": {moves}}}\n```' if first else '{"tool": "finish"}')

    with ModelServer(answer) as server:  # type: ignore[arg-type]
        commands = [
            [
                *(
                    sys.executable,
                    "-m",
                    "runner.cli",
                    "evaluate",
                    "--model",
                    f"openai/{name}",
                    "--base-url",
                    server.url,
                ),
                *("--subset", "smoke", "--tasks", "marble/dual-panda/A007", "--agent", "tools", "--jobs", "4"),
                *("--rpm", "6", "--runtime", "bubblewrap", "--protocol", "single", "--run", name),
            ]
            for name in ("one", "two")
        ]
        environment = {**os.environ, "ASSAY_HOME": str(home)}
        running = [
            subprocess.Popen(c, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for c in commands
        ]
        said = [process.communicate(timeout=380)[1].decode() for process in running]
        times = [request.at for request in server.calls]
        names = [request.body["model"] for request in server.calls]
    assert [process.returncode for process in running] == [0, 0], said
    assert (names.count("one"), names.count("two")) == (9, 9)
    assert most_in_a_window(times, 60.0) <= 6
