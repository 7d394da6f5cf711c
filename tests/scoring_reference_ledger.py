"""A ledger that is consistent with the results printed for GPT-6-Astra, made from the printed numbers alone.

The text prints marginals: rates by suite and subset (Table 6), by type, counts of tasks, failure labels by suite (Table
8), and how many records are scored, excluded and extra. A small local search finds successes per task that meet them
all; any such ledger must score to the printed digits.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

from manifests.load import load
from manifests.lookup import members
from scoring.exact import percent
from scoring.ledger import Attempt

# Pass@1 / Pass@2 in percent (Table 6); EP-100 is the sum of its two splits
TABLE_6 = {
    "Launch": {"ep-100": "19.12/25.74", "ep-easy": "20.59/30.88", "ep-hard": "17.65/20.59", "ep-20": "12.50/16.67"},
    "Tower": {"ep-100": "29.76/41.67", "ep-easy": "45.45/61.36", "ep-hard": "12.50/20.00", "ep-20": "12.50/25.00"},
    "Lock": {"ep-100": "6.25/14.06", "ep-easy": "12.50/28.13", "ep-hard": "0.00/0.00", "ep-20": "0.00/0.00"},
    "Cube": {"ep-100": "2.08/2.08", "ep-easy": "4.17/4.17", "ep-hard": "0.00/0.00", "ep-20": "8.33/8.33"},
    "Home": {"ep-100": "11.76/16.18", "ep-easy": "9.38/12.50", "ep-hard": "13.89/19.44", "ep-20": "43.75/43.75"},
}
# Pass@2 by type ('Performance across tasks')
TYPES = {
    "Launch-Aim": "46.43",
    "Launch-Rules": "5.56",
    "Tower-Physics": "68.75",
    "Tower-Plan": "50.00",
    "Tower-Dex": "9.38",
    "Lock-Dex": "0.00",
    "Cube-Rubik": "0.00",
    "Home-Tidy": "0.00",
    "Home-Long": "0.00",
}
# tasks with at least one, and with all four conditions solved, within one and two attempts
AT_LEAST_ONE = (31, 40)
ALL_FOUR = (4, 9)
# Table 8 prints the frequent labels; the rest of each suite's failures gets the last code. The 97 + 19 labels printed
# for the 115 failed Lock attempts cannot all be first labels, so one penetration is left out.
FAILURES = {"Launch": 211, "Tower": 108, "Lock": 115, "Cube": 94, "Home": 117}
LABELS = {
    "Launch": ({"LIMIT": 129, "RULE": 58}, "AMMO"),
    "Tower": ({"PEN": 35, "DROP": 33, "LIMIT": 27}, "QUIT"),
    "Lock": ({"COLL": 97, "PEN": 18}, "PEN"),
    "Cube": ({"MECH": 64, "LIMIT": 16}, "TIME"),
    "Home": ({"TIME": 40, "PEN": 27, "DROP": 23}, "QUIT"),
}
RECORDS, SCORED, EXCLUDED, EXTRA, EXTRA_SUCCESSES = 846, 736, 69, 41, 2
CONDITIONS = 4

Solved = tuple[int, int]  # conditions of a task solved within one and within two attempts
STATES = [(first, second) for second in range(CONDITIONS + 1) for first in range(second + 1)]
STEPS = [(1, 0), (0, 1), (1, 1)]
HEAT = 0.35


@dataclass
class Constraint:
    """The sum of ``measure`` over ``tasks`` should be ``target``; ``total`` is what it is now."""

    tasks: frozenset[str]
    measure: Callable[[Solved], int]
    target: int
    total: int = field(default=0)


def count_of(rate: str, planned: int) -> int:
    """The one number of successes out of ``planned`` that is printed as ``rate``."""
    (found,) = (count for count in range(planned + 1) if percent(Fraction(count, planned)) == rate)
    return found


def constraints() -> list[Constraint]:
    manifests = load()
    entries = members(manifests, "ep-100")
    result = []
    for suite, row in TABLE_6.items():
        for subset, rates in row.items():
            chosen = frozenset(entry.id for entry in members(manifests, subset) if entry.suite == suite)
            for within, rate in enumerate(rates.split("/")):
                target = count_of(rate, CONDITIONS * len(chosen))
                result.append(Constraint(chosen, lambda solved, within=within: solved[within], target))
    for name, rate in TYPES.items():
        chosen = frozenset(entry.id for entry in entries if f"{entry.suite}-{entry.type}" == name)
        result.append(Constraint(chosen, lambda solved: solved[1], count_of(rate, CONDITIONS * len(chosen))))
    everything = frozenset(entry.id for entry in entries)
    for within in range(2):
        result.append(Constraint(everything, lambda s, within=within: int(s[within] > 0), AT_LEAST_ONE[within]))
        result.append(Constraint(everything, lambda s, within=within: int(s[within] == CONDITIONS), ALL_FOUR[within]))
    return result


@cache
def solved_by_task() -> dict[str, Solved]:
    """Successes per task that meet every printed marginal, by simulated annealing with a fixed seed.

    A step gives one task other counts, or passes one success from a task to another of its suite, which leaves the
    sums.
    """
    rules = constraints()
    suites = {entry.id: entry.suite for entry in members(load(), "ep-100")}
    names = {suite: [name for name in suites if suites[name] == suite] for suite in TABLE_6}
    touching = {name: [rule for rule in rules if name in rule.tasks] for name in suites}
    chance = random.Random(1)
    state: dict[str, Solved] = dict.fromkeys(suites, (0, 0))
    missed = sum(rule.target for rule in rules)
    for _ in range(400_000):
        if missed == 0:
            return state
        first, second = chance.sample(names[chance.choice(list(names))], 2)
        new = {first: chance.choice(STATES)}
        if chance.random() < 0.7:
            one, two = chance.choice(STEPS)
            new = {first: _plus(state[first], one, two), second: _plus(state[second], -one, -two)}
        if not all(solved in STATES for solved in new.values()):
            continue
        old = {name: state[name] for name in new}
        change = sum(_move(state, name, solved, touching[name]) for name, solved in new.items())
        if change > 0 and chance.random() >= math.exp(-change / HEAT):
            change += sum(_move(state, name, solved, touching[name]) for name, solved in old.items())
        missed += change
    raise AssertionError(f"the search missed the printed marginals by {missed}")


def _plus(solved: Solved, first: int, second: int) -> Solved:
    return solved[0] + first, solved[1] + second


def _move(state: dict[str, Solved], name: str, new: Solved, rules: list[Constraint]) -> int:
    """Set a task's counts; returns by how much the sum of distances to the targets grew."""
    growth = 0
    for rule in rules:
        distance = abs(rule.total - rule.target)
        rule.total += rule.measure(new) - rule.measure(state[name])
        growth += abs(rule.total - rule.target) - distance
    state[name] = new
    return growth


def reference_ledger(seed: int = 0) -> list[Attempt]:
    """The 846 records in ledger order."""
    chance = random.Random(seed)
    suites = {entry.id: entry.suite for entry in members(load(), "ep-100")}
    queues = {
        (name, condition): _window(condition, solved)
        for name, solved in sorted(solved_by_task().items())
        for condition in range(CONDITIONS)
    }
    slots = list(queues)
    for number, slot in enumerate(chance.sample(slots, EXTRA)):
        queues[slot].append("success" if number < EXTRA_SUCCESSES else "failure")
    for slot in chance.choices(slots, k=EXCLUDED):
        queues[slot].insert(chance.randint(0, len(queues[slot])), "incident")
    codes = {suite: _codes(suite, chance) for suite in FAILURES}
    scored_failures = {slot: _failures_in_window(queue) for slot, queue in queues.items()}
    ledger: list[Attempt] = []
    while queues:
        slot = chance.choice(list(queues))
        kind = queues[slot].pop(0)
        outcome, code, incident = kind, None, "none"
        if kind == "incident":
            outcome, code, incident = "invalid", "ERR", "confirmed"
        elif kind == "failure":
            inside = scored_failures[slot] > 0
            scored_failures[slot] -= inside
            code = codes[suites[slot[0]]].pop() if inside else "TIME"
        ledger.append(Attempt(len(ledger) + 1, slot[0], slot[1], outcome, code=code, incident=incident))
        if not queues[slot]:
            del queues[slot]
    return ledger


def _window(condition: int, solved: Solved) -> list[str]:
    """Outcomes of the scored attempts at a condition: the first conditions of a task are the solved ones."""
    if condition < solved[0]:
        return ["success"]
    return ["failure", "success" if condition < solved[1] else "failure"]


def _failures_in_window(queue: list[str]) -> int:
    valid = [kind for kind in queue if kind != "incident"]
    return 0 if valid[0] == "success" else 1 + (valid[1] == "failure")


def _codes(suite: str, chance: random.Random) -> list[str]:
    labels, rest = LABELS[suite]
    codes = [code for code, count in labels.items() for _ in range(count)]
    codes += [rest] * (FAILURES[suite] - len(codes))
    chance.shuffle(codes)
    return codes
