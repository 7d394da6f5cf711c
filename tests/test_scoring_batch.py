"""Many runs at once give what each run gives alone: the same rows from the same rule."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scoring_reference_ledger as printed
from hypothesis import given, settings
from hypothesis import strategies as st
from test_scoring_properties import PASS2, SELECTION, SINGLE, SLOTS, ledgers

from manifests.load import load
from scoring.batch import Batch, pass_rate, score_batch
from scoring.batch_rows import row
from scoring.columns import Columns, columns_of
from scoring.ledger import Attempt, LedgerError
from scoring.plan import selection_of
from scoring.report import score
from scoring.rows import BREAKDOWNS
from scoring.rules import Rules
from scoring.selection import Layout, Selection, Task

LAYOUT = Layout(SELECTION.tasks, ("",))


def alone(ledger: list[Attempt], selection: Selection, rules: Rules) -> dict[str, Any]:
    """The rows of one run by dimension and label, without the intervals, which a batch does not have."""
    result = score(ledger, selection, rules, resamples=2)
    rows = {("total", selection.name): result["total"]}
    rows |= {(name, found["label"]): found for name, found_rows in result["by"].items() for found in found_rows}
    for found in rows.values():
        for rate in found["metrics"].values():
            rate["balanced"]["interval"] = rate["balanced"]["exact_bound"] = None
    return rows


def together(batch: Batch, run: int) -> dict[str, Any]:
    return {label: row(batch, run, part) for part, label in enumerate(batch.parts.labels)}


@given(st.lists(ledgers, min_size=1, max_size=4), st.sampled_from([SINGLE, PASS2]), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_a_run_in_a_batch_has_the_rows_that_it_has_alone(
    runs: list[list[Attempt]], rules: Rules, chance: random.Random
) -> None:
    timed = [
        [
            replace(attempt, success_wall_s=chance.choice([None, 0.5, 8.0]), tokens=chance.choice([None, 7, 1000]))
            for attempt in chance.sample(ledger, len(ledger))
        ]
        for ledger in runs
    ]
    batch = score_batch(columns_of(timed, LAYOUT), SELECTION, rules)
    for number, ledger in enumerate(timed):
        assert together(batch, number) == alone(ledger, SELECTION, rules)


@given(st.lists(ledgers, min_size=2, max_size=3), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_the_rows_of_the_columns_does_not_matter(runs: list[list[Attempt]], chance: random.Random) -> None:
    columns = columns_of(runs, LAYOUT)
    order = np.array(chance.sample(range(len(columns)), len(columns)), dtype=np.int64)
    names = ("run", "task", "condition", "sequence", "case", "success_wall_s", "tokens")
    shuffled = replace(columns, **{name: getattr(columns, name)[order] for name in names})
    first, second = (score_batch(found, SELECTION, PASS2) for found in (columns, shuffled))
    assert [together(first, run) for run in range(len(runs))] == [together(second, run) for run in range(len(runs))]


def test_the_printed_figures_come_out_of_a_batch_of_ep_100() -> None:
    selection = selection_of(load(), "ep-100", profile="native", level="L3")
    rules = Rules(load(), "pass2")
    runs = [printed.reference_ledger(seed) for seed in (0, 1)]
    columns = columns_of(runs, Layout(selection.tasks, ("",)))
    batch = score_batch(columns, selection, rules)
    assert {name for name, _ in batch.parts.labels} == {"total", *BREAKDOWNS}
    for number, ledger in enumerate(runs):
        found = together(batch, number)
        assert found == alone(ledger, selection, rules)
        metrics = found["total", "ep-100"]["metrics"]
        assert [metrics[f"pass_at_{k}"]["balanced"]["percent"] for k in (1, 2)] == ["13.80", "19.94"]
    assert pass_rate(columns, selection, rules, 2) == pytest.approx(batch.rates["pass_at_2"].value[:, 0])


def test_an_undefined_rate_is_nan_and_keeps_its_bounds() -> None:
    ledger = [Attempt(number, *slot, "success") for number, slot in enumerate(SLOTS[1:], start=1)]
    columns = columns_of([ledger, []], LAYOUT)
    rates = score_batch(columns, SELECTION, PASS2, by=()).rates["pass_at_2"]
    assert np.isnan(rates.value).all()
    assert np.isnan(pass_rate(columns, SELECTION, PASS2, 2)).all()
    assert (rates.lower / rates.denominator)[:, 0].tolist() == [
        15 / 16,
        0,
    ]  # one slot of four, of two tasks, of two suites
    assert (rates.upper / rates.denominator)[:, 0].tolist() == [1, 1]


def test_attempts_outside_the_selection_and_unknown_causes_are_counted_by_run() -> None:
    runs = [
        [Attempt(1, "z/x/1", 0, "success"), Attempt(2, *SLOTS[0], "failure", cause="no such cause")],
        [Attempt(1, *SLOTS[0], "success")],
    ]
    batch = score_batch(columns_of(runs, LAYOUT), SELECTION, PASS2)
    assert batch.outside.tolist() == [1, 0]
    assert batch.unknown_causes.tolist() == [1, 0]
    assert batch.attempts[:, :, 0].sum(axis=0).tolist() == [1, 1]


def test_no_attempt_at_all_is_every_slot_missing() -> None:
    batch = score_batch(columns_of([[]], LAYOUT), SELECTION, PASS2)
    assert row(batch, 0, 0)["missing"] == len(SLOTS)
    assert row(batch, 0, 0)["codes"] == {}


def column(**changes: Any) -> Columns:
    base = columns_of([[Attempt(1, *SLOTS[0], "success"), Attempt(2, *SLOTS[1], "success")]], LAYOUT)
    return replace(base, **{name: np.array(values) for name, values in changes.items()})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sequence": [5, 5]}, "run 0: sequence 5 occurs twice"),
        ({"condition": [0, 4]}, "run 0, attempt 2: condition 4 of a/x/1 is not one of 0..3"),
        ({"condition": [0, -1]}, "condition -1 of a/x/1"),
        ({"task": [2, 2], "condition": [0, 3]}, "condition 3 of b/x/1 is not one of 0..1"),
        ({"task": [0, 9]}, "column task: 9 is not from -1 to 2"),
    ],
)
def test_columns_that_are_no_ledger_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        score_batch(column(**changes), SELECTION, PASS2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"run": [0, 1]}, "column run: 1 is not from 0 to 0"),
        ({"case": [0, 7]}, "column case: 7 is not from 0 to 0"),
        ({"task": [0]}, "give all of them the same"),
    ],
)
def test_columns_that_do_not_fit_together_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        column(**changes)


def test_a_run_of_two_settings_and_a_selection_of_two_groups_are_refused() -> None:
    mixed = [Attempt(1, *SLOTS[0], "success", group="a"), Attempt(2, *SLOTS[1], "success", group="b")]
    with pytest.raises(LedgerError, match="run 0: attempts of 2 settings"):
        columns_of([mixed], LAYOUT)
    two = replace(SELECTION, groups=("a", "b"))
    with pytest.raises(ValueError, match="2 groups per task"):
        score_batch(columns_of([[]], LAYOUT), two, PASS2)


def test_a_selection_without_an_exact_common_denominator_is_refused() -> None:
    tasks = tuple(
        Task(f"{suite}/{number}", str(suite), conditions=1)
        for suite in (97, 101, 103, 107, 109, 113, 127, 131)
        for number in range(suite)
    )
    odd = Selection("odd", tasks, ranked=True)
    with pytest.raises(ValueError, match="no common denominator below 2\\^53"):
        score_batch(columns_of([[]], Layout(tasks, ("",))), odd, PASS2, by=())
