"""Real processes and sockets for the gateway's and the sandbox's tests."""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from images.client.wire import Attachment, Frame, FrameBuffer, descriptor_reader, encode, read_frame

ROOT = Path(__file__).parent.parent
WAIT_S = 30.0


def make_spec(level: str = "L0", actions: int = 7500, simulated_s: float = 150.0, **changes: Any) -> dict[str, Any]:
    parameters = changes.pop("parameters", {})
    spec = {
        "attempt": "a-1",
        "environment_id": "rail/mass/S001",
        "mode": "loaded",
        "condition": {"index": 0, "parameters": parameters},
        "base_seed": 0,
        "level": level,
        "grants": [],
        "budget": {"actions": actions, "simulated_s": simulated_s},
        "pictures": True,
        "record": {"state_hz": 10},
    }
    return {**spec, **changes}


class Process:
    """A child that speaks frames on its stdio. ``frames`` are read by a thread, so that nothing ever blocks it."""

    def __init__(self, *arguments: str, **options: Any) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
        self.child = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=options.pop("cwd", ROOT),
            start_new_session=True,
            **options,
        )
        self.frames: queue.Queue[Frame | None] = queue.Queue()
        self._log = bytearray()
        for target in (self._read_frames, self._read_log):
            threading.Thread(target=target, daemon=True).start()

    def _read_frames(self) -> None:
        assert self.child.stdout is not None
        read = descriptor_reader(self.child.stdout.fileno())
        with contextlib.suppress(EOFError, OSError, ValueError):
            while True:
                self.frames.put(read_frame(read))
        self.frames.put(None)

    def _read_log(self) -> None:
        assert self.child.stderr is not None
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(self.child.stderr.fileno(), 65536):
                self._log += chunk

    @property
    def log(self) -> str:
        return self._log.decode(errors="replace")

    def send(self, op: str, attachments: dict[str, Attachment] | None = None, **fields: Any) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(encode({"op": op, **fields}, attachments))
        self.child.stdin.flush()

    def expect(self, op: str, timeout: float = WAIT_S) -> Frame:
        """The next frame other than progress, which must be ``op``."""
        while True:
            frame = self.frames.get(timeout=timeout)
            assert frame is not None, f"the process ended instead of {op}: {self.log[-2000:]}"
            if frame[0]["op"] == op:
                return frame
            assert frame[0]["op"] == "progress", f"{frame[0]} instead of {op}: {self.log[-2000:]}"

    def rest(self, timeout: float = WAIT_S) -> list[dict[str, Any]]:
        """The headers up to the end of the stream."""
        headers = []
        while (frame := self.frames.get(timeout=timeout)) is not None:
            headers.append(frame[0])
        return headers

    def end(self, timeout: float = WAIT_S) -> int:
        assert self.child.stdin is not None
        with contextlib.suppress(OSError):
            self.child.stdin.close()
        return self.child.wait(timeout)

    def kill(self) -> None:
        self.child.kill()
        self.child.wait()
        for stream in (self.child.stdin, self.child.stdout, self.child.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


class Gateway(Process):
    """A gateway process with the slider, started and ready."""

    def __init__(self, folder: Path, start: bool = True, **spec: Any) -> None:
        self.path = str(folder / "s")
        super().__init__("images.gateway", "--engine", "tests.gateway_slider", "--socket", self.path)
        self.hello, _ = self.expect("hello")
        self.ready: dict[str, Any] = {}
        if start:
            self.send("start", spec=make_spec(**spec))
            self.ready, _ = self.expect("ready")

    def dial(self) -> Peer:
        return Peer(self.path)


class Peer:
    """A client that can send anything."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(WAIT_S)
        self.socket.connect(path)
        self.buffer = FrameBuffer()
        self.count = 0

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def receive(self) -> Frame:
        while (frame := self.buffer.next()) is None:
            data = self.socket.recv(65536)
            if not data:
                raise EOFError
            self.buffer.feed(data)
        return frame

    def ask(self, op: Any, attachments: dict[str, Attachment] | None = None, **fields: Any) -> Frame:
        self.count += 1
        self.send(encode({"v": 1, "id": self.count, "op": op, **fields}, attachments))
        reply = self.receive()
        assert reply[0]["id"] == self.count
        return reply

    def error(self, op: Any, attachments: dict[str, Attachment] | None = None, **fields: Any) -> str:
        """The kind of the error that this request gets."""
        reply, _ = self.ask(op, attachments, **fields)
        assert reply["ok"] is False, reply
        return str(reply["error"]["kind"])

    def close(self) -> None:
        self.socket.close()


@contextlib.contextmanager
def gateway(**spec: Any) -> Iterator[Gateway]:
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        process = Gateway(Path(folder), **spec)
        try:
            yield process
        finally:
            process.kill()
