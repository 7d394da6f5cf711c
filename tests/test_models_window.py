"""What was asked of a provider within a minute, shared by processes: against every order of requests, a holder that is
killed, a clock that is set, a file that is cut; and measured where the requests of two processes arrive."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_server import ModelServer, say

from runner.errors import BadInput
from runner.models import window_file
from runner.models.base import CallCancelled
from runner.models.limiter import ARRIVAL_S, Limiter, limiter_of
from runner.models.window import GONE_S, MOST, Rates, Window
from runner.models.window_file import WindowFile

ROOT = Path(__file__).resolve().parent.parent
WINDOW_S = 1.0
LONGEST_S = 3 * (WINDOW_S + ARRIVAL_S) + 6  # of what needs three full waits
NEVER = threading.Event()
KEYS = {"OPENAI_API_KEY": "sk-proj-Zq81NotARealKey7733abcdef"}
# A command with its own records, requests and rates, without a model.
ASKING = f"""
import http.client, sys, threading, time
from pathlib import Path
from runner.models.limiter import limiter_of
from runner.models.window import Rates
home, port, rates, requests = Path(sys.argv[1]), int(sys.argv[2]), eval(sys.argv[3]), int(sys.argv[4])
limiter = limiter_of(home, "openai", f"http://127.0.0.1:{{port}}/v1", {KEYS!r}, Rates(**rates), {WINDOW_S})
print("ready", flush=True)
sys.stdin.readline()
for _ in range(requests):
    ticket = limiter.admit(100, threading.Event(), time.monotonic() + 60)
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", "/v1/chat/completions", "{{}}")
    connection.getresponse().read()
    limiter.settle(ticket, 150)
"""


def most_in_a_window(times: Sequence[float], window_s: float = WINDOW_S) -> int:
    ordered = sorted(times)
    return max(sum(1 for at in ordered if start <= at < start + window_s) for start in ordered)


def processes(home: Path, server: ModelServer, *rates: dict[str, int], requests: int) -> None:
    """So many processes at once, one for each of the rates; they all begin when the last of them is ready."""
    port = server.url.split(":")[2].split("/")[0]
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", ASKING, str(home), port, str(each), str(requests)],
                    cwd=ROOT,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for each in rates
        ]
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in running:
            process.communicate("go\n", timeout=60)
            assert process.returncode == 0


def test_two_processes_stay_under_one_rate_at_the_server(tmp_path: Path) -> None:
    with ModelServer([say("hello")]) as server:
        processes(tmp_path, server, {"rpm": 5}, {"rpm": 5}, requests=8)
        times = [request.at for request in server.calls]
    assert len(times) == 16
    assert most_in_a_window(times) <= 5
    assert times[-1] - times[0] < LONGEST_S  # 16 requests, 5 a window: three full waits, and no more than that


def test_two_processes_stay_under_one_rate_of_tokens_each_under_its_own(tmp_path: Path) -> None:
    """150 tokens for each request as the provider counts, 100 by estimate."""
    with ModelServer([say("hello")]) as server:
        processes(tmp_path, server, {"tpm": 600}, {"tpm": 600, "rpm": 3}, requests=4)
        times = [request.at for request in server.calls]
    assert len(times) == 8
    assert most_in_a_window(times) <= 4


@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(1, 60), st.integers(1, 60)), max_size=40),
    st.integers(1, 5),
    st.integers(60, 200),
)
def test_no_window_ever_holds_more_than_the_rates(requests: list[tuple[float, int, int]], rpm: int, tpm: int) -> None:
    """Each request comes some time after the one before, waits as it is told and uses no more than was estimated."""
    window, rates, now, admitted = Window(), Rates(rpm, tpm), 1000.0, []
    for number, (gap, tokens, used) in enumerate(requests):
        now += gap
        while (wait := window.ask(str(number), rates, tokens, now, 1.0)) > 0:
            now += min(wait, 1.0)
        admitted.append((now, min(tokens, used)))
        window.settle(str(number), min(tokens, used), None)
    for start, _ in admitted:
        inside = [tokens for at, tokens in admitted if start <= at < start + 1.0]
        assert len(inside) <= rpm
        assert sum(inside) <= tpm


def test_who_asks_first_is_admitted_first_and_who_stops_asking_loses_its_place() -> None:
    window, rates = Window(), Rates(tpm=100)
    assert window.ask("full", rates, 90, 0.0, 60.0) == 0
    assert window.ask("large", rates, 80, 1.0, 60.0) > 0
    assert window.ask("small", rates, 5, 1.0, 60.0) > 0  # it would fit, and would overtake
    assert window.ask("small", rates, 5, 1.0 + GONE_S - 0.1, 60.0) > 0
    assert window.ask("small", rates, 5, 1.0 + GONE_S, 60.0) == 0


def test_a_request_above_the_whole_token_rate_is_admitted_alone() -> None:
    window, rates = Window(), Rates(tpm=100)
    assert window.ask("one", rates, 500, 0.0, 60.0) == 0
    assert window.ask("two", rates, 500, 1.0, 60.0) == pytest.approx(59.0)
    assert window.ask("two", rates, 500, 60.0, 60.0) == 0


def test_a_request_counts_from_the_moment_in_which_it_was_sent() -> None:
    window, rates = Window(), Rates(rpm=1)
    assert window.ask("one", rates, 1, 0.0, 60.0) == 0
    window.settle("one", 1, 5.0)
    assert window.ask("two", rates, 1, 62.0, 60.0) == pytest.approx(3.0)


# the file


def test_a_holder_that_is_killed_holds_nothing_and_leaves_the_window_whole(tmp_path: Path) -> None:
    path = tmp_path / "rates" / "a.json"
    with WindowFile(path).held() as (window, now):
        window.ask("mine", Rates(rpm=2), 1, now, 60.0)
    program = (
        "import sys, time; from pathlib import Path; from runner.models.window_file import WindowFile\n"
        "with WindowFile(Path(sys.argv[1])).held() as (window, _):\n"
        "    window.admitted.clear()\n"
        "    print('holding', flush=True)\n"
        "    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "holding\n"
        process.kill()
    with WindowFile(path).held() as (window, _):
        assert [item.ticket for item in window.admitted] == ["mine"]


def test_a_lock_that_a_stopped_process_holds_is_an_error_and_no_endless_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window_file, "BUSY_S", 0.1)
    file = WindowFile(tmp_path / "a.json")
    with file.held(), pytest.raises(OSError, match="another process holds it"), file.held():
        pass


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_is_set_changes_no_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hours: int) -> None:
    file, rates = WindowFile(tmp_path / "a.json"), Rates(rpm=1)
    with file.held() as (window, now):
        assert window.ask("one", rates, 1, now, 60.0) == 0
    wall = time.time()
    monkeypatch.setattr(time, "time", lambda: wall + 3600 * hours)
    with file.held() as (window, now):
        assert 59 < window.ask("two", rates, 1, now, 60.0) <= 60


@pytest.mark.parametrize(("passed_s", "left"), [(20.0, 40.0), (70.0, 0.0), (-3600.0, 60.0)])
def test_another_start_of_the_machine_goes_on_by_the_wall_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, passed_s: float, left: float
) -> None:
    """Also one whose clock was set back meanwhile: the window then passes anew, and once."""
    file, rates = WindowFile(tmp_path / "a.json"), Rates(rpm=1)
    with file.held() as (window, now):
        assert window.ask("one", rates, 1, now, 60.0) == 0
    wall = time.time()
    monkeypatch.setattr(window_file, "boot_id", lambda: "another")
    monkeypatch.setattr(window_file, "clock", lambda: 7.0)
    monkeypatch.setattr(time, "time", lambda: wall + passed_s)
    with file.held() as (window, now):
        assert window.ask("two", rates, 1, now, 60.0) == pytest.approx(left, abs=0.5)
    if left > 0:
        monkeypatch.setattr(window_file, "clock", lambda: 8.0)
        with file.held() as (window, now):
            assert window.ask("two", rates, 1, now, 60.0) == pytest.approx(left - 1, abs=0.5)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"boot": 1}', '{"boot": "x", "now": "y", "wall": 1, "admitted": [], "waiting": []}'],
)
def test_a_file_that_is_no_window_is_an_empty_one(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with WindowFile(path).held() as (window, now):
        assert window == Window()
        window.ask("one", Rates(rpm=1), 1, now, 60.0)
    assert len(json.loads(path.read_text())["admitted"]) == 1


# who shares it


def test_nothing_of_a_key_stands_in_the_file_or_its_name(tmp_path: Path) -> None:
    limiter = limiter_of(tmp_path, "openai", "http://a/v1", KEYS, Rates(rpm=3), 60)
    limiter.admit(1, NEVER, time.monotonic() + 5)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".json", ".lock"}
    assert KEYS["OPENAI_API_KEY"] not in "".join(f"{path} {path.read_text()}" for path in files)


def test_a_provider_an_address_and_a_key_have_a_window_each(tmp_path: Path) -> None:
    def waits(provider: str, address: str | None, keys: dict[str, str]) -> bool:
        limiter = limiter_of(tmp_path, provider, address, keys, Rates(rpm=1), 60)
        try:
            limiter.admit(1, NEVER, time.monotonic() + 0.02)
        except CallCancelled:
            return True
        return False

    assert not waits("openai", "http://a/v1", KEYS)
    assert waits("openai", "http://a/v1", KEYS)
    assert waits("openai", "http://a/v2", KEYS)  # the same server
    assert not waits("openai", "http://b/v1", KEYS)
    assert not waits("anthropic", "http://a/v1", KEYS)
    assert not waits("openai", "http://a/v1", {"OPENAI_API_KEY": "another"})
    assert not waits("openai", None, KEYS)


def test_a_wait_for_the_rate_ends_with_the_episode_and_leaves_the_line(tmp_path: Path) -> None:
    limiter = Limiter(Rates(rpm=1), 60.0, tmp_path / "a.json")
    limiter.admit(1, NEVER, time.monotonic() + 5)
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    with pytest.raises(CallCancelled):
        limiter.admit(1, cancel, time.monotonic() + 30)
    with pytest.raises(CallCancelled):
        limiter.admit(1, NEVER, time.monotonic() + 0.2)
    assert json.loads((tmp_path / "a.json").read_text())["waiting"] == []


def test_without_rates_nothing_waits_and_nothing_is_written(tmp_path: Path) -> None:
    limiter = Limiter(Rates(), 60.0, tmp_path / "a.json")
    began = time.monotonic()
    for _ in range(200):
        limiter.settle(limiter.admit(10**6, NEVER, began + 5), 1)
    assert time.monotonic() - began < 1
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("rates", "name"),
    [({"rpm": 0}, "rpm 0"), ({"tpm": -1}, "tpm -1"), ({"rpm": MOST["rpm"] + 1}, "give 1 to 1,000,000")],
)
def test_a_rate_that_is_none_is_refused(rates: dict[str, int], name: str) -> None:
    with pytest.raises(BadInput, match=name):
        Rates(**rates)
