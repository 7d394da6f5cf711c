"""The server as it is started: where it listens, what it answers, and what it says when it cannot start."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.error import URLError

import pytest

from leaderboard.__main__ import command

ROOT = Path(__file__).resolve().parent.parent
DOCKERFILE = ROOT / "leaderboard" / "Dockerfile"


def start(*arguments: str, home: Path | None = None) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "ASSAY_HOME": str(home or "runs"),
        "ASSAY_CACHE": "/nonexistent",
        "PYTHONUNBUFFERED": "1",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "leaderboard", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def get(url: str) -> tuple[int, str]:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.status, answer.read().decode()


@pytest.fixture
def streamlit() -> None:
    if "leaderboard" not in os.environ.get("ASSAY_REQUIRE", ""):
        pytest.importorskip("streamlit", reason="left out, needs streamlit: `make test-leaderboard` installs it")


@pytest.fixture
def server(streamlit: None, tmp_path: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    port = free_port()
    process = start("--port", str(port), home=tmp_path / "home")
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                assert get(f"http://127.0.0.1:{port}/_stcore/health") == (200, "ok")
                break
            except (URLError, ConnectionError):
                assert process.poll() is None, process.stdout and process.stdout.read()
                assert time.monotonic() < deadline
                time.sleep(0.2)
        yield port, process
    finally:
        process.terminate()
        process.wait(20)


def test_the_server_answers_on_this_machine_only_and_prints_its_address(
    server: tuple[int, subprocess.Popen[str]],
) -> None:
    port, process = server
    assert process.stdout is not None
    assert process.stdout.readline() == f"leaderboard: http://127.0.0.1:{port}/ (Ctrl-C ends it)\n"
    assert get(f"http://127.0.0.1:{port}/")[0] == 200
    with closing(socket.socket()) as other:
        # Another address of this machine: nothing listens there.
        assert other.connect_ex(("127.0.0.2", port)) != 0


def test_a_server_without_a_store_makes_none(server: tuple[int, subprocess.Popen[str]], tmp_path: Path) -> None:
    assert get(f"http://127.0.0.1:{server[0]}/")[0] == 200
    assert not (tmp_path / "home").exists()


def test_the_image_holds_every_module_of_ours_that_the_pages_import(streamlit: None) -> None:
    """What the Dockerfile copies, against what a visit imports."""
    program = (
        "import sys, leaderboard.__main__, leaderboard.visit\n"
        "for module in list(sys.modules.values()): print(getattr(module, '__file__', None) or '')"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    rooms = ("leaderboard", "manifests", "runner", "scoring")
    used = [Path(line).relative_to(ROOT) for line in done.stdout.splitlines() if line.startswith(f"{ROOT}/")]
    ours = [path.as_posix() for path in used if path.parts[0] in rooms]
    copied = [line.split()[1:-1] for line in DOCKERFILE.read_text().splitlines() if line.startswith("COPY ")]
    sources = tuple(name for names in copied for name in names)
    assert len(ours) > 50
    assert [path for path in ours if not path.startswith(sources)] == []


def test_nothing_is_reported_home() -> None:
    assert "--browser.gatherUsageStats=false" in command("127.0.0.1", 8501)


def test_a_busy_port_is_one_clear_line(streamlit: None) -> None:
    with closing(socket.socket()) as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        process = start("--port", str(port))
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert output == (
        f"leaderboard: error: port {port} on 127.0.0.1 is in use: stop the program that holds it, or choose another "
        "with PORT=\n"
    )


@pytest.mark.parametrize("port", ["0", "65536", "many", "-1", "8501.5", ""])
def test_a_port_that_is_none_is_one_clear_line(streamlit: None, port: str) -> None:
    process = start(f"--port={port}")
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert output == f"leaderboard: error: PORT={port}: use a whole number from 1 to 65535\n"


def test_an_address_that_is_none_is_one_clear_line(streamlit: None) -> None:
    process = start("--address=203.0.113.7", "--port", str(free_port()))
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert output.startswith("leaderboard: error: address '203.0.113.7': ")
    assert output.count("\n") == 1
