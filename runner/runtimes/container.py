"""One container of a pair: its frames, its end, its removal."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from typing import Any

import docker.errors

from runner.runtimes.base import EngineGone, Exit, Role
from runner.runtimes.engine import calling
from runner.runtimes.frames import LogTail, StreamChannel

_HEADER = struct.Struct(">BxxxI")  # stream (1 standard output, 2 standard error), size of what follows
_STDOUT = 1
_POLL_S = 0.02


class AttachedStream:
    """The Engine's multiplexed attach stream: standard output by ``read``, standard error into ``log``."""

    def __init__(self, connection: Any, log: LogTail) -> None:
        self._socket, self._log = connection, log
        self._file = connection.makefile("rb", buffering=1 << 16)
        self._buffer = bytearray()

    def read(self, size: int) -> bytes:
        """Exactly ``size`` bytes of standard output. Raises EOFError or OSError."""
        while len(self._buffer) < size:
            stream, length = _HEADER.unpack(self._exactly(_HEADER.size))
            payload = self._exactly(length)
            if stream == _STDOUT:
                self._buffer += payload
            else:
                self._log.add(payload)
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def write(self, data: bytes) -> None:
        self._socket.sendall(data)

    def close(self) -> None:
        # shutdown wakes the thread that blocks in read; closing the descriptor alone would leave it there.
        with contextlib.suppress(OSError):
            self._socket.shutdown(2)
        with contextlib.suppress(OSError):
            self._socket.close()

    def _exactly(self, size: int) -> bytes:
        data: bytes = self._file.read(size)
        if len(data) < size:
            raise EOFError("the attach stream ended")
        return data


class Container:
    """A created container; ``start`` attaches to it before it runs, so that no output is lost."""

    def __init__(self, api: Any, role: Role, identifier: str) -> None:
        self.role, self.id = role, identifier
        self._api = api
        self._log = LogTail()
        self._exit: Exit | None = None
        self._lock = threading.Lock()
        self._stream: AttachedStream | None = None
        self._lost: EngineGone | None = None
        self.channel: StreamChannel

    def start(self) -> None:
        """Raises EngineGone or docker.errors.APIError."""
        with calling("attaching to a container"):
            attached = self._api.attach_socket(self.id, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        self._stream = AttachedStream(_own_socket(attached), self._log)
        self.channel = StreamChannel(self.role, self._stream.read, self._stream.write, self._why_gone)
        with calling("starting a container"):
            self._api.start(self.id)

    def lose(self, error: EngineGone) -> None:
        """The Engine is lost: whoever waits for this container hears so, and nothing is asked of it any more."""
        self._lost = error
        if self._stream is not None:
            self._stream.close()

    def alive(self) -> bool:
        return not self.channel.ended.is_set()

    def exit(self, timeout: float) -> Exit | None:
        """The end of the attach stream announces the end of the container; the Engine then says how it ended."""
        deadline = time.monotonic() + timeout
        if self._lost is not None:
            raise self._lost
        if self._exit is None and self.channel.ended.wait(max(timeout, 0.0)):
            while (found := self._inspect()) is None:
                if time.monotonic() >= deadline:
                    return None
                time.sleep(_POLL_S)
            self._exit = found
        return self._exit

    def kill(self) -> None:
        """Never raises for a container that is gone already; EngineGone is for the next call that needs an answer."""
        if self._lost is None:
            with contextlib.suppress(docker.errors.APIError, EngineGone), calling("killing a container"):
                self._api.kill(self.id)

    def remove(self) -> None:
        """Kill and remove. Idempotent; what the Engine cannot remove now, the next start removes."""
        with self._lock:
            if self._exit is None:
                self._exit = Exit(code=None, oom=None, log=self._log.text())
        if self._lost is None:
            with contextlib.suppress(docker.errors.APIError, EngineGone), calling("removing a container"):
                self._api.remove_container(self.id, force=True, v=True)
        if self._stream is not None:
            self._stream.close()
            self.channel.close()

    def _inspect(self) -> Exit | None:
        try:
            with calling("asking how a container ended"):
                state = self._api.inspect_container(self.id)["State"]
        except docker.errors.NotFound:
            return Exit(code=None, oom=None, log=self._log.text())
        if state["Running"]:
            return None
        return Exit(code=state["ExitCode"], oom=state["OOMKilled"], log=self._log.text())

    def _why_gone(self) -> Exception:
        """A stream ends with its container, or because the Engine is lost."""
        if self._lost is not None:
            return self._lost
        try:
            if self._exit is None and self._inspect() is None:
                deadline = time.monotonic() + 2.0
                while time.monotonic() < deadline and self._inspect() is None:
                    time.sleep(_POLL_S)
                if self._inspect() is None:
                    return EngineGone(f"the Docker Engine dropped the connection to the running {self.role}")
        except EngineGone as error:
            return error
        except docker.errors.APIError as error:
            return EngineGone(f"the Docker Engine does not know how the {self.role} ended: {error.explanation}")
        return EOFError(f"the {self.role} ended")


def _own_socket(attached: Any) -> Any:
    """A descriptor of our own: the SDK's closes when its response object is collected. TLS cannot be duplicated."""
    connection = getattr(attached, "_sock", attached)
    own = connection.dup() if type(connection) is socket.socket else connection
    own.settimeout(None)
    return own
