"""Requests and tokens per minute, shared by every attempt and model of one provider in this process.

A sliding window: at no moment were more requests admitted, or more tokens asked for, within the last window than the
rate allows. A token bucket would let twice the rate through in a window after a pause. Tokens are reserved by estimate
before a call and settled by the provider's count after it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass

from runner.errors import BadInput
from runner.models.base import CallCancelled

ARRIVAL_S = 0.25  # added to the window: requests reach the server later than they are admitted, one more than another
POLL_S = 0.1  # how soon a waiting call hears of its cancellation


@dataclass(frozen=True)
class Rates:
    """Requests and tokens (input and output) per minute; None means not limited."""

    rpm: int | None = None
    tpm: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("rpm", self.rpm), ("tpm", self.tpm)):
            if value is not None and value < 1:
                raise BadInput(f"{name} {value}: give a whole number from 1, or leave {name.upper()} out")


@dataclass
class Admission:
    """One admitted request; ``tokens`` is an estimate until it is settled."""

    at: float
    tokens: int


class Limiter:
    """Admits requests in the order of their asking as the rates allow."""

    def __init__(self, rates: Rates, window_s: float) -> None:
        self.rates = rates
        self._window_s = window_s + ARRIVAL_S
        self._admitted: deque[Admission] = deque()
        self._turn = threading.Lock()  # held by the one that waits first
        self._lock = threading.Lock()

    def admit(self, tokens: int, cancel: threading.Event, deadline: float) -> Admission:
        """Wait until a request of about ``tokens`` fits. Raises CallCancelled when cancelled or past the deadline.

        A request above the whole token rate is admitted alone: it would never fit.
        """
        while not self._turn.acquire(timeout=POLL_S):
            _check(cancel, deadline)
        try:
            while True:
                _check(cancel, deadline)
                found = self._try(tokens, time.monotonic())
                if isinstance(found, Admission):
                    return found
                cancel.wait(min(found, POLL_S))
        finally:
            self._turn.release()

    def admit_at(self, tokens: int, now: float) -> float:
        """When a request that is made at ``now`` would be admitted; it then counts as admitted. For planning: nothing
        waits. Calls must be in the order of their times."""
        while not isinstance(found := self._try(tokens, now), Admission):
            now += found
        return now

    def settle(self, admission: Admission, tokens: int) -> None:
        """The provider's count of an admitted request takes the place of the estimate."""
        with self._lock:
            admission.tokens = tokens

    def _try(self, tokens: int, now: float) -> Admission | float:
        """An admission, or the seconds until it may be asked for again."""
        with self._lock:
            wait = self._wait(tokens, now)
            if wait > 0:
                return wait
            admission = Admission(now, tokens)
            self._admitted.append(admission)
            return admission

    def _wait(self, tokens: int, now: float) -> float:
        """Seconds until enough of the window has passed; 0 when the request fits now."""
        while self._admitted and self._admitted[0].at <= now - self._window_s:
            self._admitted.popleft()
        wait = 0.0
        rpm, tpm = self.rates.rpm, self.rates.tpm
        if rpm is not None and len(self._admitted) >= rpm:
            wait = self._admitted[len(self._admitted) - rpm].at + self._window_s - now
        if tpm is not None:
            excess = sum(item.tokens for item in self._admitted) + tokens - tpm
            for item in self._admitted:
                if excess <= 0:
                    break
                excess -= item.tokens
                wait = max(wait, item.at + self._window_s - now)
        return wait


_LIMITERS: dict[tuple[str, str | None], Limiter] = {}
_LIMITERS_LOCK = threading.Lock()


def limiter_of(provider: str, base_url: str | None, rates: Rates, window_s: float) -> Limiter:
    """The limiter of a provider, one per process and address. Other rates than before replace it."""
    with _LIMITERS_LOCK:
        found = _LIMITERS.get((provider, base_url))
        if found is None or found.rates != rates:
            found = _LIMITERS[provider, base_url] = Limiter(rates, window_s)
        return found


def _check(cancel: threading.Event, deadline: float) -> None:
    if cancel.is_set() or time.monotonic() >= deadline:
        raise CallCancelled("the episode ended while the call waited for the rate limit")
