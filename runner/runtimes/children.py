"""Pairs of child processes: what bubblewrap and the plain process runtime share."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from manifests.records import ImageIdentity
from runner.runtimes.base import Exit, Pair, PairRequest, Role, RuntimeFacts, StartFailed
from runner.runtimes.frames import LogTail, StreamChannel
from runner.runtimes.hello import await_hello
from runner.runtimes.owner import RUN, Owner, abandoned
from runner.runtimes.pair import StartedPair
from runner.runtimes.pool import Pool

ROLES: tuple[Role, Role] = ("environment", "sandbox")
OWNER_FILE = "owner.json"
PREFIX = "assay-"
_END_WAIT_S = 5.0


@dataclass(frozen=True)
class Command:
    """``descriptors`` are inherited by the child and closed here after its start."""

    arguments: Sequence[str]
    variables: Mapping[str, str]
    folder: Path
    descriptors: tuple[int, ...] = ()


class Launcher(Protocol):
    """What a runtime of child processes decides: how each process is confined."""

    facts: RuntimeFacts

    def prepare(self, request: PairRequest) -> tuple[ImageIdentity, ...]:
        """Raises RuntimeUnavailable with the fix."""

    def commands(self, request: PairRequest, io: Path) -> dict[Role, Command]:
        """``io`` is the pair's own empty folder, in which the environment makes its socket."""


class Child:
    """One process with its frames. It leads a session of its own, so that all of it can be killed at once."""

    def __init__(self, role: Role, command: Command) -> None:
        self._log = LogTail()
        try:
            self._process = subprocess.Popen(
                command.arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=command.folder,
                env=dict(command.variables),
                pass_fds=command.descriptors,
                start_new_session=True,
            )
        finally:
            for descriptor in command.descriptors:
                os.close(descriptor)
        self._reader = threading.Thread(target=self._read_log, name=f"log-{role}", daemon=True)
        self._reader.start()
        self.channel = StreamChannel(role, self._read, self._write, lambda: EOFError(f"the {role} ended"))

    def alive(self) -> bool:
        return self._process.poll() is None

    def exit(self, timeout: float) -> Exit | None:
        """Code as a shell reports it: 128 + the signal for a killed process."""
        try:
            code = self._process.wait(max(timeout, 0.0))
        except subprocess.TimeoutExpired:
            return None
        self._reader.join(1.0)
        return Exit(code=128 - code if code < 0 else code, oom=None, log=self._log.text())

    def kill(self) -> None:
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, 9)
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    def close(self) -> None:
        """Returns when the whole process tree is gone: each of its processes holds the pipe of standard error."""
        self.kill()
        self.exit(_END_WAIT_S)
        self._reader.join(_END_WAIT_S)
        self.channel.close()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _read(self, size: int) -> bytes:
        assert self._process.stdout is not None
        data = self._process.stdout.read(size)
        if len(data) < size:
            raise EOFError("the stream ended")
        return data

    def _write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def _read_log(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            while data := os.read(stream.fileno(), 1 << 14):
                self._log.add(data)


class ChildRuntime:
    """``jobs`` is the number of pairs that wait; ``locks`` the run-lock folder."""

    def __init__(self, launcher: Launcher, *, jobs: int, locks: Path) -> None:
        self.facts = launcher.facts
        self._launcher = launcher
        self._owner = Owner(locks)
        self._base = _runtime_folder()
        self._folder = self._base / f"{PREFIX}{self._owner.id[:16]}"
        self._pool = Pool(self._start, jobs)
        self._pairs: list[StartedPair] = []
        self._lock = threading.Lock()
        self._closed = False

    def prepare(self, request: PairRequest) -> tuple[ImageIdentity, ...]:
        return self._launcher.prepare(request)

    def open(self, request: PairRequest) -> Pair:
        return self._pool.take(request)

    def reap(self) -> list[str]:
        """Folders of dead runs; their processes ended with them."""
        lines = []
        for folder in sorted(self._base.glob(f"{PREFIX}*")):
            try:
                labels = json.loads((folder / OWNER_FILE).read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue
            if folder.stat().st_uid == os.geteuid() and abandoned(labels):
                shutil.rmtree(folder, ignore_errors=True)
                lines.append(f"removed folder {folder} of run {labels.get(RUN, '?')}")
        self._owner.sweep()
        return lines

    def close(self) -> None:
        """Also ends every pair that is still open."""
        if self._closed:
            return
        self._closed = True
        self._pool.close()
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            pair.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._owner.release()

    def _start(self, request: PairRequest) -> StartedPair:
        began = time.monotonic()
        images = self._launcher.prepare(request)
        io = self._io_folder(request)
        children: dict[Role, Child] = {}
        try:
            for role, command in self._launcher.commands(request, io).items():
                children[role] = Child(role, command)
            # It never expires: these processes end with the runner's, by their standard input or by the kernel.
            pair = StartedPair(children, images, math.inf, partial(_discard, children, io))
            pair.environment_hello, pair.sandbox_hello = await_hello(pair)
        except OSError as error:
            _discard(children, io)
            raise StartFailed(f"a process could not be started: {error}") from None
        except BaseException:
            _discard(children, io)
            raise
        pair.start_s = time.monotonic() - began
        with self._lock:
            self._pairs = [known for known in self._pairs if not known.closed] + [pair]
        return pair

    def _io_folder(self, request: PairRequest) -> Path:
        with self._lock:
            if not self._folder.exists():
                self._folder.mkdir(mode=0o700)
                labels = json.dumps(self._owner.labels(request.run))
                (self._folder / OWNER_FILE).write_text(labels, encoding="utf-8")
        return Path(tempfile.mkdtemp(prefix="p", dir=self._folder))


def _discard(children: Mapping[Role, Child], folder: Path) -> None:
    for child in children.values():
        child.kill()
    for child in children.values():
        child.close()
    shutil.rmtree(folder, ignore_errors=True)


def _runtime_folder() -> Path:
    """A folder in memory, private to the user where the system has one. A socket's path must stay short."""
    for candidate in (os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm"):
        if candidate and len(candidate) < 40 and os.access(candidate, os.W_OK | os.X_OK):
            return Path(candidate)
    return Path(tempfile.gettempdir())
