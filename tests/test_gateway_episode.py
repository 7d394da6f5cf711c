"""One episode through real processes: levels, metering, and the verdict that nothing changes."""

from __future__ import annotations

import io
import json
import re
import time

import numpy as np
import pytest
from PIL import Image

from images.client.wire import encode
from tests.gateway_harness import gateway
from tests.gateway_slider import Slider

PUSH_BACK = np.tile([-1.0, 0.0], (200, 1))


def solution() -> np.ndarray:
    """Accelerate, brake, stand: 5 x 0.2 m/s, coast, stop at 1 m."""
    up, down = np.tile([1.0, 0.0], (5, 1)), np.tile([-1.0, 0.0], (5, 1))
    return np.vstack([up, np.zeros((45, 2)), down, np.zeros((20, 2))])


def test_describe_discloses_controls_clauses_budgets_and_only_permitted_fields():
    with gateway(level="L0", budget={"actions": 100, "simulated_s": 3.0, "wall_s": 600}) as process:
        document = process.dial().ask("describe")[0]["describe"]
    assert document == process.ready["describe"]
    assert document["protocol"] == "assay-gateway/1"
    assert document["environment_id"] == "rail/mass/S001"
    assert (document["mode"], document["embodiment"], document["control_hz"]) == ("loaded", "mass", 50.0)
    assert document["controls"][0] == {"name": "force", "unit": "N", "low": -1.0, "high": 1.0, "text": "along the rail"}
    assert [field["name"] for field in document["fields"]] == ["speed", "encoder"]
    assert [clause["id"] for clause in document["clauses"]] == ["S-01", "S-02", "G-01", "G-02", "G-03"]
    assert document["clauses"][1]["code"] == "LIMIT"
    assert document["clauses"][3]["value"] == 100
    assert document["budgets"] == {"actions": 100, "simulated_s": 3.0, "wall_s": 600}
    assert document["access"] == {"level": "L0", "grants": []}
    assert document["cameras"][0]["intrinsics"] == [300.0, 300.0, 160.0, 120.0]
    assert document["parameters"] == {"mass_kg": 1.0}


def test_hello_and_ready_say_what_runs():
    with gateway() as process:
        assert process.hello["engine"] == "slider"
        assert {"python", "cpu", "cpu_flags", "slider", "gl"} <= process.hello["fingerprint"].keys()
        assert process.ready["pictures"] == "pillow"
        assert process.ready["realized"] == {"x": 0.0, "parameters": {}}
        assert process.ready["digest"] == Slider({}).digest()


@pytest.mark.parametrize(
    ("level", "readable"),
    [
        ("L0", {"speed", "encoder"}),
        ("L1", {"speed", "encoder"}),
        ("L2", {"speed", "encoder", "grasp"}),
        ("L3", {"speed", "encoder", "grasp", "position"}),
    ],
)
def test_a_level_reads_its_fields_and_no_call_reads_another(level, readable):
    with gateway(level=level) as process:
        peer = process.dial()
        for name in ("speed", "encoder", "grasp", "position"):
            if name in readable:
                assert name in peer.ask("observe", fields=[name])[1]
                assert name in peer.ask("step", action=[0.0, 0.0], fields=[name])[1]
            else:
                assert peer.error("observe", fields=[name]) == "not_permitted"
                assert peer.error("step", action=[0.0, 0.0], fields=[name]) == "not_permitted"
        reply = peer.ask("step", {"actions": np.zeros((20, 2))})[0]
        kinds = {event["kind"] for event in reply["events"]}
        assert kinds == ({"tenth", "secret"} if level == "L3" else {"tenth"})
        assert peer.ask("observe")[0]["actions"] == len(readable) + 20


def test_observe_takes_no_simulated_time_and_counts_its_pictures():
    with gateway() as process:
        peer = process.dial()
        asked = [{"camera": "side"}, {"camera": "side", "width": 160}, {"camera": "side", "height": 60}]
        reply, parts = peer.ask("observe", fields=["speed"], pictures=asked)
        assert (reply["simulated_s"], reply["actions"], reply["terminal"]) == (0.0, 0, None)
        sizes = [Image.open(io.BytesIO(parts[f"picture/{i}"])).size for i in range(3)]
        assert sizes == [(320, 240), (160, 120), (80, 60)]
        assert parts["speed"].shape == (1,)
        peer.ask("finish")
        assert process.expect("verdict")[0]["meter"]["image_reads"] == 3


@pytest.mark.parametrize(
    ("picture", "kind"),
    [
        ({"camera": "top"}, "unknown_camera"),
        ({"camera": "side", "width": 321}, "bad_request"),
        ({"camera": "side", "width": 0}, "bad_request"),
        ({"camera": "side", "height": -5}, "bad_request"),
        ({"camera": "side", "width": 10**300}, "bad_request"),
        ({"camera": "side", "width": 64.0}, "bad_request"),
        ({"camera": "side", "width": 100, "height": 100}, "bad_request"),
        ({"camera": "side", "depth": True}, "bad_request"),
        ({"camera": ["side"]}, "bad_request"),
        ("side", "bad_request"),
    ],
)
def test_a_picture_that_cannot_be_made_is_refused_without_effect(picture, kind):
    with gateway() as process:
        peer = process.dial()
        assert peer.error("observe", pictures=[picture]) == kind
        assert peer.error("observe", pictures=[{"camera": "side"}, picture]) == kind
        peer.ask("finish")
        assert process.expect("verdict")[0]["meter"]["image_reads"] == 0


def test_a_run_without_pictures_has_no_cameras():
    with gateway(pictures=False) as process:
        peer = process.dial()
        assert process.ready["pictures"] is None
        assert process.ready["describe"]["cameras"] == []
        assert peer.error("observe", pictures=[{"camera": "side"}]) == "not_permitted"


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        ({"op": "reset"}, "unknown_operation"),
        ({"op": None}, "unknown_operation"),
        ({"op": ["step"]}, "unknown_operation"),
        ({"op": "step"}, "bad_request"),
        ({"op": "step", "action": [0, 0], "verdict": "success"}, "bad_request"),
        ({"op": "step", "action": [0, 0], "fields": "speed"}, "bad_request"),
        ({"op": "step", "action": [0, 0], "fields": [3]}, "bad_request"),
        ({"op": "step", "action": [0, 0], "fields": ["speed", "speed"]}, "bad_request"),
        ({"op": "step", "action": [0, 0], "fields": ["qpos"]}, "unknown_field"),
        ({"op": "observe", "fields": ["qpos"]}, "unknown_field"),
        ({"op": "observe", "pictures": [{"camera": "side"}] * 9}, "bad_request"),
        ({"op": "describe", "level": "L3"}, "bad_request"),
        ({"op": "describe", "v": 2}, "bad_request"),
        ({"op": "describe", "v": True}, "bad_request"),
        ({"op": "describe", "v": 1.0}, "bad_request"),
        ({"op": "step", "action": [0, 0], "v": 1.0}, "bad_request"),
    ],
)
def test_a_refused_request_has_no_effect(request_, kind):
    with gateway() as process:
        peer = process.dial()
        assert peer.error(**request_) == kind
        reply, _ = peer.ask("observe")
        assert (reply["actions"], reply["terminal"]) == (0, None)


def test_actions_as_an_attachment_of_another_kind_are_refused_without_effect():
    with gateway() as process:
        peer = process.dial()
        for wrong in (np.zeros((1, 2), np.float32), np.zeros(2), np.zeros((0, 2)), np.zeros((1, 1, 2)), b"\0" * 16):
            assert peer.error("step", {"actions": wrong}) == "bad_request"
        assert peer.error("step", {"action": np.zeros((1, 2))}) == "bad_request"
        assert peer.error("step", {"actions": np.zeros((1, 2))}, action=[0, 0]) == "bad_request"
        assert peer.error("observe", {"actions": np.zeros((1, 2))}) == "bad_request"
        assert peer.ask("observe")[0]["terminal"] is None


@pytest.mark.parametrize(
    ("action", "text"),
    [
        ([0.0], "1 components"),
        ([0.0, 0.0, 0.0], "3 components"),
        ([1.0001, 0.0], r"component 0 \(force\): 1.0001 N is outside \[-1, 1\]"),
        ([0.0, -0.51], r"component 1 \(spare_0\)"),
        (["1", 0.0], "not a number"),
        ([None, 0.0], "not a number"),
        ([True, 0.0], "not a number"),
        ([10**400, 0.0], "beyond float64"),
        ({"force": 1.0}, "dict, not a list"),
        (np.array([[np.nan, 0.0]]), "not finite"),
        (np.array([[0.0, np.inf]]), "not finite"),
        (np.zeros((3, 5)), "5 components"),
    ],
)
def test_an_action_outside_its_schema_ends_the_attempt(action, text):
    with gateway() as process:
        peer = process.dial()
        if isinstance(action, np.ndarray):
            reply, _ = peer.ask("step", {"actions": action})
        else:
            reply, _ = peer.ask("step", action=action)
        assert (reply["applied"], reply["actions"]) == (0, 0)
        assert (reply["terminal"]["cause"], reply["terminal"]["clause"]) == ("rejected_action", "G-01")
        process.expect("acted")
        verdict, artifacts = process.expect("verdict")
        assert verdict["judgement"]["cause"] == "rejected_action"
        assert re.search(text, verdict["judgement"]["text"])
        assert artifacts["actions"].shape == (0, 2)


def test_actions_before_the_illegal_one_take_place_and_may_end_the_episode_first():
    batch = np.zeros((5, 2))
    batch[3, 0] = 2.0
    with gateway() as process:
        reply, _ = process.dial().ask("step", {"actions": batch})
        assert reply["applied"] == 3
        assert reply["terminal"]["cause"] == "rejected_action"
    batch = np.vstack([PUSH_BACK, [[2.0, 0.0]]])
    with gateway() as process:
        reply, _ = process.dial().ask("step", {"actions": batch})
        assert reply["terminal"]["cause"] == "violation"


def test_a_batch_stops_at_the_goal_and_the_host_learns_it_before_the_agent():
    with gateway() as process:
        peer = process.dial()
        reply, parts = peer.ask("step", {"actions": solution()}, fields=["speed"])
        assert reply["terminal"] == {"cause": "goal_met", "code": None, "clause": "S-01", "text": "held"}
        assert reply["applied"] < len(solution())
        process.expect("acted")
        verdict, artifacts = process.expect("verdict", timeout=1)
    assert verdict["judgement"]["cause"] == "goal_met"
    assert verdict["meter"] == {
        "actions": reply["applied"],
        "simulated_s": reply["simulated_s"],
        "image_reads": 0,
        "steps": 1,
    }
    assert verdict["event_simulated_s"] == pytest.approx(reply["applied"] * 0.02)
    assert parts["speed"] == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_array_equal(artifacts["actions"], solution()[: reply["applied"]])
    assert artifacts["states"].dtype == np.float32
    assert artifacts["states"].shape == (len(artifacts["state_times"]), 2)
    assert artifacts["state_times"][-1] == pytest.approx(verdict["event_simulated_s"])


def test_the_recorded_actions_give_the_recorded_digests_again():
    actions = np.random.default_rng(3).uniform(-0.2, 0.2, (130, 2))
    with gateway() as process:
        peer = process.dial()
        peer.ask("step", {"actions": actions[:77]})
        for action in actions[77:]:
            peer.ask("step", action=list(action))
        peer.ask("finish")
        process.expect("acted")
        verdict, artifacts = process.expect("verdict")
    replay = Slider({})
    digests = {0: replay.digest()}
    for count, action in enumerate(artifacts["actions"], start=1):
        replay.apply(action)
        digests[count] = replay.digest()
    recorded = json.loads(artifacts["digests"])
    assert [count for count, _ in recorded] == [0, 50, 100, 130]
    assert all(digests[count] == digest for count, digest in recorded)
    assert verdict["digest"] == digests[130]


def test_a_violation_names_its_clause_and_keeps_private_data_for_the_host():
    with gateway() as process:
        reply, _ = process.dial().ask("step", {"actions": PUSH_BACK})
        assert reply["terminal"] == {
            "cause": "violation",
            "code": "LIMIT",
            "clause": "S-02",
            "text": "behind the wall",
        }
        process.expect("acted")
        verdict, artifacts = process.expect("verdict")
        assert verdict["judgement"]["data"]["x"] < -1
        assert json.loads(artifacts["scorer_log"].splitlines()[0])["kind"] == "wall"


@pytest.mark.parametrize(
    ("budget", "cause", "clause", "applied"),
    [
        ({"actions": 7, "simulated_s": 10.0}, "action_budget", "G-02", 7),
        ({"actions": 1000, "simulated_s": 0.3}, "simulated_time", "G-03", 15),
        ({"actions": 50, "simulated_s": 1.0}, "simulated_time", "G-03", 50),
    ],
)
def test_a_budget_ends_the_episode_at_its_last_action(budget, cause, clause, applied):
    with gateway(budget=budget) as process:
        reply, _ = process.dial().ask("step", {"actions": np.zeros((100, 2))})
        assert reply["applied"] == applied
        assert (reply["terminal"]["cause"], reply["terminal"]["clause"]) == (cause, clause)
        assert min(reply["remaining"].values()) == 0


def test_success_with_the_last_action_of_the_budget_is_success():
    with gateway() as process:
        needed = process.dial().ask("step", {"actions": solution()})[0]["applied"]
    with gateway(budget={"actions": needed, "simulated_s": 100.0}) as process:
        assert process.dial().ask("step", {"actions": solution()})[0]["terminal"]["cause"] == "goal_met"
    with gateway(budget={"actions": needed - 1, "simulated_s": 100.0}) as process:
        assert process.dial().ask("step", {"actions": solution()})[0]["terminal"]["cause"] == "action_budget"


def test_finish_without_a_goal_is_quit():
    with gateway() as process:
        assert process.dial().ask("finish")[0]["terminal"]["cause"] == "quit"
        assert process.expect("verdict")[0]["judgement"]["cause"] == "quit"


@pytest.mark.parametrize(
    "reason",
    ["wall_clock", "token_budget", "image_budget", "agent_exception", "sandbox_memory", "interrupted", "finished"],
)
def test_a_stop_of_the_host_is_answered_by_a_verdict_with_its_reason(reason):
    with gateway() as process:
        peer = process.dial()
        peer.ask("step", action=[0.0, 0.0])
        process.expect("acted")
        process.send("stop", reason=reason)
        verdict, _ = process.expect("verdict", timeout=5)
        expected = "quit" if reason == "finished" else reason
        assert verdict["judgement"]["cause"] == expected
        reply, _ = peer.ask("step", action=[0.0, 0.0])
        assert reply["error"]["kind"] == "ended"
        assert reply["error"]["terminal"]["cause"] == expected


@pytest.mark.parametrize("actions", [solution(), PUSH_BACK, np.array([[5.0, 0.0]])])
def test_nothing_after_the_verdict_changes_it(actions):
    with gateway() as process:
        peer = process.dial()
        terminal = peer.ask("step", {"actions": actions})[0]["terminal"]
        process.expect("acted")
        process.expect("verdict")
        process.send("stop", reason="wall_clock")
        process.send("stop", reason="finished")
        assert peer.ask("step", {"actions": np.array([[9.0, 0.0]])})[0]["error"]["terminal"] == terminal
        assert peer.error("finish") == "ended"
        reply, _ = peer.ask("observe", fields=["speed"], pictures=[{"camera": "side"}])
        assert reply["terminal"] == terminal
        assert peer.ask("describe")[0]["ok"]
        assert process.end() == 0
        assert process.rest() == []


def test_a_stop_reaches_a_batch_of_7500_actions_within_one_control_step():
    with gateway(parameters={"work": 40}) as process:
        peer = process.dial()
        peer.send(encode({"v": 1, "id": 1, "op": "step"}, {"actions": np.zeros((7500, 2))}))
        process.expect("acted")
        time.sleep(0.3)
        process.send("stop", reason="wall_clock")
        verdict, _ = process.expect("verdict", timeout=30)
        reply, _ = peer.receive()
        assert verdict["judgement"]["cause"] == reply["terminal"]["cause"] == "wall_clock"
        assert 0 < reply["applied"] == verdict["meter"]["actions"] < 7500


def test_progress_comes_at_most_twice_a_second():
    with gateway(parameters={"work": 40}, actions=100_000, simulated_s=1e6) as process:
        peer = process.dial()
        begin = time.monotonic()
        while time.monotonic() - begin < 1.6:
            peer.ask("step", {"actions": np.zeros((50, 2))})
        elapsed = time.monotonic() - begin
        peer.ask("finish")
        process.expect("acted")
        frames = []
        while (frame := process.frames.get(timeout=5))[0]["op"] == "progress":
            frames.append(frame[0])
        assert 1 <= len(frames) <= 2 * elapsed + 1
        assert frames[-1].keys() == {"op", "actions", "simulated_s", "image_reads"}
