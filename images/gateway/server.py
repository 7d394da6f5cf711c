"""The Unix socket of an episode: one loop, one thread, every connection non-blocking.

One thread, because a GL context belongs to the thread that made it, and because two threads that hand the interpreter
lock to each other cost more than the operation itself. Non-blocking, because a client that stalls, or does not read its
reply, must disturb neither the environment nor another client.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any

from images.client.wire import Attachment, Frame, FrameBuffer, FrameError, Reply, StreamError, encode, encode_reply

MAX_CONNECTIONS = 16
MAX_HEADER = 256 << 10  # bytes of a request's header
MAX_REQUEST = 24 << 20  # bytes of a request's attachments: 100,000 actions of 30 components
CHUNK = 64 << 10
LINGER_S = 0.0002
MAX_MISSES = 8  # 256 waits asleep before lingering is tried again
REMEMBERED_ID = 1 << 53  # an id is echoed when every language can hold it

Answer = Callable[[Mapping[str, Any], Mapping[str, Attachment]], Reply]


def bind(path: str) -> socket.socket:
    """A listening socket at ``path``, mode 0660. Raises OSError."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    os.chmod(path, 0o660)
    listener.listen(MAX_CONNECTIONS)
    listener.setblocking(False)
    return listener


class Connection:
    """One client: its unfinished request and its unsent reply."""

    def __init__(self, peer: socket.socket) -> None:
        peer.setblocking(False)
        self.socket = peer
        self.requests = FrameBuffer(MAX_HEADER, MAX_REQUEST)
        self.unsent = memoryview(b"")
        self.closing = False  # once the last reply is out

    def send(self, data: bytes) -> None:
        """What the socket does not take now is kept for :meth:`flush`. Raises OSError when the client has gone."""
        self.unsent = memoryview(data)
        self.flush()

    def flush(self) -> None:
        while self.unsent:
            try:
                self.unsent = self.unsent[self.socket.send(self.unsent) :]
            except BlockingIOError:
                return


class Server:
    """Reads requests, lets ``answer`` make replies, and calls ``woken`` when the ``wake`` descriptor is readable.

    ``answer`` returns a whole reply and never raises for a fault of the client. ``settle`` is called once the reply is
    on its way: what it does costs the client no time. ``woken`` returns whether to go on; it is asked after every
    request as well.
    """

    def __init__(
        self,
        listener: socket.socket,
        answer: Answer,
        settle: Callable[[], None],
        wake: int,
        woken: Callable[[], bool],
    ) -> None:
        self._listener = listener
        self._answer = answer
        self._settle = settle
        self._wake = wake
        self._woken = woken
        self._connections: dict[int, Connection] = {}
        self._misses = self._sleeps = 0
        self._chunk = bytearray(CHUNK)
        self._poll = select.poll()
        self._poll.register(listener, select.POLLIN)
        self._poll.register(wake, select.POLLIN)

    def run(self) -> None:
        while True:
            for descriptor, event in self._ready():
                connection = self._connections.get(descriptor)
                if connection is not None:
                    self._serve(connection, event)
                elif descriptor == self._wake:
                    os.read(self._wake, 64)
                elif descriptor == self._listener.fileno():
                    self._accept()
                if not self._woken():
                    return

    def _ready(self) -> list[tuple[int, int]]:
        """The next events. A client that steps in a tight loop comes back within :data:`LINGER_S`; sleeping in between
        costs two wake-ups of a halted processor per call (measured: 70 to 130 us for a bare socket, 40 to 50 when
        lingering). Where lingering misses, as on a processor shared with the client, it soon becomes rare. It never
        yields: on a busy machine a yield gives away a whole time slice, 3 ms or more."""
        if self._sleeps > 0:
            self._sleeps -= 1
            return self._poll.poll()
        deadline = time.perf_counter() + LINGER_S
        while time.perf_counter() < deadline:
            if ready := self._poll.poll(0):
                self._misses = 0
                return ready
        self._misses = min(self._misses + 1, MAX_MISSES)
        self._sleeps = 1 << self._misses
        return self._poll.poll()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # the client has gone already
            peer, _ = self._listener.accept()
            if len(self._connections) >= MAX_CONNECTIONS:
                _turn_away(peer)
                return
            self._connections[peer.fileno()] = Connection(peer)
            self._poll.register(peer, select.POLLIN)

    def _serve(self, connection: Connection, event: int) -> None:
        try:
            if event & select.POLLOUT:
                connection.flush()
            elif not self._receive(connection):
                self._drop(connection)
                return
            self._answer_buffered(connection)
        except OSError:
            self._drop(connection)

    def _receive(self, connection: Connection) -> bool:
        """False when the client has closed its side."""
        try:
            size = connection.socket.recv_into(self._chunk)
        except BlockingIOError:
            return True
        try:
            connection.requests.feed(memoryview(self._chunk)[:size])
        except MemoryError:
            return False
        return size > 0

    def _answer_buffered(self, connection: Connection) -> None:
        """Answer complete requests; a client that does not read its replies is not read from either."""
        while not connection.unsent and not connection.closing:
            try:
                frame = _next_request(connection.requests)
            except FrameError as error:
                connection.send(refusal(None, "undecodable", str(error)))
                continue
            except StreamError as error:
                connection.closing = True
                connection.send(refusal(None, "undecodable", f"{error}; the connection is closed"))
                break
            if frame is None:
                break
            connection.send(self._reply(*frame))
            self._settle()
            if not self._woken():
                break
        if connection.unsent:
            self._poll.modify(connection.socket, select.POLLOUT)
        elif connection.closing:
            self._drop(connection)
        else:
            self._poll.modify(connection.socket, select.POLLIN)

    def _reply(self, header: Mapping[str, Any], attachments: Mapping[str, Attachment]) -> bytes:
        return encode_reply(request_id(header), self._answer(header, attachments))

    def _drop(self, connection: Connection) -> None:
        self._poll.unregister(connection.socket)
        del self._connections[connection.socket.fileno()]
        connection.socket.close()


def _next_request(requests: FrameBuffer) -> Frame | None:
    """Raises FrameError and StreamError only: whatever else a frame does to its reader ends its own connection."""
    try:
        return requests.next()
    except (FrameError, StreamError):
        raise
    except Exception as error:
        raise StreamError(f"the frame cannot be read ({type(error).__name__})") from None


def _turn_away(peer: socket.socket) -> None:
    """Say why and close; a fresh socket takes so few bytes at once."""
    text = f"{MAX_CONNECTIONS} connections are open, which is all that there are; close one"
    with contextlib.closing(peer), contextlib.suppress(OSError):
        peer.setblocking(False)
        peer.send(refusal(None, "too_many_connections", text))


def request_id(header: Mapping[str, Any]) -> int | None:
    value = header.get("id")
    return value if type(value) is int and abs(value) <= REMEMBERED_ID else None


def refusal(identity: int | None, kind: str, text: str) -> bytes:
    return encode({"id": identity, "ok": False, "error": {"kind": kind, "text": text}})
