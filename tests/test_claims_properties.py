"""What must hold for every published table: real outcomes always pass, and a "no" is a proof."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from manifests.claims import ClaimRow, Claims, LabelRow, Partition, Share
from scoring.claims.check import check
from scoring.claims.rounding import ROUNDINGS, Printed, Rate
from scoring.claims.sums import Means, TooMany

decimals = st.integers(0, 4)
roundings = st.sampled_from(ROUNDINGS)


def printed(rate: Fraction, places: int, rounding: str) -> str:
    """A rate in percent, rounded by the definition of each rounding."""
    exact = rate * 100 * 10**places
    floor = exact.numerator // exact.denominator
    rest = exact - floor
    up = {
        "half up": rest >= Fraction(1, 2),
        "half down": rest > Fraction(1, 2),
        "half even": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and floor % 2 == 1),
        "down": False,
        "up": rest > 0,
    }[rounding]
    units = floor + up
    return f"{units // 10**places}" + (f".{units % 10**places:0{places}d}" if places else "")


# outcomes of one suite: tasks, each with successes within one and two attempts of four conditions
task = st.tuples(st.integers(0, 4), st.integers(0, 4)).map(sorted)
subset = st.dictionaries(st.sampled_from("abcde"), st.lists(task, min_size=1, max_size=8), min_size=2)


def rows_of(name: str, suites: dict[str, Any], places: int, rounding: str) -> list[ClaimRow]:
    """The rows that an honest author prints for these outcomes."""
    counts = {suite: [sum(solved[k] for solved in tasks) for k in (0, 1)] for suite, tasks in suites.items()}
    planned = {suite: 4 * len(tasks) for suite, tasks in suites.items()}
    total = sum(planned.values())
    first, second = (sum(count[k] for count in counts.values()) for k in (0, 1))
    means = [sum(Fraction(counts[s][k], planned[s]) for s in suites) / len(suites) for k in (0, 1)]

    def row(suite: str, conditions: int, rates: list[Fraction], **more: int) -> ClaimRow:
        texts = [printed(rate, places, rounding) for rate in rates]
        return ClaimRow(
            agent="x", subset=name, suite=suite, conditions=conditions, pass_at_1=texts[0], pass_at_2=texts[1], **more
        )

    return [
        row("mean", total, means, attempts=2 * total - first),
        row(
            "all",
            total,
            [Fraction(first, total), Fraction(second, total)],
            attempts=2 * total - first,
            successes=second,
            failures=total - second,
        ),
        *(
            row(
                suite,
                planned[suite],
                [Fraction(count, planned[suite]) for count in counts[suite]],
                attempts=2 * planned[suite] - counts[suite][0],
                successes=counts[suite][1],
                failures=planned[suite] - counts[suite][1],
            )
            for suite in suites
        ),
    ]


@given(subset, decimals, roundings)
@settings(deadline=None)
def test_every_table_of_real_outcomes_passes(suites: dict[str, Any], places: int, rounding: str) -> None:
    labels = []
    for suite, tasks in suites.items():
        failed = sum(8 - first - second for first, second in tasks)
        labels.append(LabelRow(agent="x", subset="s", suite=suite, failed_attempts=failed, labels={"a": failed}))
    result = check(Claims(title="t", rows=tuple(rows_of("s", suites, places, rounding)), labels=tuple(labels)))
    assert [row["text"] for row in result["findings"] if not row["holds"]] == []
    assert {"rate", "headline", "average", "attempts", "agreement", "labels", "failed attempts"} <= set(
        result["counts"]
    )


@given(subset, subset, decimals, roundings)
@settings(deadline=None)
def test_two_halves_of_real_outcomes_add_up_to_the_whole(
    first: dict[str, Any], second: dict[str, Any], places: int, rounding: str
) -> None:
    whole = {suite: first.get(suite, []) + second.get(suite, []) for suite in first | second}
    rows = [
        *rows_of("whole", whole, places, rounding),
        *rows_of("one", first, places, rounding),
        *rows_of("two", second, places, rounding),
    ]
    claims = Claims(title="t", rows=tuple(rows), partitions=(Partition(whole="whole", parts=("one", "two")),))
    assert [row["text"] for row in check(claims)["findings"] if not row["holds"]] == []


@given(st.integers(1, 300), decimals, st.data())
def test_a_rate_is_attainable_exactly_when_some_count_is_printed_so(planned: int, places: int, data: Any) -> None:
    units = data.draw(st.integers(0, 100 * 10**places))
    text = printed(Fraction(units, 100 * 10**places), places, "down")
    rate = Rate.of(text, planned)
    by_rounding = {
        name: [count for count in range(planned + 1) if printed(Fraction(count, planned), places, name) == text]
        for name in ROUNDINGS
    }
    assert rate.roundings == tuple(name for name, counts in by_rounding.items() if counts)
    counts = sorted({count for counts in by_rounding.values() for count in counts})
    assert rate.counts == ((counts[0], counts[-1]) if counts else None)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.data())
def test_the_means_are_those_of_all_combinations(planned: list[int], data: Any) -> None:
    means, counted = Means(planned), Means(planned, counted=True)
    combinations = list(itertools.product(*(range(count + 1) for count in planned)))
    every = {
        combination: int(
            sum(Fraction(k, n) for k, n in zip(combination, planned, strict=True)) * means.denominator / len(planned)
        )
        for combination in combinations
    }
    first = data.draw(st.integers(0, means.denominator))
    last = data.draw(st.integers(first, means.denominator))
    successes = data.draw(st.integers(0, sum(planned)))
    for found, sums in (
        (means.near(first, last), set(every.values())),
        (counted.near(first, last, successes), {t for c, t in every.items() if sum(c) == successes}),
    ):
        assert found.below == max((value for value in sums if value < first), default=None)
        assert found.inside == min((value for value in sums if first <= value <= last), default=None)
        assert found.above == min((value for value in sums if value > last), default=None)


@pytest.mark.parametrize(
    ("planned", "counted", "why"),
    [
        ([99_991, 99_989, 99_971, 99_961], False, "do not fit into 64 bits"),
        ([211, 223, 227, 229, 233, 239], False, "more than 4000000 sums"),
        ([1_000_003, 999_983, 3], True, "do not fit into 64 bits"),
    ],
)
def test_sums_that_are_too_many_or_too_large_are_refused(planned: list[int], counted: bool, why: str) -> None:
    with pytest.raises(TooMany, match=why):
        Means(planned, counted=counted)


def test_what_is_too_large_to_decide_is_said_and_is_no_contradiction() -> None:
    rows = [ClaimRow(agent="x", subset="s", suite=str(n), conditions=n) for n in (99_991, 99_989, 99_971, 99_961)] + [
        ClaimRow(agent="x", subset="s", suite="mean", conditions=399_912, pass_at_1="12.34")
    ]
    result = check(Claims(title="t", rows=tuple(rows)))
    assert result["counts"]["headline"] == {"holds": 0, "fails": 0, "undecided": 1}
    assert result["consistent"]


@example("12.345")
@given(st.decimals(0, 100, places=3).map(str))
def test_a_printed_number_is_read_to_its_decimals(text: str) -> None:
    found = Printed.of(text)
    assert found.value == Fraction(text) / 100
    assert found.like(found.value) == text


@pytest.mark.parametrize(
    ("percent", "rounding"),
    [("3.13", "half up"), ("3.12", "half even or half down or down")],
)
def test_one_of_32_is_printed_in_two_ways_and_the_unusual_one_is_named(percent: str, rounding: str) -> None:
    rows = (ClaimRow(agent="x", subset="s", suite="all", conditions=32, pass_at_1=percent),)
    result = check(Claims(title="t", rows=rows))
    assert result["consistent"]
    (row,) = result["findings"]
    assert row["remark"] == (percent == "3.12")
    if row["remark"]:
        assert row["text"].endswith(f"only when rounded {rounding}")


def one(**fields: Any) -> dict[str, dict[str, int]]:
    """Counts by check of a single row over all of 8 conditions."""
    row = ClaimRow(**{"agent": "x", "subset": "s", "suite": "all", "conditions": 8, **fields})
    counts: dict[str, dict[str, int]] = check(Claims(title="t", rows=(row,)))["counts"]
    return counts


@pytest.mark.parametrize(
    ("check", "fields"),
    [
        ("rate", {"pass_at_1": "12.51"}),
        ("order", {"pass_at_1": "50.00", "pass_at_2": "37.50"}),
        ("counts", {"successes": 3, "failures": 6}),
        ("counts", {"successes": 9}),
        ("attempts", {"attempts": 9, "pass_at_1": "12.50"}),  # one attempt each: 8
        ("attempts", {"attempts": 14, "pass_at_1": "12.50", "pass_at_2": "25.00"}),  # 8 + 7
        ("attempts", {"attempts": 17, "pass_at_1": "0.00", "pass_at_2": "0.00"}),
        ("agreement", {"successes": 3, "failures": 5, "pass_at_2": "25.00"}),
    ],
)
def test_each_check_fails_on_its_contradiction(check: str, fields: dict[str, Any]) -> None:
    assert one(**fields)[check]["fails"] == 1


def test_a_share_whose_count_is_another_percentage_fails() -> None:
    row = ClaimRow(agent="x", subset="s", suite="all", conditions=8)
    shares = (Share(name="y", percent="8.05", of=336, count=27), Share(name="z", percent="8.04", of=336, count=27))
    assert check(Claims(title="t", rows=(row,), shares=shares))["counts"]["share"] == {
        "holds": 1,
        "fails": 1,
        "undecided": 0,
    }
