"""A ledger that is consistent with printed results, made from the printed numbers alone.

A paper prints marginals: rates by suite, subset and type, counts of tasks, failure labels, and how many records are
scored, excluded and extra. A small local search with a fixed seed finds successes per task that meet them all; any such
ledger scores to the printed digits. Nothing in it tells which attempt at which condition succeeded.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from operator import itemgetter

from manifests.demo import Labels, Printed
from manifests.load import Manifests
from manifests.lookup import members

from .exact import percent
from .ledger import Attempt

OPPORTUNITIES = 2  # a task's state below is a pair: solved within one and within two attempts
STEPS = [(1, 0), (0, 1), (1, 1)]
HEAT = 0.35  # of the annealing: a step that is worse by one is taken with probability 6 %
LIMIT = 400_000  # steps, some 20 s

Solved = tuple[int, int]


@dataclass
class _Constraint:
    """The sum of ``measure`` over ``tasks`` should be ``target``; ``total`` is what it is now."""

    tasks: frozenset[str]
    measure: Callable[[Solved], int]
    target: int
    total: int = field(default=0)


def reconstruct(manifests: Manifests, printed: Printed, seed: int = 0) -> list[Attempt]:
    """The records in ledger order. ``seed`` shuffles what no figure tells. Raises ValueError for figures that no ledger
    of two opportunities can have, or that the search does not meet."""
    chance = random.Random(seed)
    records, conditions = printed.records, manifests.conditions.count
    suites = {entry.id: entry.suite for entry in members(manifests, printed.subset)}
    queues = {
        (name, condition): _window(condition, solved)
        for name, solved in sorted(solved_by_task(manifests, printed).items())
        for condition in range(conditions)
    }
    slots = list(queues)
    for number, slot in enumerate(chance.sample(slots, records.extra)):
        queues[slot].append("success" if number < records.extra_successes else "failure")
    for slot in chance.choices(slots, k=records.excluded):
        queues[slot].insert(chance.randint(0, len(queues[slot])), "incident")
    codes = {suite: _codes(printed.labels[suite], count, chance) for suite, count in printed.failures.items()}
    left = {slot: _failures_in_window(queue) for slot, queue in queues.items()}
    ledger: list[Attempt] = []
    while queues:
        slot = chance.choice(list(queues))
        kind = queues[slot].pop(0)
        code = None
        if kind == "failure":
            code = codes[suites[slot[0]]].pop() if left[slot] > 0 else records.extra_code
            left[slot] -= left[slot] > 0
        ledger.append(_attempt(len(ledger) + 1, slot, kind, code))
        if not queues[slot]:
            del queues[slot]
    if len(ledger) != records.total:
        raise ValueError(f"records.total is {records.total}, the other figures make {len(ledger)}")
    return ledger


def solved_by_task(manifests: Manifests, printed: Printed) -> dict[str, Solved]:
    """Successes per task that meet every printed marginal, by simulated annealing with a fixed seed.

    A step gives one task other counts, or passes one success from a task to another of its suite, which leaves the
    sums.
    """
    conditions = manifests.conditions.count
    states = [(first, second) for second in range(conditions + 1) for first in range(second + 1)]
    rules = _constraints(manifests, printed)
    suites = {entry.id: entry.suite for entry in members(manifests, printed.subset)}
    names = {suite: [name for name in suites if suites[name] == suite] for suite in printed.suites}
    touching = {name: [rule for rule in rules if name in rule.tasks] for name in suites}
    chance = random.Random(1)
    state: dict[str, Solved] = dict.fromkeys(suites, (0, 0))
    missed = sum(rule.target for rule in rules)
    for _ in range(LIMIT):
        if missed == 0:
            return state
        first, second = chance.sample(names[chance.choice(list(names))], 2)
        new = {first: chance.choice(states)}
        if chance.random() < 0.7:
            one, two = chance.choice(STEPS)
            new = {first: _plus(state[first], one, two), second: _plus(state[second], -one, -two)}
        if not all(solved in states for solved in new.values()):
            continue
        old = {name: state[name] for name in new}
        change = sum(_move(state, name, solved, touching[name]) for name, solved in new.items())
        if change > 0 and chance.random() >= math.exp(-change / HEAT):
            change += sum(_move(state, name, solved, touching[name]) for name, solved in old.items())
        missed += change
    raise ValueError(f"the search missed the printed figures by {missed}; check that they agree (assay claims check)")


def _constraints(manifests: Manifests, printed: Printed) -> list[_Constraint]:
    conditions, entries = manifests.conditions.count, members(manifests, printed.subset)
    result = []
    for suite, row in printed.suites.items():
        for subset, rates in row.items():
            chosen = frozenset(entry.id for entry in members(manifests, subset) if entry.suite == suite)
            if len(rates) != OPPORTUNITIES:
                raise ValueError(f"suites.{suite}.{subset} has {len(rates)} rates; give those within 1 and 2 attempts")
            for within, rate in enumerate(rates):
                target = _count_of(rate, conditions * len(chosen), f"suites.{suite}.{subset}")
                result.append(_Constraint(chosen, itemgetter(within), target))
    for name, rate in printed.types.items():
        chosen = frozenset(entry.id for entry in entries if f"{entry.suite}-{entry.type}" == name)
        target = _count_of(rate, conditions * len(chosen), f"types.{name}")
        result.append(_Constraint(chosen, itemgetter(-1), target))
    everything = frozenset(entry.id for entry in entries)
    for within, (some, every) in enumerate(zip(printed.at_least_one, printed.all_conditions, strict=True)):
        result.append(_Constraint(everything, partial(_at_least, within, 1), some))
        result.append(_Constraint(everything, partial(_at_least, within, conditions), every))
    return result


def _at_least(within: int, least: int, solved: Solved) -> int:
    return int(solved[within] >= least)


def _count_of(rate: str, planned: int, name: str) -> int:
    """The one number of successes out of ``planned`` that is printed as ``rate``."""
    found = [count for count in range(planned + 1) if percent(Fraction(count, planned)) == rate] if planned else []
    if len(found) != 1:
        raise ValueError(
            f"{name}: {rate} % is printed for {len(found)} counts out of {planned} conditions, not for one"
        )
    return found[0]


def _plus(solved: Solved, first: int, second: int) -> Solved:
    return solved[0] + first, solved[1] + second


def _move(state: dict[str, Solved], name: str, new: Solved, rules: list[_Constraint]) -> int:
    """Set a task's counts; returns by how much the sum of distances to the targets grew."""
    growth = 0
    for rule in rules:
        distance = abs(rule.total - rule.target)
        rule.total += rule.measure(new) - rule.measure(state[name])
        growth += abs(rule.total - rule.target) - distance
    state[name] = new
    return growth


def _attempt(sequence: int, slot: tuple[str, int], kind: str, code: str | None) -> Attempt:
    if kind == "incident":
        return Attempt(sequence, *slot, "invalid", code="ERR", incident="confirmed")
    return Attempt(sequence, *slot, "success" if kind == "success" else "failure", code=code)


def _window(condition: int, solved: Solved) -> list[str]:
    """Outcomes of the scored attempts at a condition: the first conditions of a task are the solved ones."""
    if condition < solved[0]:
        return ["success"]
    return ["failure", "success" if condition < solved[1] else "failure"]


def _failures_in_window(queue: list[str]) -> int:
    valid = [kind for kind in queue if kind != "incident"]
    return 0 if valid[0] == "success" else 1 + (valid[1] == "failure")


def _codes(labels: Labels, failures: int, chance: random.Random) -> list[str]:
    codes = [code for code, count in labels.counts.items() for _ in range(count)]
    codes += [labels.rest] * (failures - len(codes))
    chance.shuffle(codes)
    return codes
