"""The contract between an agent and a model: one call, its reply, its faults, and the account of an attempt.

An agent that calls a model is written against this module only::

    model = open_model(name, sampling, rates)    # runner.models.open: once per run, shared by parallel attempts
    client = model.client(allowance)             # once per attempt
    try:
        reply = client.complete(messages, tools=TOOLS, deadline=context.deadline, cancel=context.stop)
    except ModelFault as fault:
        return fault.end()

Text of a reply is storable as it stands (no lone surrogate, no NUL), so that an agent may put it back into its
messages.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from manifests import strict
from manifests.records import Usage
from runner.agents.base import AgentEnd
from runner.store.text import storable

Message = dict[str, Any]  # one chat message of the OpenAI format
Tool = dict[str, Any]  # {"type": "function", "function": {"name", "description", "parameters"}}
LONGEST_NAME = 80  # characters of an unknown function's name in a text or in evidence
Finish = Literal["stop", "length", "tool_calls", "content_filter", "refusal"]


@dataclass(frozen=True)
class ToolCall:
    """A function call as the model wrote it. ``arguments`` is its text; nothing guarantees that it is JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Tokens:
    """Tokens of one call. The three kinds are disjoint: ``uncached`` and ``cached`` add up to the input.

    None: the provider did not say. ``estimated``: counted here, since the provider gave no usage at all.
    """

    uncached: int | None = None
    cached: int | None = None
    output: int | None = None
    estimated: bool = False

    @property
    def input(self) -> int | None:
        if self.uncached is None:
            return None
        return self.uncached + (self.cached or 0)


@dataclass(frozen=True)
class Reply:
    """An answer that an agent can work with: some text, or at least one tool call.

    ``message`` is the assistant message to append to the conversation; ``raw`` the provider's response as JSON, for the
    transcript; ``sent`` the messages exactly as they went out. ``latency_s`` is the request that answered, ``waited_s``
    what went before it for the rate limit and for retries; ``tries`` counts the requests, retries included.
    """

    text: str
    tool_calls: tuple[ToolCall, ...]
    finish: Finish
    tokens: Tokens
    cost_usd: float | None
    model: str | None  # as the provider reports it
    latency_s: float
    tries: int
    message: Message
    sent: Sequence[Message]
    raw: dict[str, Any]
    waited_s: float = 0.0


class ModelFault(Exception):
    """A call that gave no usable answer. ``cause`` is an id of ``manifests/causes.json``.

    It is final: transport faults were retried before, a bad answer never is. ``evidence`` is JSON without any secret.
    ``reply`` is what the model said nevertheless (a length stop, a refusal), else None. Its usage is already counted.
    """

    def __init__(
        self, cause: str, text: str, evidence: Mapping[str, Any] | None = None, *, reply: Reply | None = None
    ) -> None:
        super().__init__(text)
        self.cause, self.text, self.reply = cause, text, reply
        self.evidence: dict[str, Any] = dict(evidence or {})

    def end(self) -> AgentEnd:
        """The end of the attempt that this fault means."""
        return AgentEnd(self.cause, self.text, self.evidence)


class CallCancelled(Exception):
    """The episode ended, or its deadline passed, while the model was being asked. The agent returns; the supervisor
    says why the attempt ended."""


@dataclass(frozen=True)
class Allowance:
    """What one attempt may spend (``Budgets.tokens``, ``Budgets.images``). None means not limited."""

    tokens: int | None = None
    pictures: int | None = None


@dataclass(frozen=True)
class Sampling:
    """Declared parameters of every call of a run; recorded and hashed. None leaves the provider's default."""

    temperature: float | None = None
    effort: str | None = None
    max_output_tokens: int | None = None
    base_url: str | None = None
    stream: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


class ModelClient(Protocol):
    """The model for one attempt. Calls of one client do not overlap."""

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] | None = None,
        deadline: float,
        cancel: threading.Event,
        pictures: int = 0,
    ) -> Reply:
        """One answer to ``messages``.

        ``deadline`` is a time.monotonic() value; ``cancel`` ends the call early. ``pictures`` counts those in
        ``messages`` that were not in an earlier call. Raises ModelFault (also ``token_budget`` and ``image_budget``
        before a call that the allowance forbids) and CallCancelled.
        """

    @property
    def usage(self) -> Usage:
        """Cumulative usage of the attempt, faults included: hand it to ``context.report_usage`` after every call, also
        when it raised. ``tokens_input`` counts cached input too."""

    @property
    def facts(self) -> dict[str, Any]:
        """For the record's evidence: ``models``, ids that the provider reported, in order of first appearance, and
        ``provider``: ``requests`` made, seconds that they took (``request_s``), seconds of the attempt's wall time that
        were waited for the rate limit (``rate_limit_s``) and before retries (``retry_s``), and, where the attempt ended
        during a request, for how long no byte of its answer had come by then (``silent_s``)."""


class Model(Protocol):
    """One model of a run, shared by its attempts: rate limit, price, connection."""

    @property
    def name(self) -> str:
        """As litellm calls it: ``provider/model``."""

    @property
    def context_tokens(self) -> int | None:
        """Input window in tokens where litellm's table has it: what an eviction policy works with."""

    @property
    def sees_pictures(self) -> bool | None:
        """Whether the model takes pictures; None when unknown."""

    @property
    def calls_functions(self) -> bool | None:
        """Whether the model takes tool schemas; None when unknown."""

    @property
    def priced(self) -> bool:
        """Whether the price is known: without one a limit on cost cannot hold."""

    def client(self, allowance: Allowance) -> ModelClient: ...

    def preflight(self, picture: bytes | None = None) -> str | None:
        """Check key, model name and parameters with one small request before the first attempt, which shows ``picture``
        (PNG) where one is given; one line for the user. Raises BadInput (key missing or refused, model unknown) or
        RunStopped (nothing answers)."""

    def close(self) -> None: ...


def tool_arguments(call: ToolCall, tools: Sequence[Tool]) -> dict[str, Any]:
    """The arguments of a tool call as an object. Raises ModelFault ``unknown_tool`` or ``invalid_tool_arguments``.

    The text is what a model can be told. Whether it is, and how often, is the agent's policy
    (``manifests/model_calls.json``: ``tolerated_in_a_row``).
    """
    names = [str(tool["function"]["name"]) for tool in tools]
    if call.name not in names:
        wrong = call.name[:LONGEST_NAME]
        raise ModelFault("unknown_tool", f"there is no tool {wrong!r}: use one of {', '.join(names)}", {"call": wrong})
    try:
        value = storable(strict.loads(call.arguments or "{}"))
    except (ValueError, RecursionError) as error:
        raise _bad_arguments(call, f"are not valid JSON ({error})") from None
    if not isinstance(value, dict):
        raise _bad_arguments(call, f"are {type(value).__name__}, not an object")
    tool = tools[names.index(call.name)]
    required = tool["function"].get("parameters", {}).get("required", ())
    missing = [name for name in required if name not in value]
    if missing:
        raise _bad_arguments(call, f"lack {', '.join(missing)}")
    return value


def _bad_arguments(call: ToolCall, what: str) -> ModelFault:
    return ModelFault(
        "invalid_tool_arguments",
        f"the arguments of {call.name} {what}",
        {"call": call.name, "arguments": call.arguments[:2000]},
    )
