"""The gateway's side of the host's stdio frames.

A thread blocks on the host's frames, because the main thread may be inside one long batch or one hung native call: a
``stop`` must reach the first within a control step, and the end of stdin must end the process even in the second.
"""

from __future__ import annotations

import os
import queue
import select
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from images.client.wire import Attachment, FrameError, StreamError, descriptor_reader, encode, read_frame
from images.gateway.session import Meter

PROGRESS_S = 0.5  # at most two frames per second
GRACE_S = 2.0  # for an orderly end after the host has gone
STOP_REASONS = (
    "finished",
    "wall_clock",
    "token_budget",
    "image_budget",
    "agent_exception",
    "sandbox_memory",
    "interrupted",
)


def claim_stdout() -> int:
    """A private descriptor of the present stdout. Descriptor 1 becomes stderr, so that a print of the environment or
    of a native library can never stand between two frames."""
    out = os.dup(1)
    os.dup2(2, 1)
    return out


class Host:
    """Frames to and from the host. ``wake`` is readable when ``stop_reason`` or ``gone`` has changed, or a call has
    come."""

    def __init__(self, stdin: int, stdout: int) -> None:
        self.stop_reason: str | None = None
        self.gone = False
        self.wake, self._wake_writer = os.pipe()
        self._stdin, self._stdout = stdin, stdout
        self._inbox: queue.Queue[tuple[dict[str, Any], dict[str, Attachment]] | None] = queue.Queue()
        self._calls: queue.SimpleQueue[tuple[dict[str, Any], dict[str, Attachment]]] = queue.SimpleQueue()
        self._next_progress = time.monotonic() + PROGRESS_S
        self._writable = select.poll()
        self._writable.register(stdout, select.POLLOUT)
        self._thread = threading.Thread(target=self._watch, name="host", daemon=True)

    def start(self) -> dict[str, Any] | None:
        """Watch the host and wait for its ``start`` or ``replay``; None when the host has gone."""
        self._thread.start()
        frame = self.receive()
        return None if frame is None else frame[0]

    def receive(self) -> tuple[dict[str, Any], dict[str, Attachment]] | None:
        """The next frame of the host besides ``stop``; None when the host has gone."""
        return self._inbox.get()

    def next_call(self) -> tuple[dict[str, Any], dict[str, Attachment]] | None:
        """The next ``call``: a request of an agent that has no sandbox; None when there is none now."""
        try:
            return self._calls.get_nowait()
        except queue.Empty:
            return None

    def send(self, header: Mapping[str, Any], attachments: Mapping[str, Attachment] | None = None) -> None:
        """Raises ValueError or TypeError when the frame cannot be encoded. A host that has gone is noted, not raised:
        the watching thread ends the process."""
        data = memoryview(encode(header, attachments))
        try:
            while data:
                data = data[os.write(self._stdout, data) :]
        except OSError:
            self.gone = True

    # ---- supervisor of the session ----------------------------------------------------------------------------------
    def acted(self) -> None:
        self.send({"op": "acted"})

    def tick(self, meter: Meter) -> str | None:
        if time.monotonic() >= self._next_progress:
            self._progress(meter)
        return self.stop_reason

    def _progress(self, meter: Meter) -> None:
        """Progress is worth no wait: a host that does not read gets none."""
        self._next_progress = time.monotonic() + PROGRESS_S
        if self._writable.poll(0):
            numbers = asdict(meter)
            self.send({"op": "progress", **{key: numbers[key] for key in ("actions", "simulated_s", "image_reads")}})

    # ---- watching thread --------------------------------------------------------------------------------------------
    def _watch(self) -> None:
        read = descriptor_reader(self._stdin)
        try:
            while True:
                self._receive(*read_frame(read))
        except (EOFError, OSError, FrameError, StreamError):
            self.gone = True
        self._inbox.put(None)
        os.write(self._wake_writer, b"g")
        time.sleep(GRACE_S)
        os._exit(0)

    def _receive(self, header: dict[str, Any], attachments: dict[str, Attachment]) -> None:
        op = header.get("op")
        if op in ("start", "replay", "draw"):
            self._inbox.put((header, attachments))
        elif op == "call" and isinstance(header.get("request"), dict):
            self._calls.put((header, attachments))
            os.write(self._wake_writer, b"c")
        elif op == "stop" and header.get("reason") in STOP_REASONS:
            self.stop_reason = self.stop_reason or str(header["reason"])
            os.write(self._wake_writer, b"s")
        else:
            raise FrameError(f"unexpected frame of the host: {str(header)[:200]}")
