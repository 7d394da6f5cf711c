"""One attempt on a real pair: every way in which it can end, and what its record says."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from slider_runtime import SOLVE, Scripted, SliderRuntime, evaluation, fail, program

from manifests.records import AttemptRecord, Usage
from runner.agents.base import Agent, AgentEnd, AttemptContext
from runner.agents.registry import AgentRequest, make_agent
from runner.errors import RunStopped
from runner.store.artifacts import check


def attempts(home: Path, agent: Agent, runtime: SliderRuntime | None = None, **options: Any) -> list[AttemptRecord]:
    """The records of a whole run, in ledger order; lease and chain are checked on the way."""
    made = evaluation(home, agent, runtime, **{"parameters": [{}], "protocol": "single", **options})
    run = made.run()
    assert made.store.leases(run) == []
    assert made.store.verify(run) is None
    rows = made.store.attempts(run)
    assert all(row.state == "closed" for row in rows)
    return [AttemptRecord.model_validate_json(row.record or "") for row in rows]


def test_a_success_is_recorded_with_its_artifacts_and_times(tmp_path: Path) -> None:
    (record,) = attempts(tmp_path, program(SOLVE))
    assert (record.outcome, record.cause, record.code, record.violation) == ("success", "goal_met", None, None)
    assert record.acted
    assert record.actions > 30
    assert record.simulated_s == pytest.approx(record.actions * 0.02)
    assert record.began_at is not None
    assert record.opened_at < record.began_at < record.closed_at
    assert record.success_wall_s is not None
    assert 0 < record.success_wall_s <= record.wall_s
    folder = tmp_path / "test" / record.attempt
    assert [check(folder, artifact) for artifact in record.artifacts] == [None] * len(record.artifacts)
    names = {artifact.name for artifact in record.artifacts}
    assert {"actions.npy", "states.npy", "scorer_log.jsonl", "describe.json"} <= names
    assert np.load(folder / "actions.npy").shape == (record.actions, 2)
    assert json.loads((folder / "record.json").read_text()) == record.model_dump(mode="json")
    assert record.fingerprint["slider"] == "1.0"
    assert record.realized["x"] == 0.0


def test_the_wall_time_of_an_attempt_counts_its_start(tmp_path: Path) -> None:
    runtime = SliderRuntime()
    (record,) = attempts(tmp_path, make_agent(AgentRequest("noop")), runtime)
    assert record.wall_s >= runtime.pairs[0].start_s


def test_a_violation_names_the_clause_as_it_was_disclosed(tmp_path: Path) -> None:
    (record,) = attempts(tmp_path, Scripted(fail))
    assert (record.outcome, record.cause, record.code) == ("failure", "violation", "LIMIT")
    assert record.violation is not None
    assert record.violation.clause == "S-02"
    assert record.violation.data["clause_text"] == "Never go behind the wall."


def test_noop_quits(tmp_path: Path) -> None:
    (record,) = attempts(tmp_path, make_agent(AgentRequest("noop")))
    assert (record.outcome, record.cause, record.code, record.acted) == ("failure", "quit", "QUIT", False)
    assert record.usage == Usage(tokens_input=0, tokens_cached=0, tokens_output=0, cost_usd=0.0)


def test_random_acts_within_the_limits_and_repeats_with_its_seed(tmp_path: Path) -> None:
    found = []
    for home in (tmp_path / "a", tmp_path / "b"):
        records = attempts(home, make_agent(AgentRequest("random")), parameters=[{}, {}])
        assert all(record.outcome == "failure" and record.cause != "rejected_action" for record in records)
        found.append([np.load(home / "test" / record.attempt / "actions.npy") for record in records])
    assert all(np.array_equal(*pair) for pair in zip(*found, strict=True))
    assert not np.array_equal(found[0][0][0], found[0][1][0])


@pytest.mark.parametrize(("protocol", "outcome", "code"), [("single", "invalid", "ERR"), ("pass2", "failure", "QUIT")])
def test_an_exception_of_the_agent_means_what_the_protocol_says(
    tmp_path: Path, protocol: str, outcome: str, code: str
) -> None:
    record = attempts(tmp_path, program("raise ValueError('lost the plot')"), protocol=protocol)[0]
    assert (record.outcome, record.cause, record.code) == (outcome, "agent_exception", code)
    assert "lost the plot" in record.text


def test_an_exception_on_the_host_side_is_the_agents_too(tmp_path: Path) -> None:
    def act(context: AttemptContext) -> AgentEnd:
        raise KeyError("no such tool")

    (record,) = attempts(tmp_path, Scripted(act))
    assert record.cause == "agent_exception"
    assert "no such tool" in record.evidence["traceback"]


def test_a_binding_violation_stands_whatever_the_agent_raises_afterwards(tmp_path: Path) -> None:
    text = "import numpy as np\ntry: env.step(np.tile([-1.0, 0.0], (50, 1)))\nfinally: raise ValueError('after')"
    (record,) = attempts(tmp_path, program(text))
    assert (record.cause, record.code) == ("violation", "LIMIT")


def test_field_09_an_endless_loop_ends_at_the_deadline_with_nothing_left(tmp_path: Path) -> None:
    begun = time.monotonic()
    runtime = SliderRuntime()
    record = attempts(tmp_path, program("while True: pass"), runtime, wall_s=3.0, protocol="pass2", parameters=[{}])[0]
    assert (record.outcome, record.cause, record.code) == ("failure", "wall_clock", "TIME")
    assert 3.0 <= record.wall_s < 10.0
    assert time.monotonic() - begun < 60
    for pair in runtime.pairs:
        assert pair.exit("sandbox", 0.0) is not None
        assert pair.exit("environment", 0.0) is not None


def test_wall_clock_is_invalid_in_the_single_protocol(tmp_path: Path) -> None:
    (record,) = attempts(tmp_path, program("while True: pass"), wall_s=2.0)
    assert (record.outcome, record.code, record.incident) == ("invalid", "ERR", "none")


def test_an_agent_that_kills_its_own_sandbox_has_an_agent_exception(tmp_path: Path) -> None:
    def act(context: AttemptContext) -> AgentEnd | None:
        runtime.pairs[-1].kill("sandbox")
        context.sandbox.call({"op": "observe"})
        return None

    runtime = SliderRuntime()
    (record,) = attempts(tmp_path, Scripted(act), runtime)
    assert (record.cause, record.text) == ("agent_exception", "the sandbox ended")
    assert record.evidence["exit_code"] == -9


def test_code_that_stops_its_own_sandbox_costs_its_agent_the_attempt_and_not_the_wall_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.links.ANSWER_S", 2.0)

    def act(context: AttemptContext) -> AgentEnd | None:
        context.sandbox.execute("import os, signal; os.kill(os.getppid(), signal.SIGSTOP)", timeout_s=1.0)
        return None

    (record,) = attempts(tmp_path, Scripted(act), wall_s=120.0)
    assert record.cause == "agent_exception"
    assert "did not answer within 2 s of the end of its code's time and was killed" in record.text
    assert record.evidence["exit_code"] == -9
    assert record.wall_s < 60


def test_code_of_any_size_for_a_stopped_sandbox_does_not_hold_up_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.links.ANSWER_S", 2.0)

    def act(context: AttemptContext) -> AgentEnd | None:
        stop = "import os, signal, threading\nkernel = os.getppid()\n"
        stop += "threading.Timer(0.3, os.kill, (kernel, signal.SIGSTOP)).start()"
        context.sandbox.execute(stop, timeout_s=5.0)
        time.sleep(1.0)
        context.sandbox.execute("#" * (1 << 20), timeout_s=0.5)  # more than a pipe takes
        return None

    (record,) = attempts(tmp_path, Scripted(act), wall_s=120.0)
    assert record.cause == "agent_exception"
    assert record.wall_s < 60


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("sanity", "physics_sanity"),
        ("error", "evaluator_error"),
        ("exit", "container_fault"),
        ("create", "initialization_error"),
    ],
)
def test_a_fault_of_the_environment_is_an_incident_candidate(tmp_path: Path, fault: str, cause: str) -> None:
    (record,) = attempts(tmp_path, Scripted(fail), parameters=[{"fault": fault, "fault_at": 3}])
    assert (record.outcome, record.cause, record.code, record.incident) == ("invalid", cause, "ERR", "candidate")
    assert record.text


def test_an_environment_that_hangs_is_ended_at_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.supervise.STOP_S", 1.0)
    (record,) = attempts(tmp_path, Scripted(fail), parameters=[{"fault": "hang", "fault_at": 3}], wall_s=4.0)
    assert record.cause == "wall_clock"
    assert "no verdict" in record.evidence["environment"]


def test_a_provider_fault_is_a_candidate_unless_the_episode_has_ended(tmp_path: Path) -> None:
    def act(context: AttemptContext) -> AgentEnd:
        return AgentEnd("provider_fault", "HTTP 503 five times", {"calls": 5})

    (record,) = attempts(tmp_path, Scripted(act))
    assert (record.outcome, record.cause, record.incident) == ("invalid", "provider_fault", "candidate")
    assert (record.text, record.evidence["calls"]) == ("HTTP 503 five times", 5)


def test_a_budget_of_the_host_is_a_failure(tmp_path: Path) -> None:
    (record,) = attempts(tmp_path, Scripted(lambda context: AgentEnd("token_budget", "30 M tokens are used up")))
    assert (record.outcome, record.code) == ("failure", "BUDGET")


def test_field_05_an_unknown_cause_is_invalid_and_visible(tmp_path: Path) -> None:
    (record,) = attempts(tmp_path, Scripted(lambda context: AgentEnd("gremlins", "nobody knows")))
    assert (record.outcome, record.cause, record.code) == ("invalid", "gremlins", "ERR")


def test_field_04_a_start_that_fails_is_tried_again_in_the_same_slot(tmp_path: Path) -> None:
    runtime = SliderRuntime(broken_starts=1)
    (record,) = attempts(tmp_path, make_agent(AgentRequest("noop")), runtime)
    assert (record.outcome, runtime.opened) == ("failure", 2)


def test_a_start_that_keeps_failing_is_a_candidate_that_never_began(tmp_path: Path) -> None:
    runtime = SliderRuntime(broken_starts=99)
    (record,) = attempts(tmp_path, make_agent(AgentRequest("noop")), runtime)
    assert (record.outcome, record.cause, record.incident) == ("invalid", "container_fault", "candidate")
    assert record.began_at is None
    assert "no_such_engine" in record.evidence["log"]


def test_three_starts_in_a_row_that_fail_stop_the_run(tmp_path: Path) -> None:
    made = evaluation(
        tmp_path,
        make_agent(AgentRequest("noop")),
        SliderRuntime(broken_starts=99),
        parameters=[{}] * 5,
        protocol="single",
    )
    with pytest.raises(RunStopped, match="3 attempts in a row could not start"):
        made.run()
    run = made.store.find_run("test")
    assert run is not None
    assert len(made.store.attempts(run)) == 3


def test_field_11_odd_text_of_an_agent_is_stored(tmp_path: Path) -> None:
    def act(context: AttemptContext) -> AgentEnd:
        context.transcript({"reply": "a lone \ud800 surrogate and NUL \x00", "raw": b"\xff\xfe"})
        result = context.sandbox.execute("import os; os.write(1, b'\\xff\\xfe\\x00 SUCCESS')", 10.0)
        context.transcript({"stdout": result.stdout})
        return AgentEnd("agent_exception", "bad \udcff text \x00", {"key \ud800": "\ud800"})

    (record,) = attempts(tmp_path, Scripted(act))
    assert record.text == "bad \\udcff text \\x00"
    lines = (tmp_path / "test" / record.attempt / "transcript.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[0])["reply"] == "a lone \\ud800 surrogate and NUL \\x00"
    assert "SUCCESS" in json.loads(lines[1])["stdout"]


def test_field_21_an_agent_that_writes_success_everywhere_is_no_success(tmp_path: Path) -> None:
    text = "import os, sys\nfor fd in range(1, 20):\n  try: os.write(fd, b'SUCCESS goal_met')\n  except OSError: pass\n"
    (record,) = attempts(tmp_path, program(text + "print('SUCCESS', file=sys.stderr)"))
    assert record.outcome != "success"


def test_the_clock_of_the_record_is_aware(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Pacific/Chatham")
    time.tzset()
    try:
        (record,) = attempts(tmp_path, make_agent(AgentRequest("noop")))
        assert record.opened_at.utcoffset() is not None
        assert abs(record.closed_at.timestamp() - time.time()) < 60
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_disk_that_fills_up_during_an_episode_is_one_line_and_an_evidence_fault(disk: Path) -> None:
    filler = disk / "filler"

    def act(context: AttemptContext) -> AgentEnd | None:
        with filler.open("wb") as file:  # all but room for a ledger entry
            os.posix_fallocate(file.fileno(), 0, os.statvfs(disk).f_bavail * 4096 - (96 << 10))
        context.transcript({"text": "x" * (1 << 20)})
        return None

    made = evaluation(disk, Scripted(act), parameters=[{}], protocol="pass2")
    with pytest.raises(RunStopped, match="free some space, then run the same command"):
        made.run()
    run = made.store.find_run("test")
    assert run is not None
    (row,) = made.store.attempts(run)
    assert (row.state, row.cause, row.incident) == ("closed", "evidence_fault", "candidate")
    assert not list((disk / "test").glob(".*.part"))

    with pytest.raises(RunStopped, match=r"disk: \d+ MB are free under .*, an attempt needs 64 MB"):
        evaluation(disk, Scripted(act), name="second", parameters=[{}]).run()
    filler.unlink()
    again = evaluation(disk, Scripted(lambda context: None), parameters=[{}, {}], name="third", protocol="single")
    assert len(again.store.attempts(again.run())) == 2
    again.store.close()
    made.store.close()


def test_a_folder_that_is_removed_during_an_episode_is_one_line_and_an_evidence_fault(tmp_path: Path) -> None:
    def act(context: AttemptContext) -> AgentEnd | None:
        shutil.rmtree(tmp_path / "test")
        return None

    made = evaluation(tmp_path, Scripted(act), parameters=[{}])
    with pytest.raises(RunStopped, match=r"No such file or directory\); the attempt is recorded as evidence_f"):
        made.run()
    run = made.store.find_run("test")
    assert run is not None
    (row,) = made.store.attempts(run)
    assert (row.state, row.cause, row.incident) == ("closed", "evidence_fault", "candidate")
    made.store.close()
