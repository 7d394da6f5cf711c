"""A million attempts to score: a thousand runs of EP-100 with a thousand records each, from one seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manifests.load import load
from scoring.columns import Columns
from scoring.ledger import INCIDENTS, OUTCOMES, Attempt
from scoring.plan import selection_of
from scoring.rules import Rules
from scoring.selection import Layout, Selection

RUNS, ATTEMPTS = 1000, 1000
EXCLUDED = 69  # of the records of a run, as the text has them; the rest beyond two per condition are extra
CODES = ("COLL", "PEN", "LIMIT", "DROP", "RULE", "MECH", "AMMO", "TIME", "QUIT", "BUDGET")
NO_CODE = len(CODES)


@dataclass(frozen=True)
class Table:
    """Columns [attempts] as a store has them: ``outcome``, ``incident`` and ``code`` by number (``OUTCOMES``,
    ``INCIDENTS``, ``CODES`` and then none), NaN for an unknown time or token count."""

    runs: int
    run: np.ndarray
    task: np.ndarray
    condition: np.ndarray
    sequence: np.ndarray
    outcome: np.ndarray
    incident: np.ndarray
    code: np.ndarray
    success_wall_s: np.ndarray
    tokens: np.ndarray


def selection() -> Selection:
    return selection_of(load(), "ep-100", profile="native", level="L3")


def rules() -> Rules:
    return Rules(load(), "pass2")


def table(runs: int, seed: int = 0) -> Table:
    """Every condition is tried twice; a tenth of the runs has candidates and invalid attempts: open conditions."""
    chance = np.random.default_rng(seed)
    slots = Layout(selection().tasks, ("",)).slots
    more = ATTEMPTS - 2 * slots
    slot = np.concatenate([np.tile(np.arange(slots), (runs, 2)), chance.integers(0, slots, (runs, more))], axis=1)
    excluded = np.broadcast_to(np.arange(ATTEMPTS) >= ATTEMPTS - EXCLUDED, slot.shape)
    order = np.argsort(chance.random(slot.shape), axis=1)
    slot, excluded = (np.take_along_axis(array, order, axis=1).ravel() for array in (slot, excluded))
    success = np.repeat(chance.random(runs) * 0.8, ATTEMPTS) * chance.random(slot.size) > 0.3
    outcome = np.where(success, OUTCOMES.index("success"), OUTCOMES.index("failure"))
    odd = (chance.random(slot.size) < 0.01) & (np.repeat(np.arange(runs), ATTEMPTS) % 10 == 0)
    outcome[excluded | odd] = OUTCOMES.index("invalid")
    incident = np.full(slot.size, INCIDENTS.index("none"))
    incident[excluded] = INCIDENTS.index("confirmed")
    incident[odd & ~excluded & (chance.random(slot.size) < 0.5)] = INCIDENTS.index("candidate")
    code = np.where(outcome == OUTCOMES.index("failure"), chance.integers(0, len(CODES), slot.size), NO_CODE)
    unknown = chance.random(slot.size) < 0.001
    return Table(
        runs=runs,
        run=np.repeat(np.arange(runs, dtype=np.int32), ATTEMPTS),
        task=(slot // 4).astype(np.int32),
        condition=(slot % 4).astype(np.int8),
        sequence=np.tile(np.arange(1, ATTEMPTS + 1, dtype=np.int32), runs),
        outcome=outcome.astype(np.int8),
        incident=incident.astype(np.int8),
        code=code.astype(np.int8),
        success_wall_s=np.where(unknown, np.nan, chance.integers(1, 9000, slot.size) / 4),
        tokens=np.where(unknown, np.nan, chance.integers(1, 30_000_000, slot.size)),
    )


def columns(table: Table) -> Columns:
    """The table as scoring takes it: outcome, incident and code become one case."""
    names = [*CODES, None]
    numbers = [
        (outcome, incident, code)
        for outcome in range(len(OUTCOMES))
        for incident in range(len(INCIDENTS))
        for code in range(len(names))
    ]
    # an excluded success cannot be recorded, and has no number here that occurs
    cases = tuple(
        Attempt(
            1,
            "case",
            0,
            OUTCOMES[outcome] if INCIDENTS[incident] != "confirmed" else "invalid",
            code=names[code],
            incident=INCIDENTS[incident],
        )
        for outcome, incident, code in numbers
    )
    case = (table.outcome * np.int16(len(INCIDENTS)) + table.incident) * np.int16(len(names)) + table.code
    return Columns(
        table.runs,
        table.run,
        table.task,
        table.condition,
        table.sequence,
        case,
        table.success_wall_s,
        table.tokens,
        cases,
    )
