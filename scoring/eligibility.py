"""Which attempts count, and why: the ledger of a run under the rules of a protocol.

Order is the ledger's sequence number. Nothing is dropped: every attempt at a planned task gets a status with its reason
in words, every planned slot a state, and attempts at other tasks are counted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from manifests.records import Outcome
from manifests.words import count

from .ledger import Attempt, LedgerError
from .rules import Rules
from .selection import Layout, Selection
from .window import Ints, Kind, State, Status, Window, judge

SlotState = Literal["success", "failure", "candidate", "invalid", "missing"]
STATES: dict[int, SlotState] = {
    State.SUCCESS: "success",
    State.FAILURE: "failure",
    State.CANDIDATE: "candidate",
    State.INVALID: "invalid",
    State.MISSING: "missing",
}


@dataclass(frozen=True)
class Due:
    """Whether a condition needs another attempt, and why or why not."""

    due: bool
    why: str


@dataclass(frozen=True)
class Eligibility:
    """A judged ledger. ``attempts`` are in ledger order; ``slot`` [attempts] numbers the slots of ``layout``,
    ``kind`` [attempts] is what each attempt is by itself (:class:`scoring.window.Kind`).

    ``unknown_causes`` are the sequence numbers of attempts whose cause or code no table has, wherever they stand;
    ``outside`` counts attempts at tasks that the selection does not plan.
    """

    rules: Rules
    selection: Selection
    layout: Layout
    attempts: tuple[Attempt, ...]
    slot: Ints
    kind: Ints
    window: Window
    unknown_causes: tuple[int, ...]
    outside: int

    def reason(self, row: int) -> str:
        """Why attempt ``row`` has its status."""
        return _reason(self.attempts, row, int(self.slot[row]), self.window, self.rules)

    @cached_property
    def states(self) -> tuple[tuple[SlotState, str], ...]:
        """The state of every slot and its reason. Missing: an attempt is still to come or to end."""
        return tuple(_state(self.attempts, slot, self.window, self.rules) for slot in range(self.layout.slots))


def binding(attempt: Attempt, rules: Rules) -> tuple[Outcome | None, str | None]:
    """Outcome and code under ``rules``: the cause decides; a cause or code that no table has is invalid.

    Without a cause (a ledger file has none) the outcome stands as recorded.
    """
    outcome, cause, code = attempt.ruling
    if cause is None:
        return outcome, code
    ruling = rules.ruling(cause, code)
    return ruling.outcome, ruling.code


def assess(attempts: Iterable[Attempt], selection: Selection, rules: Rules) -> Eligibility:
    """Judge a ledger. The order in which the attempts are given does not matter.

    Raises :class:`LedgerError` for a sequence number that occurs twice, a condition that the task does not have, and
    attempts of settings that the selection does not register.
    """
    ordered = sorted(attempts, key=lambda attempt: attempt.sequence)
    for first, second in itertools.pairwise(ordered):
        if first.sequence == second.sequence:
            raise LedgerError(f"sequence {first.sequence} occurs twice; a ledger numbers each attempt once")
    planned = {task.environment_id: task for task in selection.tasks}
    inside = [attempt for attempt in ordered if attempt.environment_id in planned]
    layout = Layout(selection.tasks, _group_keys(inside, selection))
    for attempt in inside:
        conditions = planned[attempt.environment_id].conditions
        if attempt.condition >= conditions:
            raise LedgerError(
                f"attempt {attempt.sequence}: condition {attempt.condition} of {attempt.environment_id} "
                f"is not one of 0..{conditions - 1}"
            )
    starts = layout.first_slot
    slot = [starts[attempt.environment_id, attempt.group] + attempt.condition for attempt in inside]
    return Eligibility(
        rules=rules,
        selection=selection,
        layout=layout,
        attempts=tuple(inside),
        slot=np.array(slot, dtype=np.int64),
        kind=_kinds(inside, rules),
        window=_judge(inside, slot, layout.slots, rules),
        unknown_causes=tuple(attempt.sequence for attempt in inside if is_unknown(attempt, rules)),
        outside=len(ordered) - len(inside),
    )


def next_due(attempts: Iterable[Attempt], rules: Rules) -> Due:
    """Whether one condition, given all of its attempts, needs another one. The schedule and the score use one rule."""
    ordered = sorted(attempts, key=lambda attempt: attempt.sequence)
    if len({(attempt.environment_id, attempt.condition, attempt.group) for attempt in ordered}) > 1:
        raise ValueError("next_due takes the attempts of one condition of one group")
    window = _judge(ordered, [0] * len(ordered), 1, rules)
    state, why = _state(ordered, 0, window, rules)
    if state != "missing" or window.blocker[0] >= 0:
        return Due(False, why)
    return Due(True, why)


def _judge(attempts: list[Attempt], slot: list[int], slots: int, rules: Rules) -> Window:
    return judge(
        np.array(slot, dtype=np.int64),
        np.array([attempt.sequence for attempt in attempts], dtype=np.int64),
        _kinds(attempts, rules),
        slots,
        rules.opportunities,
        replaces=rules.excludes,
        stop_at_success=rules.protocol.stop_at_success,
    )


def _kinds(attempts: list[Attempt], rules: Rules) -> Ints:
    return np.array([kind_of(attempt, rules) for attempt in attempts], dtype=np.int64)


def kind_of(attempt: Attempt, rules: Rules) -> Kind:
    """What an attempt is by itself: its decisions first, then its cause."""
    if attempt.outcome is None:
        return Kind.OPEN
    if attempt.incident == "confirmed":
        return Kind.EXCLUDED if rules.excludes else Kind.INVALID
    if attempt.incident == "candidate":
        return Kind.CANDIDATE
    outcome, _ = binding(attempt, rules)
    return {"success": Kind.SUCCESS, "failure": Kind.FAILURE}.get(outcome or "", Kind.INVALID)


def is_unknown(attempt: Attempt, rules: Rules) -> bool:
    """Whether no table has the attempt's cause and code."""
    _, cause, code = attempt.ruling
    return cause is not None and not rules.ruling(cause, code).known


def _group_keys(attempts: list[Attempt], selection: Selection) -> tuple[str, ...]:
    found = sorted({attempt.group for attempt in attempts})
    if selection.groups is None:
        if len(found) > 1:
            raise LedgerError(
                f"attempts of {count(len(found), 'setting')} ({', '.join(map(repr, found))}); "
                "scores of different settings never mix: score one, or register them as groups"
            )
        return tuple(found) or ("",)
    strange = [key for key in found if key not in selection.groups]
    if strange:
        raise LedgerError(f"group {strange[0]!r} is not registered; the groups are {', '.join(selection.groups)}")
    return selection.groups


def _reason(attempts: tuple[Attempt, ...], row: int, slot: int, window: Window, rules: Rules) -> str:
    attempt = attempts[row]
    status = Status(window.status[row])
    cause = attempt.ruling[1]
    by_cause = f" ({cause})" if cause else ""
    if status is Status.SCORED:
        return f"valid attempt {window.ordinal[row]} of at most {rules.opportunities}: {_outcome(attempt, rules)}"
    if status is Status.EXCLUDED:
        return f"confirmed incident{by_cause}: takes no opportunity"
    if status is Status.EXTRA:
        before = int(max(window.closer[slot], window.blocker[slot]))
        native = "its success is not scored" if _is_success(attempt, rules) else "not scored"
        return f"after the scoring window, which attempt {attempts[before].sequence} closed: {native}"
    if status is Status.PENDING and attempt.outcome is not None:
        return f"waits for what becomes of attempt {attempts[int(window.blocker[slot])].sequence}"
    return _undecided(attempt, rules)


def _undecided(attempt: Attempt, rules: Rules) -> str:
    """Why an attempt that has its place in the window is neither success nor failure."""
    cause = attempt.ruling[1]
    by_cause = f" ({cause})" if cause else ""
    if attempt.outcome is None:
        return "no terminal record yet"
    if attempt.incident == "candidate":
        return f"incident candidate{by_cause}, neither confirmed nor rejected: leaves its condition open"
    if attempt.incident == "confirmed":
        return f"confirmed incident{by_cause}: protocol {rules.name} never replaces an attempt"
    if is_unknown(attempt, rules):
        return f"invalid: no table has cause {cause!r} with code {attempt.ruling[2]!r}"
    if attempt.incident == "rejected" and attempt.ruled_cause is None and attempt.ruled_outcome is None:
        return "invalid: the incident was rejected and not ruled again"
    return f"invalid{by_cause}: neither success nor failure under protocol {rules.name}"


def _state(
    attempts: tuple[Attempt, ...] | list[Attempt], slot: int, window: Window, rules: Rules
) -> tuple[SlotState, str]:
    closer, blocker, valid = int(window.closer[slot]), int(window.blocker[slot]), int(window.valid[slot])
    state = STATES[int(window.state[slot])]
    if closer >= 0:
        spent = f"{count(valid, 'valid attempt')}; attempt {attempts[closer].sequence} closed it"
        return state, f"solved within {spent}" if state == "success" else f"not solved in {spent}"
    if blocker < 0:
        return state, f"{valid} of at most {rules.opportunities} valid attempts recorded; the next one is due"
    attempt = attempts[blocker]
    return state, f"attempt {attempt.sequence}: {_undecided(attempt, rules)}"


def _outcome(attempt: Attempt, rules: Rules) -> str:
    outcome, code = binding(attempt, rules)
    return f"{outcome} {code}" if outcome == "failure" and code else str(outcome)


def _is_success(attempt: Attempt, rules: Rules) -> bool:
    return attempt.outcome is not None and binding(attempt, rules)[0] == "success"
