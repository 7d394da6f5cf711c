"""Notices an Engine that hangs: its connections stay open and nothing comes, so that an attempt would wait in silence
for its wall-clock limit and be judged for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from runner.runtimes.base import EngineGone

PING_S = 10.0  # between two questions
SILENT_S = 60.0  # a loaded machine answers a ping within seconds


class Heartbeat:
    """Calls ``lost`` once, from its thread, when ``ping`` has raised EngineGone for ``SILENT_S``."""

    def __init__(self, ping: Callable[[], None], lost: Callable[[EngineGone], None]) -> None:
        self._ping, self._lost = ping, lost
        self._done = threading.Event()
        threading.Thread(target=self._run, name="engine", daemon=True).start()

    def stop(self) -> None:
        self._done.set()

    def _run(self) -> None:
        answered = time.monotonic()
        while not self._done.wait(PING_S):
            asked = time.monotonic()
            try:
                self._ping()
            except EngineGone as error:
                if time.monotonic() - answered >= SILENT_S and not self._done.is_set():
                    self._lost(error)
                    return
            else:
                answered = asked
