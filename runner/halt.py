"""How a run is asked to stop: first gently, then at once (Ctrl-C, SIGTERM, an error that ends the run)."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from runner.words import count


class Halt:
    """``draining``: open no attempt, cancel what has not begun. ``abandoning``: also end what is running."""

    def __init__(self) -> None:
        self.draining = threading.Event()
        self.abandoning = threading.Event()
        self.signalled = False

    def drain(self) -> None:
        self.draining.set()

    def abandon(self) -> None:
        self.draining.set()
        self.abandoning.set()


@contextmanager
def signals(halt: Halt, say: Callable[[str], None], running: Callable[[], int | None]) -> Iterator[None]:
    """Ctrl-C once drains, twice abandons; SIGTERM and SIGHUP abandon. Only in the main thread.

    ``running()`` is None before the first attempt may open: there is nothing to end then, and Ctrl-C is the usual one.
    """

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        halt.signalled = True
        episodes = running()
        if episodes is None:
            raise KeyboardInterrupt
        if halt.draining.is_set():
            halt.abandon()
            say("stopping now: running episodes are closed as interrupted")
            return
        halt.drain()
        them = "it" if episodes == 1 else "them"
        first = f"{count(episodes, 'running episode')} will end first; Ctrl-C again closes {them} as interrupted"
        say(f"stopping: {first}" if episodes else "stopping")

    def terminate(_number: int, _frame: FrameType | None) -> None:
        halt.signalled = True
        if running() is None:
            raise KeyboardInterrupt
        halt.abandon()

    handlers = {signal.SIGINT: interrupt, signal.SIGTERM: terminate, signal.SIGHUP: terminate}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
