"""Waiting for a reply without falling asleep at the wrong moment.

A process that sleeps until its reply comes is woken some 50 us late, and waking it costs the gateway another 15 us:
with one action per call that is a tenth of the whole. Where replies take about as long as the last ones did, a client
therefore sleeps for a part of that time and then looks for the reply again and again until it is there. It does so
only while the machine has a processor to spare, and never for long.
"""

from __future__ import annotations

import contextlib
import io
import os
import socket
import time

LONGEST_S = 0.002  # replies that take longer are waited for asleep
LATE_S = 0.0002  # a timer wakes a process up to so much late
GROWTH = 0.125  # how fast the expectation follows replies that take longer
LOAD = "/proc/loadavg"


class Patience:
    """Waits for the replies of one connection."""

    def __init__(self) -> None:
        self._expected = 0.0  # s, about the shortest of the last waits
        self._processors = len(os.sched_getaffinity(0))
        self._load: io.FileIO | None = None
        with contextlib.suppress(OSError):
            self._load = io.FileIO(LOAD)

    def receive(self, connection: socket.socket, size: int) -> bytes:
        """What ``connection.recv(size)`` returns. Raises OSError."""
        began = time.perf_counter()
        data = self._look(connection, size, began) if self._expected < LONGEST_S and self._spare() else None
        if data is None:
            data = connection.recv(size)
        waited = time.perf_counter() - began
        self._expected += (waited - self._expected) * (1.0 if waited < self._expected else GROWTH)
        return data

    def _look(self, connection: socket.socket, size: int, began: float) -> bytes | None:
        """The reply if it comes about as soon as it should."""
        asleep = 0.75 * self._expected - LATE_S
        if asleep > 0:
            time.sleep(asleep)
        deadline = began + min(2 * self._expected + LATE_S, LONGEST_S)
        while True:
            try:
                return connection.recv(size, socket.MSG_DONTWAIT)
            except BlockingIOError:
                if time.perf_counter() > deadline:
                    return None

    def _spare(self) -> bool:
        """Whether no more processes want to run now, this one among them, than there are processors."""
        if self._load is None:
            return False
        try:
            running = int(os.pread(self._load.fileno(), 64, 0).split()[3].partition(b"/")[0])
        except (IndexError, OSError, ValueError):  # not known, or a program has closed the file
            return False
        return running <= self._processors
