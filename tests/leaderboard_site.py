"""A store as a visitor finds it: a reconstructed ledger, ranked runs, and an episode with everything that is kept."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
from leaderboard_records import FAULT, QUIT, RULE, SUCCESS, twice, write_run
from PIL import Image

from manifests.demo import FOLDER
from manifests.load import load
from manifests.records import Usage
from runner.agents.base import AgentInfo
from runner.imports.ledger import Source, import_ledger
from runner.plan import plan
from runner.record import Course, Ending, Identity, make_record
from runner.runtimes.base import RuntimeFacts
from runner.settings import Choices
from runner.store import ledger
from runner.store.artifacts import RENDERED, rendered_stem
from runner.store.store import Run, Store

ROOT = Path(__file__).resolve().parent.parent
DEMO = FOLDER / "gpt-6-astra.csv"
ATTACK = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">\x1b[2J\u202e"
EPISODE = "episode"
SECONDS = 4.0


def fill(store: Store) -> None:
    """The reconstructed run of EP-100, four runs of its Launch suite, and :data:`EPISODE`."""
    import_ledger(store, DEMO, Source("gpt-6-astra", "reconstructed", "ep-100", "pass2", "GPT-6-Astra"), load())
    usage = Usage(tokens_input=262_960, tokens_cached=257_955, tokens_output=1744, cost_usd=0.5)
    write_run(store, "reference", twice(SUCCESS), model="reference", subset="ep-launch")
    write_run(store, "half", _half, model="lab/half", subset="ep-launch", usage=usage)
    write_run(store, "noop", twice(QUIT, QUIT), model="noop", subset="ep-launch")
    write_run(store, "faulty", twice(FAULT), model="lab/faulty", subset="ep-launch")
    write_episode(store)


def _half(environment_id: str, condition: int, ordinal: int) -> Ending | None:
    return twice(RULE, SUCCESS if condition < 2 else RULE)(environment_id, condition, ordinal)


def write_episode(store: Store) -> Run:
    """A run of one attempt with actions, the evaluator's log, a transcript that attacks its reader, a picture as it was
    sent, and an animation of its states."""
    run = write_run(store, EPISODE, lambda *_: None, model="lab/episode", tasks="marble/dual-panda/A007")
    info = AgentInfo("lab/episode", "model", "1", "f" * 64, "L0")
    choices = Choices(model="lab/episode", subset="smoke", tasks="marble/dual-panda/A007", protocol="pass2")
    (planned,) = plan(load(), choices, info)
    attempt = uuid.uuid4().hex
    folder = store.attempt_folder(run, attempt)
    folder.start()
    controls = [{"name": f"joint_{index}", "unit": "rad", "low": -3.0, "high": 3.0} for index in range(10)]
    folder.keep("describe.json", _json({"control_hz": 50, "controls": controls, "cameras": [{"name": "wide"}]}))
    times = np.linspace(0, 1, round(SECONDS * 50))
    folder.write("actions.npy", np.sin(np.outer(times, np.arange(1, 11))))
    for second, event in ((1.5, "launch"), (3.0, "struck")):
        folder.append("scorer_log.jsonl", {"simulated_s": second, "event": event, "target": "board", "force": 9.81})
    picture = _png((200, 80, 20))
    folder.keep("pictures/sent.png", picture)
    user = [{"type": "text", "text": ATTACK}, {"type": "image_url", "image_url": {"url": "pictures/sent.png"}}]
    folder.append("transcript.jsonl", {"kind": "message", "index": 0, "message": {"role": "user", "content": user}})
    folder.append("transcript.jsonl", {"kind": "exec", "code": "robot.step(action)  # " + ATTACK})
    folder.append("transcript.jsonl", {"kind": "result", "status": "ok", "stdout": "done " + ATTACK})
    files = folder.seal()
    with store.database.write() as session:
        opened = ledger.append(
            session,
            run.id,
            "opened",
            {"attempt": attempt, "environment_id": planned.environment_id, "condition": 0},
        )
        began = ledger.append(session, run.id, "began", {"attempt": attempt})
        facts = RuntimeFacts("docker", True, "chosen")
        identity = Identity(attempt, run.id, opened.sequence, planned, 0, info, facts, opened.time)
        course = Course(began_at=began.time, wall_s=12.0, fingerprint={"mujoco": "4.0.1"}, realized={"stiffness": 22.0})
        record = make_record(load(), identity, course, RULE, files)
        ledger.append(session, run.id, "closed", {"attempt": attempt, "record": record.model_dump(mode="json")})
    folder.publish(record)
    rendered = store.folder(run) / RENDERED
    rendered.mkdir()
    _animation(rendered / f"{rendered_stem(record)}.webp")
    return run


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _png(colour: tuple[int, int, int]) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (64, 48), colour).save(buffer, "PNG")
    return buffer.getvalue()


def _animation(path: Path) -> None:
    """One frame for each half second, from blue to red: apart from a page that is light, dark or still empty."""
    count = round(2 * SECONDS)
    shades = [255 * index // count for index in range(count)]
    frames = [Image.new("RGB", (96, 64), (shade, 60, 255 - shade)) for shade in shades]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=500, lossless=True)


@contextmanager
def serving(home: Path, cache: Path) -> Iterator[str]:
    """The address of a server over the store in ``home``, and nothing of it afterwards."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    variables = {**os.environ, "ASSAY_HOME": str(home), "ASSAY_CACHE": str(cache), "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "leaderboard", "--port", str(port)],
        cwd=ROOT,
        env=variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while not _answers(port):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(20)


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5):
            return True
    except OSError:
        return False
