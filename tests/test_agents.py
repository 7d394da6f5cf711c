"""The code and tools agents on a real pair of processes, with a model that answers from a list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agents_model import ScriptedModel, call, play, python, reply, run
from slider_runtime import SOLVE

from runner.agents.conversation import requests
from runner.agents.policy import policy
from runner.models.base import ModelFault, ToolCall

SHOW = "now = env.observe(pictures=['side'])\nshow(now.pictures[0])"
ACTIONS = [1.0] * 16 + [-1.0] * 16 + [0.0] * 10


def sent_is_stored(model: ScriptedModel, entries: list[Any], folder: Path) -> None:
    """What the model was asked is exactly what the transcript and the stored pictures give."""
    assert list(requests(entries, folder)) == model.requests


def kinds(entries: list[Any]) -> list[str]:
    return [entry["kind"] for entry in entries]


def texts(model: ScriptedModel) -> list[str]:
    """The newest message of every request, pictures left out."""
    return [_text(request[-1]["content"]) for request in model.requests]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


@pytest.mark.parametrize("functions", [False, True])
def test_code_of_a_model_solves_an_episode_and_its_success_is_recorded(tmp_path: Path, functions: bool) -> None:
    say = run if functions else python
    model = ScriptedModel(
        [say("target = 1.0\nprint('speed', env.observe()['speed'])"), say(SOLVE)], functions=functions
    )
    record, entries = play(tmp_path, model)
    assert (record.outcome, record.cause) == ("success", "goal_met")
    assert "speed [0.]" in texts(model)[1]
    assert record.usage.model_calls == 2
    assert (record.usage.tokens_input, record.usage.tokens_output) == (200, 20)
    assert record.evidence["models"] == ["scripted-1"]
    assert record.agent["model"] == "openai/scripted"
    assert [bool(tools) for tools in model.tools] == [functions] * 2
    assert kinds(entries)[:4] == ["begin", "message", "message", "request"]
    assert kinds(entries)[-1] == "ended"
    sent_is_stored(model, entries, tmp_path / "test" / record.attempt)


@pytest.mark.parametrize("functions", [False, True])
def test_the_four_operations_solve_an_episode(tmp_path: Path, functions: bool) -> None:
    def say(name: str, **arguments: Any) -> Any:
        if functions:
            return call(name, **arguments)
        return f"Now this:\n```json\n{json.dumps({'tool': name, 'arguments': arguments})}\n```"

    script = [
        say("describe"),
        say("observe", fields=["speed"], pictures=[{"camera": "side", "width": 64}]),
        say("step", actions=[[1.0, 0.0]], repeat=16, fields=["speed"]),
        say("step", actions=[[-1.0, 0.0]] * 16),
        say("step", actions=[[0.0, 0.0]], repeat=10),
    ]
    model = ScriptedModel(script, functions=functions)
    record, entries = play(tmp_path, model, "tools")
    assert (record.outcome, record.cause, record.actions) == ("success", "goal_met", 36)
    assert '"environment_id": "marble/dual-panda/A007"' in texts(model)[1]
    assert model.requests[2][-1]["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")
    assert '"speed": [3.2]' in texts(model)[3]
    assert record.usage.images_sent == 1
    sent_is_stored(model, entries, tmp_path / "test" / record.attempt)


def test_variables_live_from_turn_to_turn_and_the_loss_of_the_interpreter_is_told(tmp_path: Path) -> None:
    script = [
        python("x = 41"),
        python("print(x + 1)"),
        python("import os; os._exit(7)"),
        python("print(x)"),
        python("env.finish()"),
    ]
    model = ScriptedModel(script)
    record, _ = play(tmp_path, model)
    assert "42" in texts(model)[2]
    assert "status: killed" in texts(model)[3]
    assert "fresh one" in texts(model)[3] + texts(model)[4]
    assert "NameError" in texts(model)[4]
    assert (record.cause, record.code) == ("quit", "QUIT")


def test_pictures_are_sent_once_stored_by_hash_and_counted(tmp_path: Path) -> None:
    script = [
        python(SHOW),
        python("env.step([1.0, 0.0])\n" + SHOW + "\nshow(np.zeros((5, 7, 3), np.uint8))"),
        python("env.finish()"),
    ]
    model = ScriptedModel(
        [script[0].replace("now", "import numpy as np\nnow", 1).replace("I will run this", "x"), *script[1:]]
    )
    record, entries = play(tmp_path, model)
    assert record.usage.images_sent == 3
    stored = {item.name: item for item in record.artifacts if item.name.startswith("pictures/")}
    assert all(
        name == f"pictures/{item.sha256}.png" and item.media_type == "image/png" for name, item in stored.items()
    )
    assert "320 x 240, 7 x 5" in texts(model)[2]
    assert len([part for part in model.requests[2][-1]["content"] if part["type"] == "image_url"]) == 2
    sent_is_stored(model, entries, tmp_path / "test" / record.attempt)


def test_a_model_without_eyes_is_told_so_and_gets_no_picture(tmp_path: Path) -> None:
    model = ScriptedModel([python(SHOW), python("env.finish()")], sees=False)
    record, _ = play(tmp_path, model)
    assert "takes no pictures" in texts(model)[1]
    assert record.usage.images_sent == 0
    assert record.image_reads == 1
    model = ScriptedModel([call("observe", pictures=[{"camera": "side"}]), call("finish")], sees=False, functions=True)
    record, _ = play(tmp_path / "tools", model, "tools")
    assert "takes no pictures" in texts(model)[1]
    assert (record.usage.images_sent, record.image_reads) == (0, 0)


@pytest.mark.parametrize(("budget", "cause"), [({"images": 2}, "image_budget"), ({"tokens": 250}, "token_budget")])
def test_an_allowance_that_is_used_up_ends_the_attempt(tmp_path: Path, budget: dict[str, int], cause: str) -> None:
    model = ScriptedModel(lambda messages: python(SHOW))
    record, _ = play(tmp_path, model, **budget)
    assert (record.outcome, record.cause, record.code) == ("failure", cause, "BUDGET")
    assert record.usage.model_calls == 3
    assert record.usage.images_sent == 2


def test_replies_without_code_are_answered_three_times_in_a_row_and_the_fourth_ends(tmp_path: Path) -> None:
    script = ["I think.", "Hm.", python("1"), "One.", "Two.", "Three.", "Four."]
    model = ScriptedModel(script)
    record, _ = play(tmp_path, model)
    assert (record.outcome, record.cause, record.code) == ("failure", "no_action", "QUIT")
    assert len(model.requests) == len(script)
    assert "held no Python code" in texts(model)[1]


@pytest.mark.parametrize(
    ("calls", "cause", "told"),
    [
        (call("fly", height=3), "unknown_tool", "there is no tool 'fly'"),
        ((ToolCall("c", "step", '{"actions": [['),), "invalid_tool_arguments", "not valid JSON"),
        ((ToolCall("c", "step", "[1]"),), "invalid_tool_arguments", "not an object"),
        (call("step"), "invalid_tool_arguments", "lack actions"),
        (
            call("step", actions=[[2.0, 0.0]]),
            "invalid_tool_arguments",
            "actions[0][0] (force) = 2 outside -1.0 to 1.0 N",
        ),
        (call("step", actions=[[1.0]]), "invalid_tool_arguments", "shape (1, 1); it must be (n, 2)"),
        (call("step", actions=[[1.0, 0.0]], repeat=10**9), "invalid_tool_arguments", "repeat"),
        (call("step", actions="fast"), "invalid_tool_arguments", "not lists of numbers"),
        ((ToolCall("c", "step", '{"actions": [[NaN, 0]]}'),), "invalid_tool_arguments", "NaN is no JSON number"),
        (call("observe", pictures="side"), "invalid_tool_arguments", "not a list"),
        (call("observe", fields=["x" * 200_000]), "invalid_tool_arguments", "the limit is"),
        (
            (ToolCall("c", "step", f'{{"actions": {"[" * 900}{"]" * 900}}}'),),
            "invalid_tool_arguments",
            "arguments of step",
        ),
        (call("observe", depth=True), "invalid_tool_arguments", "unknown key 'depth'"),
    ],
)
def test_a_call_that_cannot_be_made_is_told_and_ends_when_it_is_kept_up(
    tmp_path: Path, calls: tuple[ToolCall, ...], cause: str, told: str
) -> None:
    model = ScriptedModel(lambda messages: calls, functions=True)
    record, _ = play(tmp_path, model, "tools")
    assert (record.outcome, record.cause, record.code, record.actions) == ("failure", cause, "QUIT", 0)
    assert len(model.requests) == 4
    assert told in texts(model)[1]


@pytest.mark.parametrize("cause", ["provider_fault", "refusal", "content_filter", "empty_reply", "null_message"])
def test_a_fault_of_a_call_ends_the_attempt_with_its_cause(tmp_path: Path, cause: str) -> None:
    model = ScriptedModel([python("env.step([0.1, 0.0])"), ModelFault(cause, "what happened", {"status": 500})])
    record, entries = play(tmp_path, model)
    assert (record.cause, record.text) == (cause, "what happened")
    assert record.evidence["status"] == 500
    assert record.acted
    assert (entries[-1]["kind"], entries[-1]["cause"]) == ("fault", cause)


def test_a_reply_cut_at_its_length_is_not_run_and_the_model_may_be_shorter(tmp_path: Path) -> None:
    cut = ModelFault("length_stop", "cut", reply=reply(python("env.finish()")))
    model = ScriptedModel([cut, cut, python("env.step([0.0, 0.0]); env.finish()")])
    record, entries = play(tmp_path, model)
    assert (record.cause, record.actions) == ("quit", 1)
    assert "output limit" in texts(model)[1]
    sent_is_stored(model, entries, tmp_path / "test" / record.attempt)
    record, _ = play(tmp_path / "again", ScriptedModel([cut] * 3))
    assert record.cause == "length_stop"


def test_a_window_that_fills_up_loses_old_parts_and_never_the_task(tmp_path: Path) -> None:
    count = 40
    script = [python(f"print({turn}, 'z' * 9000)\n" + SHOW) for turn in range(count)] + [python("env.finish()")]
    model = ScriptedModel(script, window=30_000, tokens=(0, 1))
    record, entries = play(tmp_path, model, wall_s=250.0)
    assert record.cause == "quit"
    rules = policy().history
    sizes = [len(json.dumps([m for m in request if isinstance(m["content"], str)])) for request in model.requests]
    assert max(sizes) < 30_000 * rules.characters_per_token
    assert {entry["what"] for entry in entries if entry["kind"] == "evicted"} == {"pictures", "outputs"}
    assert all("Bring the mass to x = 1 m." in request[1]["content"] for request in model.requests)
    assert "39 zzz" in texts(model)[-1]
    grown = sum(a == b[: len(a)] for a, b in zip(model.requests, model.requests[1:], strict=False))
    assert grown > count * 0.5  # most turns only add, so that a provider's cache holds
    sent_is_stored(model, entries, tmp_path / "test" / record.attempt)


def test_an_overflow_at_the_provider_is_answered_by_evicting_and_only_then_ends(tmp_path: Path) -> None:
    overflow = ModelFault("context_overflow", "too long")
    loud = python("print('z' * 9000)")
    model = ScriptedModel([loud, loud, overflow, python("env.finish()")])
    record, entries = play(tmp_path, model)
    assert record.cause == "quit"
    assert "evicted" in kinds(entries)
    sent_is_stored(model, entries, tmp_path / "test" / record.attempt)
    record, _ = play(tmp_path / "again", ScriptedModel([overflow] * 9))
    assert (record.outcome, record.cause, record.code) == ("failure", "context_overflow", "BUDGET")


def test_two_megabytes_lone_surrogates_nul_and_escapes_end_in_a_record(tmp_path: Path) -> None:
    noise = "\x1b[2J\x1b]0;t\x07 \\ud800 \x00"
    odd = f"{'word ' * 400_000}\n```python\nprint('still here', '\x1b[31m')\n```"
    big = python("x = '" + "a" * 300_000 + "'")
    model = ScriptedModel([noise, odd, big, python("print('\\ud800', chr(0))"), python("env.finish()")])
    record, entries = play(tmp_path, model)
    assert record.cause == "quit"
    assert "still here" in texts(model)[2]
    assert "300006 bytes, the limit is 262144" in texts(model)[3]
    assert "\\ud800 \\x00" in texts(model)[4]
    assert len(json.dumps(model.requests[-1])) < 400_000  # the history keeps the beginning of a huge reply
    sent_is_stored(model, entries, tmp_path / "test" / record.attempt)


def test_only_the_first_of_several_blocks_is_run(tmp_path: Path) -> None:
    model = ScriptedModel([python("print('one')") + python("env.finish()"), python("env.finish()")])
    record, _ = play(tmp_path, model)
    assert "one" in texts(model)[1]
    assert "held 2 Python blocks; only the first" in texts(model)[1]
    assert record.usage.model_calls == 2


def test_the_wall_clock_ends_a_program_that_sleeps(tmp_path: Path) -> None:
    model = ScriptedModel([python("import time\ntime.sleep(600)")])
    record, _ = play(tmp_path, model, wall_s=3.0)
    assert (record.outcome, record.cause, record.code) == ("invalid", "wall_clock", "ERR")
    assert record.evidence["models"] == ["scripted-1"]  # although its sandbox was killed under the agent
    assert record.wall_s < 12


def test_every_turn_says_what_is_left(tmp_path: Path) -> None:
    model = ScriptedModel(
        [python("env.step(np.zeros((25, 2)))".replace("np", "__import__('numpy')")), python("env.finish()")]
    )
    play(tmp_path, model)
    assert "0.5 of 10 s simulated, 25 of 500 actions" in texts(model)[1]
    assert "110 of 30000000 tokens and 0 of 100 pictures used" in texts(model)[1]


def test_the_actions_of_calls_are_those_that_the_environment_applied(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    chunks = [rng.uniform(-0.01, 0.01, (5, 2)) for _ in range(3)]
    script = [call("step", actions=chunk.tolist()) for chunk in chunks]
    record, _ = play(tmp_path, ScriptedModel([*script, call("finish")], functions=True), "tools")
    stored = np.load(tmp_path / "test" / record.attempt / "actions.npy")
    assert np.array_equal(stored, np.concatenate(chunks))
