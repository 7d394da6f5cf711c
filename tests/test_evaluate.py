"""Whole runs in real processes: killed, stopped, resumed; nothing is rerun, drawn again or left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from slider_runtime import Pair, Scripted, Silent, SliderRuntime, evaluation, fail

from manifests.records import AttemptRecord
from runner.agents.base import AgentEnd, AttemptContext
from runner.agents.registry import AgentRequest, make_agent
from runner.errors import BadInput, RunStopped
from runner.runtimes.base import PairRequest
from runner.store.database import Damaged
from runner.store.leases import Owner
from runner.store.store import Run, Store
from runner.store.tables import AttemptRow

TESTS = Path(__file__).parent
SLOW = [{"pause_s": 0.05}] * 4  # an episode of 22 actions takes a second


def start(home: Path, agent: str, jobs: int = 1, parameters: object = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(TESTS / "slider_runtime.py"), str(home), str(jobs), agent, json.dumps(parameters)],
        cwd=TESTS.parent,
        env=os.environ | {"PYTHONPATH": f"{TESTS.parent}:{TESTS}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def rows(home: Path) -> list[AttemptRow]:
    if not (home / "assay.sqlite").exists():
        return []
    store = Store(home)
    run = store.find_run("test")
    found = store.attempts(run) if run else []
    store.close()
    return found


def wait(done: Callable[[], bool], limit_s: float = 60.0) -> None:
    until = time.monotonic() + limit_s
    while not done():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.02)


def finished(home: Path) -> tuple[Store, Run, list[AttemptRow]]:
    """The run after its end; chain, leases and sequence numbers are checked."""
    store = Store(home)
    run = store.find_run("test")
    assert run is not None
    assert store.verify(run) is None
    assert store.leases(run) == []
    found = store.attempts(run)
    assert len({row.sequence for row in found}) == len(found)
    return store, run, found


def test_field_06_a_run_that_is_killed_twice_goes_on_and_reruns_nothing(tmp_path: Path) -> None:
    # And the interrupted rule: what began is closed as interrupted, never drawn again.
    killed: set[str] = set()

    def can_be_killed() -> bool:
        """A new attempt is running, and another has finished since the last kill."""
        found = rows(tmp_path)
        done = sum(row.cause == "violation" for row in found)
        return done > len(killed) and any(row.state == "began" and row.id not in killed for row in found)

    for _ in range(2):
        process = start(tmp_path, "fail", parameters=SLOW)
        wait(can_be_killed)
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed |= {row.id for row in rows(tmp_path) if row.state == "began"}
    before = [row.model_dump() for row in rows(tmp_path) if row.state == "closed"]
    process = start(tmp_path, "fail", parameters=SLOW)
    assert process.wait(120) == 0, process.stderr.read() if process.stderr else ""
    store, run, found = finished(tmp_path)
    after = [row.model_dump() for row in found]
    assert all(row in after for row in before)
    interrupted = [row for row in found if row.cause == "interrupted"]
    assert {row.id for row in interrupted} == killed
    assert len(killed) == 2
    assert all((row.outcome, row.incident) == ("invalid", "candidate") for row in interrupted)
    for condition in range(4):
        mine = [row for row in found if row.condition == condition]
        open_candidate = any(row.incident == "candidate" for row in mine)
        assert open_candidate or sum(row.outcome == "failure" for row in mine) == 2
    again = start(tmp_path, "fail", parameters=SLOW)
    assert again.wait(60) == 0
    assert len(store.attempts(run)) == len(found)


def test_a_second_call_of_a_finished_run_needs_no_runtime_and_reruns_nothing(tmp_path: Path) -> None:
    made = evaluation(tmp_path, make_agent(AgentRequest("noop")))
    run = made.run()
    assert len(made.store.attempts(run)) == 4
    again = evaluation(tmp_path, make_agent(AgentRequest("noop")))
    again.make_runtime = lambda: pytest.fail("no runtime is needed")
    again.clean = lambda runtime: [f"removed what a dead {runtime} left"]
    again.run()
    assert isinstance(again.observer, Silent)
    assert again.observer.lines == ["removed what a dead process left"]
    assert len(again.store.attempts(run)) == 4


def test_an_attempt_that_was_opened_and_had_not_begun_keeps_its_slot_and_sequence(tmp_path: Path) -> None:
    made = evaluation(tmp_path, make_agent(AgentRequest("noop")), SliderRuntime(gone=True), protocol="single")
    with pytest.raises(RunStopped, match=r"the Docker Engine stopped answering.*what is recorded is kept"):
        made.run()
    (left,) = rows(tmp_path)
    assert left.state == "opened"
    made = evaluation(tmp_path, make_agent(AgentRequest("noop")), protocol="single")
    run = made.run()
    _, _, found = finished(tmp_path)
    assert len(found) == 2
    assert (found[0].id, found[0].sequence, found[0].cause) == (left.id, left.sequence, "quit")
    kinds = [entry.kind for entry in made.store.entries(run)]
    assert kinds == ["run", "opened", "resumed", "began", "closed", "opened", "began", "closed"]


def test_a_record_that_was_published_before_the_kill_is_closed_as_it_is(tmp_path: Path) -> None:
    made = evaluation(tmp_path, make_agent(AgentRequest("noop")), parameters=[{}], protocol="single")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    made.store.close_attempt = killed  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        made.run()
    assert [row.state for row in rows(tmp_path)] == ["began"]
    evaluation(tmp_path, make_agent(AgentRequest("noop")), parameters=[{}], protocol="single").run()
    (row,) = finished(tmp_path)[2]
    assert (row.cause, row.incident) == ("quit", "none")


def test_an_interrupted_attempt_keeps_its_transcript(tmp_path: Path) -> None:
    made = evaluation(tmp_path, make_agent(AgentRequest("noop")), parameters=[{}])
    run = made.store.create_run("other", {})
    attempt = made.store.open_attempt(run, made.planned[0].environment_id, 0, Owner.current())
    made.store.begin_attempt(run, attempt.id)
    folder = made.store.attempt_folder(run, attempt.id)
    folder.start()
    folder.append("transcript.jsonl", {"call": 1})
    from runner.recover import close_interrupted

    planned = {item.environment_id: item for item in made.planned}
    (record,) = close_interrupted(
        made.store, run, Owner.current(), planned, made.manifests, made.agent.info, SliderRuntime().facts
    )
    assert (record.outcome, record.cause, record.incident, record.acted) == (
        "invalid",
        "interrupted",
        "candidate",
        True,
    )
    assert [artifact.name for artifact in record.artifacts] == ["transcript.jsonl"]
    assert (folder.final / "transcript.jsonl").read_text() == '{"call":1}\n'


@pytest.mark.parametrize("image", ["1" * 64])
def test_other_images_under_the_same_run_are_refused_by_field(tmp_path: Path, image: str) -> None:
    evaluation(tmp_path, Scripted(fail), SliderRuntime(gone=False), protocol="single", parameters=[{}]).run()
    later = evaluation(tmp_path, Scripted(fail), SliderRuntime(image=image), protocol="single", parameters=[{}, {}])
    with pytest.raises(BadInput, match=r"run test: images.mujoco.slider was 0+\.* and is now 1+"):
        later.run()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"agent": Scripted(fail, effort="low")}, "agent.parameters.effort was high and is now low"),
        ({"tokens": 5}, "budgets.launcher.tokens was 30000000 and is now 5"),
        ({"protocol": "pass2"}, "protocol was single and is now pass2"),
    ],
)
def test_field_08_changed_settings_under_the_same_run_are_refused_by_field(
    tmp_path: Path, change: dict[str, object], field: str
) -> None:
    options: dict[str, object] = {"agent": Scripted(fail, effort="high"), "protocol": "single", "parameters": [{}]}
    evaluation(tmp_path, **options).run()  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=field) as caught:
        evaluation(tmp_path, **{**options, **change}).run()  # type: ignore[arg-type]
    assert "RUN=" in str(caught.value)


def test_a_second_live_evaluation_of_the_same_run_is_refused(tmp_path: Path) -> None:
    process = start(tmp_path, "slow", parameters=[{}])
    wait(lambda: any(row.state == "began" for row in rows(tmp_path)))
    second = start(tmp_path, "slow", parameters=[{}])
    _, error = second.communicate(timeout=60)
    assert second.returncode == 2
    assert f"run test is in use by process {process.pid} on " in error
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 130


def test_field_10_ctrl_c_during_start_leaves_a_slot_that_the_next_start_takes_up(tmp_path: Path) -> None:
    process = start(tmp_path, "noop", parameters=[{}])
    wait(lambda: bool(rows(tmp_path)))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    left = rows(tmp_path)
    # Closed: a busy machine looked too late, and it had begun or even ended before the signal was seen.
    assert [row.state for row in left] in (["opened"], ["closed"], ["closed", "closed"])
    again = start(tmp_path, "noop", parameters=[{}])
    _, error = again.communicate(timeout=60)
    assert again.returncode == 0, error
    _, _, found = finished(tmp_path)
    assert [row.cause for row in found] == ["quit", "quit"]
    assert found[0].id == left[0].id


def test_the_first_ctrl_c_lets_the_running_episode_end_and_opens_no_other(tmp_path: Path) -> None:
    process = start(tmp_path, "fail", parameters=[{"pause_s": 0.2}] * 4)  # 4 s: it runs when a busy machine looks
    wait(lambda: any(row.state == "began" for row in rows(tmp_path)))
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopping: 1 running episode will end first" in output
    _, _, found = finished(tmp_path)
    assert [row.cause for row in found] == ["violation"]


def test_the_second_ctrl_c_closes_the_running_episode_as_interrupted(tmp_path: Path) -> None:
    process = start(tmp_path, "slow", parameters=[{}])
    wait(lambda: any(row.state == "began" for row in rows(tmp_path)))
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    _, _, found = finished(tmp_path)
    assert [(row.cause, row.incident) for row in found] == [("interrupted", "candidate")]


def test_a_run_whose_ledger_was_edited_does_not_go_on(tmp_path: Path) -> None:
    made = evaluation(tmp_path, make_agent(AgentRequest("noop")), parameters=[{}], protocol="single")
    made.run()
    with made.store.database.write() as session:
        session.connection().exec_driver_sql("UPDATE entry SET payload = replace(payload, 'quit', 'goal_met')")
    again = evaluation(tmp_path, make_agent(AgentRequest("noop")), parameters=[{}], protocol="single")
    with pytest.raises(Damaged, match=r"its ledger is damaged \(entry 4 was changed"):
        again.run()


def test_a_start_that_becomes_ready_after_ctrl_c_does_not_begin(tmp_path: Path) -> None:
    class StopsWhileStarting(SliderRuntime):
        def open(self, request: PairRequest) -> Pair:
            pair = super().open(request)
            made.halt.drain()
            return pair

    made = evaluation(tmp_path, make_agent(AgentRequest("noop")), StopsWhileStarting(), parameters=[{}])
    made.run()
    _, _, found = finished(tmp_path)
    assert [row.state for row in found] == ["opened"]


def test_jobs_run_in_parallel_and_never_at_one_condition(tmp_path: Path) -> None:
    made = evaluation(tmp_path, Scripted(fail), jobs=3, parameters=[{}, {}, {}])
    run = made.run()
    entries = made.store.entries(run)
    state: dict[int, str] = {}
    overlapping = 0
    conditions = {row.id: row.condition for row in made.store.attempts(run)}
    for entry in entries[1:]:
        condition = conditions[entry.payload["attempt"]]
        if entry.kind == "opened":
            assert state.get(condition) != "open"
            state[condition] = "open"
        elif entry.kind == "closed":
            state[condition] = "closed"
        overlapping = max(overlapping, sum(value == "open" for value in state.values()))
    assert overlapping == 3
    assert len(conditions) == 6


def test_environments_that_cannot_run_here_stay_missing_in_the_score(tmp_path: Path) -> None:
    from manifests.load import load
    from runner.score import score_run

    made = evaluation(tmp_path, make_agent(AgentRequest("noop")), parameters=[{}, {}, {}, {}])
    run = made.run()
    result = score_run(made.store, run, load())
    assert result["groups"][0]["successes"] == 0
    assert result["total"]["failures"] == 4
    assert result["ledger"]["scored"] == 8
    assert result["headline"] is None
    assert score_run(made.store, run, load()) == result


def test_an_engine_that_goes_during_an_episode_is_a_candidate(tmp_path: Path) -> None:
    from runner.runtimes.base import EngineGone

    def act(context: AttemptContext) -> AgentEnd:
        raise EngineGone("the Docker Engine stopped answering")

    made = evaluation(tmp_path, Scripted(act), parameters=[{}], protocol="single")
    run = made.run()
    (row,) = made.store.attempts(run)
    record = AttemptRecord.model_validate_json(row.record or "")
    assert (record.cause, record.incident, record.acted) == ("engine_fault", "candidate", False)
