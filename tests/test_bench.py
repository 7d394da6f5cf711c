"""The benches' arithmetic: ratios of pairs, rates made of parts, targets. No test here asserts a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import __main__ as command_line
from bench.command import spend
from bench.figures import Figure, Target, composed, paired, table
from bench.process_use import child_running, children, tree, use

times = st.floats(1e-3, 1e3)
pairs = st.lists(st.tuples(times, times), min_size=1, max_size=9)


def test_the_ratio_is_the_median_over_the_pairs_and_not_a_quotient_of_medians() -> None:
    # One slow minute: ours and raw of the third pair both took ten times as long.
    figure = paired("attempt", "ms", ours=[110, 130, 1200], raw=[100, 100, 1000])
    assert figure.ratio == pytest.approx(1.2)
    assert (figure.ours, figure.raw, figure.pairs) == (130, 100, 3)
    assert figure.spread == pytest.approx((1.1, 1.3))


@given(pairs, st.floats(0.1, 10))
def test_a_machine_that_slows_down_in_the_middle_changes_no_ratio(
    found: list[tuple[float, float]], slower: float
) -> None:
    ours, raw = zip(*found, strict=True)
    drift = [slower if index % 2 else 1.0 for index in range(len(found))]
    calm = paired("x", "s", ours, raw)
    rough = paired(
        "x", "s", [a * f for a, f in zip(ours, drift, strict=True)], [b * f for b, f in zip(raw, drift, strict=True)]
    )
    assert rough.ratio == pytest.approx(calm.ratio)


@pytest.mark.parametrize(("ours", "raw"), [([1.0], [1.0, 2.0]), ([], [])])
def test_what_was_not_measured_in_turn_is_not_compared(ours: list[float], raw: list[float]) -> None:
    with pytest.raises(ValueError, match="are not pairs"):
        paired("x", "s", ours, raw)


def test_a_rate_of_parts_sums_the_least_disturbed_time_of_each_part() -> None:
    # Three rounds of two parts; one part of one round was disturbed.
    ours = [[1.0, 3.0], [1.0, 3.0], [9.0, 3.0]]
    raw = [[0.8, 2.4], [0.8, 2.4], [0.8, 2.4]]
    figure = composed("stepping", "actions/s", 100, ours, raw)
    assert figure.ours == pytest.approx(25.0)
    assert figure.raw == pytest.approx(31.25)
    assert figure.ratio == pytest.approx(0.8)
    assert figure.spread == pytest.approx((3.2 / 12, 0.8))


@given(st.lists(st.tuples(times, times), min_size=1, max_size=6), st.integers(1, 4), st.floats(1, 1e6))
def test_the_ratio_of_rates_is_the_quotient_of_the_rates(
    parts: list[tuple[float, float]], rounds: int, amount: float
) -> None:
    ours, raw = zip(*parts, strict=True)
    figure = composed("x", "1/s", amount, [ours] * rounds, [raw] * rounds)
    assert figure.raw is not None
    assert figure.ratio == pytest.approx(figure.ours / figure.raw)


def test_parts_that_differ_between_the_sides_are_refused() -> None:
    with pytest.raises(ValueError, match="same rounds and parts"):
        composed("x", "1/s", 1, [[1.0, 2.0]], [[1.0]])


@pytest.mark.parametrize(
    ("target", "met"),
    [
        (Target("ratio", "<=", 1.2), True),
        (Target("ratio", "<", 1.2), False),
        (Target("ratio", ">=", 1.2), True),
        (Target("ours", "<", 50), False),
        (Target("ours", ">=", 60), True),
    ],
)
def test_a_target_is_met_in_the_quantity_that_it_names(target: Target, met: bool) -> None:
    assert Figure("x", "ms", ours=60, raw=50, ratio=1.2, target=target).met is met


def test_a_ratio_without_a_baseline_cannot_meet_anything() -> None:
    with pytest.raises(ValueError, match="needs a raw baseline"):
        _ = Figure("x", "ms", ours=60, target=Target("ratio", "<", 2)).met
    assert Figure("x", "ms", ours=60).met is None


def test_the_table_says_which_targets_are_missed() -> None:
    shown = table(
        [
            Figure("fast", "ms", 1, 1, 1.0, (0.9, 1.1), 3, Target("ratio", "<=", 1.2)),
            Figure("slow", "ms", 2, 1, 2.0, (1.9, 2.1), 3, Target("ratio", "<=", 1.2)),
            Figure("alone", "MB", 95),
        ]
    )
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in shown.splitlines()]
    assert [(row[0], row[-1]) for row in cells[2:]] == [("fast", "yes"), ("slow", "NO"), ("alone", "-")]
    assert len({line.count("|") for line in shown.splitlines()}) == 1


def test_a_figure_is_json() -> None:
    figure = Figure("x", "ms", 2, 1, 2.0, (2.0, 2.0), 1, Target("ours", "<", 3))
    assert json.loads(json.dumps(figure.plain()))["target"] == "< 3 (ours)"
    assert figure.plain()["met"] is True


def test_the_accounts_of_a_process_grow_with_its_work() -> None:
    before = use(os.getpid())
    held = bytearray(before.peak_bytes)  # zeroed pages count once they are written
    held[::4096] = b"x" * len(held[::4096])
    while use(os.getpid()).cpu_s <= before.cpu_s:
        sum(range(10_000))
    assert use(os.getpid()).peak_bytes > before.peak_bytes


def test_a_child_is_found_by_the_module_that_it_runs() -> None:
    with subprocess.Popen([sys.executable, "-m", "code"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        try:
            assert child_running("code") == child.pid
            assert child.pid in children(os.getpid())
            assert set(tree(child.pid)) >= {child.pid}
            with pytest.raises(LookupError, match="no child runs"):
                child_running("images.gateway.never")
        finally:
            child.kill()


def test_an_unknown_bench_is_refused_with_the_known_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "steping"])
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    assert ended.value.code == 2
    assert "'steping' is unknown" in capsys.readouterr().err


def test_a_command_is_charged_for_its_own_work_and_a_failing_one_is_no_figure() -> None:
    work = "while sum(__import__('os').times()[:2]) < 0.2: pass"
    assert spend([sys.executable, "-S", "-c", work]).cpu > spend([sys.executable, "-S", "-c", "pass"]).cpu
    with pytest.raises(subprocess.CalledProcessError):
        spend([sys.executable, "-S", "-c", "raise SystemExit(3)"])
