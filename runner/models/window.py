"""What was asked of one provider within the last window, and whether another request fits: arithmetic, no clock.

A sliding window: at no moment were more requests admitted, or more tokens asked for, within the last window than the
rate allows. A token bucket would let twice the rate through in a window after a pause. Who asks first is admitted
first, so that a large request is not overtaken for ever by small ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from runner.errors import BadInput

MOST = {"rpm": 10**6, "tpm": 10**9}  # beyond any provider's: a larger number is a slip
GONE_S = 3.0  # seconds without asking again after which one in line is taken for dead or stopped
NEXT_S = 0.1  # how soon to ask again for one that is not first in line


@dataclass(frozen=True)
class Rates:
    """Requests and tokens (input and output) per minute; None means not limited."""

    rpm: int | None = None
    tpm: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("rpm", self.rpm), ("tpm", self.tpm)):
            if value is not None and not 1 <= value <= MOST[name]:
                raise BadInput(f"{name} {value}: give 1 to {MOST[name]:,}, or leave {name.upper()} out")

    @property
    def limited(self) -> bool:
        return self.rpm is not None or self.tpm is not None


@dataclass
class Admission:
    """One admitted request, in seconds of the caller's clock; ``tokens`` is an estimate until it is settled."""

    ticket: str
    at: float
    tokens: int


@dataclass
class Waiting:
    """One request in line. ``seen``: when it last asked."""

    ticket: str
    seen: float


@dataclass
class Window:
    """``admitted`` by time, ``waiting`` in the order of asking."""

    admitted: list[Admission] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)

    def ask(self, ticket: str, rates: Rates, tokens: int, now: float, length_s: float) -> float:
        """Admit the request ``ticket`` and return 0, or keep its place in line and return the seconds until it should
        ask again. A request above the whole token rate is admitted alone: it would never fit.

        Times never go back between calls. Whoever stops asking loses its place after ``GONE_S``.
        """
        self.admitted = [item for item in self.admitted if item.at > now - length_s]
        self.waiting = [item for item in self.waiting if item.ticket == ticket or item.seen > now - GONE_S]
        mine = next((item for item in self.waiting if item.ticket == ticket), None)
        if mine is None:
            self.waiting.append(mine := Waiting(ticket, now))
        mine.seen = now
        if self.waiting[0] is not mine:
            return NEXT_S
        wait = self._wait(rates, tokens, now, length_s)
        if wait <= 0:
            self.waiting.pop(0)
            self.admitted.append(Admission(ticket, now, tokens))
        return max(wait, 0.0)

    def leave(self, ticket: str) -> None:
        """Give up a place in line."""
        self.waiting = [item for item in self.waiting if item.ticket != ticket]

    def settle(self, ticket: str, tokens: int, sent_at: float | None) -> None:
        """The provider's count takes the place of the estimate, and the moment of sending that of the admission."""
        for item in self.admitted:
            if item.ticket == ticket:
                item.tokens, item.at = tokens, max(item.at, sent_at or item.at)
        self.admitted.sort(key=lambda item: item.at)

    def _wait(self, rates: Rates, tokens: int, now: float, length_s: float) -> float:
        """Seconds until enough has left the window; 0 when the request fits now."""
        wait = 0.0
        if rates.rpm is not None and len(self.admitted) >= rates.rpm:
            wait = self.admitted[len(self.admitted) - rates.rpm].at + length_s - now
        if rates.tpm is not None:
            excess = sum(item.tokens for item in self.admitted) + tokens - rates.tpm
            for item in self.admitted:
                if excess <= 0:
                    break
                excess -= item.tokens
                wait = max(wait, item.at + length_s - now)
        return wait
