"""An environment that fails is a fault with its cause, not a verdict; a wrong specification is named by its field."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from images.client.wire import encode
from tests.gateway_harness import ROOT, Gateway, Process, gateway, make_spec


def start(folder: Path, **spec) -> Process:
    """A gateway that was sent a ``start`` and need not become ready."""
    process = Gateway(folder, start=False)
    process.send("start", spec=make_spec(**spec))
    return process


@pytest.mark.parametrize(
    ("parameters", "cause", "text"),
    [
        ({"fault": "create"}, "initialization_error", "ValueError: no such rail"),
        ({"fault": "black"}, "initialization_error", "camera side shows only black"),
        ({"fault": "early"}, "physics_sanity", "judged goal_met before the first action"),
    ],
)
def test_a_fault_before_the_first_action(tmp_path, parameters, cause, text):
    process = start(tmp_path, parameters=parameters)
    fault, _ = process.expect("fault")
    assert fault["cause"] == cause
    assert text in fault["text"]
    assert "Traceback" in fault["traceback"]
    assert process.child.wait(10) == 3
    assert process.rest() == []


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"level": "L4"}, "spec.level 'L4' is not one of L0, L1, L2, L3"),
        ({"budget": {"actions": 0, "simulated_s": 1}}, "spec.budget.actions 0 is not a positive number"),
        ({"budget": {"actions": 1.5, "simulated_s": 1}}, "spec.budget.actions 1.5 is not a whole number"),
        ({"budget": {"actions": 5}}, "spec.budget.simulated_s is missing"),
        ({"grants": "all"}, "spec.grants 'all' is not a list"),
        ({"pictures": 1}, "spec.pictures 1 is not true or false"),
        ({"record": {"state_hz": "fast"}}, "spec.record.state_hz 'fast'"),
        ({"condition": 3}, "spec.condition 3 is not an object"),
        ({"environment_id": ""}, "spec.environment_id '' is not a non-empty string"),
        ({"privileged": True}, "spec.privileged is unknown"),
    ],
)
def test_a_specification_that_is_wrong_names_the_field(tmp_path, changes, text):
    process = start(tmp_path, **changes)
    fault, _ = process.expect("fault")
    assert (fault["cause"], text in fault["text"]) == ("initialization_error", True), fault["text"]
    assert process.child.wait(10) == 3


@pytest.mark.parametrize(("fault", "cause"), [("sanity", "physics_sanity"), ("error", "evaluator_error")])
def test_a_fault_during_a_batch_keeps_what_was_recorded_and_tells_the_agent(fault, cause):
    with gateway(parameters={"fault": fault, "fault_at": 30}) as process:
        reply, _ = process.dial().ask("step", {"actions": np.zeros((100, 2))})
        assert reply["error"]["kind"] == "ended"
        assert "terminal" not in reply["error"]
        process.expect("acted")
        frame, artifacts = process.expect("fault")
        assert frame["cause"] == cause
        assert frame["meter"]["actions"] == len(artifacts["actions"]) == 30
        assert len(artifacts["states"]) == len(artifacts["state_times"]) > 1
        assert process.child.wait(10) == 3
        assert process.rest() == []


def test_a_field_that_cannot_be_read_is_an_evaluator_error_but_not_after_the_verdict():
    with gateway(parameters={"fault": "read"}) as process:
        assert process.dial().error("observe", fields=["speed"]) == "ended"
        assert process.expect("fault")[0]["cause"] == "evaluator_error"
    with gateway(parameters={"fault": "read"}) as process:
        peer = process.dial()
        peer.ask("finish")
        assert process.expect("verdict")[0]["judgement"]["cause"] == "quit"
        assert peer.error("observe", fields=["speed"]) == "ended"
        assert peer.ask("observe")[0]["ok"]
        assert process.end() == 0
        assert process.rest() == []


def test_a_verdict_that_is_latched_binds_when_the_reading_after_it_fails():
    with gateway(parameters={"fault": "read", "fault_at": 10**6}) as process:
        reply, _ = process.dial().ask("step", {"actions": np.tile([-1.0, 0.0], (200, 1))}, fields=["speed"])
        assert reply["error"]["kind"] == "ended"
        process.expect("acted")
        assert process.expect("verdict")[0]["judgement"]["cause"] == "violation"


def test_what_the_environment_prints_is_never_a_frame():
    with gateway(parameters={"fault": "print"}) as process:
        process.dial().ask("step", {"actions": np.zeros((3, 2))})
        process.dial().ask("finish")
        process.expect("acted")
        assert process.expect("verdict")[0]["judgement"]["cause"] == "quit"
        assert process.end() == 0
        assert '{"op": "verdict"}' in process.log


def test_the_end_of_stdin_ends_the_process_and_removes_the_socket(tmp_path):
    process = Gateway(tmp_path)
    assert process.end() == 0
    assert list(tmp_path.iterdir()) == []
    before_start = Gateway(tmp_path, start=False)
    assert before_start.end() == 0


def test_the_end_of_stdin_ends_a_process_that_hangs_in_a_native_call():
    with gateway(parameters={"fault": "hang"}) as process:
        process.dial().send(encode({"v": 1, "id": 1, "op": "step", "action": [0, 0]}))
        process.expect("acted")
        asked = time.monotonic()
        assert process.end() == 0
        assert time.monotonic() - asked < 4


def test_a_stop_before_the_first_request_gives_a_verdict():
    with gateway() as process:
        process.send("stop", reason="interrupted")
        assert process.expect("verdict")[0]["judgement"]["cause"] == "interrupted"


def test_a_stop_that_comes_with_the_start_gives_a_verdict(tmp_path):
    process = start(tmp_path)
    process.send("stop", reason="wall_clock")
    process.expect("ready")
    assert process.expect("verdict")[0]["judgement"]["cause"] == "wall_clock"
    assert process.end() == 0


def test_an_interrupt_from_the_terminal_is_left_to_the_host():
    with gateway() as process:
        os.kill(process.child.pid, signal.SIGINT)
        assert process.dial().ask("describe")[0]["ok"]


def test_a_frame_that_no_host_sends_ends_the_process():
    with gateway() as process:
        process.send("stop", reason="because")
        assert process.child.wait(5) == 0
        assert process.rest() == []


@pytest.mark.parametrize("taken", [True, False])
def test_a_socket_that_cannot_be_made_is_one_line(tmp_path, taken):
    path = tmp_path / ("s" if taken else "no/such/folder/s")
    if taken:
        holder = socket.socket(socket.AF_UNIX)
        holder.bind(str(path))
    command = [sys.executable, "-m", "images.gateway", "--engine", "tests.gateway_slider", "--socket", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert str(path) in done.stderr


def test_states_that_outgrow_their_memory_are_thinned_with_exact_times(monkeypatch):
    from images.gateway import recorder
    from tests.gateway_slider import Slider

    monkeypatch.setattr(recorder, "STATE_BYTES", 800)
    slider = Slider({})
    kept = recorder.Recorder(slider, state_hz=50)
    positions = {0: slider.x}
    for count in range(1, 1001):
        slider.apply(np.array([0.01, 0.0]))
        kept.catch_up(count)
        positions[count] = slider.x
    kept.complete(1000)
    artifacts = kept.artifacts()
    assert artifacts["states"].nbytes <= 800
    counts = np.rint(artifacts["state_times"] / slider.control_dt).astype(int)
    assert counts[0] == 0
    assert counts[-1] == 1000
    np.testing.assert_allclose(artifacts["states"][:, 0], [positions[c] for c in counts], rtol=1e-6)
