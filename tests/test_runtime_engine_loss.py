"""A stopped Engine is one clear line in every call, and no verdict on anybody."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from runtime_pairs import begin, request, runtime, verdict
from runtime_pairs import request as wanted

from runner.runtimes.base import EngineGone, Pair, Runtime, RuntimeUnavailable

pytestmark = pytest.mark.docker
ENGINE = "/var/run/docker.sock"


class Relay:
    """Passes connections on to the real Engine until it is cut: a stopped Engine as its client sees it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(64)
        self._open: list[socket.socket] = []
        self._flows = threading.Event()
        self._flows.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def freeze(self) -> None:
        """Take what is sent and pass nothing on: an Engine that hangs."""
        self._flows.clear()

    def thaw(self) -> None:
        self._flows.set()

    def cut(self) -> None:
        self.thaw()
        self.path.unlink(missing_ok=True)
        for connection in [self._listener, *self._open]:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                engine = socket.socket(socket.AF_UNIX)
                engine.connect(ENGINE)
                self._open += [client, engine]
                for source, target in ((client, engine), (engine, client)):
                    threading.Thread(target=self._copy, args=(source, target), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self._flows.wait()
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


@pytest.fixture
def cuttable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Runtime, Relay]]:
    relay = Relay(tmp_path / "engine.sock")
    with monkeypatch.context() as patched:
        patched.setenv("DOCKER_HOST", f"unix://{relay.path}")
        started = runtime("docker", tmp_path)
    started.prepare(request())
    yield started, relay
    relay.cut()
    started.close()
    _forget_owner(tmp_path)


def _forget_owner(home: Path) -> None:
    """What the lost Engine still runs is removed as after a crash: the owner's lock is given up and reaped."""
    living = runtime("docker", home)
    for lock in (home / "locks").glob("*.lock"):
        if lock.stem != living._owner.id:  # type: ignore[attr-defined]
            lock.unlink()
    living.reap()
    living.close()


def ends_at_once(pair: Pair) -> None:
    """Nobody waits for an Engine that will not answer."""
    began = time.monotonic()
    pair.kill("environment")
    pair.close()
    assert time.monotonic() - began < 5.0


def test_a_lost_engine_is_told_apart_from_an_ended_process(cuttable: tuple[Runtime, Relay]) -> None:
    started, relay = cuttable
    pair = started.open(request())
    begin(pair)
    relay.cut()
    with pytest.raises(EngineGone, match=r"stopped answering .*; start it \(for example `systemctl start docker`\)"):
        pair.environment.receive(10.0)
    with pytest.raises(EngineGone):
        pair.sandbox.receive(10.0)
    with pytest.raises(EngineGone):
        pair.exit("environment", 5.0)
    ends_at_once(pair)


def test_an_engine_that_hangs_is_noticed_and_holds_up_nobody(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr("runner.runtimes.heartbeat.PING_S", 0.5)
    monkeypatch.setattr("runner.runtimes.heartbeat.SILENT_S", 2.0)
    started, relay = request.getfixturevalue("cuttable")
    pair = started.open(wanted())
    begin(pair)
    relay.freeze()
    began = time.monotonic()
    with pytest.raises(EngineGone, match=r"stopped answering while being asked whether it is there \(timed out\)"):
        pair.environment.receive(30.0)
    assert time.monotonic() - began < 20.0
    for again in (lambda: pair.exit("environment", 5.0), lambda: started.open(wanted())):
        with pytest.raises(EngineGone):
            again()
    ends_at_once(pair)


def test_an_engine_that_answers_late_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr("runner.runtimes.heartbeat.PING_S", 0.5)
    monkeypatch.setattr("runner.runtimes.heartbeat.SILENT_S", 20.0)
    started, relay = request.getfixturevalue("cuttable")
    pair = started.open(wanted())
    begin(pair)
    relay.freeze()
    with pytest.raises(TimeoutError):
        pair.environment.receive(3.0)
    relay.thaw()
    assert verdict(pair)["judgement"]["cause"] == "quit"
    pair.close()


def test_no_pair_can_be_opened_without_an_engine(cuttable: tuple[Runtime, Relay]) -> None:
    started, relay = cuttable
    relay.cut()
    with pytest.raises(EngineGone) as error:
        started.open(request())
    assert "\n" not in str(error.value)
    with pytest.raises(EngineGone):
        started.reap()


def test_a_missing_gpu_toolkit_is_found_before_the_first_attempt(tmp_path: Path) -> None:
    from dataclasses import replace

    started = runtime("docker", tmp_path)
    try:
        if "nvidia" in started._api.info()["Runtimes"]:  # type: ignore[attr-defined]
            started.prepare(replace(request(), gpus=True))
        else:
            with pytest.raises(RuntimeUnavailable, match="install nvidia-container-toolkit"):
                started.prepare(replace(request(), gpus=True))
    finally:
        started.close()
