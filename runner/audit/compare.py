"""A replay against what was stored: the first divergence, and the verdict.

Digests of the exact state are stored every 50th action and at the end, state samples (float32) in between. So the
first divergent action is known as an interval: after the last digest that is still the same, and not after the first
digest or sample that differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from manifests.audit import AuditPolicy, ReplayRule
from manifests.load import Manifests
from manifests.records import AttemptRecord
from runner.audit.recorded import Course
from runner.audit.replay import Replayed
from runner.settings import flatten
from runner.store.text import storable
from runner.words import count


@dataclass(frozen=True)
class Divergence:
    """The states are equal after ``after`` actions (-1: not even at the start) and differ after ``by``.

    ``field`` is ``state[17]``, ``digest`` (a difference too small for the stored samples), ``realized.<path>`` or
    ``actions``; ``size`` is the absolute difference in the field's own unit, where it is a number.
    """

    field: str
    after: int
    by: int
    size: float | None
    recorded: Any
    replayed: Any

    def __str__(self) -> str:
        place = (
            f"at action {self.by}" if self.by - self.after <= 1 else f"between actions {self.after + 1} and {self.by}"
        )
        if self.by <= 0:
            place = "before the first action"
        size = "" if self.size is None else f" by {self.size:.3g}"
        return f"{place}: {self.field} differs{size} (recorded {_short(self.recorded)}, now {_short(self.replayed)})"

    def plain(self) -> dict[str, Any]:
        return dict(storable(asdict(self)))


@dataclass(frozen=True)
class Verdict:
    """How the episode ended, then and now; ``agrees`` is None where a replay cannot tell."""

    recorded: str
    replayed: str
    agrees: bool | None


def class_of(
    record: AttemptRecord, replayed: Replayed, manifests: Manifests, policy: AuditPolicy
) -> tuple[str, str, list[str]]:
    """Declared class, the class that binds here, and the fields of the fingerprint that differ."""
    declared = manifests.engines[record.settings.engine].determinism
    then = {**record.fingerprint, "image": record.images[0].content if record.images else None}
    now = {**replayed.fingerprint, "image": replayed.images[0].content}
    before, after = flatten(then), flatten(now)
    names = sorted({path.split("[")[0] for path in {**before, **after} if before.get(path) != after.get(path)})
    return declared, policy.classes[declared].elsewhere if names else declared, names


def divergence(recorded: Course, replayed: Course, rule: ReplayRule) -> Divergence | None:
    """The first difference of two courses, or None. Under a rule with a tolerance digests are not compared."""
    first = _initial(recorded, replayed, rule.difference)
    if first is not None:
        return first
    exact = rule.difference == 0
    sample = _samples(recorded, replayed, rule.difference)
    found = [one for one in (_digests(recorded, replayed) if exact else None, sample) if one is not None]
    if found:
        earliest = min(found, key=lambda one: (one.by, one.field == "digest"))
        return Divergence(**{**asdict(earliest), "after": min(_equal_until(recorded, replayed), earliest.by - 1)})
    if len(recorded.actions) != len(replayed.actions):
        short = min(len(recorded.actions), len(replayed.actions))
        was, now = (count(len(course.actions), "action") for course in (recorded, replayed))
        return Divergence("actions", short, short + 1, None, was, now)
    return _log(recorded, replayed) if exact else None


def verdict(record: AttemptRecord, replayed: Replayed) -> Verdict:
    """The verdict that was recorded against that of the replay."""
    clause = record.violation.clause if record.violation else None
    was = _words(record.cause, record.code if clause else None, clause)
    if replayed.cause is None:
        return Verdict(was, f"fault ({replayed.fault})", None if record.incident == "candidate" else False)
    now = _words(replayed.cause, replayed.code, replayed.clause)
    if record.incident == "candidate":  # a fault of the machine or the provider does not come again by the actions
        return Verdict(was, now, None)
    if replayed.asked not in (None, "finished"):
        # The end came from the agent or the host: the environment confirms that it had not ended the episode itself.
        return Verdict(was, now, replayed.cause == replayed.asked)
    same = replayed.cause == record.cause
    if same and clause is not None:
        same = replayed.clause == clause and replayed.code in (None, record.code)  # None: the code is the protocol's
    return Verdict(was, now, same)


def disclosed(recorded: Course, replayed: Course) -> str | None:
    """Where what the agent was told is not what the image tells now; None when it is the same."""
    was, now = flatten(storable(recorded.described)), flatten(storable(replayed.described))
    path = next((path for path in {**was, **now} if was.get(path) != now.get(path)), None)
    return None if path is None else f"describe.{path} was {_short(was.get(path))} and is {_short(now.get(path))}"


def _initial(recorded: Course, replayed: Course, difference: float) -> Divergence | None:
    was, now = flatten(storable(recorded.realized)), flatten(storable(replayed.realized))
    for path in {**was, **now}:
        one, other = was.get(path), now.get(path)
        if one != other:
            numbers = isinstance(one, int | float) and isinstance(other, int | float)
            size = abs(one - other) if numbers else None  # type: ignore[operator]
            if size is not None and size <= difference:
                continue
            return Divergence(f"realized.{path}", -1, 0, size, one, other)
    return None


def _digests(recorded: Course, replayed: Course) -> Divergence | None:
    now = dict(replayed.digests)
    for done, digest in recorded.digests:
        if done in now and now[done] != digest:
            return Divergence("digest", 0, done, None, digest, now[done])
    return None


def _equal_until(recorded: Course, replayed: Course) -> int:
    """Actions after which the digests are the same for the last time before they differ; -1 for none."""
    now, last = dict(replayed.digests), -1
    for done, digest in recorded.digests:
        if now.get(done) != digest:
            break
        last = done
    return last


def _samples(recorded: Course, replayed: Course, difference: float) -> Divergence | None:
    """The first state sample that differs by more than ``difference`` in one of its numbers."""
    rows = min(len(recorded.times), len(replayed.times))
    was, now = recorded.states[:rows].astype(np.float64), replayed.states[:rows].astype(np.float64)
    if was.shape != now.shape:
        return Divergence("state", -1, 0, None, f"{was.shape[-1]} numbers", f"{now.shape[-1]} numbers")
    together = np.flatnonzero(recorded.times[:rows] == replayed.times[:rows])
    apart = ~np.isclose(was[together], now[together], rtol=0, atol=difference, equal_nan=True)
    hit = np.flatnonzero(apart.any(axis=1))
    if not len(hit):
        return None
    row = together[hit[0]]
    size = np.abs(was[row] - now[row])
    column = int(np.nanargmax(np.where(apart[hit[0]], size, -1.0)))
    at = round(float(recorded.times[row]) * float(recorded.described["control_hz"]))
    return Divergence(f"state[{column}]", 0, at, float(size[column]), float(was[row, column]), float(now[row, column]))


def _log(recorded: Course, replayed: Course) -> Divergence | None:
    was, now = recorded.scorer_log.splitlines(), replayed.scorer_log.splitlines()
    for number, (one, other) in enumerate(_longest(was, now)):
        if one != other:
            end = len(recorded.actions)
            return Divergence(f"scorer_log line {number + 1}", end, end + 1, None, one, other)
    return None


def _longest(one: list[bytes], other: list[bytes]) -> Iterator[tuple[str, str]]:
    for index in range(max(len(one), len(other))):
        yield tuple(  # type: ignore[misc]
            rows[index].decode("utf-8", "backslashreplace") if index < len(rows) else "(no line)"
            for rows in (one, other)
        )


def _words(cause: str | None, code: str | None, clause: str | None) -> str:
    return " ".join(part for part in (cause, code, clause) if part)


def _short(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 24 else f"{text[:21]}..."
