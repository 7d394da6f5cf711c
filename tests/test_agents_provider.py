"""What a provider can answer, through HTTP and the whole stack, ends an attempt with its defined cause."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from agents_model import transcript
from model_server import Answer, ModelServer, completion, say
from model_server import fault as error
from model_session import opened
from slider_runtime import SliderRuntime, evaluation

from manifests.records import AttemptRecord
from runner.agents.conversation import requests
from runner.agents.factory import model_agent
from runner.agents.model_agent import Manner
from runner.agents.registry import AgentRequest
from runner.errors import RunStopped

MOVE = say(None, [("step", json.dumps({"actions": [[0.1, 0.0]]}))])
FINISH = say(None, [("finish", "{}")])


def play(home: Path, server: ModelServer, **given: object) -> tuple[AttemptRecord, list[list[object]]]:
    """One attempt of the tools agent at the slider; the record, and the requests that its transcript stores."""
    agent = model_agent("tools", AgentRequest("openai/scripted", "tools"), opened(server, **given), Manner(True, True))
    made = evaluation(home, agent, SliderRuntime(), parameters=[{}], protocol="single")
    with suppress(RunStopped):  # where the cause stops the run: its attempt is recorded all the same
        made.run()
    run = made.store.find_run("test")
    assert run is not None
    (row,) = made.store.attempts(run)
    record = AttemptRecord.model_validate_json(row.record or "")
    folder = home / "test" / record.attempt
    return record, list(requests(transcript(folder), folder))


CASES: list[tuple[list[Answer], str, str, str]] = [
    ([Answer(completion([]))], "no_choices", "invalid", "ERR"),
    (
        [Answer(completion([{"index": 0, "message": None, "finish_reason": "stop"}]))],
        "null_message",
        "invalid",
        "ERR",
    ),
    ([say("")], "empty_reply", "failure", "QUIT"),
    ([say(None, refusal="I will not move a robot.")], "refusal", "failure", "QUIT"),
    ([say("I was about to", finish="length")], "length_stop", "failure", "QUIT"),
    ([say("", finish="content_filter")], "content_filter", "failure", "QUIT"),
    ([say(None, [("step", "{'actions': 1}")])], "invalid_tool_arguments", "failure", "QUIT"),
    ([say(None, [("fly", "{}")])], "unknown_tool", "failure", "QUIT"),
    ([say("What a nice robot.")], "no_action", "failure", "QUIT"),
    ([error(404, "The model `x` does not exist", "model_not_found")], "model_not_found", "invalid", "ERR"),
    ([error(401, "Incorrect API key provided", "invalid_api_key")], "bad_key", "invalid", "ERR"),
    ([error(429, "You exceeded your quota", "insufficient_quota")], "quota_gone", "invalid", "ERR"),
    ([error(400, "too long", "context_length_exceeded")], "context_overflow", "failure", "BUDGET"),
    ([error(503, "overloaded")], "provider_fault", "invalid", "ERR"),
    ([error(429, "slow down", headers={"Retry-After": "0"})], "provider_fault", "invalid", "ERR"),
    ([Answer(b"x" * 100, reset_after=10)], "provider_fault", "invalid", "ERR"),
]


@pytest.mark.parametrize(
    ("answers", "cause", "outcome", "code", "stream"),
    [
        pytest.param(*case, stream, id=f"{case[1]}-{'streamed' if stream else 'whole'}")
        for case in CASES
        for stream in (False, True)
        if not stream or (case[0][0].status == 200 and case[1] != "null_message")  # a stream has no null message
    ],
)
def test_every_answer_that_is_none_ends_in_its_cause(
    tmp_path: Path, answers: list[Answer], cause: str, outcome: str, code: str, stream: bool
) -> None:
    with ModelServer([MOVE, *answers]) as server:
        record, _ = play(tmp_path, server, stream=stream)
    assert (record.cause, record.outcome, record.code) == (cause, outcome, code)
    assert (record.actions, record.acted) == (1, True)
    assert record.text
    assert record.usage.model_calls >= 2


def test_a_transport_fault_is_asked_again_and_leaves_no_trace_in_the_conversation(tmp_path: Path) -> None:
    with ModelServer([MOVE, error(503, "busy"), Answer(b"x" * 100, reset_after=10), MOVE, FINISH]) as server:
        record, stored = play(tmp_path, server)
        sent = [request.body["messages"] for request in server.calls]
    assert (record.cause, record.actions) == ("quit", 2)
    assert sent[1] == sent[2] == sent[3]
    assert [sent[0], *sent[3:]] == stored


def test_odd_characters_and_two_megabytes_of_a_provider_are_stored_and_answered(tmp_path: Path) -> None:
    noise = "\ud800 \x00 \x1b[2J" + "word " * 400_000
    with ModelServer([say(noise), say(noise, [("fly\udfff", '{"\x00": "\ud800"}')]), FINISH]) as server:
        record, stored = play(tmp_path, server)
        sent = [request.body["messages"] for request in server.calls]
    assert record.cause == "quit"
    assert sent == stored
    assert sent[1][2]["content"].startswith("\\ud800 \\x00 \x1b[2J")
    assert "left out" in sent[1][2]["content"]
    assert len(server.calls[2].raw) < 400_000


def test_tokens_are_those_that_the_provider_counted_cached_input_included(tmp_path: Path) -> None:
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 50,
        "total_tokens": 1050,
        "prompt_tokens_details": {"cached_tokens": 900},
    }
    counted = say(None, [("step", json.dumps({"actions": [[0.1, 0.0]]}))], usage=usage)
    with ModelServer([counted, say(None, [("finish", "{}")], usage=usage)]) as server:
        record, _ = play(tmp_path, server)
    assert (record.usage.tokens_input, record.usage.tokens_cached, record.usage.tokens_output) == (2000, 1800, 100)
    assert not record.usage.estimated
