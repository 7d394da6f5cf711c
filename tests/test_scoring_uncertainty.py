"""95 % intervals by a task-clustered bootstrap stratified by suite, and paired differences (design: section 8)."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scoring_reference_ledger as printed
from hypothesis import given
from hypothesis import strategies as st

from manifests.load import load
from scoring.compare import compare
from scoring.eligibility import Eligibility, assess
from scoring.ledger import Attempt
from scoring.plan import selection_of
from scoring.rules import Rules
from scoring.uncertainty import exact_bound, exact_difference, intervals, paired_difference, resampled_means

SUITES = np.array(["A"] * 30 + ["B"] * 10)


def _values(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).binomial(4, 0.4, (len(SUITES), 2)) / 4


def test_the_same_seed_gives_the_same_interval_and_another_seed_another_one() -> None:
    assert intervals(_values(0), SUITES, seed=7) == intervals(_values(0), SUITES, seed=7)
    assert intervals(_values(0), SUITES, seed=7) != intervals(_values(0), SUITES, seed=8)


def test_the_spread_is_that_of_a_stratified_mean_of_tasks() -> None:
    values = _values(1)
    parts = [values[name == SUITES, 0] for name in ("A", "B")]
    means = resampled_means(values, SUITES, seed=0, resamples=20_000)[:, 0]
    assert means.mean() == pytest.approx(np.mean([part.mean() for part in parts]), abs=0.003)
    expected = np.sqrt(sum(part.var() / len(part) for part in parts)) / 2
    assert means.std() == pytest.approx(expected, rel=0.03)


def test_the_interval_covers_the_true_rate_about_as_often_as_it_says() -> None:
    hits = 0
    for seed in range(200):
        (interval, _) = intervals(_values(seed), SUITES, seed=0, resamples=400)
        assert interval is not None
        hits += interval.lower <= 0.4 <= interval.upper
    assert 0.86 <= hits / 200 <= 0.99


def test_an_undefined_task_leaves_its_metric_without_an_interval() -> None:
    values = _values(2)
    values[3, 0] = np.nan
    first, second = intervals(values, SUITES, seed=0)
    assert first is None
    assert second is not None


def test_a_suite_of_one_task_has_no_interval_rather_than_one_of_no_width() -> None:
    assert intervals(np.array([[0.5], [0.25], [0.75]]), np.array(["A", "B", "B"]), seed=0) == [None]


@pytest.mark.parametrize(("tasks", "least"), [(1, 0.05), (3, 0.05 ** (1 / 3)), (34, 0.05 ** (1 / 34))])
def test_where_all_tasks_agree_the_exact_bound_is_that_of_clopper_and_pearson(tasks: int, least: float) -> None:
    suites = np.array(["A"] * tasks)
    solved, failed = exact_bound(np.ones(tasks), suites), exact_bound(np.zeros(tasks), suites)
    assert solved is not None
    assert failed is not None
    assert (solved.lower, solved.upper) == (pytest.approx(least), 1.0)
    assert (failed.lower, failed.upper) == (0.0, pytest.approx(1 - least))
    assert exact_bound(np.full(tasks, 0.5), suites) is None
    assert exact_bound(np.full(tasks, np.nan), suites) is None


@given(st.lists(st.lists(st.floats(0.02, 1.0), min_size=1, max_size=6), min_size=1, max_size=5))
def test_no_chances_that_give_such_a_result_one_time_in_twenty_have_a_mean_beyond_the_bound(
    chances: list[list[float]],
) -> None:
    suites = np.array([name for name, inside in zip("ABCDE", chances, strict=False) for _ in inside])
    found = exact_bound(np.ones(len(suites)), suites)
    assert found is not None
    if np.prod([chance for inside in chances for chance in inside]) >= 0.05:
        assert np.mean([np.mean(inside) for inside in chances]) >= found.lower - 1e-9


def test_a_paired_difference_is_zero_for_a_run_against_itself() -> None:
    values = _values(3)[:, 0]
    found = paired_difference(values, values, SUITES, seed=0)
    assert found is not None
    assert (found.mean, found.better, found.equal, found.worse) == (0.0, 0, 40, 0)
    assert found.interval is not None
    assert (found.interval.lower, found.interval.upper) == (0.0, 0.0)
    # The suite of 10 tasks, half of the mean, is the looser: its tasks change with a chance of 1 - 0.05^(1/10) at most.
    assert found.exact is not None
    most = (1 - 0.05 ** (1 / 10)) / 2
    assert (found.exact.lower, found.exact.upper) == pytest.approx((-most, most))


@given(
    st.lists(st.integers(1, 8), min_size=1, max_size=4),
    st.lists(st.floats(0.01, 1), min_size=4, max_size=4),
    st.sampled_from([-1.0, -0.25, 0.0, 0.5, 1.0]),
)
def test_no_way_of_changing_alike_is_outside_the_exact_bounds_of_a_difference(
    sizes: list[int], chances: list[float], change: float
) -> None:
    """Tasks that change by ``change`` with these chances by suite, and else by -1 or by 1, as one time in twenty."""
    suites = np.repeat([str(index) for index in range(len(sizes))], sizes)
    found = exact_difference(np.full(len(suites), change), suites)
    assert found is not None
    if np.prod([chance**size for size, chance in zip(sizes, chances, strict=False)]) >= 0.05:
        for other in (-1, 1):
            means = [change * chance + other * (1 - chance) for chance in chances[: len(sizes)]]
            assert found.lower - 1e-9 <= np.mean(means) <= found.upper + 1e-9


def test_changes_that_differ_have_an_interval_and_no_exact_bounds() -> None:
    assert exact_difference(np.array([0.0, 0.25]), np.array(["A", "A"])) is None


def test_a_paired_interval_is_narrower_than_that_of_independent_runs() -> None:
    first = _values(4)[:, 0]
    second = np.minimum(first + 0.25, 1.0)
    found = paired_difference(first, second, SUITES, seed=0)
    assert found is not None
    assert found.interval is not None
    (alone,) = intervals(first[:, None], SUITES, seed=0)
    assert alone is not None
    assert found.interval.upper - found.interval.lower < alone.upper - alone.lower
    assert found.interval.lower > 0


def test_runs_over_different_tasks_are_refused_and_undefined_ones_have_no_difference() -> None:
    values = _values(5)[:, 0]
    with pytest.raises(ValueError, match="compare runs over the same tasks"):
        paired_difference(values[1:], values, SUITES, seed=0)
    assert paired_difference(np.where(values > 0, values, np.nan), values, SUITES, seed=0) is None


def _judged(ledger: list[Attempt], protocol: str = "pass2", subset: str = "ep-100") -> Eligibility:
    selection = selection_of(load(), subset, profile="native", level="L3")
    return assess(ledger, selection, Rules(load(), protocol))


def test_two_runs_are_compared_in_printed_points() -> None:
    ledger = printed.reference_ledger()
    (pocket,) = (name for name, solved in printed.solved_by_task().items() if "cube" in name and solved[1])
    without = [attempt for attempt in ledger if attempt.environment_id != pocket]
    without += [Attempt(2000 + n, pocket, n // 2, "failure", code="MECH") for n in range(8)]
    result = compare(_judged(without), _judged(ledger), resamples=100)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    # one condition of 48 in one suite of five
    cube, total = result["by_suite"]["Cube"]["pass_at_2"], result["total"]["pass_at_2"]
    assert (cube["points"], total["points"]) == ("+2.08", "+0.42")
    assert (total["tasks_better"], total["tasks_equal"], total["tasks_worse"]) == (1, 99, 0)
    assert total["interval"][0] <= total["value"] <= total["interval"][1]
    backwards = compare(_judged(ledger), _judged(without), resamples=100)
    assert backwards["total"]["pass_at_2"]["points"] == "-0.42"


def test_a_partial_run_has_no_difference_and_other_protocols_or_tasks_are_refused() -> None:
    ledger = printed.reference_ledger()
    partial = [attempt for attempt in ledger if attempt.environment_id != "marble/dual-panda/A007"]
    result = compare(_judged(partial), _judged(ledger), resamples=10)
    assert result["total"]["pass_at_1"] is None
    assert result["by_suite"]["Launch"]["pass_at_1"] is None
    assert result["by_suite"]["Home"]["pass_at_1"]["points"] == "+0.00"
    with pytest.raises(ValueError, match="protocols 'single' and 'pass2' differ"):
        compare(_judged([], "single"), _judged([]))
    with pytest.raises(ValueError, match="are not the same tasks"):
        compare(_judged([]), _judged([], subset="ep-20"))
