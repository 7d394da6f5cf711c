"""Processes to measure: a pair as an attempt has it, and an environment alone under the same confinement."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from bench.recording import Recording, reference
from bench.tools import program, say
from manifests.load import load
from runner.halt import Halt
from runner.links import SandboxLink
from runner.runtimes.base import Channel, PairRequest, Runtime, RuntimeUnavailable
from runner.runtimes.children import Child, Launcher
from runner.runtimes.commands import entry_points
from runner.runtimes.select import select
from runner.startup import Started, start

RUNTIMES = ("docker", "bubblewrap", "process")
DEADMAN_S = 600.0


@cache
def available() -> tuple[str, ...]:
    """The runtimes that work here; says why of the others."""
    found = []
    for name in RUNTIMES:
        try:
            with opened(name):
                found.append(name)
        except RuntimeUnavailable as error:
            say(f"{name} is not measured: {error}")
    return tuple(found)


@contextmanager
def opened(name: str, jobs: int = 0) -> Iterator[Runtime]:
    """A runtime without a pool: a pair that starts in the background would disturb what is measured."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as home:
        runtime = select(name, reference().info, Path(home), say, jobs=jobs)
        try:
            yield runtime
        finally:
            runtime.close()


@contextmanager
def started(runtime: Runtime, request: PairRequest, spec: dict[str, Any]) -> Iterator[Started]:
    """A pair whose environment is initialized."""
    found = start(runtime, request, spec, load(), Halt(), lambda phase: None, lambda meter: None)
    try:
        yield found
    finally:
        found.pair.close()


def sandbox(pair: Started) -> SandboxLink:
    return SandboxLink(pair.pair, lambda note: None)


def run(link: SandboxLink, code: str) -> str:
    """Standard output of a program in the sandbox. Raises RuntimeError with what it said when it failed."""
    result = link.execute(code, timeout_s=DEADMAN_S)
    if result.status != "ok":
        raise RuntimeError(f"the program in the sandbox ended as {result.status}: {result.error}")
    return result.stdout


@dataclass
class Bare:
    """An environment without gateway and sandbox, in the container (or the process) that it has in an attempt."""

    channel: Channel

    def step(self, first: int, last: int) -> dict[str, float]:
        """Apply a range of the recorded actions: ``wall_s``, ``cpu_s``, ``peak_bytes``."""
        self.channel.send({"op": "step", "start": first, "stop": last})
        return self.channel.receive(DEADMAN_S)[0]


@contextmanager
def bare(name: str, request: PairRequest, recording: Recording) -> Iterator[Bare]:
    """``bench/programs/in_process.py`` in the place of the gateway, under the same limits and flags."""
    points = entry_points(request)
    with _bare_docker(request) if name == "docker" else _bare_child(name, request) as channel:
        channel.receive(DEADMAN_S)
        channel.send(
            {"op": "start", "engine": points.engine_module, "spec": recording.spec}, {"actions": recording.actions}
        )
        channel.receive(DEADMAN_S)
        yield Bare(channel)


@contextmanager
def _bare_child(name: str, request: PairRequest) -> Iterator[Channel]:
    io = Path(tempfile.mkdtemp(prefix="assay-bench-", dir="/dev/shm"))
    tail = entry_points(request).environment("")
    try:
        commands = _launcher(name).commands(request, io)
        command, other = commands["environment"], commands["sandbox"]
        for descriptor in other.descriptors:
            os.close(descriptor)
        own = [*command.arguments[: -len(tail)], "-c", program("in_process")]
        child = Child("environment", replace(command, arguments=own))
        try:
            yield child.channel
        finally:
            child.close()
    finally:
        shutil.rmtree(io, ignore_errors=True)


def _launcher(name: str) -> Launcher:
    from runner.runtimes.bubblewrap import BubblewrapLauncher
    from runner.runtimes.process import ProcessLauncher

    return BubblewrapLauncher("bench") if name == "bubblewrap" else ProcessLauncher("bench")


@contextmanager
def _bare_docker(request: PairRequest) -> Iterator[Channel]:
    from runner.runtimes import engine, hardening
    from runner.runtimes.container import Container

    api = engine.connect()
    with opened("docker") as runtime:
        image = runtime.prepare(request)[0].id
    volume = f"assay-bench-{uuid.uuid4().hex[:12]}"
    limits = request.environment_limits
    api.create_volume(name=volume, driver_opts=hardening.volume_options())
    try:
        settings = hardening.host_config("environment", limits, volume, api.info()["NCPU"], False)
        created = api.create_container(
            image,
            hardening.command(["-c", program("in_process")], DEADMAN_S),
            user=hardening.identity("environment")["user"],
            hostname="environment",
            stdin_open=True,
            host_config=api.create_host_config(**settings),
        )
        container = Container(api, "environment", created["Id"])
        try:
            container.start()
            yield container.channel
        finally:
            container.remove()
    finally:
        api.remove_volume(volume)
