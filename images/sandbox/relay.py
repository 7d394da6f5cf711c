"""Gateway requests of the host, for agents that run no code of their own. Never blocks."""

from __future__ import annotations

import select
import socket
from collections import deque
from collections.abc import Mapping
from typing import Any

from images.client.wire import Attachment, Frame, FrameBuffer, FrameError, encode

CHUNK = 256 << 10
VERSION = 1


class Relay:
    """One stream to the gateway; requests go one after the other. ``replies`` collects (id, header, attachments)."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._socket: socket.socket | None = None
        self._buffer = FrameBuffer()
        self._unsent = memoryview(b"")
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._current: int | None = None
        self.replies: deque[tuple[int, dict[str, Any], Mapping[str, Attachment]]] = deque()

    def request(self, identity: int, request: Mapping[str, Any], attachments: Mapping[str, Attachment]) -> None:
        data = encode({**request, "v": VERSION, "id": identity}, attachments)
        self._waiting.append((identity, data))
        self._next()

    def interest(self) -> tuple[int, int] | None:
        """Descriptor and poll events to wait for, or None."""
        if self._socket is None or self._current is None:
            return None
        return self._socket.fileno(), select.POLLIN | (select.POLLOUT if self._unsent else 0)

    def advance(self) -> None:
        """Send and receive what is possible now."""
        if self._socket is None:
            return
        try:
            self._flush()
            frame = self._receive()
        except BlockingIOError:
            return
        except (OSError, EOFError, FrameError) as error:
            self._fail(f"the connection broke: {error}")
            return
        if frame is not None and self._current is not None:
            self.replies.append((self._current, *frame))
            self._current = None
            self._next()

    def _next(self) -> None:
        while self._current is None and self._waiting:
            self._current, data = self._waiting.popleft()
            try:
                if self._socket is None:
                    self._open()
                self._unsent = memoryview(data)
                self._flush()
            except OSError as error:
                self._fail(f"no connection to {self._path}: {error.strerror or error}")

    def _open(self) -> None:
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        peer.setblocking(False)
        self._socket, self._buffer = peer, FrameBuffer()
        peer.connect(self._path)

    def _flush(self) -> None:
        assert self._socket is not None
        while self._unsent:
            try:
                self._unsent = self._unsent[self._socket.send(self._unsent) :]
            except BlockingIOError:
                return

    def _receive(self) -> Frame | None:
        assert self._socket is not None
        data = self._socket.recv(CHUNK)
        if not data:
            raise EOFError("the gateway closed it")
        self._buffer.feed(data)
        return self._buffer.next()

    def _fail(self, text: str) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._unsent = memoryview(b"")
        if self._current is not None:
            header = {"id": self._current, "ok": False, "error": {"kind": "unreachable", "text": text}}
            self.replies.append((self._current, header, {}))
            self._current = None
        self._next()
