"""Which fault an answer is: the ordered table of ``manifests/model_calls.json``, a row that fits by a code first."""

from __future__ import annotations

import email.utils
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from manifests.calls import FaultSignature, ModelCalls
from runner.models.inflate import BADLY_CODED, TOO_LONG
from runner.models.library import Result
from runner.models.redact import Redactor

MODEL = "{model}"  # in the beginning of a sentence: the model that was asked for
LONGEST_TEXT = 500  # characters of a provider's sentence that are kept
# How gateways and providers say that an answer, or a part of one, ended with their own failure.
ANSWERS = range(200, 204)  # statuses with which an answer may come; 204 and 205 have no body
NO_ANSWER = {2: "an answer without a body", 3: "a redirect that is not followed; BASE_URL= takes the address itself"}
CODES = ("code", "type", "__type", "status", "reason")  # keys under which the kind of an error stands
INNER = ("innererror", "inner_error", "details")  # and those of what may say it more closely
# Ends of an exchange that would come again with all their bytes.
FOR_GOOD = frozenset((TOO_LONG, BADLY_CODED))
BROKEN_OFF = frozenset(("error", "network_error", "insufficient_system_resource"))


@dataclass(frozen=True)
class Fault:
    """A request without an answer. ``retry``: the same request may be sent again; ``wait_s`` is the provider's word."""

    cause: str
    text: str
    retry: bool
    wait_s: float | None
    evidence: dict[str, Any]


def fault_of(result: Result, body: Any, policy: ModelCalls, redactor: Redactor, model: str) -> Fault | None:
    """The fault of a request to ``model`` (provider/model), or None when something arrived that may be an answer."""
    exchange = result.exchange
    if exchange.broken is not None:
        evidence = {"status": exchange.status, "transport": exchange.broken}
        text = f"no answer from the provider: {exchange.broken}"
        if exchange.broken == TOO_LONG:
            most = policy.answer_bytes
            text = f"the provider's answer is over {most.whole:,} bytes, or {most.streamed:,} streamed"
        return Fault("provider_fault", text, exchange.broken not in FOR_GOOD, None, evidence)
    status = _status(result, body)
    if status is None and _cut_short(exchange.headers, body):
        evidence = {"status": exchange.status, "transport": "IncompleteStream"}
        return Fault("provider_fault", "the provider's stream ended in the middle", True, None, evidence)
    if status is None:
        if exchange.status is None and result.shown is None:
            text = f"litellm failed before anything was sent ({result.refused})"
            return Fault("adapter_fault", text, False, None, {"kind": result.refused})
        return None
    failure = _failure(body)
    whole = {"error": failure} if failure else body
    said = redactor.error(_said(whole, exchange.body()))[:LONGEST_TEXT]
    cause, retry = _row([row for row in policy.faults if status in row.statuses], _codes(whole), said.lower(), model)
    text = f"HTTP {status}: {said or NO_ANSWER.get(status // 100, '')}".rstrip(": ")
    if exchange.status is None:  # litellm knows better than to send it
        text = f"refused before anything was sent: {result.refused}"
    return Fault(cause, text, retry, _wait(exchange.headers), {"status": status, "error": said})


def _status(result: Result, body: Any) -> int | None:
    """The status that says what went wrong; None when nothing did."""
    status = result.exchange.status
    if status is None:
        return result.status if result.refused else None
    if status not in ANSWERS:
        return status
    failure = _failure(body)
    if failure:
        code = str(failure.get("code")) if isinstance(failure, dict) else ""
        return int(code) if re.fullmatch("[45][0-9][0-9]", code) else 500
    return None


def _failure(body: Any) -> Any:
    """The error inside a body that came with status 200: in place of an answer, or where one was broken off. What had
    arrived of it then is no answer of the model's."""
    if not isinstance(body, dict):
        return None
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    choice = first if isinstance(first, dict) else {}
    reason = str(choice.get("finish_reason") or "").lower()
    if choices and not choice.get("error") and reason not in BROKEN_OFF:
        return None
    return choice.get("error") or body.get("error") or (f"finish_reason {reason}" if reason in BROKEN_OFF else None)


def _cut_short(headers: Mapping[str, str], body: Any) -> bool:
    """Whether a stream was closed before any choice had its end."""
    choices = body.get("choices") if isinstance(body, dict) else None
    if "event-stream" not in headers.get("content-type", "") or not isinstance(choices, list) or not choices:
        return False
    return all(choice["finish_reason"] is None for choice in choices)


def _row(rows: Sequence[FaultSignature], codes: frozenset[str], said: str, model: str) -> tuple[str, bool]:
    """Cause and whether to try again. ``codes`` and ``said`` are in lower case."""
    name = model.partition("/")[2].lower()
    for row in rows:
        if not codes.isdisjoint(row.codes):
            return row.cause, row.retry
    for row in rows:
        always = not (row.codes or row.begins or row.words)
        begins = tuple(text.replace(MODEL, name) for text in row.begins)
        if always or said.startswith(begins) or any(word in said for word in row.words):
            return row.cause, row.retry
    return "provider_fault", False


def _codes(body: Any) -> frozenset[str]:
    """The kinds that an error names itself with, in lower case: its own and those of what is inside."""
    error = _error(body)
    parts = [error]
    for name in INNER:
        inner = error.get(name) if isinstance(error, Mapping) else None
        parts += inner if isinstance(inner, list) else [inner]
    found = [part.get(name) for part in parts if isinstance(part, Mapping) for name in CODES]
    return frozenset(value.lower() for value in found if isinstance(value, str))


def _error(body: Any) -> Any:
    """The error out of the shapes that errors come in."""
    if isinstance(body, list) and body:
        body = body[0]
    return body.get("error", body) if isinstance(body, Mapping) else body


def _said(body: Any, raw: bytes) -> str:
    """The provider's own sentence with its code, out of the shapes that errors come in."""
    error = _error(body)
    if isinstance(error, Mapping):
        parts = [error.get(name) for name in ("message", "detail", "code", "type", "status")]
        words = [part if isinstance(part, str) else json.dumps(part) for part in parts if part]
        return "; ".join(dict.fromkeys(words))
    if isinstance(error, str):
        return error
    return " ".join(raw[:2000].decode("utf-8", "replace").split())


def _wait(headers: Mapping[str, str]) -> float | None:
    """Seconds of Retry-After: a number or an HTTP date; ``retry-after-ms`` where a provider gives that."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        if re.fullmatch(r"\d+(\.\d+)?", value):
            return float(value) * unit
        try:
            return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
        except (ValueError, TypeError):
            pass
    return None
