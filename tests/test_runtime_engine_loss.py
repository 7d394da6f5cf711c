"""A stopped Engine is one clear line in every call, and no verdict on anybody."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from runtime_pairs import begin, request, runtime

from runner.runtimes.base import EngineGone, Runtime, RuntimeUnavailable

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
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
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
    began = time.monotonic()
    pair.kill("environment")
    pair.close()
    assert time.monotonic() - began < 5.0


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
