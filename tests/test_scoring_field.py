"""Cases that evaluation harnesses are known to get wrong, as far as a score decides them (FIELD rows 1 to 5 and 16)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from manifests.load import load
from scoring.eligibility import next_due
from scoring.ledger import Attempt
from scoring.report import score
from scoring.rules import Rules
from scoring.selection import Selection, Task

SINGLE, PASS2 = Rules(load(), "single"), Rules(load(), "pass2")
BOTH = Selection("both", (Task("a/x/1", "S"), Task("a/x/2", "S")), ranked=True)
ONE = Selection("one", (Task("a/x/1", "S"),), ranked=True)


def _attempts(rules: Rules, causes: Iterable[str], environment: str = "a/x/1", first: int = 1) -> list[Attempt]:
    """One attempt per condition, with outcome and code as the cause table has them."""
    result = []
    for condition, cause in enumerate(causes):
        found = rules.ruling(cause, "RULE")
        result.append(
            Attempt(
                sequence=first + condition,
                environment_id=environment,
                condition=condition,
                outcome=found.outcome,
                cause=cause,
                code=found.code,
                incident="candidate" if found.incident else "none",
            )
        )
    return result


def _bounds(estimate: dict[str, Any]) -> tuple[Any, float, float]:
    return estimate["value"], estimate["lower"], estimate["upper"]


def test_field_01_a_task_with_four_infrastructure_faults_beside_one_with_four_successes() -> None:
    ledger = _attempts(PASS2, ["container_fault"] * 4) + _attempts(PASS2, ["goal_met"] * 4, "a/x/2", first=5)
    result = score(ledger, BOTH, PASS2, resamples=20)
    faulty, good = result["groups"]
    assert (faulty["complete"], faulty["candidate"], faulty["planned"], faulty["scored"]) == (False, [0, 1, 2, 3], 4, 0)
    assert good["complete"]
    for key in ("pass_at_1", "pass_at_2"):
        assert _bounds(result["headline"][key]) == (None, 0.5, 1.0)
        assert result["headline"][key]["percent"] is None
        assert result["headline"][key]["interval"] is None
    assert not result["complete"]
    assert result["not_rankable"] == ["1 of 2 groups is partial"]


def test_field_01_counts_faults_as_nothing_else_under_the_single_protocol() -> None:
    ledger = _attempts(SINGLE, ["container_fault"] * 4) + _attempts(SINGLE, ["goal_met"] * 4, "a/x/2", first=5)
    result = score(ledger, BOTH, SINGLE, resamples=20)
    assert _bounds(result["headline"]["pass_at_1"]) == (None, 0.5, 1.0)


def test_field_02_simulated_time_is_a_failure_and_wall_clock_is_not_under_the_single_protocol() -> None:
    simulated = score(_attempts(SINGLE, ["goal_met", *["simulated_time"] * 3]), ONE, SINGLE, resamples=20)
    assert _bounds(simulated["headline"]["pass_at_1"]) == (0.25, 0.25, 0.25)
    assert simulated["headline"]["pass_at_1"]["percent"] == "25.00"
    wall = score(_attempts(SINGLE, ["goal_met", *["wall_clock"] * 3]), ONE, SINGLE, resamples=20)
    assert _bounds(wall["headline"]["pass_at_1"]) == (None, 0.25, 1.0)
    assert wall["groups"][0]["invalid"] == [1, 2, 3]


def test_field_02_wall_clock_takes_an_opportunity_under_pass2() -> None:
    result = score(_attempts(PASS2, ["goal_met", *["wall_clock"] * 3]), ONE, PASS2, resamples=20)
    assert result["total"]["codes"] == {"TIME": 3}
    assert result["headline"]["pass_at_1"]["value"] == 0.25
    assert _bounds(result["headline"]["pass_at_2"]) == (None, 0.25, 1.0)


def test_field_03_two_valid_of_four_conditions_leave_all_four_undefined() -> None:
    result = score(_attempts(SINGLE, ["goal_met"] * 2), ONE, SINGLE, resamples=20)
    assert _bounds(result["total"]["metrics"]["all_four_at_1"]["pooled"]) == (None, 0.0, 1.0)
    assert result["groups"][0]["missing"] == [2, 3]
    assert result["total"]["tasks_solved"]["1"]["all"] == {"value": None, "lower": 0, "upper": 1}


def test_field_03_a_failure_bounds_all_four_and_still_does_not_define_it() -> None:
    result = score(_attempts(SINGLE, ["goal_met", "quit"]), ONE, SINGLE, resamples=20)
    assert _bounds(result["total"]["metrics"]["all_four_at_1"]["pooled"]) == (None, 0.0, 0.0)


def test_field_04_a_container_that_fails_before_the_agent_starts_gives_null_and_not_zero() -> None:
    ledger = _attempts(PASS2, ["container_fault"])
    due = next_due(ledger, PASS2)
    assert not due.due
    assert due.why == (
        "attempt 1: incident candidate (container_fault), neither confirmed nor rejected: leaves its condition open"
    )
    result = score(ledger, ONE, PASS2, resamples=20)
    assert result["headline"]["pass_at_1"]["value"] is None
    assert result["attempts"][0]["status"] == "candidate"


def test_field_05_an_unknown_cause_is_invalid_visible_and_counted() -> None:
    ledger = _attempts(PASS2, ["goal_met"] * 3)
    ledger.append(Attempt(4, "a/x/1", 3, "failure", cause="KeyError in adapter", code="QUIT"))
    result = score(ledger, ONE, PASS2, resamples=20)
    assert result["ledger"]["unknown_causes"] == [4]
    assert result["attempts"][3]["outcome"] == "invalid"
    assert result["attempts"][3]["status"] == "invalid"
    assert result["attempts"][3]["reason"] == "invalid: no table has cause 'KeyError in adapter' with code 'QUIT'"
    assert _bounds(result["headline"]["pass_at_2"]) == (None, 0.75, 1.0)
    assert "1 attempt ended with a cause or code that no table has" in result["not_rankable"]
    assert not next_due([ledger[3]], PASS2).due


def test_field_05_an_unknown_cause_after_the_scoring_window_is_still_counted() -> None:
    ledger = [*_attempts(PASS2, ["goal_met"] * 4), Attempt(5, "a/x/1", 0, "invalid", cause="what")]
    result = score(ledger, ONE, PASS2, resamples=20)
    assert result["ledger"]["unknown_causes"] == [5]
    assert result["attempts"][4]["status"] == "extra"
    assert result["complete"]
    assert not result["rankable"]


def test_field_16_scoring_twice_is_identical_and_a_deleted_record_leaves_it_incomplete() -> None:
    ledger = _attempts(PASS2, ["goal_met"] * 4) + _attempts(PASS2, ["goal_met"] * 4, "a/x/2", first=5)
    first, second = (score(ledger, BOTH, PASS2) for _ in range(2))
    assert first == second
    assert first["complete"]
    less = score(ledger[:-1], BOTH, PASS2)
    assert not less["complete"]
    assert _bounds(less["headline"]["pass_at_2"]) == (None, 0.875, 1.0)
    assert less["groups"][1]["missing"] == [3]
