"""What the policy confirms by itself when an attempt closes, in whole runs on real pairs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from incident_board import board
from slider_runtime import Scripted, SliderRuntime, evaluation, fail

from manifests.load import load
from manifests.records import AttemptRecord
from runner.agents.base import AgentEnd, AttemptContext
from runner.agents.registry import AgentRequest, make_agent
from runner.errors import RunStopped
from runner.incidents import confirm, reject
from runner.score import score_run
from runner.store.decisions import incident_state, policy_confirms
from runner.store.store import Run, Store


def states(store: Store, run: Run) -> list[tuple[int, str, str]]:
    """(condition, outcome, incident) of every attempt as the decisions have it."""
    return [(row.condition, row.outcome or "open", incident_state(row, load()).incident) for row in store.attempts(run)]


def test_field_04_a_start_that_fails_before_the_agent_is_excluded_and_its_condition_is_due_again(
    tmp_path: Path,
) -> None:
    runtime = SliderRuntime(broken_starts=3)  # one start and the two retries that the cause table allows
    made = evaluation(tmp_path, make_agent(AgentRequest("noop")), runtime, parameters=[{}])
    run = made.run()
    assert states(made.store, run) == [
        (0, "invalid", "confirmed"),
        (0, "failure", "none"),
        (0, "failure", "none"),
    ]
    kinds = [entry.kind for entry in made.store.entries(run)]
    assert kinds[:5] == ["run", "opened", "closed", "decision", "opened"]
    decision = made.store.entries(run)[3].payload
    assert (decision["reviewer"], decision["decision"], decision["signature"]) == ("policy", "confirmed", None)
    result = score_run(made.store, run, load())
    assert result["attempts"][0]["status"] == "excluded"
    assert result["ledger"]["excluded"] == 1
    assert "33.33 % of attempts are excluded, above the cap of 10.00 %" in result["not_rankable"]
    assert result["total"]["failures"] == 1
    assert made.store.verify(run) is None


def test_a_fault_that_keeps_coming_back_stays_a_candidate_and_does_not_run_for_ever(tmp_path: Path) -> None:
    fault = [{"fault": "create"}]
    made = evaluation(tmp_path, Scripted(fail), parameters=[*fault, {}])
    run = made.run()
    assert [incident for condition, _, incident in states(made.store, run) if condition == 0] == [
        "confirmed",
        "confirmed",
        "candidate",
    ]
    assert [outcome for condition, outcome, _ in states(made.store, run) if condition == 1] == ["failure", "failure"]


def test_three_starts_in_a_row_that_fail_still_stop_the_run(tmp_path: Path) -> None:
    made = evaluation(tmp_path, Scripted(fail), SliderRuntime(broken_starts=99), parameters=[{}, {}, {}])
    with pytest.raises(RunStopped, match="3 attempts in a row could not start"):
        made.run()
    run = made.store.find_run("test")
    assert run is not None
    assert [incident for _, _, incident in states(made.store, run)] == ["confirmed"] * 3


def test_under_the_single_protocol_the_policy_decides_nothing(tmp_path: Path) -> None:
    runtime = SliderRuntime(broken_starts=3)
    made = evaluation(tmp_path, make_agent(AgentRequest("noop")), runtime, parameters=[{}], protocol="single")
    run = made.run()
    assert states(made.store, run) == [(0, "invalid", "candidate")]


def test_a_provider_fault_before_the_first_action_is_excluded_and_after_it_waits_for_a_person(tmp_path: Path) -> None:
    calls: list[bool] = []

    def act(context: AttemptContext) -> AgentEnd | None:
        calls.append(True)
        if len(calls) == 2:
            context.sandbox.call({"op": "step", "action": [0.0, 0.0]})
        return AgentEnd("provider_fault", "HTTP 503 five times", {"calls": 5}) if len(calls) <= 2 else None

    made = evaluation(tmp_path, Scripted(act), parameters=[{}])
    run = made.run()
    assert states(made.store, run) == [(0, "invalid", "confirmed"), (0, "invalid", "candidate")]
    first, second = (AttemptRecord.model_validate_json(row.record or "") for row in made.store.attempts(run))
    assert (first.acted, second.acted) == (False, True)
    assert not policy_confirms(second, load())


def test_an_interrupted_attempt_is_never_confirmed_automatically(tmp_path: Path) -> None:
    made = evaluation(tmp_path, Scripted(fail), parameters=[{}])
    run = made.run()
    record = AttemptRecord.model_validate_json(made.store.attempts(run)[0].record or "")
    killed = record.model_copy(update={"cause": "interrupted", "incident": "candidate", "acted": False, "actions": 0})
    assert not policy_confirms(killed.model_copy(update={"evidence": {"x": 1}}), load())
    start = killed.model_copy(update={"cause": "container_fault", "evidence": {"exit_code": 1}})
    assert policy_confirms(start, load())
    for change in ({"acted": True}, {"actions": 1}, {"evidence": {}}, {"incident": "none"}, {"cause": "gremlins"}):
        assert not policy_confirms(start.model_copy(update=change), load())


def test_a_forged_policy_decision_binds_only_where_the_record_allows_it(tmp_path: Path) -> None:
    made = evaluation(tmp_path, Scripted(fail), parameters=[{}])
    run = made.run()
    store, row = made.store, made.store.attempts(run)[0]
    manifests, who = board(tmp_path)
    log = tmp_path / "log"
    log.write_text("x", encoding="utf-8")
    confirm(store, run, row.sequence, load(), replace(who, key=None), "as a proposal", [log])
    payload = store.entries(run)[-1].payload
    store.append(run, "decision", {**payload, "reviewer": "policy"})
    state = incident_state(store.attempt(run, row.sequence), manifests)
    assert (state.incident, len(state.proposals)) == ("none", 2)


def test_the_board_overrules_the_policy(tmp_path: Path) -> None:
    manifests, who = board(tmp_path)
    runtime = SliderRuntime(broken_starts=3)
    made = evaluation(tmp_path, make_agent(AgentRequest("noop")), runtime, parameters=[{}])
    run = made.run()
    state = reject(made.store, run, 2, manifests, who, "the image was tampered with", "agent_exception")
    assert state.ruled == ("failure", "agent_exception", "QUIT")
    result = score_run(made.store, run, manifests)
    assert [row["status"] for row in result["attempts"]] == ["scored", "scored", "extra"]


def test_a_schedule_that_starts_again_sees_the_decisions_of_people(tmp_path: Path) -> None:
    manifests, who = board(tmp_path)

    def act(context: AttemptContext) -> AgentEnd | None:
        context.sandbox.call({"op": "step", "action": [0.0, 0.0]})
        return AgentEnd("provider_fault", "HTTP 503", {"calls": 5})

    made = evaluation(tmp_path, Scripted(act), parameters=[{}])
    run = made.run()
    assert len(made.store.attempts(run)) == 1
    confirm(made.store, run, 2, manifests, who, "the provider says so")
    again = evaluation(tmp_path, Scripted(lambda context: None), parameters=[{}])
    again.manifests = manifests
    again.run()
    assert [row.cause for row in again.store.attempts(run)] == ["provider_fault", "quit", "quit"]


@pytest.mark.parametrize("cause", ["interrupted", "evidence_fault", "evaluator_error", "wall_clock", "quit"])
def test_the_policy_never_confirms_what_an_agent_or_a_submitter_could_bring_about(cause: str) -> None:
    assert load().causes[cause].automatic_confirmation == "never"
