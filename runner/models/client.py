"""One model of a run and its calls: allowance, rate limit, retries, reading, account."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from manifests.calls import ModelCalls
from manifests.records import Usage
from runner.models.answers import Answer, body_of, read
from runner.models.base import Allowance, CallCancelled, Message, ModelFault, Reply, Tokens, Tool
from runner.models.call import Answered, Call, final, may_have_run, reply_of
from runner.models.faults import Fault, fault_of
from runner.models.library import Library, Request, Result
from runner.models.limiter import Limiter
from runner.models.redact import Redactor
from runner.models.usage import Meter, estimate_input, estimate_output, priceable
from runner.models.window_file import clock
from runner.store.text import storable

if TYPE_CHECKING:
    from tenacity import RetryCallState

    from runner.models.tap import Exchange

Origin = tuple[str, str, int | None]  # scheme, host, port where it is not the usual one
POLL_S = 0.05  # how soon a running request hears that the episode has ended


class _Transport(Exception):
    """A transport fault that may be tried again."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.text)
        self.fault = fault


@dataclass(frozen=True)
class Link:
    """What the calls of a model share."""

    name: str
    parameters: dict[str, Any]
    base_url: str | None
    api_key: str | None
    library: Library
    limiter: Limiter
    policy: ModelCalls
    redactor: Redactor


class Client:
    """A :class:`~runner.models.base.ModelClient`."""

    def __init__(self, link: Link, allowance: Allowance) -> None:
        self._link, self._allowance = link, allowance
        self._meter = Meter()
        self._models: dict[str, None] = {}
        self._requests, self._request_s, self._rate_limit_s, self._retry_s = 0, 0.0, 0.0, 0.0
        self._silent_s: float | None = None
        self._origins: set[Origin] = set()

    @property
    def usage(self) -> Usage:
        return self._meter.usage()

    @property
    def facts(self) -> dict[str, Any]:
        seconds = {"request_s": self._request_s, "rate_limit_s": self._rate_limit_s, "retry_s": self._retry_s}
        provider: dict[str, float] = {
            "requests": self._requests,
            **{name: round(value, 3) for name, value in seconds.items()},
        }
        if self._silent_s is not None:
            provider["silent_s"] = round(self._silent_s, 3)
        return {"provider": provider} | ({"models": list(self._models)} if self._models else {})

    @property
    def origins(self) -> frozenset[Origin]:
        """Where requests went: scheme, host, port."""
        return frozenset(self._origins)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] | None = None,
        deadline: float,
        cancel: threading.Event,
        pictures: int = 0,
    ) -> Reply:
        if cancel.is_set() or time.monotonic() >= deadline:
            raise CallCancelled("the episode had ended before the model was asked")
        # litellm leaves out what is null: left out here, it is left out of what is said to be sent too.
        sent = [{name: part for name, part in message.items() if part is not None} for message in storable(messages)]
        tokens = estimate_input(sent, tools, self._link.policy.estimate)
        self._check_allowance(pictures)
        self._meter.called(pictures)
        call = Call(sent, tools, deadline, cancel, tokens)
        waited_s = self._rate_limit_s + self._retry_s
        try:
            answered = self._retried(call)
        except _Transport as error:
            raise final(error.fault, call) from None
        return reply_of(answered, call, self._rate_limit_s + self._retry_s - waited_s)

    def _check_allowance(self, pictures: int) -> None:
        tokens, most = self._allowance.tokens, self._allowance.pictures
        if tokens is not None and self._meter.total >= tokens:
            text = f"{self._meter.total:,} of {tokens:,} tokens are used"
            raise ModelFault("token_budget", text, {"tokens": self._meter.total, "allowance": tokens})
        if most is not None and self._meter.pictures + pictures > most:
            text = f"{self._meter.pictures} of {most} pictures were sent and {pictures} more were to be"
            raise ModelFault("image_budget", text, {"pictures": self._meter.pictures, "allowance": most})

    # ---- the request and its retries --------------------------------------------------------------------------------
    def _retried(self, call: Call) -> Answered:
        import tenacity

        policy = self._link.policy.retry
        return tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_Transport),
            stop=tenacity.stop_after_attempt(policy.tries) | self._too_late(call),
            wait=self._wait,
            sleep=lambda seconds: self._sleep(seconds, call),
            reraise=True,
        )(self._once, call)

    def _wait(self, state: RetryCallState) -> float:
        """Exponential with full jitter, and never less than the provider asked for."""
        policy, error = self._link.policy.retry, state.outcome.exception() if state.outcome else None
        most = min(policy.longest_wait_s, policy.first_wait_s * 2 ** (state.attempt_number - 1))
        asked = error.fault.wait_s if isinstance(error, _Transport) else None
        return max(asked or 0.0, random.uniform(most / 2, most))

    def _too_late(self, call: Call) -> Callable[[RetryCallState], bool]:
        """Stop when the next try would begin past the policy's total, or past the attempt's end: then the fault is
        named, instead of a wall-clock limit that waiting for the provider used up."""
        begun = time.monotonic()

        def stop(state: RetryCallState) -> bool:
            next_at = time.monotonic() + state.upcoming_sleep
            return next_at - begun > self._link.policy.retry.total_s or next_at >= call.deadline

        return stop

    def _sleep(self, seconds: float, call: Call) -> None:
        began = time.monotonic()
        cancelled = call.cancel.wait(seconds)
        self._retry_s += time.monotonic() - began
        if cancelled:
            raise CallCancelled("the episode ended while a call was to be tried again")

    def _once(self, call: Call) -> Answered:
        """One request. Raises _Transport, ModelFault, CallCancelled."""
        link = self._link
        self._admit(call)
        call.tries += 1
        self._requests += 1
        sent = time.monotonic()
        try:
            result = self._exchange(call)
        finally:
            self._request_s += (latency_s := time.monotonic() - sent)
        call.sent_at = result.exchange.sent_at
        body = body_of(result)
        fault = fault_of(result, body, link.policy, link.redactor, link.name)
        if fault is None:
            return self._answered(result, body, call, latency_s)
        call.faults.append(fault.text)
        if result.exchange.broken is not None and may_have_run(result):
            self._count_lost(call)
        else:
            self._settle(call, 0 if result.exchange.status is None else call.tokens)
        if fault.retry:
            raise _Transport(fault)
        raise final(fault, call)

    def _answered(self, result: Result, body: Any, call: Call, latency_s: float) -> Answered:
        """What our own reading of an answer fails at is no fault of the model's. Raises ModelFault."""
        try:
            answer = read(result, body, self._link.redactor)
            return Answered(answer, *self._count(answer, call), latency_s)
        except Exception as error:
            self._count_lost(call)
            kind = type(error).__name__
            raise ModelFault("adapter_fault", f"the answer could not be read ({kind})", {"kind": kind}) from None

    def _admit(self, call: Call) -> None:
        """Wait for the rate limit. Raises CallCancelled, ModelFault."""
        reserve = call.tokens + self._link.policy.estimate.tokens_per_answer
        began = time.monotonic()
        try:
            call.ticket, call.sent_at = self._link.limiter.admit(reserve, call.cancel, call.deadline), None
        except OSError as error:
            text = f"what RPM and TPM count cannot be kept beside the records ({error.strerror})"
            raise ModelFault("adapter_fault", text, {"kind": type(error).__name__}) from None
        finally:
            self._rate_limit_s += time.monotonic() - began

    def _exchange(self, call: Call) -> Result:
        link = self._link
        timeout_s = min(link.policy.timeouts.answer_s, max(call.deadline - time.monotonic(), 0.001))
        request = Request(link.name, call.messages, call.tools, link.parameters, link.base_url, link.api_key, timeout_s)
        future, exchange = link.library.send(request)
        try:
            return self._awaited(future, exchange, call)
        finally:
            if exchange.origin is not None:
                self._origins.add(exchange.origin)

    def _awaited(self, future: Future[Result], exchange: Exchange, call: Call) -> Result:
        while True:
            try:
                result = future.result(timeout=POLL_S)
                break
            except NotYet:
                if call.cancel.is_set() or time.monotonic() >= call.deadline:
                    self._give_up(future, exchange, call)
            except CancelledError:
                raise CallCancelled("the call was cancelled") from None
        if result.exchange.broken and time.monotonic() >= call.deadline:
            self._give_up(future, exchange, call)
        return result

    def _give_up(self, future: Future[Result], exchange: Exchange, call: Call) -> None:
        if exchange.sent_at is not None:
            self._silent_s = clock() - (exchange.heard_at or exchange.sent_at)
        future.cancel()
        self._count_lost(call)
        raise CallCancelled("the episode ended while the model was being asked")

    # ---- the account ------------------------------------------------------------------------------------------------
    def _count(self, answer: Answer, call: Call) -> tuple[Tokens, float | None]:
        """Tokens and cost of an answer, good or bad; by estimate where the provider gave no usage."""
        link = self._link
        tokens = answer.tokens or self._estimated(answer, call)
        cost_usd = link.library.cost(link.name, priceable(answer.usage, tokens))
        self._meter.count(tokens, cost_usd)
        self._settle(call, (tokens.input or 0) + (tokens.output or 0))
        if answer.model is not None:
            self._models.setdefault(answer.model)
        return tokens, cost_usd

    def _estimated(self, answer: Answer, call: Call) -> Tokens:
        arguments = "".join(item.arguments for item in answer.calls)
        output = estimate_output(answer.content, arguments, self._link.policy.estimate)
        return Tokens(uncached=call.tokens, output=output, estimated=True)

    def _count_lost(self, call: Call) -> None:
        """A request that the provider may have worked on, with nobody left to say how much: its prompt, estimated."""
        link = self._link
        tokens = Tokens(uncached=call.tokens, output=0, estimated=True)
        self._meter.count(tokens, link.library.cost(link.name, priceable(None, tokens)))
        self._settle(call, call.tokens)

    def _settle(self, call: Call, tokens: int) -> None:
        self._link.limiter.settle(call.ticket, tokens, call.sent_at)
