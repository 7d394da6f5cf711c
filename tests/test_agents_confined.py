"""Model-written code in bubblewrap and in containers, the model behind HTTP: a real success, and misbehaving code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from agents_launcher import A007, RUN, Played, chunks, program
from model_server import Answer, ModelServer, Request, say

from manifests.load import load
from manifests.submission import load_limits
from runner.agents.conversation import requests
from runner.agents.model_agent import Manner
from runner.agents.policy import policy
from runner.keys import new_key
from runner.store.store import Store
from runner.submission.bundle import submit

BUBBLEWRAP, DOCKER = pytest.mark.bubblewrap, pytest.mark.docker
RUNTIMES = [pytest.param("bubblewrap", marks=BUBBLEWRAP), pytest.param("docker", marks=DOCKER)]
KEY = "sk-proj-Zq81NotARealKey7733abcdef"
OTHER = "another-secret-of-this-host-42"
PARTS = 4


def fenced(code: str) -> Answer:
    return say(f"This is next.\n```python\n{code}\n```")


def shown(request: Request) -> int:
    """Pictures in the newest message."""
    content = request.body["messages"][-1]["content"]
    return sum(part["type"] == "image_url" for part in content) if isinstance(content, list) else 0


def the_server_saw_what_is_stored(server: ModelServer, played: Played) -> None:
    sent = [request.body["messages"] for request in server.calls]
    assert sent == list(requests(played.entries, played.folder))
    assert all(request.body.get("tools", []) == played.entries[0]["tools"] for request in server.calls)


@pytest.mark.parametrize(
    ("runtime", "functions"),
    [
        pytest.param("bubblewrap", False, marks=BUBBLEWRAP, id="bubblewrap-text"),
        pytest.param("docker", True, marks=DOCKER, id="docker-functions"),
    ],
)
def test_code_of_a_model_solves_a007_at_l0_with_pictures(tmp_path: Path, runtime: str, functions: bool) -> None:
    """Every chunk is sent only when the picture of the last one has arrived: nothing else is looked at."""
    codes = ["show(env.observe(pictures=['wide']).pictures[0])", *(program(part) for part in chunks(PARTS))]
    sent = iter(codes)

    def answer(request: Request) -> Answer:
        assert shown(request) == (0 if len(request.body["messages"]) == 2 else 1)
        code = next(sent)
        return say(None, [("run_python", json.dumps({"code": code}))]) if functions else fenced(code)

    with ModelServer(answer) as server:
        played = Played(tmp_path, runtime, server, "code", Manner(functions, True), parameters={"stream": functions})
        the_server_saw_what_is_stored(server, played)
    record = played.record
    assert (record.outcome, record.cause, record.environment_id, record.condition) == ("success", "goal_met", A007, 0)
    assert (record.settings.level, record.settings.grants, record.runtime) == ("L0", (), runtime)
    assert record.usage.model_calls == len(codes)
    assert record.usage.images_sent == len(codes) - 1
    assert record.evidence["models"] == ["scripted-2026-01-01"]
    recorded = sum(len(part) for part in chunks(PARTS))
    assert 0.9 * recorded < record.actions <= recorded  # ended by its success, on the last part
    pictures = [item for item in record.artifacts if item.media_type == "image/png"]
    assert len({item.sha256 for item in pictures}) == len(codes) - 1


@pytest.mark.parametrize(
    ("runtime", "functions"),
    [
        pytest.param("bubblewrap", True, marks=BUBBLEWRAP, id="bubblewrap-functions"),
        pytest.param("docker", False, marks=DOCKER, id="docker-text"),
    ],
)
def test_calls_of_a_model_solve_a007(tmp_path: Path, runtime: str, functions: bool) -> None:
    steps = [{"actions": part.tolist(), "fields": ["joint_positions"]} for part in chunks(PARTS)]
    sent = iter([("observe", {"pictures": [{"camera": "wide", "width": 128}]}), *(("step", step) for step in steps)])

    def answer(request: Request) -> Answer:
        name, arguments = next(sent)
        if functions:
            return say(None, [(name, json.dumps(arguments))])
        return say(f"```json\n{json.dumps({'tool': name, 'arguments': arguments})}\n```")

    with ModelServer(answer) as server:
        played = Played(tmp_path, runtime, server, "tools", Manner(functions, True))
        the_server_saw_what_is_stored(server, played)
    assert (played.record.outcome, played.record.cause) == ("success", "goal_met")
    assert played.record.usage.images_sent == 1


MISBEHAVING = [
    "x = 1\nfor _ in range(100): print('y' * (1 << 20))",
    "print('kept', x)\nimport os\nfor _ in range(3):\n    os.fork()",
    "import time\ntime.sleep(60)",
    "while True:\n    try:\n        time.sleep(60)\n    except BaseException:\n        pass",
    "import os\nos.kill(os.getpid(), 9)",
    "big = b'x' * (1 << 34)",
    "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
    "print('alive', env.observe().actions)",
]


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_after_misbehaving_code_the_next_turn_works(tmp_path: Path, runtime: str) -> None:
    rules = policy().model_copy(update={"code": policy().code.model_copy(update={"timeout_s": 5.0})})
    script = [*(fenced(code) for code in MISBEHAVING), fenced("env.finish()")]
    with ModelServer(script) as server:
        played = Played(tmp_path, runtime, server, "code", Manner(False, True), rules=rules)
        the_server_saw_what_is_stored(server, played)
    told = played.outputs()[2:]
    assert "bytes left out" in told[0]
    assert len(told[0]) < 3 * rules.code.output_bytes
    assert "kept 1" in told[1]
    assert "status: timeout" in told[2]
    assert "status: timeout" in told[3]
    assert "fresh one" in told[3]
    assert "status: killed" in told[4]
    assert "status: memory" in told[5]
    assert "status: timeout" in told[6] or "status: killed" in told[6]
    assert "alive 0" in told[7]
    assert (played.record.outcome, played.record.cause) == ("failure", "quit")


LOOK = """
import os, sys, glob
print(dict(os.environ))
for path in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline'):
    try: print(open(path, 'rb').read())
    except OSError as error: print(path, error.strerror)
try:
    import litellm
except ImportError: print('no library')
for root in sys.path: print(root, os.listdir(root) if os.path.isdir(root) else None)
for base, folders, files in os.walk('/'):
    if base.startswith(('/proc', '/sys')): folders[:] = []; continue
    for name in files + folders:
        if 'litellm' in name.lower() or name.endswith('.env'): print('found', base, name)
show(env.observe(pictures=['wide']).pictures[0])
"""


def containers(run: str) -> str:
    """Everything that the Engine says of a run's containers, their environment, commands and mounts included."""
    label = ["--filter", f"label=assay.run={run}"]
    found = subprocess.run(["docker", "ps", "-aq", *label], capture_output=True, text=True, check=True).stdout.split()
    assert len(found) >= 2
    return subprocess.run(["docker", "inspect", *found], capture_output=True, text=True, check=True).stdout


def bundled(home: Path, run: str, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Names and contents of every file of the run's bundle. Its check is left out: it wants a whole run."""
    monkeypatch.setattr("runner.submission.bundle.check", lambda *_: None)
    store, bundle = Store(home), home / "bundle.zip"
    found = store.find_run(run)
    assert found is not None
    submit(store, found, load(), load_limits(), new_key(home / "key.pem"), bundle)
    store.close()
    with zipfile.ZipFile(bundle) as files:
        return b"".join(name.encode() + files.read(name) for name in files.namelist())


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_nothing_of_the_key_the_host_or_the_library_is_visible(
    tmp_path: Path, runtime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("CORPORATE_TOKEN", OTHER)
    monkeypatch.setenv("SOME_SETTING", "of-this-host-only")
    inspected = []

    def answer(request: Request) -> Answer:
        if runtime == "docker" and not inspected:
            inspected.append(containers(RUN))
        return fenced(LOOK if len(request.body["messages"]) == 2 else "env.finish()")

    with ModelServer(answer) as server:
        played = Played(tmp_path, runtime, server, "code", Manner(False, True))
        headers = {name.lower(): value for name, value in server.calls[0].headers.items()}
        assert headers["authorization"] == f"Bearer {KEY}"
        said = "".join(played.outputs())
        bodies = b"".join(request.raw for request in server.requests)
    assert "no library" in said
    assert "found" not in said
    words = [KEY, KEY[8:24], OTHER, "of-this-host-only", "CORPORATE_TOKEN", server.url.split("//")[1].split("/")[0]]
    words += [sys.prefix, os.environ["PATH"], "litellm/"]
    assert [word for word in words if word in said] == []
    assert [word for word in words[:5] if word.encode() in bodies] == []
    assert [word for word in words[:5] if any(word in text for text in inspected)] == []
    packed = bundled(tmp_path, RUN, monkeypatch)
    assert b"transcript.jsonl" in packed
    assert b"no library" in packed  # the transcript itself, read
    assert [word for word in words[:5] if word.encode() in packed] == []
    for path in tmp_path.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert [word for word in words[:5] if word.encode() in content] == [], path
    assert not any(word in line for word in words[:5] for line in played.notes)
