"""A model's own bad function calls go back to its provider in a form that every provider takes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from agents_model import transcript
from hypothesis import example, given
from hypothesis import strategies as st
from model_server import Answer, ModelServer, Request, say
from model_server import fault as error
from test_agents_provider import FINISH, play

from runner.agents.returned import returned
from runner.models.base import ModelFault, ToolCall, tool_arguments

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


def calls_of(messages: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [call["function"] for message in messages for call in message.get("tool_calls") or ()]


def refuses(message: dict[str, Any]) -> str | None:
    """Why a provider that checks the conversation would refuse it."""
    for function in calls_of([message]):
        if not NAME.fullmatch(function["name"]):
            return f"Invalid 'messages[2].tool_calls[0].function.name': {function['name'][:40]}"
        try:
            value = json.loads(function["arguments"], parse_constant=lambda text: text / 1)
        except (ValueError, TypeError, RecursionError):
            value = None
        if not isinstance(value, dict):
            return "tool_calls[0].function.arguments is no JSON object"
    return None


@pytest.mark.parametrize(
    ("name", "arguments", "cause", "told"),
    [
        ("multi_tool_use.parallel", "{}", "unknown_tool", "no tool 'multi_tool_use.parallel'"),
        ("x" * 4_000_000, "{}", "unknown_tool", "no tool 'xxx"),
        ("step", '{"actions": [[0', "invalid_tool_arguments", "not valid JSON"),
        ("step", '{"actions": [[NaN, 0]]}', "invalid_tool_arguments", "NaN is no JSON number"),
    ],
    ids=["dots", "long", "cut", "nan"],
)
def test_a_slip_that_a_strict_provider_would_refuse_ends_as_the_models_own_and_is_told(
    tmp_path: Path, name: str, arguments: str, cause: str, told: str
) -> None:
    def answer(request: Request) -> Answer:
        found = [why for message in request.body["messages"] if (why := refuses(message))]
        return error(400, found[0], "invalid_value") if found else say(None, [(name, arguments)])

    with ModelServer(answer) as server:
        record, stored = play(tmp_path, server)
        sent = [request.body["messages"] for request in server.calls]
    assert (record.cause, record.outcome, record.code) == (cause, "failure", "QUIT")
    assert len(sent) == 4
    assert sent == stored
    assert told in sent[1][-1]["content"]
    assert len(record.model_dump_json()) < 20_000
    replies = [entry for entry in transcript(tmp_path / "test" / record.attempt) if entry["kind"] == "reply"]
    kept = replies[0]["raw"]["choices"][0]["message"]["tool_calls"][0]["function"]
    assert kept == {"name": name, "arguments": arguments}  # the transcript has what the model said


def test_calls_with_one_id_or_none_are_answered_one_by_one(tmp_path: Path) -> None:
    twice = say(None, [("describe", "{}")] * 3)
    body: Any = twice.body
    calls = body["choices"][0]["message"]["tool_calls"]
    calls[0]["id"], calls[1]["id"], calls[2]["id"] = "call_1", "", "call_1"
    with ModelServer([twice, FINISH]) as server:
        play(tmp_path, server)
        messages = server.calls[1].body["messages"]
    asked = [call["id"] for call in messages[2]["tool_calls"]]
    assert len(set(asked)) == 3
    assert [message["tool_call_id"] for message in messages[3:]] == asked


def test_good_calls_go_back_as_they_came() -> None:
    function = {"name": "step", "arguments": '{"actions":  [[0.10, 0]] }'}
    message = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "a", "type": "function", "function": function}],
    }
    assert returned(message, 100) == message
    assert returned({"role": "assistant", "content": "x"}, 100) == {"role": "assistant", "content": "x"}


WRITTEN = st.text() | st.recursive(
    st.none() | st.floats() | st.text(), lambda inner: st.dictionaries(st.text(), inner)
).map(json.dumps)


@given(name=st.text(), arguments=WRITTEN)
@example("step now!", "[1]")
@example("9lives", "")
@example("step", "\x00")
@example("step", '{"actions": ' + "[" * 900 + "]" * 900 + "}")
@example("step", "[" * 100_000)
@example("step", '{"a": 1, "a": 2}')
@example("step", '{"a": "\\ud800"}')  # half a character, which readers in Rust and C++ refuse
def test_whatever_a_model_calls_goes_back_in_a_form_that_is_taken(name: str, arguments: str) -> None:
    message = {"tool_calls": [{"id": "a", "function": {"name": name, "arguments": arguments}}]}
    found = returned(message, 50)
    assert refuses(found) is None
    (function,) = calls_of([found])
    json.dumps(json.loads(function["arguments"]), ensure_ascii=False).encode()
    assert returned(found, 50) == found
    assert len(function["arguments"]) <= max(len(arguments), 400)


def test_a_long_name_is_cut_in_text_and_evidence() -> None:
    with pytest.raises(ModelFault) as caught:
        tool_arguments(ToolCall("1", "y" * 10_000, "{}"), [])
    assert len(caught.value.text) < 200
    assert len(caught.value.evidence["call"]) == 80
