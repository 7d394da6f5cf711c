"""One call of an agent: what is sent, how it went, and the reply or the fault that comes of it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from runner.models.answers import Answer
from runner.models.base import Message, ModelFault, Reply, Tokens, Tool
from runner.models.faults import Fault
from runner.models.library import Result


@dataclass
class Call:
    """One call of an agent: what is sent, until when, and how it went so far."""

    messages: list[Message]
    tools: Sequence[Tool] | None
    deadline: float
    cancel: threading.Event
    tokens: int  # of the prompt, by estimate
    ticket: str = ""  # of the running try at the rate limit
    sent_at: float | None = None  # when it went out
    tries: int = 0
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Answered:
    """An answer, good or bad, with what is counted for it."""

    answer: Answer
    tokens: Tokens
    cost_usd: float | None
    latency_s: float


def reply_of(answered: Answered, call: Call, waited_s: float) -> Reply:
    """The reply, or the fault that the answer is."""
    answer = answered.answer
    reply = Reply(
        text=answer.content,
        tool_calls=answer.calls,
        finish=answer.finish,
        tokens=answered.tokens,
        cost_usd=answered.cost_usd,
        model=answer.model,
        latency_s=answered.latency_s,
        waited_s=waited_s,
        tries=call.tries,
        message=answer.message or {"role": "assistant", "content": ""},
        sent=call.messages,
        raw=answer.raw,
    )
    if answer.cause is None:
        return reply
    evidence = {"finish": answer.finish, "tries": call.tries, "model": answer.model}
    raise ModelFault(answer.cause, answer.text, evidence, reply=reply)


def may_have_run(result: Result) -> bool:
    """Whether a broken request had reached the provider: not when no connection was made."""
    return result.exchange.broken not in ("ConnectError", "ConnectTimeout", "ProxyError", "UnsupportedProtocol")


def final(fault: Fault, call: Call) -> ModelFault:
    text = fault.text if call.tries <= 1 else f"{fault.text} (after {call.tries} tries)"
    return ModelFault(fault.cause, text, {**fault.evidence, "tries": call.tries, "faults": call.faults[-10:]})
