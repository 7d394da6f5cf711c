"""What ends a run of a model before its work is done: a limit on cost, and causes that would only come back."""

from __future__ import annotations

from pathlib import Path

import pytest
from slider_runtime import Scripted, evaluation

from manifests.records import Usage
from runner.agents.base import AgentEnd, AttemptContext
from runner.cli import run
from runner.errors import RunStopped
from runner.store.store import Store

FOUR = [{}, {}, {}, {}]


def spend(dollars: float | None) -> Scripted:
    """An agent that finishes without success, having spent so much."""

    def act(context: AttemptContext) -> AgentEnd:
        context.report_usage(Usage(tokens_input=10, tokens_output=1, model_calls=1, cost_usd=dollars))
        return AgentEnd()

    return Scripted(act)


def end(cause: str) -> Scripted:
    return Scripted(lambda context: AgentEnd(cause, f"the provider said {cause}"))


def records(home: Path) -> int:
    store = Store(home)
    run = store.find_run("test")
    assert run is not None
    return sum(row.record is not None for row in store.attempts(run))


def test_a_run_opens_no_attempt_once_its_cost_is_spent_and_goes_on_when_the_limit_is_raised(tmp_path: Path) -> None:
    first = evaluation(tmp_path, spend(0.5), parameters=FOUR, protocol="single", max_cost_usd=1.0)
    with pytest.raises(RunStopped, match=r"max-cost 1: \$1.00 is spent.*raise MAX_COST=, then run the same command"):
        first.run()
    assert records(tmp_path) == 2

    again = evaluation(tmp_path, spend(0.5), parameters=FOUR, protocol="single", max_cost_usd=1.5)
    with pytest.raises(RunStopped, match=r"\$1.50 is spent"):
        again.run()
    assert records(tmp_path) == 3  # what earlier starts of the run cost counts too

    evaluation(tmp_path, spend(0.5), parameters=FOUR, protocol="single").run()
    assert records(tmp_path) == 4


def test_a_cost_that_is_unknown_is_not_free_under_a_limit(tmp_path: Path) -> None:
    words = "max-cost 1: the cost of 1 attempt is unknown, so that the limit cannot be kept: .*without MAX_COST"
    for _ in range(2):  # of this start or an earlier one
        with pytest.raises(RunStopped, match=words):
            evaluation(tmp_path, spend(None), parameters=FOUR, protocol="single", max_cost_usd=1.0).run()
        assert records(tmp_path) == 1
    evaluation(tmp_path, spend(None), parameters=FOUR, protocol="single").run()
    assert records(tmp_path) == 4


def test_an_attempt_that_called_no_model_has_no_unknown_cost(tmp_path: Path) -> None:
    evaluation(tmp_path, Scripted(lambda context: None), parameters=[{}], protocol="single", max_cost_usd=1.0).run()
    assert records(tmp_path) == 1


def test_a_run_that_ends_on_its_limit_has_done_all_its_work(tmp_path: Path) -> None:
    whole = evaluation(tmp_path, spend(0.5), parameters=[{}, {}], protocol="single", max_cost_usd=1.0)
    whole.run()
    assert records(tmp_path) == 2


@pytest.mark.parametrize(
    ("cause", "attempts"),
    [("bad_key", 1), ("quota_gone", 1), ("model_not_found", 1), ("adapter_fault", 1), ("provider_fault", 3)],
)
def test_a_cause_that_would_come_back_stops_the_run_with_its_own_words(
    tmp_path: Path, cause: str, attempts: int
) -> None:
    with pytest.raises(RunStopped, match=f"ended as {cause}: the provider said {cause}: mend that"):
        evaluation(tmp_path, end(cause), parameters=FOUR, protocol="single").run()
    assert records(tmp_path) == attempts


@pytest.mark.parametrize("cause", ["refusal", "empty_reply", "no_choices", "context_overflow"])
def test_an_end_of_one_attempt_alone_stops_nothing(tmp_path: Path, cause: str) -> None:
    evaluation(tmp_path, end(cause), parameters=FOUR, protocol="single").run()
    assert records(tmp_path) == 4


def test_faults_that_are_not_in_a_row_do_not_stop(tmp_path: Path) -> None:
    causes = iter(["provider_fault", "provider_fault", "refusal", "provider_fault"])
    agent = Scripted(lambda context: AgentEnd(next(causes), "so it was"))
    evaluation(tmp_path, agent, parameters=FOUR, protocol="single").run()
    assert records(tmp_path) == 4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--model", "noop", "--max-cost", "5"], "max-cost 5: the baseline noop calls no model; leave MAX_COST out"),
        (["--model", "openai/gpt-4o", "--max-cost", "0"], "max-cost 0: give US dollars above 0"),
        (["--model", "openai/gpt-4o", "--max-cost", "nan"], "max-cost nan: give US dollars above 0"),
        (["--model", "nobody/nothing", "--dry-run"], "model 'nobody/nothing': no provider of that name"),
        (["--model", "openai/private", "--max-cost", "5"], "the price of openai/private is unknown"),
        (
            ["--model", "openai/gpt-4o", "--rpm", "0"],
            "rpm 0: give a whole number from 1 to 1,000,000, or leave RPM out",
        ),
        (
            ["--model", "openai/gpt-4o", "--rpm", "1" + "0" * 24],
            "give a whole number from 1 to 1,000,000, or leave RPM",
        ),
        (["--model", "openai/gpt-4o", "--tpm", "1e9"], "tpm 1e9: give a whole number from 1 to 1,000,000,000"),
        (["--model", "openai/gpt-4o", "--temperature", "1e300"], "temperature 1e300: give a number from 0 to 10"),
        (["--model", "openai/gpt-4o", "--max-cost", "1e300"], "max-cost 1e300: give US dollars above 0, a billion"),
        (["--model", "openai/gpt-4o", "--max-output-tokens", "1" + "0" * 23], "from 1 to 10,000,000"),
        (["--model", "openai/gpt-4o", "--parameter", "top_p=NaN"], "'top_p=NaN': it is no finite number"),
        (["--model", "openai/gpt-4o", "--parameter", "top_p=-inf"], "'top_p=-inf': it is no finite number"),
        (["--model", "openai/gpt-4o", "--parameter", "top_p=1e999"], "'top_p=1e999': it is no finite number"),
        (["--model", "openai/gpt-4o", "--parameter", "seed=99999999999999999999"], "no whole number below 2**53"),
        (["--model", "openai/gpt-4o", "--parameter", "stop=[1, NaN]"], "begins as JSON and is none (NaN is no JSON"),
        (["--model", "openai/gpt-4o", "--parameter", "stop=" + "[" * 100_000], "parameter 'stop=[[["),
        (
            ["--model", "noop", "--level", "L2"],
            "level 'L2': there is nothing to grant at L1 and L2 yet; choose L0 or L3",
        ),
        (["--model", "openai/gpt-4o", "--level", "L1"], "level 'L1': there is nothing to grant at L1 and L2 yet"),
        (["--model", "openai/gpt-4o", "--parameter", "top_p"], "parameter 'top_p': give NAME=VALUE"),
        (["--model", "noop", "--parameter", "seed=1"], "the baseline noop calls no model; leave PARAMETER out"),
        (
            ["--model", "openai/gpt-4o", "--max-output-tokens", "0"],
            "max-output-tokens 0: give a whole number from 1 to",
        ),
        (["--model", "noop", "--tpm", "9"], "tpm 9: the baseline noop calls no model; leave TPM out"),
    ],
)
def test_limits_and_parameters_that_cannot_hold_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    words: str,
) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    assert run(["evaluate", *options]) == 2
    assert words in capsys.readouterr().err


def test_a_dry_run_says_that_waiting_for_a_rate_takes_wall_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    words = "waiting for RPM and TPM is wall clock of the waiting attempt"
    command = ["evaluate", "--model", "openai/gpt-4o", "--tasks", "marble/dual-panda/A007", "--dry-run"]
    assert run([*command, "--rpm", "20"]) == 0
    assert words in capsys.readouterr().out
    assert run(command) == 0
    assert words not in capsys.readouterr().out
