"""A call of a model: what the provider sees, what comes back, what it used and cost, when it ends early."""

from __future__ import annotations

import base64
import io
import threading
import time
from typing import Any

import pytest
from model_server import Answer, ModelServer, completion, say
from model_server import fault as fault_answer
from model_session import ask, client, fault, opened, policy
from PIL import Image

from runner.models.base import Allowance, CallCancelled, Message, ToolCall

STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
CACHED = {
    "prompt_tokens": 262_960,
    "completion_tokens": 1_744,
    "total_tokens": 264_704,
    "prompt_tokens_details": {"cached_tokens": 257_955},
}
TOOLS = [
    {
        "type": "function",
        "function": {"name": "step", "description": "act", "parameters": {"type": "object", "properties": {}}},
    }
]


def picture() -> Message:
    buffer = io.BytesIO()
    Image.new("RGB", (64, 48), "orange").save(buffer, "PNG")
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def conversation() -> list[Message]:
    call = {"id": "call_0", "type": "function", "function": {"name": "step", "arguments": '{"action": [0.5]}'}}
    return [
        {"role": "system", "content": "You move an arm.\n  Rules: §1 ≤ 3 N · “quoted” \x1b[31mred\x1b[0m"},
        {"role": "user", "content": [{"type": "text", "text": "what the camera sees"}, picture()]},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_0", "content": "applied 1"},
        {"role": "user", "content": "go on"},
    ]


@STREAMED
def test_the_provider_sees_exactly_the_messages_and_tools_that_were_sent(stream: bool) -> None:
    with ModelServer([say("done")]) as server:
        reply = ask(client(server, stream=stream), conversation(), tools=TOOLS)
        body = server.calls[0].body
    assert body["messages"] == list(reply.sent) == conversation()
    assert (body["tools"], body["model"], body.get("stream", False)) == (TOOLS, "scripted", stream)


def test_what_is_said_to_be_sent_has_no_null_that_the_provider_does_not_see() -> None:
    with ModelServer([say("done")]) as server:
        reply = ask(client(server), [{"role": "user", "content": "hello", "name": None}])
        assert server.calls[0].body["messages"] == list(reply.sent) == [{"role": "user", "content": "hello"}]


@STREAMED
def test_tool_calls_come_back_as_the_model_wrote_them(stream: bool) -> None:
    with ModelServer([say("I act.", [("step", '{"action": [0.1,'), ("observe", "{}")])]) as server:
        reply = ask(client(server, stream=stream), tools=TOOLS)
    assert reply.tool_calls == (ToolCall("call_0", "step", '{"action": [0.1,'), ToolCall("call_1", "observe", "{}"))
    assert (reply.text, reply.finish) == ("I act.", "tool_calls")
    assert [call["id"] for call in reply.message["tool_calls"]] == ["call_0", "call_1"]


@STREAMED
def test_a_reply_can_be_sent_back_as_it_came(stream: bool) -> None:
    with ModelServer([say("first", [("step", "{}")]), say("second")]) as server:
        asked = client(server, stream=stream)
        first = ask(asked, tools=TOOLS)
        history = [{"role": "user", "content": "hello"}, first.message]
        ask(asked, [*history, {"role": "tool", "tool_call_id": "call_0", "content": "ok"}], tools=TOOLS)
        assert server.calls[1].body["messages"][1] == first.message


@STREAMED
def test_the_model_that_answered_is_named_beside_the_one_that_was_asked(stream: bool) -> None:
    answers = [say("a", model="scripted-0613"), say("b", model="scripted-0701"), say("c", model="scripted-0613")]
    with ModelServer(answers) as server:
        asked = client(server, stream=stream)
        assert [ask(asked).model for _ in range(3)] == ["scripted-0613", "scripted-0701", "scripted-0613"]
    assert asked.facts["models"] == ["scripted-0613", "scripted-0701"]


def test_what_the_provider_took_is_told_apart_from_what_was_waited_for_it() -> None:
    answers = [fault_answer(503, "overloaded"), say("hello", delay_s=0.3)]
    with ModelServer(answers) as server:
        asked = client(server, calls=policy(retry={"first_wait_s": 0.4, "longest_wait_s": 0.4}))
        reply = ask(asked)
    provider = asked.facts["provider"]
    assert provider["requests"] == reply.tries == 2
    assert provider["request_s"] >= reply.latency_s - 0.001 >= 0.299
    assert provider["retry_s"] >= 0.2  # half of the wait at least: the rest is jitter
    assert provider["rate_limit_s"] < 0.1
    assert reply.waited_s == pytest.approx(provider["retry_s"] + provider["rate_limit_s"], abs=0.002)


def test_requests_of_a_model_share_a_connection_whatever_time_is_left() -> None:
    with ModelServer([say("hello")]) as server:
        for attempt in (client(server), client(server)):
            for within_s in (20.0, 15.0, 10.0):
                ask(attempt, within_s=within_s)
        assert len({request.port for request in server.calls}) == 1


def test_litellm_neither_prices_nor_logs_an_answer_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    from litellm.litellm_core_utils.litellm_logging import Logging

    done: list[str] = []
    for name in ("response_cost_calculator", "async_success_handler", "handle_sync_success_callbacks_for_async_calls"):
        monkeypatch.setattr(Logging, name, lambda *_, _name=name, **__: done.append(_name))
    with ModelServer([say("hello")]) as server:
        assert ask(client(server)).text == "hello"
    assert done == []


@STREAMED
def test_cached_tokens_are_counted_by_kind_and_priced_once(stream: bool) -> None:
    with ModelServer([say("done", usage=CACHED)]) as server:
        asked = client(server, name="openai/gpt-4o", stream=stream)
        reply = ask(asked)
    assert (reply.tokens.uncached, reply.tokens.cached, reply.tokens.output) == (5_005, 257_955, 1_744)
    usage = asked.usage
    assert (usage.tokens_input, usage.tokens_cached, usage.tokens_output) == (262_960, 257_955, 1_744)
    # The locked price table: 2.50, 1.25 and 10 US dollars for a million uncached, cached and output tokens.
    assert usage.cost_usd == pytest.approx((5_005 * 2.5 + 257_955 * 1.25 + 1_744 * 10) / 1e6, abs=1e-12)


@pytest.mark.parametrize(
    ("wrong", "cached", "dollars"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 10_000}}, 100, (100 * 1.25 + 30 * 10) / 1e6),
        ({"prompt_tokens_details": {"cached_tokens": 10**12}}, None, (100 * 2.5 + 30 * 10) / 1e6),
        ({"prompt_tokens_details": {"cached_tokens": -7}}, None, (100 * 2.5 + 30 * 10) / 1e6),
        ({"completion_tokens_details": {"reasoning_tokens": 5_000}}, None, (100 * 2.5 + 30 * 10) / 1e6),
        ({"cache_creation_input_tokens": 9_000}, None, (100 * 2.5 + 30 * 10) / 1e6),
    ],
)
def test_what_is_priced_is_what_is_recorded(wrong: dict[str, Any], cached: int | None, dollars: float) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 30, "total_tokens": 130, **wrong}
    with ModelServer([say("done", usage=usage)]) as server:
        asked = client(server, name="openai/gpt-4o")
        ask(asked)
    assert (asked.usage.tokens_input, asked.usage.tokens_cached, asked.usage.tokens_output) == (100, cached, 30)
    assert asked.usage.cost_usd == pytest.approx(dollars, abs=1e-12)


def test_the_cost_of_a_model_without_a_price_is_unknown_and_not_zero() -> None:
    with ModelServer([say("done")]) as server:
        asked = client(server)
        assert ask(asked).cost_usd is None
    assert asked.usage.cost_usd is None
    assert not opened("http://127.0.0.1:9/v1").priced
    assert opened("http://127.0.0.1:9/v1", "openai/gpt-4o").priced


@STREAMED
def test_usage_that_the_provider_does_not_give_is_estimated_and_marked(stream: bool) -> None:
    with ModelServer([say("word " * 400, usage=None)]) as server:
        asked = client(server, stream=stream)
        tokens = ask(asked, [{"role": "user", "content": "x" * 4000}]).tokens
    assert tokens.estimated
    assert tokens.cached is None
    assert 1000 <= (tokens.uncached or 0) <= 1100
    assert 490 <= (tokens.output or 0) <= 510
    assert (asked.usage.estimated, asked.usage.tokens_cached) == (True, None)


def test_usage_adds_up_over_calls_and_stays_unknown_where_one_call_was() -> None:
    with ModelServer([say("a", usage=CACHED), say("b", usage=CACHED), say("c")]) as server:
        asked = client(server)
        ask(asked, pictures=2)
        ask(asked, pictures=1)
        assert (asked.usage.tokens_cached, asked.usage.images_sent, asked.usage.model_calls) == (515_910, 3, 2)
        ask(asked)
    assert asked.usage.tokens_input == 2 * 262_960 + 120
    assert asked.usage.tokens_cached is None


def test_no_call_is_made_beyond_the_allowance_of_tokens() -> None:
    with ModelServer([say("a")]) as server:
        asked = client(server, Allowance(tokens=300))
        ask(asked)
        ask(asked)  # 150 of 300 were used before it
        assert (fault(asked).cause, len(server.calls)) == ("token_budget", 2)


def test_no_picture_is_sent_beyond_the_allowance() -> None:
    with ModelServer([say("a")]) as server:
        asked = client(server, Allowance(pictures=3))
        ask(asked, pictures=3)
        found = fault(asked, pictures=1)
        assert (found.cause, len(server.calls), asked.usage.images_sent) == ("image_budget", 1, 3)
        assert ask(asked).text == "a"  # without a new picture it goes on


@STREAMED
def test_lone_surrogates_and_nul_come_back_storable_and_can_be_sent_again(stream: bool) -> None:
    with ModelServer([say("a\ud800b\x00c", [("step", '{"x": "\udfff"}')]), say("fine")]) as server:
        asked = client(server, stream=stream)
        reply = ask(asked, tools=TOOLS)
        assert (reply.text, reply.tool_calls[0].arguments) == ("a\\ud800b\\x00c", '{"x": "\\udfff"}')
        answer = {"role": "tool", "tool_call_id": "call_0", "content": "bad \udcff byte"}
        again = ask(asked, [{"role": "user", "content": "hello"}, reply.message, answer], tools=TOOLS)
        assert server.calls[1].body["messages"] == list(again.sent)
        assert again.sent[2]["content"] == "bad \\udcff byte"


@STREAMED
def test_two_megabytes_of_text_come_back_whole(stream: bool) -> None:
    text = "".join(f"line {number:06d} ∞\n" for number in range(140_000))
    with ModelServer([say(text)]) as server:
        assert ask(client(server, stream=stream)).text == text
    assert len(text.encode()) > 2 << 20


@STREAMED
def test_a_call_ends_when_the_episode_does_and_its_prompt_is_counted(stream: bool) -> None:
    cancel = threading.Event()
    with ModelServer([say("word " * 500, delay_s=0.0 if stream else 20.0, pace_s=0.5)]) as server:
        asked = client(server, stream=stream)
        threading.Timer(0.5, cancel.set).start()
        began = time.monotonic()
        with pytest.raises(CallCancelled):
            ask(asked, cancel=cancel)
    assert time.monotonic() - began < 5
    assert (asked.usage.estimated, asked.usage.model_calls) == (True, 1)
    assert (asked.usage.tokens_input or 0) > 0


def test_no_call_is_made_when_the_episode_has_ended_however_quickly_it_would_be_answered() -> None:
    cancel = threading.Event()
    with ModelServer([say("at once")]) as server:
        asked = client(server)
        ask(asked, cancel=cancel)
        cancel.set()
        with pytest.raises(CallCancelled):
            ask(asked, cancel=cancel)
        with pytest.raises(CallCancelled):
            ask(asked, within_s=0.0)
        assert (len(server.calls), asked.usage.model_calls) == (1, 1)


def test_a_call_ends_at_the_deadline() -> None:
    with ModelServer([say("late", delay_s=20.0)]) as server:
        began = time.monotonic()
        with pytest.raises(CallCancelled):
            ask(client(server), within_s=0.6)
    assert time.monotonic() - began < 5


def test_a_wait_before_another_try_ends_when_the_episode_does() -> None:
    cancel = threading.Event()
    answer = Answer({"error": {"message": "slow down"}}, 429, {"Retry-After": "10"})
    with ModelServer([answer]) as server:
        asked = client(server, calls=policy(retry={"total_s": 60.0}))
        threading.Timer(0.5, cancel.set).start()
        with pytest.raises(CallCancelled):
            ask(asked, cancel=cancel)
    assert 0.1 < asked.facts["provider"]["retry_s"] < 5


def test_declared_parameters_reach_the_provider() -> None:
    with ModelServer([say("done")]) as server:
        ask(client(server, temperature=0.25, effort="high", max_output_tokens=77, extra={"seed": 7}))
        body = server.calls[0].body
    assert (body["temperature"], body["reasoning_effort"], body["max_tokens"], body["seed"]) == (0.25, "high", 77, 7)


def test_content_in_parts_is_read() -> None:
    parts = [{"type": "text", "text": "take "}, {"type": "text", "text": "it"}]
    choice = {"index": 0, "message": {"role": "assistant", "content": parts}, "finish_reason": "stop"}
    with ModelServer([Answer(completion([choice]))]) as server:
        assert ask(client(server)).text == "take it"


def test_calls_of_parallel_attempts_do_not_mix() -> None:
    def echo(request: Any) -> Answer:
        return say(request.body["messages"][0]["content"], delay_s=0.05)

    with ModelServer(echo) as server:
        model = opened(server)
        texts: dict[int, list[str]] = {}

        def attempt(number: int) -> None:
            asked = model.client(Allowance())
            texts[number] = [ask(asked, [{"role": "user", "content": f"{number}-{turn}"}]).text for turn in range(5)]

        threads = [threading.Thread(target=attempt, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert texts == {number: [f"{number}-{turn}" for turn in range(5)] for number in range(4)}
