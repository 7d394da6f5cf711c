"""Every group, condition and attempt of a judged ledger as plain data, each with its reason in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import plain
from .eligibility import Eligibility, SlotState, binding
from .rows import rates
from .window import UNKNOWN, Status


def groups(judged: Eligibility) -> list[dict[str, Any]]:
    """One entry per planned group, in catalog order: its counts, the indices of its open conditions, its rates."""
    layout, result = judged.layout, []
    for number, ((environment_id, key), start) in enumerate(layout.first_slot.items()):
        task = layout.tasks[layout.group_task[number]]
        slots = range(start, start + task.conditions)
        states = [judged.states[slot][0] for slot in slots]
        result.append(
            {
                "environment_id": environment_id,
                "group": key,
                "suite": task.suite,
                "planned": task.conditions,
                "scored": states.count("success") + states.count("failure"),
                "successes": states.count("success"),
                "complete": {"success", "failure"} >= set(states),
                "invalid": _indices(states, "invalid"),
                "candidate": _indices(states, "candidate"),
                "missing": _indices(states, "missing"),
                "conditions": [_condition(judged, slot) for slot in slots],
                "rates": {
                    name: plain.estimate(rate.pooled) for name, rate in rates(judged, layout.group == number).items()
                },
            }
        )
    return result


def attempts(judged: Eligibility) -> list[dict[str, Any]]:
    """One entry per attempt at a planned task, in ledger order: what the protocol makes of it, and why.

    ``outcome``, ``cause`` and ``code`` are those that bind: by the cause table, after a rejection as ruled.
    """
    result = []
    for number, attempt in enumerate(judged.attempts):
        outcome, code = binding(attempt, judged.rules)
        result.append(
            {
                "sequence": attempt.sequence,
                "environment_id": attempt.environment_id,
                "group": attempt.group,
                "condition": attempt.condition,
                "outcome": outcome,
                "cause": attempt.ruling[1],
                "code": code,
                "incident": attempt.incident,
                "status": Status(judged.window.status[number]).name.lower(),
                "reason": judged.reason(number),
            }
        )
    return result


def _condition(judged: Eligibility, slot: int) -> dict[str, Any]:
    """``within``: success within the first k valid attempts, 1, 0, or null while unknown."""
    state, reason = judged.states[slot]
    known = judged.window.known[slot]
    within = {str(k): None if known[k - 1] == UNKNOWN else int(known[k - 1]) for k in judged.rules.pass_at}
    return {"condition": int(judged.layout.condition[slot]), "state": state, "reason": reason, "within": within}


def _indices(states: list[SlotState], wanted: SlotState) -> list[int]:
    return np.flatnonzero([state == wanted for state in states]).tolist()
