"""Which attempts count, and why (design: section 7; text: 'Trial Design', 'Attempt eligibility')."""

from __future__ import annotations

import pytest

from manifests.errors import ManifestError
from manifests.load import load
from scoring.eligibility import assess, next_due
from scoring.ledger import Attempt, LedgerError
from scoring.plan import selection_of
from scoring.rules import Rules
from scoring.selection import Selection, Task

SINGLE, PASS2 = Rules(load(), "single"), Rules(load(), "pass2")
TASK = Selection("one", (Task("a/x/1", "S"),), ranked=True)

CONFIRMED = {"outcome": "invalid", "cause": "container_fault", "code": "ERR", "incident": "confirmed"}
CANDIDATE = {"outcome": "invalid", "cause": "interrupted", "code": "ERR", "incident": "candidate"}
FAILURE = {"outcome": "failure", "cause": "quit", "code": "QUIT"}
SUCCESS = {"outcome": "success", "cause": "goal_met"}
OPEN: dict[str, str | None] = {"outcome": None}
REJECTED = {**CANDIDATE, "incident": "rejected", "ruled_cause": "agent_exception"}
UNRULED = {**CANDIDATE, "incident": "rejected"}


def _ledger(*rows: dict) -> list[Attempt]:
    return [Attempt(number, "a/x/1", 0, **row) for number, row in enumerate(rows, start=1)]


def _statuses(rules: Rules, *rows: dict) -> str:
    judged = assess(_ledger(*rows), TASK, rules)
    names = ("scored", "excluded", "candidate", "extra", "invalid", "pending")
    return " ".join(names[status] for status in judged.window.status)


def _slot(rules: Rules, *rows: dict) -> tuple[str, list[int]]:
    judged = assess(_ledger(*rows), TASK, rules)
    return judged.states[0][0], judged.window.known[0].tolist()


@pytest.mark.parametrize(
    ("rows", "statuses", "state", "known"),
    [
        ([SUCCESS], "scored", "success", [1, 1]),
        ([SUCCESS, FAILURE], "scored extra", "success", [1, 1]),
        ([FAILURE], "scored", "missing", [0, -1]),
        ([FAILURE, SUCCESS], "scored scored", "success", [0, 1]),
        ([FAILURE, FAILURE, SUCCESS], "scored scored extra", "failure", [0, 0]),
        ([CONFIRMED, FAILURE, CONFIRMED, SUCCESS], "excluded scored excluded scored", "success", [0, 1]),
        ([SUCCESS, CONFIRMED], "scored excluded", "success", [1, 1]),
        ([SUCCESS, CANDIDATE], "scored extra", "success", [1, 1]),
        ([CANDIDATE, SUCCESS], "candidate pending", "candidate", [-1, -1]),
        ([FAILURE, CANDIDATE], "scored candidate", "candidate", [0, -1]),
        ([REJECTED, SUCCESS], "scored scored", "success", [0, 1]),
        ([REJECTED, REJECTED], "scored scored", "failure", [0, 0]),
        ([UNRULED, SUCCESS], "invalid pending", "invalid", [-1, -1]),
        ([FAILURE, OPEN], "scored pending", "missing", [0, -1]),
        ([], "", "missing", [-1, -1]),
    ],
)
def test_pass2_scores_the_first_two_valid_attempts_and_stops_at_the_first_success(
    rows: list[dict], statuses: str, state: str, known: list[int]
) -> None:
    assert _statuses(PASS2, *rows) == statuses
    assert _slot(PASS2, *rows) == (state, known)


@pytest.mark.parametrize(
    ("rows", "statuses", "state"),
    [
        ([SUCCESS], "scored", "success"),
        ([FAILURE, SUCCESS], "scored extra", "failure"),
        ([CONFIRMED, SUCCESS], "invalid extra", "invalid"),
        ([CANDIDATE, SUCCESS], "candidate extra", "candidate"),
        ([UNRULED, SUCCESS], "invalid extra", "invalid"),
        ([OPEN], "pending", "missing"),
    ],
)
def test_single_never_replaces_an_attempt(rows: list[dict], statuses: str, state: str) -> None:
    assert _statuses(SINGLE, *rows) == statuses
    assert _slot(SINGLE, *rows)[0] == state


def test_a_rejected_incident_is_ruled_by_its_appended_cause_under_each_protocol() -> None:
    assert _slot(PASS2, REJECTED) == ("missing", [0, -1])
    assert _slot(SINGLE, REJECTED) == ("invalid", [-1])


def test_order_is_the_sequence_and_not_the_order_given() -> None:
    late, early = _ledger(SUCCESS, FAILURE)
    judged = assess([early, late], TASK, PASS2)
    assert [attempt.sequence for attempt in judged.attempts] == [1, 2]
    assert judged.states[0][0] == "success"


def test_every_attempt_has_its_reason_in_words() -> None:
    judged = assess(_ledger(CONFIRMED, FAILURE, SUCCESS, SUCCESS, FAILURE), TASK, PASS2)
    assert [judged.reason(row) for row in range(5)] == [
        "confirmed incident (container_fault): takes no opportunity",
        "valid attempt 1 of at most 2: failure QUIT",
        "valid attempt 2 of at most 2: success",
        "after the scoring window, which attempt 3 closed: its success is not scored",
        "after the scoring window, which attempt 3 closed: not scored",
    ]
    blocked = assess(_ledger(CANDIDATE, SUCCESS), TASK, PASS2)
    assert blocked.reason(1) == "waits for what becomes of attempt 1"
    fixed = assess(_ledger(CONFIRMED), TASK, SINGLE)
    assert fixed.reason(0) == "confirmed incident (container_fault): protocol single never replaces an attempt"
    assert assess(_ledger(UNRULED), TASK, PASS2).reason(0) == "invalid: the incident was rejected and not ruled again"
    assert assess(_ledger(OPEN), TASK, PASS2).reason(0) == "no terminal record yet"


@pytest.mark.parametrize(
    ("rules", "rows", "due"),
    [
        (PASS2, [], True),
        (PASS2, [FAILURE], True),
        (PASS2, [FAILURE, CONFIRMED], True),
        (PASS2, [REJECTED], True),
        (PASS2, [SUCCESS], False),
        (PASS2, [FAILURE, FAILURE], False),
        (PASS2, [CANDIDATE], False),
        (PASS2, [UNRULED], False),
        (PASS2, [FAILURE, OPEN], False),
        (SINGLE, [], True),
        (SINGLE, [FAILURE], False),
        (SINGLE, [CONFIRMED], False),
    ],
)
def test_what_is_due_next(rules: Rules, rows: list[dict], due: bool) -> None:
    assert next_due(_ledger(*rows), rules).due is due


def test_what_is_due_says_why() -> None:
    assert next_due([], PASS2).why == "0 of at most 2 valid attempts recorded; the next one is due"
    assert next_due(_ledger(FAILURE, SUCCESS), PASS2).why == "solved within 2 valid attempts; attempt 2 closed it"
    assert next_due(_ledger(FAILURE), SINGLE).why == "not solved in 1 valid attempt; attempt 1 closed it"
    assert next_due(_ledger(OPEN), PASS2).why == "attempt 1: no terminal record yet"


def test_next_due_takes_one_condition() -> None:
    with pytest.raises(ValueError, match="one condition"):
        next_due([Attempt(1, "a/x/1", 0, "failure"), Attempt(2, "a/x/1", 1, "failure")], PASS2)


def test_attempts_at_other_tasks_are_counted() -> None:
    judged = assess([Attempt(1, "b/y/1", 0, "success"), Attempt(2, "a/x/1", 0, "success")], TASK, PASS2)
    assert (judged.outside, len(judged.attempts)) == (1, 1)


def test_scores_of_different_settings_never_mix() -> None:
    ledger = [Attempt(1, "a/x/1", 0, "success", group="L0"), Attempt(2, "a/x/1", 0, "success", group="L3")]
    with pytest.raises(LedgerError, match="attempts of 2 settings \\('L0', 'L3'\\)"):
        assess(ledger, TASK, PASS2)


def test_registered_groups_are_scored_apart_and_unregistered_ones_refused() -> None:
    both = Selection("one", TASK.tasks, True, groups=("seed-0", "seed-1"))
    judged = assess([Attempt(1, "a/x/1", 3, "success", group="seed-1")], both, PASS2)
    assert [state for state, _ in judged.states] == ["missing"] * 7 + ["success"]
    with pytest.raises(LedgerError, match="group 'seed-2' is not registered"):
        assess([Attempt(1, "a/x/1", 0, "success", group="seed-2")], both, PASS2)


def test_a_sequence_number_or_condition_that_cannot_be_is_refused() -> None:
    with pytest.raises(LedgerError, match="sequence 7 occurs twice"):
        assess([Attempt(7, "a/x/1", 0, "failure"), Attempt(7, "a/x/1", 0, "success")], TASK, PASS2)
    with pytest.raises(LedgerError, match=r"attempt 1: condition 4 of a/x/1 is not one of 0\.\.3"):
        assess([Attempt(1, "a/x/1", 4, "failure")], TASK, PASS2)


def test_a_selection_by_tasks_is_not_ranked_and_unknown_names_are_refused() -> None:
    chosen = selection_of(load(), "full", profile="embedded", level="L0", members=["marble/dual-panda/A007"])
    assert (chosen.ranked, len(chosen.tasks), chosen.tasks[0].labels["engine"]) == (False, 1, "mujoco")
    with pytest.raises(ValueError, match="asks for hanoi_panda/panda/H01"):
        selection_of(load(), "ep-launch", profile="embedded", level="L0", members=["hanoi_panda/panda/H01"])
    with pytest.raises(ManifestError, match="subset 'ep-10' is unknown"):
        selection_of(load(), "ep-10", profile="embedded", level="L0")
    with pytest.raises(ManifestError, match="protocol 'pass3' is unknown"):
        Rules(load(), "pass3")
