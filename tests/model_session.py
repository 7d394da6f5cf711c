"""A client of a scripted server with quick retries, as an agent holds one."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import pytest
from model_server import ModelServer

from manifests.calls import ModelCalls
from manifests.load import load
from runner.models.base import Allowance, Message, ModelFault, Reply, Sampling
from runner.models.client import Client
from runner.models.open import OpenedModel, open_model
from runner.models.window import Rates

if find_spec("litellm") is None:
    pytest.skip("left out, needs litellm: `make test` installs it", allow_module_level=True)

HELLO: list[Message] = [{"role": "user", "content": "hello"}]


def policy(*, retry: Mapping[str, Any] | None = None, **parts: Any) -> ModelCalls:
    """The policy of the manifests, with waits that a test can sit out."""
    found = load().model_calls
    quick = {"first_wait_s": 0.02, "longest_wait_s": 0.1, "total_s": 5.0, **(retry or {})}
    timeouts = parts.pop("timeouts", {})
    return found.model_copy(
        update={
            "retry": found.retry.model_copy(update=quick),
            "timeouts": found.timeouts.model_copy(update=timeouts),
            **parts,
        }
    )


def opened(
    server: ModelServer | str,
    name: str = "openai/scripted",
    *,
    rates: Rates | None = None,
    calls: Any = None,
    **given: Any,
) -> OpenedModel:
    address = server if isinstance(server, str) else server.url
    return open_model(name, Sampling(base_url=address, **given), rates, calls or policy())


def client(server: ModelServer, allowance: Allowance | None = None, **given: Any) -> Client:
    return opened(server, **given).client(allowance or Allowance())


def ask(
    asked: Client,
    messages: list[Message] | None = None,
    *,
    within_s: float = 20.0,
    cancel: threading.Event | None = None,
    **given: Any,
) -> Reply:
    deadline = time.monotonic() + within_s
    return asked.complete(messages or HELLO, deadline=deadline, cancel=cancel or threading.Event(), **given)


def fault(asked: Client, messages: list[Message] | None = None, **given: Any) -> ModelFault:
    """The fault of a call that must have one."""
    try:
        reply = ask(asked, messages, **given)
    except ModelFault as error:
        return error
    raise AssertionError(f"no fault but a reply: {reply.text!r}")
