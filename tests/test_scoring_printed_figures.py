"""The figures printed for GPT-6-Astra come out to the digit (text: Tables 5, 6, 7, 8 and the counts around them).

The ledger is generated from the printed marginals. With ``ASSAY_REFERENCE_LEDGER=FILE.csv`` the same is asked of that
file.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import scoring_reference_ledger as printed

from manifests.load import load
from scoring.ledger import Attempt, attempts_from_csv
from scoring.plan import selection_of
from scoring.report import score
from scoring.rules import Rules

LEDGERS = ["generated", *(["file"] if "ASSAY_REFERENCE_LEDGER" in os.environ else [])]


@pytest.fixture(scope="module", params=LEDGERS)
def ledger(request: pytest.FixtureRequest) -> list[Attempt]:
    if request.param == "file":
        return attempts_from_csv(Path(os.environ["ASSAY_REFERENCE_LEDGER"]).read_text(encoding="utf-8"))
    return printed.reference_ledger()


@pytest.fixture(scope="module")
def result(ledger: list[Attempt]) -> dict[str, Any]:
    return _score(ledger, "ep-100")


def _score(ledger: list[Attempt], subset: str) -> dict[str, Any]:
    selection = selection_of(load(), subset, profile="native", level="L3")
    return score(ledger, selection, Rules(load(), "pass2"), resamples=50)


def _percents(estimates: dict[str, Any]) -> str:
    return "/".join(estimates[key]["percent"] for key in ("pass_at_1", "pass_at_2"))


def _balanced(row: dict[str, Any]) -> str:
    return _percents({key: rate["balanced"] for key, rate in row["metrics"].items()})


def _rows(result: dict[str, Any], dimension: str) -> dict[str, dict[str, Any]]:
    return {row["label"]: row for row in result["by"][dimension]}


def test_attempt_eligibility_resolves_846_records(result: dict[str, Any]) -> None:
    counts = result["ledger"]
    assert (counts["attempts"], counts["scored"], counts["excluded"], counts["extra"]) == (846, 736, 69, 41)
    assert (counts["successes"], counts["failures"], counts["extra_successes"]) == (91, 645, 2)
    assert counts["candidate"] == counts["invalid"] == counts["pending"] == counts["outside_selection"] == 0
    assert result["complete"]
    assert result["rankable"]


@pytest.mark.parametrize(
    ("subset", "tasks", "conditions", "attempts", "headline"),
    [
        ("ep-100", 100, 400, 736, "13.80/19.94"),
        ("ep-easy", 50, 200, 358, "18.42/27.41"),
        ("ep-hard", 50, 200, 378, "8.81/12.01"),
        ("ep-20", 20, 80, 147, "15.42/18.75"),
    ],
)
def test_table_5(ledger: list[Attempt], subset: str, tasks: int, conditions: int, attempts: int, headline: str) -> None:
    result = _score(ledger, subset)
    assert _percents(result["headline"]) == headline
    assert (result["total"]["tasks"], result["total"]["planned"]) == (tasks, conditions)
    assert result["ledger"]["scored"] == attempts
    assert result["ledger"]["attempts"] + result["ledger"]["outside_selection"] == 846


def test_a_subset_is_the_same_as_a_row_of_ep_100(ledger: list[Attempt], result: dict[str, Any]) -> None:
    assert _balanced(_rows(result, "subset")["ep-hard"]) == "8.81/12.01"
    launch = _score(ledger, "ep-launch")
    assert _percents(launch["headline"]) == "19.12/25.74"
    assert _balanced(_rows(result, "split")["Easy"]) == "18.42/27.41"


@pytest.mark.parametrize("subset", ["ep-100", "ep-easy", "ep-hard", "ep-20"])
def test_table_6(ledger: list[Attempt], subset: str) -> None:
    rows = _rows(_score(ledger, subset), "suite")
    assert {suite: _balanced(row) for suite, row in rows.items()} == {
        suite: row[subset] for suite, row in printed.TABLE_6.items()
    }


def test_table_7_counts_conditions(result: dict[str, Any]) -> None:
    rows = _rows(result, "suite")
    assert {suite: (row["planned"], row["successes"], row["failures"]) for suite, row in rows.items()} == {
        "Launch": (136, 35, 101),
        "Tower": (84, 35, 49),
        "Lock": (64, 9, 55),
        "Cube": (48, 1, 47),
        "Home": (68, 11, 57),
    }


def test_table_8_counts_failed_attempts_and_labels(result: dict[str, Any]) -> None:
    codes = result["codes_by_suite"]
    assert {suite: sum(found.values()) for suite, found in codes.items()} == printed.FAILURES
    for suite, (labels, _) in printed.LABELS.items():
        assert labels.items() <= codes[suite].items()


def test_pooled_rates_and_second_attempts(result: dict[str, Any]) -> None:
    first, second = (result["total"]["metrics"][f"pass_at_{k}"] for k in (1, 2))
    assert (first["pooled"]["percent"], second["pooled"]["percent"]) == ("16.00", "22.75")
    assert (first["successes"], second["successes"] - first["successes"]) == (64, 27)
    assert result["total"]["failures"] == 309


def test_tasks_with_at_least_one_and_with_all_conditions(result: dict[str, Any]) -> None:
    solved = result["total"]["tasks_solved"]
    assert (solved["1"]["at_least_one"]["value"], solved["2"]["at_least_one"]["value"]) == (31, 40)
    assert (solved["1"]["all"]["value"], solved["2"]["all"]["value"]) == (4, 9)


def test_rates_by_type(result: dict[str, Any]) -> None:
    rows = _rows(result, "type")
    assert len(rows) == 16
    for name, rate in printed.TYPES.items():
        assert rows[name]["metrics"]["pass_at_2"]["balanced"]["percent"] == rate
    assert rows["Cube-Pocket"]["successes"] == 1


def test_time_and_tokens_are_undefined_where_unknown(result: dict[str, Any]) -> None:
    for key in ("time_at_success_s", "tokens_at_success"):
        assert result["total"][key] == {"mean": None, "successes": 91, "unknown": 91}


def test_the_result_is_plain_json(result: dict[str, Any]) -> None:
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_the_generated_ledger_does_not_depend_on_its_shuffle() -> None:
    first, second = (_score(printed.reference_ledger(seed), "ep-100") for seed in (0, 1))
    assert first["headline"] == second["headline"]
    assert first["attempts"] != second["attempts"]
