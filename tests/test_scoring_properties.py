"""What must hold for every ledger: order, bookkeeping and completion never bend a score."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from manifests.load import load
from scoring.eligibility import assess, next_due
from scoring.ledger import Attempt
from scoring.report import score
from scoring.rules import Rules
from scoring.selection import Selection, Task
from scoring.window import Status

SINGLE, PASS2 = Rules(load(), "single"), Rules(load(), "pass2")
TASKS = (Task("a/x/1", "A"), Task("a/x/2", "A"), Task("b/x/1", "B", conditions=2))
SELECTION = Selection("three", TASKS, ranked=True)
SLOTS = [(task.environment_id, condition) for task in TASKS for condition in range(task.conditions)]

KINDS: dict[str, dict[str, Any]] = {
    "success": {"outcome": "success", "cause": "goal_met"},
    "failure": {"outcome": "failure", "cause": "violation", "code": "RULE"},
    "confirmed": {"outcome": "invalid", "cause": "container_fault", "code": "ERR", "incident": "confirmed"},
    "candidate": {"outcome": "invalid", "cause": "provider_fault", "code": "ERR", "incident": "candidate"},
    "rejected": {
        "outcome": "invalid",
        "cause": "interrupted",
        "code": "ERR",
        "incident": "rejected",
        "ruled_cause": "quit",
    },
    "invalid": {"outcome": "invalid", "cause": "no such cause", "code": "ERR"},
    "open": {"outcome": None},
}
# valid attempts more often, so that complete slots and extra attempts occur
kinds = st.sampled_from(["success", "failure", "failure", "failure", *KINDS])
ledgers = st.lists(st.tuples(st.sampled_from(SLOTS), kinds), max_size=40).map(
    lambda rows: [Attempt(2 * number, *slot, **KINDS[kind]) for number, (slot, kind) in enumerate(rows, start=1)]
)
protocols = st.sampled_from([SINGLE, PASS2])


def _numbers(ledger: list[Attempt], rules: Rules) -> dict[str, Any]:
    """Every metric of the whole selection and of each group."""
    result = score(ledger, SELECTION, rules, by=["suite"], resamples=10)
    return {
        "metrics": [row["metrics"] for row in (result["total"], *result["by"]["suite"])],
        "solved": result["total"]["tasks_solved"],
        "codes": result["codes_by_suite"],
        "groups": [(group["rates"], group["missing"], group["invalid"]) for group in result["groups"]],
    }


def _walk(ledger: list[Attempt], slot: tuple[str, int]) -> tuple[list[str], list[int]]:
    """Pass@2 of one condition told as a story, to hold the array code against: statuses and success within 1 and 2."""
    statuses, outcomes, blocked = [], [], False
    for attempt in (entry for entry in ledger if (entry.environment_id, entry.condition) == slot):
        outcome = attempt.outcome
        if attempt.incident == "rejected":
            outcome = "failure"
        if attempt.incident == "confirmed":
            statuses.append("excluded")
        elif blocked:
            statuses.append("pending")
        elif len(outcomes) == 2 or "success" in outcomes:
            statuses.append("extra")
        elif attempt.incident == "candidate" or outcome in (None, "invalid"):
            blocked = True
            statuses.append("candidate" if attempt.incident == "candidate" else "invalid" if outcome else "pending")
        else:
            outcomes.append(outcome)
            statuses.append("scored")
    known = [
        1 if "success" in outcomes[:k] else 0 if len(outcomes) >= k else -1  # unknown until k attempts are in
        for k in (1, 2)
    ]
    return statuses, known


@given(ledgers)
def test_the_window_is_the_rule_told_one_attempt_at_a_time(ledger: list[Attempt]) -> None:
    judged = assess(ledger, SELECTION, PASS2)
    for number, slot in enumerate(SLOTS):
        statuses, known = _walk(ledger, slot)
        found = [
            Status(judged.window.status[row]).name.lower() for row in range(len(ledger)) if judged.slot[row] == number
        ]
        assert found == statuses
        assert judged.window.known[number].tolist() == known


@given(ledgers, protocols, st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(ledger: list[Attempt], rules: Rules, chance: random.Random) -> None:
    shuffled = chance.sample(ledger, len(ledger))
    assert score(shuffled, SELECTION, rules, resamples=10) == score(ledger, SELECTION, rules, resamples=10)


@given(ledgers, st.sampled_from(SLOTS), st.integers(0, 40))
def test_an_excluded_attempt_changes_no_score(ledger: list[Attempt], slot: tuple[str, int], place: int) -> None:
    excluded = Attempt(2 * place + 1, *slot, **KINDS["confirmed"])
    assert _numbers([*ledger, excluded], PASS2) == _numbers(ledger, PASS2)


@given(ledgers, protocols, st.sampled_from(SLOTS), st.sampled_from(["success", "failure", "candidate", "invalid"]))
def test_an_attempt_after_the_window_changes_no_score(
    ledger: list[Attempt], rules: Rules, slot: tuple[str, int], kind: str
) -> None:
    closed = [*ledger, *(Attempt(1000 + n, *slot, **KINDS["failure"]) for n in range(2))]
    judged = assess(closed, SELECTION, rules)
    late = [*closed, Attempt(2000, *slot, **KINDS[kind])]
    assert _numbers(late, rules) == _numbers(closed, rules)
    blocked = judged.window.blocker[SLOTS.index(slot)] >= 0
    wanted = "pending" if blocked and rules.excludes else "extra"
    assert Status(assess(late, SELECTION, rules).window.status[-1]).name.lower() == wanted


@given(ledgers, protocols, st.data())
def test_a_run_split_in_two_and_merged_has_the_same_score(
    ledger: list[Attempt], rules: Rules, data: st.DataObject
) -> None:
    first = [attempt for attempt in ledger if data.draw(st.booleans())]
    second = [attempt for attempt in ledger if attempt not in first]
    assert score(second + first, SELECTION, rules, resamples=10) == score(ledger, SELECTION, rules, resamples=10)


@given(ledgers, protocols, st.randoms(use_true_random=False))
def test_every_completion_lies_within_the_bounds(ledger: list[Attempt], rules: Rules, chance: random.Random) -> None:
    before = score(ledger, SELECTION, rules, by=["suite"], resamples=10)
    after = score(_completed(ledger, rules, chance), SELECTION, rules, by=["suite"], resamples=10)
    assert after["complete"]
    pairs = zip([before["total"], *before["by"]["suite"]], [after["total"], *after["by"]["suite"]], strict=True)
    for partial, complete in pairs:
        for key, rate in partial["metrics"].items():
            for mean in ("balanced", "pooled"):
                value = complete["metrics"][key][mean]["value"]
                assert rate[mean]["lower"] <= value <= rate[mean]["upper"]
                assert rate[mean]["value"] in (None, value)
        for k, solved in partial["tasks_solved"].items():
            for which, count in solved.items():
                assert count["lower"] <= complete["tasks_solved"][k][which]["value"] <= count["upper"]


def _completed(ledger: list[Attempt], rules: Rules, chance: random.Random) -> list[Attempt]:
    """The ledger gone on with: what is due is run, open attempts end, claims are decided, all at random."""
    ledger = list(ledger)
    while True:
        judged = assess(ledger, SELECTION, rules)
        blockers = [int(row) for row in judged.window.blocker if row >= 0]
        if blockers:
            attempt = judged.attempts[blockers[0]]
            ledger[ledger.index(attempt)] = _decided(attempt, rules, chance)
            continue
        due = [slot for number, slot in enumerate(SLOTS) if judged.states[number][0] == "missing"]
        if not due:
            return ledger
        ledger.append(
            Attempt(10_000 + len(ledger), *due[0], **KINDS[chance.choice(["success", "failure", "confirmed"])])
        )


def _decided(attempt: Attempt, rules: Rules, chance: random.Random) -> Attempt:
    if attempt.outcome is None:
        return replace(attempt, **KINDS[chance.choice(["success", "failure"])])
    if rules.excludes and chance.random() < 0.5:
        return replace(attempt, incident="confirmed")
    cause = chance.choice(["goal_met", "quit"])
    return replace(attempt, incident="rejected", ruled_cause=cause, ruled_code=None)


@given(ledgers, protocols)
def test_the_schedule_and_the_score_use_one_rule(ledger: list[Attempt], rules: Rules) -> None:
    judged = assess(ledger, SELECTION, rules)
    for number, slot in enumerate(SLOTS):
        own = [attempt for attempt in ledger if (attempt.environment_id, attempt.condition) == slot]
        due = next_due(own, rules)
        assert due.due == (judged.window.closer[number] < 0 and judged.window.blocker[number] < 0)
        assert due.why == judged.states[number][1]


@given(protocols, st.randoms(use_true_random=False))
def test_a_run_that_follows_the_schedule_completes_without_an_extra_attempt(
    rules: Rules, chance: random.Random
) -> None:
    outcomes = ["success", "failure"] if not rules.excludes else ["success", "failure", "confirmed"]
    ledger: list[Attempt] = []
    for slot in SLOTS:
        own: list[Attempt] = []
        while next_due(own, rules).due:
            own.append(Attempt(len(ledger) + len(own) + 1, *slot, **KINDS[chance.choice(outcomes)]))
        ledger += own
    result = score(ledger, SELECTION, rules, by=[], resamples=10)
    assert result["complete"]
    assert result["ledger"]["extra"] == result["ledger"]["pending"] == 0
