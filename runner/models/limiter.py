"""Requests and tokens per minute, shared by every attempt, model and command that asks one provider with one key.

Tokens are reserved by estimate before a call and settled by the provider's count after it. Every command holds the
rates that it was given itself, over what all commands with rates have asked.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from runner.models.base import CallCancelled
from runner.models.window import Rates
from runner.models.window_file import WindowFile
from runner.store.text import digest

FOLDER = Path("locks", "rates")  # under the home of the records
ARRIVAL_S = 1.0  # added to the window: requests reach the server later than they are admitted, one more than another
POLL_S = 0.1  # how soon a call that waits for its turn in this process hears of its cancellation
ASK_S = 0.5  # how often one in line asks again, also where it has to wait for longer


class Limiter:
    """Admits requests in the order of their asking as the rates allow. One of a process is in line at a time."""

    def __init__(self, rates: Rates, window_s: float, path: Path) -> None:
        self.rates = rates
        self._window_s = window_s + ARRIVAL_S
        self._file = WindowFile(path)
        self._turn = threading.Lock()  # held by the one that is in line

    def admit(self, tokens: int, cancel: threading.Event, deadline: float) -> str:
        """Wait until a request of about ``tokens`` fits; returns what it is settled by.

        Raises CallCancelled when cancelled or past the deadline, and OSError where the window cannot be kept.
        """
        ticket = uuid.uuid4().hex
        if not self.rates.limited:
            return ticket
        while not self._turn.acquire(timeout=POLL_S):
            _check(cancel, deadline)
        try:
            self._stand_in_line(ticket, tokens, cancel, deadline)
        finally:
            self._turn.release()
        return ticket

    def _stand_in_line(self, ticket: str, tokens: int, cancel: threading.Event, deadline: float) -> None:
        while True:
            try:
                _check(cancel, deadline)
            except CallCancelled:
                with suppress(OSError), self._file.held() as (window, _):
                    window.leave(ticket)
                raise
            with self._file.held() as (window, now):
                wait = window.ask(ticket, self.rates, tokens, now, self._window_s)
            if wait <= 0:
                return
            cancel.wait(max(0.0, min(wait, ASK_S, deadline - time.monotonic())))

    def settle(self, ticket: str, tokens: int, sent_at: float | None = None) -> None:
        """The provider's count of an admitted request takes the place of the estimate. ``sent_at`` (the clock of
        :mod:`runner.models.window_file`) is when it went out; None leaves the moment of its admission."""
        if self.rates.limited:
            with suppress(OSError), self._file.held() as (window, _):  # else the estimate stays
                window.settle(ticket, tokens, sent_at)


_LIMITERS: dict[tuple[Path, Rates, float], Limiter] = {}
_LIMITERS_LOCK = threading.Lock()


def limiter_of(
    home: Path, provider: str, base_url: str | None, keys: Mapping[str, str], rates: Rates, window_s: float
) -> Limiter:
    """The limiter of a provider at an address for those who use the same ``keys`` and keep their records in ``home``.

    No key is written anywhere: they only make, with all else, the name of the file that is shared.
    """
    host = urlsplit(base_url).netloc if base_url else None
    name = digest({"provider": provider, "host": host, "keys": keys})[:32]
    path = home / FOLDER / f"{name}.json"
    with _LIMITERS_LOCK:
        return _LIMITERS.setdefault((path, rates, window_s), Limiter(rates, window_s, path))


def _check(cancel: threading.Event, deadline: float) -> None:
    if cancel.is_set() or time.monotonic() >= deadline:
        raise CallCancelled("the episode ended while the call waited for the rate limit")
