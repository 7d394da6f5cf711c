"""Rates, bounds, efficiency and printed digits (design: section 8; text: 'Evaluation Metrics')."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.load import load
from scoring.exact import percent, points
from scoring.ledger import Attempt
from scoring.plan import selection_of
from scoring.report import score
from scoring.rules import Rules
from scoring.selection import Selection, Task

SINGLE, PASS2 = Rules(load(), "single"), Rules(load(), "pass2")
# two suites of unlike size: one task in A, three in B
TASKS = (
    Task("a/x/1", "A", {"type": "A-one", "engine": "mujoco"}),
    Task("b/x/1", "B", {"type": "B-one", "engine": "mujoco"}),
    Task("b/x/2", "B", {"type": "B-two", "engine": "isaaclab"}),
    Task("b/x/3", "B", {"engine": "isaaclab"}),
)
WHOLE = Selection("whole", TASKS, True, {"b-only": frozenset({"b/x/1", "b/x/2", "b/x/3"}), "other": frozenset({"c"})})


def _ledger(solved: dict[str, int], **fields: Any) -> list[Attempt]:
    """One attempt per condition, the first ones of each task successes."""
    result: list[Attempt] = []
    for task in TASKS:
        for condition in range(4):
            success = condition < solved.get(task.environment_id, 0)
            more = fields if success else {"code": "RULE"}
            outcome = "success" if success else "failure"
            result.append(Attempt(len(result) + 1, task.environment_id, condition, outcome, **more))
    return result


def _rows(result: dict[str, Any], dimension: str) -> dict[str, dict[str, Any]]:
    return {row["label"]: row for row in result["by"][dimension]}


def _rate(row: dict[str, Any], key: str = "pass_at_1") -> str:
    return row["metrics"][key]["balanced"]["percent"]


def test_suites_weigh_equally_and_pooled_conditions_do_not() -> None:
    result = score(_ledger({"a/x/1": 4, "b/x/1": 2}), WHOLE, SINGLE, resamples=20)
    rate = result["total"]["metrics"]["pass_at_1"]
    assert rate["balanced"]["exact"] == "7/12"  # (1 + (1/2 + 0 + 0) / 3) / 2
    assert rate["pooled"]["exact"] == "3/8"
    assert result["headline"]["pass_at_1"]["percent"] == "58.33"
    assert result["total"]["metrics"]["all_four_at_1"]["balanced"]["exact"] == "1/2"
    assert result["names"] == {"pass_at_1": "S", "all_four_at_1": "A"}


def test_breakdowns_by_every_dimension() -> None:
    dimensions = ("suite", "type", "subset", "condition", "engine", "task")
    result = score(_ledger({"a/x/1": 4, "b/x/1": 2}), WHOLE, SINGLE, by=dimensions, resamples=20)
    assert {label: _rate(row) for label, row in _rows(result, "suite").items()} == {"A": "100.00", "B": "16.67"}
    assert {label: _rate(row) for label, row in _rows(result, "type").items()} == {
        "A-one": "100.00",
        "B-one": "50.00",
        "B-two": "0.00",
    }
    assert {label: _rate(row) for label, row in _rows(result, "subset").items()} == {"b-only": "16.67"}
    assert {label: _rate(row) for label, row in _rows(result, "engine").items()} == {
        "mujoco": "75.00",
        "isaaclab": "0.00",
    }
    conditions = _rows(result, "condition")
    assert {label: _rate(row) for label, row in conditions.items()} == {
        "0": "66.67",
        "1": "66.67",
        "2": "50.00",
        "3": "50.00",
    }
    assert "all_four_at_1" not in conditions["0"]["metrics"]
    assert _rate(_rows(result, "task")["b/x/1"]) == "50.00"


def test_an_unknown_breakdown_is_refused() -> None:
    with pytest.raises(ValueError, match="breakdown 'colour' is not one of suite, subset"):
        score([], WHOLE, SINGLE, by=["colour"])


def test_nothing_undefined_is_averaged() -> None:
    result = score(_ledger({"a/x/1": 4, "b/x/1": 4})[:-1], WHOLE, SINGLE, resamples=20)
    rows = _rows(result, "suite")
    assert _rate(rows["A"]) == "100.00"
    assert _rate(rows["B"]) is None
    estimate = rows["B"]["metrics"]["pass_at_1"]["balanced"]
    assert (estimate["lower_percent"], estimate["upper_percent"]) == ("33.33", "41.67")
    assert (rows["B"]["groups"], rows["B"]["groups_complete"], rows["B"]["coverage"]) == (3, 2, 2 / 3)
    assert (rows["B"]["planned"], rows["B"]["scored"], rows["B"]["missing"]) == (12, 11, 1)
    assert result["headline"]["pass_at_1"]["value"] is None


def test_pass_at_1_is_defined_while_second_attempts_are_missing() -> None:
    result = score(_ledger({"a/x/1": 4}), WHOLE, PASS2, resamples=20)
    assert result["headline"]["pass_at_1"]["percent"] == "50.00"
    assert result["headline"]["pass_at_2"]["percent"] is None
    assert result["groups"][1]["missing"] == [0, 1, 2, 3]
    assert not result["complete"]


def test_an_empty_ledger_is_all_missing_and_undefined() -> None:
    result = score([], WHOLE, PASS2)
    assert result["total"]["missing"] == 16
    assert result["total"]["metrics"]["pass_at_2"]["balanced"]["upper_percent"] == "100.00"
    assert result["ledger"]["excluded_percent"] is None
    assert result["attempts"] == []


def test_a_selection_by_tasks_has_rates_and_no_headline() -> None:
    part = WHOLE.restricted("tasks", ["a/x/1"], ranked=False)
    result = score(_ledger({"a/x/1": 3}), part, SINGLE, resamples=20)
    assert result["headline"] is None
    assert _rate(result["total"]) == "75.00"
    assert result["not_rankable"] == ["tasks is not a ranked subset"]
    assert result["ledger"]["outside_selection"] == 12


def test_why_a_choice_of_tasks_is_not_ranked_is_said_in_whole_words() -> None:
    chosen = ["marble/dual-panda/A007"]
    selection = selection_of(load(), "smoke", profile="embedded", level="L0", members=chosen)
    reasons = score([], selection, SINGLE, resamples=20)["not_rankable"]
    assert reasons == ["a choice of tasks from smoke is not a ranked subset", "1 of 1 group is partial"]


def test_a_subset_of_one_suite_has_its_suite_score_as_headline() -> None:
    selection = selection_of(load(), "ep-launch", profile="embedded", level="L0")
    ledger = [
        Attempt(4 * number + condition + 1, task.environment_id, condition, "success" if number < 17 else "failure")
        for number, task in enumerate(selection.tasks)
        for condition in range(4)
    ]
    result = score(ledger, selection, SINGLE, resamples=20)
    assert result["headline"]["pass_at_1"]["percent"] == "50.00"
    assert result["rankable"]


def test_a_run_with_more_excluded_attempts_than_the_cap_is_not_rankable() -> None:
    ledger = _ledger(dict.fromkeys((task.environment_id for task in TASKS), 4))
    one, two = (
        [*ledger, *(Attempt(100 + n, "a/x/1", 0, "invalid", incident="confirmed") for n in range(count))]
        for count in (1, 2)
    )
    assert score(one, WHOLE, PASS2, resamples=20)["rankable"]
    result = score(two, WHOLE, PASS2, resamples=20)
    assert result["not_rankable"] == ["11.11 % of attempts are excluded, above the cap of 10.00 %"]


def test_time_and_tokens_at_success_are_means_over_scored_successes() -> None:
    ledger = _ledger({"a/x/1": 2}, success_wall_s=30.0, tokens=1000)
    ledger[0] = Attempt(1, "a/x/1", 0, "success", success_wall_s=60.0, tokens=4000)
    result = score(ledger, WHOLE, SINGLE, resamples=20)
    assert result["total"]["time_at_success_s"] == {"mean": 45.0, "successes": 2, "unknown": 0}
    assert result["total"]["tokens_at_success"] == {"mean": 2500.0, "successes": 2, "unknown": 0}
    assert _rows(result, "suite")["B"]["tokens_at_success"] == {"mean": None, "successes": 0, "unknown": 0}


def test_one_unknown_usage_makes_the_mean_unknown_and_never_zero() -> None:
    ledger = _ledger({"a/x/1": 2}, success_wall_s=30.0, tokens=1000)
    ledger[0] = Attempt(1, "a/x/1", 0, "success", success_wall_s=60.0)
    result = score(ledger, WHOLE, SINGLE, resamples=20)
    assert result["total"]["tokens_at_success"] == {"mean": None, "successes": 2, "unknown": 1}
    assert result["total"]["time_at_success_s"]["mean"] == 45.0


def test_a_task_is_the_mean_of_its_registered_groups() -> None:
    selection = Selection("seeds", (Task("a/x/1", "A"),), True, groups=("0", "1"))
    ledger = [
        Attempt(1 + condition + 4 * group, "a/x/1", condition, "failure" if group else "success", group=str(group))
        for group in range(2)
        for condition in range(4)
    ]
    result = score(ledger, selection, SINGLE, resamples=20)
    assert result["headline"]["pass_at_1"]["percent"] == "50.00"
    assert result["headline"]["all_four_at_1"]["percent"] == "50.00"
    assert [group["rates"]["pass_at_1"]["percent"] for group in result["groups"]] == ["100.00", "0.00"]


@pytest.mark.parametrize(
    ("rate", "printed"),
    [
        (Fraction(9, 32), "28.13"),  # 28.125 exactly: half up, where half to even prints 28.12
        (Fraction(1, 32), "3.13"),
        (Fraction(3, 32), "9.38"),
        (Fraction(2, 3), "66.67"),
        (Fraction(0), "0.00"),
        (Fraction(1), "100.00"),
        (Fraction(1, 20000), "0.01"),
    ],
)
def test_percentages_round_half_up(rate: Fraction, printed: str) -> None:
    assert percent(rate) == printed


@given(st.fractions(min_value=0, max_value=1, max_denominator=10**6))
def test_a_percentage_is_the_decimal_rounding_of_the_exact_rate(rate: Fraction) -> None:
    exact = Decimal(100 * rate.numerator) / Decimal(rate.denominator)
    assert percent(rate) == str(exact.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP))


def test_differences_are_signed_points() -> None:
    assert (points(Fraction(-1, 32)), points(Fraction(1, 32)), points(Fraction(0))) == ("-3.13", "+3.13", "+0.00")
