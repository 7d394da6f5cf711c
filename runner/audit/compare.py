"""A replay against what was stored: the first divergence, and the verdict.

Digests of the exact state are stored every 50th action and at the end, state samples (float32) in between. So the
first divergent action is known as an interval: after the last digest that is still the same, and not after the first
digest or sample that differs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from manifests.audit import ReplayRule
from manifests.records import AttemptRecord
from runner.audit.recorded import Course
from runner.audit.replay import Replayed
from runner.settings import flatten
from runner.store.text import storable
from runner.words import count

MISSING = "none"  # what is printed of something that only one of the two has


@dataclass(frozen=True)
class Divergence:
    """The states are equal after ``after`` actions (-1: not even at the start) and differ after ``by``.

    ``field`` is ``state[17]``, ``digest`` (a difference too small for the stored samples, or a digest that only one of
    the two has), ``state_times``, ``realized.<path>`` or ``actions``; ``size`` is the absolute difference in the
    field's own unit, where it is a number.
    """

    field: str
    after: int
    by: int
    size: float | None
    recorded: Any
    replayed: Any

    @property
    def structural(self) -> bool:
        """It is about which digests and samples there are, which no other processor changes."""
        return self.field == "state_times" or (self.field == "digest" and MISSING in (self.recorded, self.replayed))

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


def divergence(recorded: Course, replayed: Course, rule: ReplayRule, *, complete: bool = True) -> Divergence | None:
    """The first difference of two courses, or None. What the record claims is all of it: a digest or sample that only
    one of the two has is a difference. Under a rule with a tolerance the digests' values are not compared.

    ``complete`` is False for an attempt that a fault cut off: the recording of its last instant may be missing then.
    """
    first = _initial(recorded, replayed, rule.difference)
    if first is not None:
        return first
    exact = rule.difference == 0
    sample = _samples(recorded, replayed, rule.difference, complete)
    found = [one for one in (_digests(recorded, replayed, exact, complete), sample) if one is not None]
    if found:
        earliest = min(found, key=lambda one: (one.by, one.field == "digest"))
        return Divergence(**{**asdict(earliest), "after": _equal_until(recorded, replayed, earliest.by)})
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
    path = next((path for path in {**was, **now} if not _same(path, was, now)), None)
    if path is None:
        return None
    return f"describe.{path} was {_short(was.get(path, MISSING))} and is {_short(now.get(path, MISSING))}"


def _initial(recorded: Course, replayed: Course, difference: float) -> Divergence | None:
    was, now = flatten(storable(recorded.realized)), flatten(storable(replayed.realized))
    for path in {**was, **now}:
        one, other = was.get(path, MISSING), now.get(path, MISSING)
        if not _same(path, was, now):
            size = abs(one - other) if _number(one) and _number(other) else None
            if size is not None and size <= difference:
                continue
            return Divergence(f"realized.{path}", -1, 0, size, one, other)
    return None


def _same(path: str, one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Both have it, and the same; in Python True is 1, in JSON it is not."""
    if path not in one or path not in other:
        return False
    return bool(one[path] == other[path]) and isinstance(one[path], bool) == isinstance(other[path], bool)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _digests(recorded: Course, replayed: Course, exact: bool, complete: bool) -> Divergence | None:
    """The first digest that differs or that only one of the two has; of courses of unequal length up to the shorter."""
    was, now = list(recorded.digests), list(replayed.digests)
    if len(recorded.actions) != len(replayed.actions):
        was, now = _common(was, replayed.digests), _common(now, recorded.digests)
    elif not complete and len(now) == len(was) + 1:
        del now[-1]
    for one, other in zip_longest(was, now):
        if one is None or other is None or one[0] != other[0]:
            at = min(pair[0] for pair in (one, other) if pair is not None)
            words = (pair[1] if pair is not None and pair[0] == at else MISSING for pair in (one, other))
            return Divergence("digest", 0, at, None, *words)
        if exact and one[1] != other[1]:
            return Divergence("digest", 0, one[0], None, one[1], other[1])
    return None


def _common(pairs: Sequence[tuple[int, str]], others: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    counts = {done for done, _ in others}
    return [pair for pair in pairs if pair[0] in counts]


def _equal_until(recorded: Course, replayed: Course, by: int) -> int:
    """Actions, fewer than ``by``, after which the digests are the same for the last time before they differ; -1 for
    none."""
    now, last = dict(replayed.digests), -1
    for done, digest in recorded.digests:
        if done >= by or now.get(done) != digest:
            break
        last = done
    return last


def _samples(recorded: Course, replayed: Course, difference: float, complete: bool) -> Divergence | None:
    """The first state sample that differs by more than ``difference`` in one of its numbers, or that only one of the
    two courses has; of courses of unequal length up to the shorter."""
    if recorded.states.shape[1] != replayed.states.shape[1]:
        widths = (count(course.states.shape[1], "number") for course in (recorded, replayed))
        return Divergence("state", -1, 0, None, *widths)
    hz = float(replayed.described["control_hz"])
    rows = min(len(recorded.times), len(replayed.times))
    apart = np.flatnonzero(recorded.times[:rows] != replayed.times[:rows])
    together = int(apart[0]) if len(apart) else rows
    found = _values(recorded.states[:together], replayed.states[:together], difference)
    if found is not None:
        row, column, was, now = found
        size = abs(was - now)
        at = round(float(replayed.times[row]) * hz)
        return Divergence(f"state[{column}]", 0, at, size if math.isfinite(size) else None, was, now)
    if len(recorded.actions) != len(replayed.actions):
        return None
    missing = len(replayed.times) - len(recorded.times)
    if together == rows and (missing == 0 or (missing == 1 and not complete)):
        return None
    one, other = (
        float(times[together]) if together < len(times) else None for times in (recorded.times, replayed.times)
    )
    at = round(min(time for time in (one, other) if time is not None) * hz)
    texts = (MISSING if time is None else f"{time!r} s" for time in (one, other))
    return Divergence("state_times", 0, at, None, *texts)


def _values(recorded: np.ndarray, replayed: np.ndarray, difference: float) -> tuple[int, int, float, float] | None:
    """Row, column and both values of the first state that differs, of its numbers the one that differs most."""
    was, now = recorded.astype(np.float64), replayed.astype(np.float64)
    apart = ~np.isclose(was, now, rtol=0, atol=difference, equal_nan=True)
    hit = np.flatnonzero(apart.any(axis=1))
    if not len(hit):
        return None
    row = int(hit[0])
    size = np.nan_to_num(np.abs(was[row] - now[row]), nan=np.inf)  # against a NaN everything is far
    column = int(np.argmax(np.where(apart[row], size, -1.0)))
    return row, column, float(was[row, column]), float(now[row, column])


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
