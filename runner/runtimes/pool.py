"""Starts pairs ahead: while attempts run, the next pair is already up and waits for its first frame.

All starts happen on threads of the pool, which live as long as the pool: Linux ends a child that asked for it
(bubblewrap's ``--die-with-parent``) when the *thread* that started it ends, not only its process.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol

from runner.runtimes.base import EngineGone, Limits, Pair, PairRequest, StartFailed

DEADMAN_SPARE_S = 60.0  # what a pair's dead-man switch leaves after the wall-clock limit of its attempt


class PooledPair(Pair, Protocol):
    expires: float  # time.monotonic() value at which the dead-man switch of the pair ends it

    def alive(self) -> bool:
        """Whether both processes still run, as far as can be told without asking anybody."""


@dataclass
class _Waiting:
    key: PairRequest
    future: Future[PooledPair]


class Pool:
    """At most ``size`` pairs wait. ``start`` makes one; it must be safe on several threads at once."""

    def __init__(self, start: Callable[[PairRequest], PooledPair], size: int) -> None:
        self._start, self._size = start, size
        self._threads = ThreadPoolExecutor(max(1, size) + 1, thread_name_prefix="pair")
        self._lock = threading.Lock()
        self._waiting: deque[_Waiting] = deque()
        self._closed = False

    def take(self, request: PairRequest) -> PooledPair:
        """A fresh pair for ``request``; the next one is started in the background. Raises what ``start`` raises."""
        needed = time.monotonic() + request.environment_limits.wall_s + DEADMAN_SPARE_S / 2
        while (waiting := self._next(_key(request))) is not None:
            # A pair that failed to start ahead, or died while it waited, is no attempt's fault: start another.
            with contextlib.suppress(StartFailed, EngineGone, CancelledError):
                pair = waiting.result()
                if pair.alive() and pair.expires >= needed:
                    self._refill(request)
                    return pair
                pair.close()
        pair = self._threads.submit(self._start, request).result()
        self._refill(request)
        return pair

    def close(self) -> None:
        """End what waits or is being started. Idempotent."""
        with self._lock:
            self._closed = True
            waiting, self._waiting = list(self._waiting), deque()
        for item in waiting:
            _discard(item.future)
        self._threads.shutdown(wait=True)

    def _next(self, key: PairRequest) -> Future[PooledPair] | None:
        with self._lock:
            for item in self._waiting:
                if item.key == key:
                    self._waiting.remove(item)
                    return item.future
        return None

    def _refill(self, request: PairRequest) -> None:
        """One new pair for the one that was taken; pairs of another kind make room."""
        key = _key(request)
        with self._lock:
            if self._closed or self._size < 1:
                return
            others = [item for item in self._waiting if item.key != key]
            surplus = others[: max(0, len(self._waiting) + 1 - self._size)]
            for item in surplus:
                self._waiting.remove(item)
            if len(self._waiting) < self._size:
                self._waiting.append(_Waiting(key, self._threads.submit(self._start, request)))
        for item in surplus:
            _discard(item.future)


def _key(request: PairRequest) -> PairRequest:
    """What two requests must share to use the same pair: everything but the wall-clock limit."""

    def timeless(limits: Limits) -> Limits:
        return replace(limits, wall_s=0.0)

    sandbox = request.sandbox_limits

    return replace(
        request,
        environment_limits=timeless(request.environment_limits),
        sandbox_limits=None if sandbox is None else timeless(sandbox),
    )


def _discard(future: Future[PooledPair]) -> None:
    if not future.cancel():
        future.add_done_callback(_close_result)


def _close_result(future: Future[PooledPair]) -> None:
    if not future.cancelled() and future.exception() is None:
        future.result().close()
