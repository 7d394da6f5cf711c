"""A model for the agents' tests that answers from a list, in this process, and remembers every request."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from slider_runtime import SliderRuntime, evaluation

from manifests.records import AttemptRecord, Usage
from runner.agents.factory import model_agent
from runner.agents.model_agent import Manner
from runner.agents.registry import AgentRequest
from runner.models.base import (
    Allowance,
    CallCancelled,
    Message,
    ModelFault,
    Reply,
    Tokens,
    Tool,
    ToolCall,
)
from runner.models.open import OpenedModel
from runner.store.text import parse

Answer = str | tuple[ToolCall, ...] | Exception
Script = Sequence[Answer] | Callable[[Sequence[Message]], Answer]


def python(code: str) -> str:
    """A reply in plain text that runs ``code``."""
    return f"I will run this.\n\n```python\n{code}\n```\n"


def run(code: str, identity: str = "c1") -> tuple[ToolCall, ...]:
    """A reply that calls run_python."""
    return (ToolCall(identity, "run_python", json.dumps({"code": code})),)


def call(name: str, identity: str = "c1", **arguments: Any) -> tuple[ToolCall, ...]:
    return (ToolCall(identity, name, json.dumps(arguments)),)


class ScriptedModel:
    """``tokens`` is what each call is said to have read and written."""

    name = "scripted"
    priced = True

    def __init__(
        self,
        script: Script,
        *,
        sees: bool | None = True,
        functions: bool | None = False,
        window: int | None = None,
        tokens: tuple[int, int] = (100, 10),
    ) -> None:
        self.sees_pictures, self.calls_functions, self.context_tokens = sees, functions, window
        self.requests: list[list[Message]] = []
        self.tools: list[Sequence[Tool] | None] = []
        self.tokens = tokens
        self._next = script if callable(script) else _from(iter(script))

    def client(self, allowance: Allowance) -> ScriptedClient:
        return ScriptedClient(self, allowance)

    def preflight(self) -> str | None:
        return None

    def close(self) -> None: ...

    def answer(self, messages: Sequence[Message]) -> Answer:
        self.requests.append(copy.deepcopy(list(messages)))
        return self._next(messages)


def _from(answers: Iterator[Answer]) -> Callable[[Sequence[Message]], Answer]:
    return lambda messages: next(answers)


class ScriptedClient:
    facts: Mapping[str, Any] = {"models": ["scripted-1"]}

    def __init__(self, model: ScriptedModel, allowance: Allowance) -> None:
        self._model, self._allowance = model, allowance
        self.usage = Usage(tokens_input=0, tokens_cached=0, tokens_output=0, cost_usd=0.0)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] | None = None,
        deadline: float,
        cancel: threading.Event,
        pictures: int = 0,
    ) -> Reply:
        if cancel.is_set():
            raise CallCancelled
        used, allowed = self.usage, self._allowance
        if allowed.tokens is not None and (used.tokens_input or 0) + (used.tokens_output or 0) >= allowed.tokens:
            raise ModelFault("token_budget", "the tokens are used up")
        if allowed.pictures is not None and used.images_sent + pictures > allowed.pictures:
            raise ModelFault("image_budget", "the pictures are used up")
        self._model.tools.append(tools)
        answer = self._model.answer(messages)
        read, written = self._model.tokens
        self.usage = used.model_copy(
            update={
                "tokens_input": (used.tokens_input or 0) + read,
                "tokens_output": (used.tokens_output or 0) + written,
                "images_sent": used.images_sent + pictures,
                "model_calls": used.model_calls + 1,
            }
        )
        if isinstance(answer, Exception):
            raise answer
        return reply(answer, Tokens(read, 0, written))


def reply(answer: str | tuple[ToolCall, ...], tokens: Tokens | None = None) -> Reply:
    text = answer if isinstance(answer, str) else ""
    calls = () if isinstance(answer, str) else answer
    message: Message = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {"id": item.id, "type": "function", "function": {"name": item.name, "arguments": item.arguments}}
            for item in calls
        ]
    return Reply(
        text=text,
        tool_calls=calls,
        finish="tool_calls" if calls else "stop",
        tokens=tokens or Tokens(),
        cost_usd=0.0,
        model="scripted-1",
        latency_s=0.0,
        tries=1,
        message=message,
        sent=(),
        raw={"choices": [{"message": message}]},
    )


def play(
    home: Path, model: ScriptedModel | OpenedModel, agent: str = "code", **options: Any
) -> tuple[AttemptRecord, list[Any]]:
    """One attempt at the slider: its record and its transcript. ``options`` are those of an evaluation, ``level``,
    ``manner``."""
    request = AgentRequest(model.name if "/" in model.name else "openai/scripted", agent, options.pop("level", None))
    manner = options.pop("manner", None) or Manner(bool(model.calls_functions), bool(model.sees_pictures))
    made = evaluation(
        home,
        model_agent(agent, request, model, manner),
        SliderRuntime(),
        **{"parameters": [{}], "protocol": "single", **options},
    )
    run_ = made.run()
    (row,) = made.store.attempts(run_)
    record = AttemptRecord.model_validate_json(row.record or "")
    return record, transcript(home / "test" / record.attempt)


def transcript(folder: Path) -> list[Any]:
    return [parse(line) for line in (folder / "transcript.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]
