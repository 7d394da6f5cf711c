"""Providers that do not speak OpenAI's form: their answers, counts, prices and errors mean the same here."""

from __future__ import annotations

import json
from typing import Any

import pytest
from model_server import Answer, ModelServer
from model_session import ask, fault, opened, policy

from runner.errors import BadInput
from runner.models.base import Allowance, Tokens, ToolCall

CLAUDE, GEMINI, OLLAMA = "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash", "ollama_chat/llama3"
CLAUDE_USAGE = {
    "input_tokens": 100,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 900,
    "output_tokens": 50,
}
CLAUDE_MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5-20250929",
    "content": [{"type": "text", "text": "hello"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": CLAUDE_USAGE,
}
GEMINI_USAGE = {
    "promptTokenCount": 1000,
    "cachedContentTokenCount": 900,
    "candidatesTokenCount": 50,
    "totalTokenCount": 1050,
}
GEMINI_ANSWER = {
    "candidates": [{"content": {"parts": [{"text": "hello"}], "role": "model"}, "finishReason": "STOP", "index": 0}],
    "usageMetadata": GEMINI_USAGE,
    "modelVersion": "gemini-2.5-flash-001",
}
OLLAMA_ANSWER = {
    "model": "llama3:8b",
    "created_at": "2026-01-01T00:00:00Z",
    "message": {"role": "assistant", "content": "hello"},
    "done": True,
    "done_reason": "stop",
    "prompt_eval_count": 1000,
    "eval_count": 50,
}
TOOL = {
    "type": "function",
    "function": {"name": "step", "description": "", "parameters": {"type": "object", "properties": {}}},
}


def event(kind: str, **body: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **body})}\n\n"


def claude_stream() -> Answer:
    begun = {**CLAUDE_MESSAGE, "content": [], "stop_reason": None, "usage": {**CLAUDE_USAGE, "output_tokens": 1}}
    text = [event("content_block_delta", index=0, delta={"type": "text_delta", "text": part}) for part in ("hel", "lo")]
    events = [
        event("message_start", message=begun),
        event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        *text,
        event("content_block_stop", index=0),
        event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 50}),
        event("message_stop"),
    ]
    return Answer("".join(events).encode(), headers={"Content-Type": "text/event-stream"})


def ollama_stream() -> Answer:
    first = {**OLLAMA_ANSWER, "message": {"role": "assistant", "content": "hel"}, "done": False}
    last = {**OLLAMA_ANSWER, "message": {"role": "assistant", "content": "lo"}}
    lines = f"{json.dumps(first)}\n{json.dumps(last)}\n".encode()
    return Answer(lines, headers={"Content-Type": "application/x-ndjson"})


CACHED = Tokens(uncached=100, cached=900, output=50)
CASES = {
    "anthropic": (CLAUDE, Answer(CLAUDE_MESSAGE), False, CACHED, "claude-sonnet-4-5-20250929"),
    "anthropic, streamed": (CLAUDE, claude_stream(), True, CACHED, "claude-sonnet-4-5-20250929"),
    "gemini": (GEMINI, Answer(GEMINI_ANSWER), False, CACHED, "gemini-2.5-flash-001"),
    "ollama": (OLLAMA, Answer(OLLAMA_ANSWER), False, Tokens(uncached=1000, output=50), "llama3:8b"),
    "ollama, streamed": (OLLAMA, ollama_stream(), True, Tokens(uncached=1000, output=50), "llama3:8b"),
}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-the-test-1")
    monkeypatch.setenv("GEMINI_API_KEY", "key-of-the-test-2")


def address(server: ModelServer) -> str:
    return server.url.removesuffix("/v1")


@pytest.mark.parametrize("case", CASES)
def test_an_answer_of_another_form_is_read_with_its_tokens_and_its_models_own_name(case: str) -> None:
    name, answer, stream, tokens, model = CASES[case]
    with ModelServer([answer]) as server:
        asked = opened(address(server), name, stream=stream).client(Allowance())
        reply = ask(asked)
    assert (reply.text, reply.finish, reply.tokens, reply.model) == ("hello", "stop", tokens, model)
    assert asked.facts["models"] == [model]


def test_cached_input_of_another_form_is_priced_once() -> None:
    with ModelServer([Answer(CLAUDE_MESSAGE)]) as server:
        reply = ask(opened(address(server), CLAUDE).client(Allowance()))
    assert reply.cost_usd == pytest.approx((100 * 3.0 + 900 * 0.3 + 50 * 15.0) / 1e6)


def test_a_stream_of_another_form_without_counts_is_estimated_and_marked_so() -> None:
    lines = json.dumps({key: value for key, value in OLLAMA_ANSWER.items() if "eval_count" not in key}).encode()
    with ModelServer([Answer(lines + b"\n", headers={"Content-Type": "application/x-ndjson"})]) as server:
        reply = ask(opened(address(server), OLLAMA, stream=True).client(Allowance()))
    assert reply.text == "hello"
    assert reply.tokens.estimated
    assert reply.tokens.output


def test_a_tool_use_of_another_form_is_a_tool_call() -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "step", "input": {"actions": [[0.5]]}}
    with ModelServer([Answer({**CLAUDE_MESSAGE, "content": [use], "stop_reason": "tool_use"})]) as server:
        reply = ask(opened(address(server), CLAUDE).client(Allowance()), tools=[TOOL])
    assert reply.tool_calls == (ToolCall("toolu_1", "step", '{"actions": [[0.5]]}'),)
    assert reply.finish == "tool_calls"


def claude_error(status: int, kind: str) -> Answer:
    return Answer({"type": "error", "error": {"type": kind, "message": "not now"}}, status)


GEMINI_KEY = {"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}
GEMINI_SAFETY = {"candidates": [{"finishReason": "SAFETY", "index": 0}], "usageMetadata": GEMINI_USAGE}


@pytest.mark.parametrize(
    ("name", "answer", "cause", "requests"),
    [
        (CLAUDE, claude_error(401, "authentication_error"), "bad_key", 1),
        (CLAUDE, claude_error(529, "overloaded_error"), "provider_fault", 2),
        (GEMINI, Answer(GEMINI_KEY, 400), "bad_key", 1),
        (GEMINI, Answer(GEMINI_SAFETY), "content_filter", 1),
        (OLLAMA, Answer({"error": "model 'llama3' not found"}, 404), "model_not_found", 1),
    ],
)
def test_an_error_of_another_form_has_its_cause(name: str, answer: Answer, cause: str, requests: int) -> None:
    with ModelServer([answer]) as server:
        found = fault(opened(address(server), name, calls=policy(retry={"tries": 2})).client(Allowance()))
        assert (found.cause, len(server.calls)) == (cause, requests)


def test_a_local_server_needs_no_key() -> None:
    with ModelServer([Answer(OLLAMA_ANSWER)]) as server:
        line = opened(address(server), OLLAMA).preflight()
        sent = server.calls[0].headers
    assert line == f"model {OLLAMA} answers as llama3:8b (1050 tokens for the check)"
    assert "key-of-the-test" not in str(sent)


THINKING = {"includeThoughts": True, "thinkingBudget": 1024}


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        (CLAUDE, CLAUDE_MESSAGE, {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
        (GEMINI, GEMINI_ANSWER, {"generationConfig": {"thinkingConfig": THINKING}}),
        ("ollama_chat/gpt-oss", OLLAMA_ANSWER, {"think": "low"}),
    ],
)
def test_effort_is_said_in_the_providers_own_words(name: str, answer: dict[str, Any], said: dict[str, Any]) -> None:
    with ModelServer([Answer(answer)]) as server:
        opened(address(server), name, effort="low").preflight()
        body = server.calls[0].body
    assert {key: body[key] for key in said} == said


def test_a_parameter_that_a_model_refuses_is_named_by_the_kind_of_refusal() -> None:
    with ModelServer([Answer(OLLAMA_ANSWER)]) as server:
        with pytest.raises(BadInput, match=r"its parameters are refused .*before anything was sent: Unsupported"):
            opened(server.url, "openai/gpt-5", temperature=0.3).preflight()
        assert server.calls == []
