"""The pages on a store of 1,000 runs with 736 attempts each: how long a visitor waits, and what the server takes.

A visit is what a browser asks of the server: open its stream, ask for the page, take every message until the script has
ended. Where Chromium and Playwright are installed, the time until the page stands in a real browser is measured too.
Raw is the same page made the naive way: every attempt of every run loaded as a whole and scored for this visit.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import median, quantiles

from bench.figures import Figure, Target
from bench.leaderboard_store import ATTEMPTS, write
from bench.process_use import use
from bench.tools import say

ROOT = Path(__file__).resolve().parent.parent
VIEWERS = 20
ROUNDS = 5
NAIVE_RUNS = 20  # runs of which the naive page is measured; its time grows with their number
PAGES = {"overview": "", "ranking": "view=ranking", "task matrix": "view=tasks", "failures": "view=failures"}
WARM_S = {"overview": 1.5, "ranking": 1.5, "task matrix": 2.0}


def run(quick: bool) -> list[Figure]:
    if find_spec("streamlit") is None:
        say("leaderboard: left out, needs streamlit: `make leaderboard` installs it")
        return []
    runs = 20 if quick else 1000
    folder = Path(tempfile.mkdtemp(prefix="assay-bench-"))
    try:
        began = time.perf_counter()
        write(folder / "home", runs).close()
        say(f"{runs} runs with {ATTEMPTS} attempts each written in {time.perf_counter() - began:.0f} s")
        return _measure(folder, runs)
    finally:
        shutil.rmtree(folder)


def _measure(folder: Path, runs: int) -> list[Figure]:
    label = f"{runs:,} runs x {ATTEMPTS}"
    variables = os.environ | {
        "ASSAY_HOME": str(folder / "home"),
        "ASSAY_CACHE": str(folder / "cache"),
        "OPENBLAS_NUM_THREADS": "1",
    }
    naive = _naive(folder / "home", runs)
    first = _command(["-m", "leaderboard.export", "-o", str(folder / "first")], variables)
    figures = [Figure(f"{label}: summaries and static export, nothing cached", "s", first)]
    again = _command(["-m", "leaderboard.export", "-o", str(folder / "again")], variables)
    figures.append(_figure(f"{label}: static export", again, naive, 60))
    began = time.perf_counter()
    with _server(variables) as (port, process):
        ready = time.perf_counter() - began
        figures.append(Figure(f"{label}: start of a server until it listens, summaries on disk", "s", ready))
        for name, query in PAGES.items():
            cold = asyncio.run(_visit(port, query))
            if name == "overview":
                figures.append(_figure(f"{label}: {name}, first visit of a server", cold, naive, 4))
            warm = median(asyncio.run(_visit(port, query)) for _ in range(ROUNDS))
            figures.append(_figure(f"{label}: {name}, warm", warm, naive, WARM_S.get(name)))
        figures += _browser(port, label)
        before = use(process.pid).cpu_s
        times = asyncio.run(_crowd(port))
        each = 1000 * (use(process.pid).cpu_s - before) / len(times)
        worst = quantiles(times, n=20)[-1]
        figures.append(
            Figure(f"{VIEWERS} viewers at once, {len(times)} pages: p95", "s", worst, target=Target("ours", "<", 3))
        )
        figures.append(Figure("processor time of the server for a page", "ms", each))
        peak = use(process.pid).peak_bytes / 1e6
        figures.append(Figure(f"{label}: peak memory of the server", "MB", peak, target=Target("ours", "<", 1000)))
    return figures


def _figure(name: str, ours: float, naive: float, most: float | None) -> Figure:
    target = None if most is None else Target("ours", "<", most)
    return Figure(name, "s", ours, naive, ours / naive, target=target)


def _naive(home: Path, runs: int) -> float:
    """Seconds of a ranking that loads and scores every attempt, from its time for some of the runs."""
    from manifests.load import load
    from runner.store.scored import scored_attempt
    from runner.store.store import Store
    from scoring.plan import selection_of
    from scoring.report import score
    from scoring.rules import Rules

    manifests, store = load(), Store(home, read_only=True)
    selection = selection_of(manifests, "ep-100", profile="embedded", level="L0")
    chosen = store.runs()[: min(runs, NAIVE_RUNS)]
    began = time.perf_counter()
    for item in chosen:
        attempts = [scored_attempt(row, manifests) for row in store.attempts(item)]
        score(attempts, selection, Rules(manifests, "pass2"), by=("suite",))
    taken = time.perf_counter() - began
    store.close()
    return taken * runs / len(chosen)


def _command(arguments: list[str], variables: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=ROOT, env=variables, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


@contextmanager
def _server(variables: dict[str, str]) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """A server that answers, and nothing of it afterwards."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "leaderboard", "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(port, process)
        yield port, process
    finally:
        process.terminate()
        process.wait(30)


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the server did not start")


async def _visit(port: int, query: str) -> float:
    """Seconds from opening the stream to the end of the page. Raises RuntimeError for a page that failed."""
    import websockets
    from streamlit.proto.BackMsg_pb2 import BackMsg
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

    began = time.perf_counter()
    where = f"ws://127.0.0.1:{port}/_stcore/stream"
    async with websockets.connect(where, subprotocols=["streamlit"], max_size=None, open_timeout=60) as stream:  # type: ignore[list-item]
        asked = BackMsg()
        asked.rerun_script.query_string = query
        await stream.send(asked.SerializeToString())
        async for raw in stream:
            message = ForwardMsg()
            message.ParseFromString(raw if isinstance(raw, bytes) else raw.encode())
            if message.delta.new_element.WhichOneof("type") == "exception":
                raise RuntimeError(f"page {query!r} failed: {message.delta.new_element.exception.message}")
            if message.WhichOneof("type") == "script_finished":
                break
    return time.perf_counter() - began


async def _crowd(port: int) -> list[float]:
    """Every viewer looks at every page, all at the same time."""

    async def viewer(number: int) -> list[float]:
        queries = list(PAGES.values())
        turn = number % len(queries)
        return [await _visit(port, query) for query in (*queries[turn:], *queries[:turn])]

    found = await asyncio.gather(*(viewer(number) for number in range(VIEWERS)))
    return [seconds for times in found for seconds in times]


def _browser(port: int, label: str) -> list[Figure]:
    """The same pages until they stand in Chromium."""
    chromium = shutil.which("chromium")
    if chromium is None or find_spec("playwright") is None:
        say("leaderboard: no browser figure, needs chromium and playwright")
        return []
    from playwright.sync_api import sync_playwright

    figures = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{port}/")  # fills the browser's own cache, as for everybody who was here before
        for name in ("overview", "ranking", "task matrix"):
            times = []
            for _ in range(ROUNDS):
                began = time.perf_counter()
                page.goto(f"http://127.0.0.1:{port}/?{PAGES[name]}")
                page.wait_for_selector(".stHtml h1")
                page.wait_for_selector(".stHtml table, .stHtml .tiles")
                times.append(time.perf_counter() - began)
            target = Target("ours", "<", WARM_S[name])
            figures.append(Figure(f"{label}: {name} in a browser, warm", "s", median(times), target=target))
        browser.close()
    return figures
