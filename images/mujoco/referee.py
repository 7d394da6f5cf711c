"""What every private referee does: it takes its numbers from the disclosed clauses, and its first violation binds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from images.gateway.environment import Clause, Judgement

CAUSES = {"DROP": "object_lost", "AMMO": "ammunition"}  # every other code: ``violation``
SPEED_MARGIN = 1.15  # times the rated speed of a joint: what a clause allows


class Violate(Protocol):
    """Records a violation of ``clause`` by ``what``, with the measured value; ``limit`` where it is one of the clause's
    values, ``time`` (s) where it is not now."""

    def __call__(
        self, clause: str, what: str, value: Any, limit: Any = None, time: float | None = None
    ) -> None: ...  # pragma: no cover


class Referee:
    """``judgement`` is None until the first violation or the success, and never changes afterwards; ``log`` has the
    events with their simulated time. ``value`` holds the disclosed numbers by clause id, so that a check without a
    clause cannot exist."""

    def __init__(self, clauses: Sequence[Clause]) -> None:
        self.value: dict[str, Any] = {clause.id: clause.value for clause in clauses}
        self._clause = {clause.id: clause for clause in clauses}
        self.judgement: Judgement | None = None
        self.log: list[dict[str, Any]] = []

    @property
    def time(self) -> float:
        """Simulated time (s) of what is judged now."""
        raise NotImplementedError

    def violate(
        self,
        clause: str,
        what: str,
        value: Any,
        limit: Any = None,
        time: float | None = None,
        unit: str | None = None,
    ) -> None:
        """As :class:`Violate` says; nothing happens after the first one. ``unit`` is that of ``value`` where the clause
        has several."""
        if self.judgement is not None:
            return
        rule = self._clause[clause]
        limit = rule.value if limit is None else limit
        shown = "" if value is None else f" ({_show(value)} {unit or rule.unit}; limit {_show(limit)})"
        time = self.time if time is None else time
        code = str(rule.code)
        data = {"simulated_s": round(time, 6), "value": value, "limit": limit}
        self.judgement = Judgement(CAUSES.get(code, "violation"), code, clause, f"{clause}: {what}{shown}", data)
        self.note("violation", clause=clause, code=code, what=what, value=value)

    def succeed(self, text: str, **data: Any) -> None:
        """Latch the success."""
        self.judgement = Judgement("goal_met", text=text, data={"simulated_s": round(self.time, 6), **data})
        self.note("success")

    def note(self, event: str, **data: Any) -> None:
        """Put an event on record."""
        self.log.append({"simulated_s": round(self.time, 6), "event": event, **data})


def _show(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
