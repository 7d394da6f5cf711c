"""Each way in which a model call can go wrong ends in its cause, its usage counted; only transport is tried again."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from model_server import Answer, ModelServer, Request, completion, say
from model_server import fault as error
from model_session import ask, client, fault, policy

from manifests.load import load
from manifests.lookup import rule
from runner.models.base import CallCancelled, ModelFault, ToolCall, tool_arguments

TOOLS = [{"type": "function", "function": {"name": "step", "parameters": {"required": ["action"]}}}]
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])

# What arrives with HTTP status 200 and is no answer.
BAD_ANSWERS = {
    "no_choices": Answer(completion([])),
    "null_message": Answer(completion([{"index": 0, "message": None, "finish_reason": "stop"}])),
    "empty_reply": say(""),
    "refusal": say(None, refusal="I will not do that."),
    "length_stop": say("half an ans", finish="length"),
    "content_filter": say("", finish="content_filter"),
}
# What arrives with an error and will not change when it is asked again.
FINAL = [
    ("bad_key", error(401, "Incorrect API key provided", "invalid_api_key")),
    ("bad_key", error(400, "API key not valid. Please pass a valid API key.")),
    ("model_not_found", error(404, "The model `scripted` does not exist", "model_not_found")),
    ("quota_gone", error(429, "You exceeded your current quota", "insufficient_quota")),
    ("quota_gone", error(402, "Payment required")),
    ("context_overflow", error(400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded")),
    ("context_overflow", error(400, "request (9000 tokens) exceeds the available context size (8192 tokens)")),
    ("context_overflow", error(413, "Payload too large")),
    ("content_filter", error(400, "The prompt was filtered", "content_filter")),
    (
        "content_filter",
        error(400, "Your prompt was flagged as potentially violating our usage policy", "invalid_prompt"),
    ),
    (
        "quota_gone",
        error(400, "You have reached your specified API usage limits. You will regain access on 2026-02-01"),
    ),
    ("rejected_request", error(400, "Unsupported parameter: 'effort'", "unsupported_parameter")),
    ("rejected_request", error(422, "messages[3].role: invalid")),
    ("model_not_found", error(400, "No such deployment", "model_not_found")),
    ("model_not_found", Answer({"message": "Invalid model: scripted", "type": "invalid_model", "code": "1500"}, 400)),
    ("model_not_found", error(400, "Invalid model name passed in model=scripted. Call /v1/models")),
    ("model_not_found", error(400, "scripted is not a valid model ID", "400")),
    ("model_not_found", Answer({"code": "Client specified an invalid argument", "error": "Model not found: x"}, 400)),
    ("bad_key", Answer({"error": {"code": 400, "message": "Bad", "details": [{"reason": "API_KEY_INVALID"}]}}, 400)),
]
# What an error quotes is not what it is about: a run must not stop for it, nor a model be charged.
QUOTING = [
    ("rejected_request", error(400, "Your text says 'invalid model' where a name should be")),
    ("rejected_request", error(400, 'The words "invalid api key" in messages[3] are not permitted', "bad_input")),
    ("rejected_request", error(403, "Blocked by a rule: insufficient credits, unknown model, incorrect api key")),
    ("content_filter", error(400, "Invalid model: so says the prompt, and it was blocked", "content_policy_violation")),
    ("bad_key", error(403, "unknown model for this account; prompt is too long", "permission_denied")),
    (
        "content_filter",
        Answer({"error": {"message": "invalid model", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}, 400),
    ),
]
NO_ANSWER_STATUS = {
    "without a body": Answer(b"", 204),
    "a loop": Answer(b"", 307, {"Location": "/v1/chat/completions"}),
    "nowhere": Answer(b"", 302),
    "not modified": Answer(b"", 304),
}


@STREAMED
@pytest.mark.parametrize("cause", BAD_ANSWERS)
def test_field_12_a_bad_answer_has_its_cause_and_its_usage_and_is_not_asked_for_again(cause: str, stream: bool) -> None:
    if (cause, stream) == ("null_message", True):
        pytest.skip("a stream has no messages, only parts of one")
    with ModelServer([BAD_ANSWERS[cause]]) as server:
        asked = client(server, stream=stream)
        found = fault(asked)
        assert (found.cause, len(server.calls)) == (cause, 1)
    usage = asked.usage
    assert (usage.tokens_input, usage.tokens_output, usage.model_calls, usage.estimated) == (120, 30, 1, False)


@STREAMED
@pytest.mark.parametrize(
    ("choice", "cause"),
    [
        ({"finish_reason": "error", "error": {"code": 502, "message": "Upstream broke"}}, "provider_fault"),
        ({"finish_reason": "error"}, "provider_fault"),
        ({"finish_reason": "insufficient_system_resource"}, "provider_fault"),
        ({"finish_reason": "stop", "error": {"code": 402, "message": "Insufficient credits"}}, "quota_gone"),
    ],
)
@pytest.mark.parametrize("content", ["", "half an answer"])
def test_an_answer_that_its_provider_broke_off_is_the_providers_fault(
    choice: dict[str, Any], cause: str, content: str, stream: bool
) -> None:
    message = {"role": "assistant", "content": content}
    broken = Answer(completion([{"index": 0, "message": message, **choice}]))
    with ModelServer([broken] * 9) as server:
        found = fault(client(server, stream=stream))
    assert found.cause == cause


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth else 1


def event(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\ndata: [DONE]\n\n"


STREAM = {"Content-Type": "text/event-stream"}
NO_ANSWERS = {
    "nested deeply": Answer({**completion([{"index": 0, "message": {"content": "hi"}}]), "extra": nested(900)}),
    "content is a number": Answer(completion([{"index": 0, "message": {"content": 5}}])),
    "content is an object": Answer(completion([{"index": 0, "message": {"content": {"text": "hi"}}}])),
    "calls are a flag": Answer(completion([{"index": 0, "message": {"content": "hi", "tool_calls": True}}])),
    "a call is null": Answer(completion([{"index": 0, "message": {"content": None, "tool_calls": [None]}}])),
    "streamed choices are a number": Answer(event({"choices": 5}), headers=STREAM),
    "streamed calls are a flag": Answer(
        event({"choices": [{"index": 0, "delta": {"tool_calls": True}, "finish_reason": "stop"}]}), headers=STREAM
    ),
    "streamed content is a number": Answer(
        event({"choices": [{"index": 0, "delta": {"content": 5}, "finish_reason": "stop"}]}), headers=STREAM
    ),
    "an empty stream": Answer(b"data: [DONE]\n\n", headers=STREAM),
}


@pytest.mark.parametrize("name", NO_ANSWERS)
def test_what_is_no_answer_is_malformed_and_never_the_models_own_end(name: str) -> None:
    with ModelServer([NO_ANSWERS[name]]) as server:
        found = fault(client(server, stream="stream" in name))
    assert found.cause == "malformed_reply", found.text
    assert rule(load(), found.cause, "pass2", None).outcome != "failure"


def test_a_name_of_a_model_is_kept_in_a_length_that_a_record_takes() -> None:
    with ModelServer([Answer(completion([{"index": 0, "message": {"content": "hi"}}], model="m" * 100_000))]) as server:
        assert len(ask(client(server)).model or "") == 200


@pytest.mark.parametrize("count", [10**400, 10**12, -1])
def test_a_count_of_tokens_that_is_none_is_estimated_and_marked(count: Any) -> None:
    usage = {"prompt_tokens": count, "completion_tokens": 30, "total_tokens": 150}
    with ModelServer([Answer({**completion([{"index": 0, "message": {"content": "hi"}}]), "usage": usage})]) as server:
        asked = client(server)
        ask(asked)
    assert asked.usage.estimated
    assert 0 < (asked.usage.tokens_input or 0) < 10_000


def test_choices_that_are_null_and_messages_that_are_text_are_malformed() -> None:
    for body in ({**completion([]), "choices": None}, completion([{"index": 0, "message": "hi"}])):
        with ModelServer([Answer(body)]) as server:
            asked = client(server)
            assert (fault(asked).cause, len(server.calls)) == ("malformed_reply", 1)
            assert asked.usage.tokens_input == 120


@pytest.mark.parametrize(
    "body", [b'{"id": "x", "choices": [', b"<html>bad gateway</html>", b"", b"[]", b"null", b"\xff\xfe\x00"]
)
def test_a_body_that_is_no_completion_is_malformed_and_its_usage_an_estimate(body: bytes) -> None:
    with ModelServer([Answer(body)]) as server:
        asked = client(server)
        assert (fault(asked).cause, len(server.calls)) == ("malformed_reply", 1)
    assert asked.usage.estimated
    assert (asked.usage.tokens_input or 0) > 0


@STREAMED
@pytest.mark.parametrize(("cause", "answer"), FINAL, ids=[f"{cause}-{answer.status}" for cause, answer in FINAL])
def test_an_error_that_asking_again_cannot_mend_ends_at_once(cause: str, answer: Answer, stream: bool) -> None:
    with ModelServer([answer]) as server:
        found = fault(client(server, stream=stream))
        assert (found.cause, len(server.calls)) == (cause, 1)
    assert found.evidence["status"] == answer.status
    assert json.loads(json.dumps(found.evidence)) == found.evidence


@pytest.mark.parametrize(("cause", "answer"), QUOTING)
def test_a_code_decides_before_what_a_sentence_quotes(cause: str, answer: Answer) -> None:
    with ModelServer([answer]) as server:
        assert fault(client(server)).cause == cause


@STREAMED
@pytest.mark.parametrize("name", NO_ANSWER_STATUS)
def test_a_status_that_brings_no_answer_is_the_providers_fault(name: str, stream: bool) -> None:
    with ModelServer([NO_ANSWER_STATUS[name]]) as server:
        asked = client(server, stream=stream)
        found = fault(asked)
    assert (found.cause, found.evidence["status"]) == ("provider_fault", NO_ANSWER_STATUS[name].status)
    assert (asked.usage.tokens_input, asked.usage.tokens_output) == (0, 0)


def test_a_redirect_on_the_same_server_is_followed() -> None:
    def answer(request: Request) -> Answer:
        moved = request.path == "/v1/chat/completions"
        return Answer(b"", 307, {"Location": "/v1/moved"}) if moved else say("hello")

    with ModelServer(answer) as server:
        assert ask(client(server)).text == "hello"


@STREAMED
@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
def test_a_passing_error_is_tried_again_and_the_answer_counted_once(status: int, stream: bool) -> None:
    with ModelServer([error(status, "try later"), error(status, "try later"), say("hello")]) as server:
        asked = client(server, stream=stream)
        reply = ask(asked)
        assert (reply.text, reply.tries, len(server.calls)) == ("hello", 3, 3)
    assert (asked.usage.tokens_input, asked.usage.model_calls, asked.usage.estimated) == (120, 1, False)


def test_no_request_comes_sooner_than_retry_after() -> None:
    with ModelServer([error(429, "slow down", headers={"Retry-After": "1"}), say("hello")]) as server:
        ask(client(server))
        first, second = server.calls
    assert second.at - first.at >= 1.0


def test_a_retry_after_beyond_the_total_is_not_sat_out() -> None:
    with ModelServer([error(429, "slow down", headers={"Retry-After": "3600"})]) as server:
        began = time.monotonic()
        found = fault(client(server))
        assert (found.cause, len(server.calls)) == ("provider_fault", 1)
    assert time.monotonic() - began < 3


def test_waits_grow_and_stop_at_the_number_of_tries() -> None:
    with ModelServer([error(503, "overloaded")]) as server:
        calls = policy(retry={"first_wait_s": 0.1, "longest_wait_s": 10.0, "tries": 4})
        found = fault(client(server, calls=calls))
        gaps = [later.at - earlier.at for earlier, later in zip(server.calls, server.calls[1:], strict=False)]
    assert (found.cause, len(gaps)) == ("provider_fault", 3)
    for number, gap in enumerate(gaps):
        assert gap >= 0.05 * 2**number
    assert "after 4 tries" in found.text


@STREAMED
def test_a_reset_in_the_middle_of_a_body_is_tried_again_and_the_lost_prompt_counted(stream: bool) -> None:
    with ModelServer([say("hello " * 50, reset_after=60), say("hello")]) as server:
        asked = client(server, stream=stream)
        assert (ask(asked).tries, len(server.calls)) == (2, 2)
    assert asked.usage.estimated
    assert (asked.usage.tokens_input or 0) > 120


def test_a_stream_that_ends_in_the_middle_is_no_answer() -> None:
    half = b'data: {"choices": [{"index": 0, "delta": {"content": "take the"}, "finish_reason": null}]}\n\n'
    headers = {"Content-Type": "text/event-stream"}
    with ModelServer([Answer(half, headers=headers), say("hello")]) as server:
        assert ask(client(server, stream=True)).text == "hello"


@STREAMED
def test_a_server_that_does_not_answer_in_time_is_the_providers_fault(stream: bool) -> None:
    with ModelServer([say("late", delay_s=5)]) as server:
        calls = policy(retry={"tries": 2}, timeouts={"answer_s": 0.4})
        found = fault(client(server, stream=stream, calls=calls))
        assert (found.cause, len(server.calls)) == ("provider_fault", 2)


def silent(server: ModelServer, within_s: float, **given: Any) -> float:
    """What is said of a call that the end of the attempt cut off."""
    asked = client(server, **given)
    with pytest.raises(CallCancelled):
        ask(asked, within_s=within_s)
    provider = asked.facts["provider"]
    assert provider["requests"] == 1
    assert provider["silent_s"] <= provider["request_s"] + 0.2
    return float(provider["silent_s"])


def test_a_provider_that_hangs_until_the_end_of_the_attempt_is_told_from_one_that_is_answering() -> None:
    with ModelServer([say("late", delay_s=9)]) as server:
        assert 0.9 < silent(server, 1.5) < 2.0
    with ModelServer([say("word " * 500, pace_s=0.05)]) as server:
        assert silent(server, 1.5, stream=True) < 0.7
    with ModelServer([say("hello")]) as server:
        answered = client(server)
        ask(answered)
        assert "silent_s" not in answered.facts["provider"]


def test_nobody_at_the_address_is_the_providers_fault_and_costs_no_tokens() -> None:
    with ModelServer([say("hello")]) as server:
        pass
    asked = client(server, calls=policy(retry={"tries": 2}))
    found = fault(asked)
    assert (found.cause, found.evidence["transport"]) == ("provider_fault", "ConnectError")
    assert (asked.usage.tokens_input, asked.usage.tokens_output, asked.usage.model_calls) == (0, 0, 1)


@STREAMED
def test_an_error_inside_a_success_has_its_own_status(stream: bool) -> None:
    inside = {"error": {"message": "upstream is overloaded", "code": 502}}
    with ModelServer([Answer(inside), say("hello")]) as server:
        assert ask(client(server, stream=stream)).tries == 2


def test_an_outage_near_the_end_of_the_attempt_is_named_before_the_wall_clock_runs_out() -> None:
    with ModelServer([error(503, "overloaded", headers={"Retry-After": "4"})]) as server:
        assert fault(client(server), within_s=3.0).cause == "provider_fault"


@pytest.mark.parametrize(
    ("name", "arguments", "cause"),
    [
        ("step", '{"action": ', "invalid_tool_arguments"),
        ("step", "[1, 2]", "invalid_tool_arguments"),
        ("step", "{}", "invalid_tool_arguments"),
        ("step", "[" * 100_000, "invalid_tool_arguments"),
        ("step", '{"action": ' + "9" * 5000 + "}", "invalid_tool_arguments"),
        ("jump", "{}", "unknown_tool"),
    ],
)
def test_a_tool_call_that_cannot_be_made_has_its_cause(name: str, arguments: str, cause: str) -> None:
    with pytest.raises(ModelFault) as caught:
        tool_arguments(ToolCall("1", name, arguments), TOOLS)
    assert caught.value.cause == cause
    assert len(caught.value.text) < 500


def test_tool_arguments_are_storable() -> None:
    found = tool_arguments(ToolCall("1", "step", '{"action": "\\ud800\\u0000", "x": 1}'), TOOLS)
    assert found == {"action": "\\ud800\\x00", "x": 1}


@pytest.mark.parametrize("arguments", ['{"action": NaN}', '{"action": 1, "action": 2}', "[1]", '{"action": '])
def test_tool_arguments_that_are_no_json_object_are_invalid(arguments: str) -> None:
    with pytest.raises(ModelFault) as caught:
        tool_arguments(ToolCall("1", "step", arguments), TOOLS)
    assert caught.value.cause == "invalid_tool_arguments"


def test_every_cause_of_a_call_is_in_the_table_and_a_model_cannot_void_its_own_attempt() -> None:
    manifests = load()
    mine = ("empty_reply", "refusal", "length_stop", "content_filter", "invalid_tool_arguments", "unknown_tool")
    for cause in mine:
        for protocol in manifests.protocols:
            ruling: Any = rule(manifests, cause, protocol)
            assert (ruling.outcome, ruling.code, ruling.known) == ("failure", "QUIT", True), cause
    for row in manifests.model_calls.faults:
        assert rule(manifests, row.cause, "pass2").known
