"""The only place that touches litellm: its import, its settings, its price table, one request.

The import takes seconds of processor time, so it starts in a thread when a model is named and is waited for when the
first answer needs it. Requests run on one event loop of their own, so that a call can be cancelled at any moment.
"""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import json
import logging
import os
import threading
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.errors import BadInput

if TYPE_CHECKING:
    from manifests.calls import ModelCalls
    from runner.models.tap import Exchange

KEPT = ("LITELLM_PROXY_API_KEY", "LITELLM_PROXY_API_BASE")  # the names under which users give a key for litellm's proxy
# No .env file is read, and prices are those of the locked version instead of what a download says today.
SETTINGS = {"LITELLM_MODE": "PRODUCTION", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "CRITICAL"}

MOST_USD = 1e5  # of one request; a table or a usage that comes to more is wrong
PRICES = "model_prices_and_context_window_backup.json"  # the table that litellm uses when it may not fetch one


@dataclass(frozen=True)
class Request:
    """One request to a provider, in litellm's words. After ``timeout_s`` it is given up."""

    model: str
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] | None
    parameters: Mapping[str, Any]
    base_url: str | None
    api_key: str | None
    timeout_s: float


@dataclass
class Result:
    """What came of a request. ``shown`` is litellm's reading of the answer, None where it had none; ``refused`` the
    class of the error that it raised, ``status`` what it says the status was."""

    exchange: Exchange
    shown: dict[str, Any] | None = None
    refused: str | None = None
    status: int | None = None


def require() -> None:
    """Raises BadInput when the packages for models are not installed."""
    if any(importlib.util.find_spec(name) is None for name in ("litellm", "tenacity")):
        raise BadInput(
            "model: litellm is not installed: use `make evaluate MODEL=...`, or install requirements-models.lock with "
            "`pip install --require-hashes`"
        )


@cache
def price_row(name: str) -> dict[str, Any]:
    """The row of litellm's price table for ``provider/model``, {} when there is none. Read from the installed package:
    what an agent has to know of a model before it starts should not wait for an import of seconds."""
    require()
    spec = importlib.util.find_spec("litellm")
    assert spec is not None
    assert spec.origin is not None
    table = json.loads(Path(spec.origin).with_name(PRICES).read_bytes())
    provider, _, model = name.rpartition("/") if name.count("/") < 2 else name.partition("/")
    row = table.get(name)
    if row is None and (row := table.get(model)) is not None and row.get("litellm_provider") != provider:
        row = None
    return dict(row or {})


@cache
def library() -> Library:
    """The library of this process; the first call starts the import."""
    require()
    return Library()


class Library:
    """litellm, imported in the background. Every method waits for the import."""

    def __init__(self) -> None:
        self._litellm: Any = None
        self._error: BaseException | None = None
        self._importing = threading.Thread(target=self._import, name="litellm-import", daemon=True)
        self._loop = asyncio.new_event_loop()
        self._asking: set[asyncio.Task[dict[str, Any] | None]] = set()
        self._looping = threading.Thread(target=self._loop.run_forever, name="models", daemon=True)
        self._importing.start()
        self._looping.start()

    def _import(self) -> None:
        for name in [name for name in os.environ if name.startswith("LITELLM_") and name not in KEPT]:
            del os.environ[name]  # of another tool of the user; they change requests and log them
        os.environ.update(SETTINGS)
        warnings.filterwarnings("ignore", module=r"(litellm|pydantic)\..*")
        collecting = gc.isenabled()
        gc.disable()  # a quarter of the import is the collector's, which finds nothing
        try:
            import litellm

            from runner.models.tap import install

            install(_calls().timeouts.connect_s, _calls().answer_bytes)
            litellm.utils.dispatch_success_logging = litellm.utils.update_response_metadata = _left_out
            litellm.main.update_messages_with_model_file_ids = _unchanged
            litellm.utils.json_data = None  # a tokenizer as objects, 15 MB; what reads it has its text
        except BaseException as error:
            self._error = error
            return
        finally:
            if collecting:
                gc.enable()
                gc.collect()
        litellm.suppress_debug_info = True
        litellm.turn_off_message_logging = True
        litellm.drop_params = False  # a parameter that a model does not take is an error and not left out in silence
        litellm.callbacks, litellm.success_callback, litellm.failure_callback = [], [], []
        for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "httpx", "httpx2", "httpcore", "openai"):
            logger = logging.getLogger(name)
            logger.handlers, logger.propagate, logger.disabled = [logging.NullHandler()], False, True
        self._litellm = litellm

    def get(self) -> Any:
        """The module. Raises BadInput when it cannot be imported."""
        self._importing.join()
        if self._litellm is None:
            kind = type(self._error).__name__
            raise BadInput(f"model: litellm cannot be imported ({kind}): install requirements-models.lock anew")
        return self._litellm

    # ---- what litellm knows of a model ------------------------------------------------------------------------------
    def provider(self, name: str) -> tuple[str, str]:
        """(model, provider) of a name such as ``openai/gpt-4o``. Raises BadInput for a name without a provider."""
        try:
            model, provider, _, _ = self.get().get_llm_provider(model=name)
        except BadInput:
            raise
        except Exception:  # litellm raises its own kinds and, for odd names, any other
            raise BadInput(
                f"model {name!r}: no provider of that name; write it as provider/model, for example "
                "openai/gpt-4o, anthropic/claude-sonnet-4-5, ollama/llama3, or openai/NAME with BASE_URL="
            ) from None
        return str(model), str(provider)

    def takes(self, name: str) -> tuple[str, ...] | None:
        """OpenAI parameters that a model takes, None when unknown."""
        model, provider = self.provider(name)
        found = self.get().get_supported_openai_params(model=model, custom_llm_provider=provider)
        return tuple(found) if found else None

    def cost(self, name: str, usage: Mapping[str, Any]) -> float | None:
        """Price in US dollars of a call with this usage (OpenAI form), cached input priced once; None when unknown."""
        if price_row(name).get("input_cost_per_token") is None:
            return None
        litellm = self.get()
        try:
            prompt, output = litellm.cost_per_token(model=name, usage_object=litellm.Usage(**usage))
        except Exception:  # a row that its own reader cannot price: the price is unknown
            return None
        total = float(prompt) + float(output)
        return total if 0 <= total <= MOST_USD else None

    def missing_keys(self, name: str) -> tuple[str, ...]:
        """Environment variables that the provider needs and that are not set."""
        found = self.get().validate_environment(model=name)
        return () if found["keys_in_environment"] else tuple(found["missing_keys"])

    # ---- one request ------------------------------------------------------------------------------------------------
    def send(self, request: Request) -> tuple[Future[Result], Exchange]:
        """Start a request; cancelling the future closes its connection. The exchange fills meanwhile."""
        self.get()
        from runner.models.tap import Exchange

        exchange = Exchange()
        return asyncio.run_coroutine_threadsafe(self._send(request, exchange), self._loop), exchange

    async def _send(self, request: Request, exchange: Exchange) -> Result:
        from runner.models.tap import tapped

        result = Result(exchange)
        tapped(exchange)
        asking = asyncio.create_task(self._ask(request))
        self._asking.add(asking)  # the loop itself holds a task but weakly
        asking.add_done_callback(self._asked)
        try:
            done, _ = await asyncio.wait((asking,), timeout=request.timeout_s)
        except asyncio.CancelledError:
            _give_up(asking, result.exchange)
            raise
        if not done:
            _give_up(asking, result.exchange)
            result.exchange.broken = result.exchange.broken or "Timeout"
        elif (error := asking.exception()) is None:
            result.shown = asking.result()
        else:  # whatever litellm raises: the exchange and the class say what happened
            result.refused = type(error).__name__
            status = getattr(error, "status_code", None)
            result.status = status if isinstance(status, int) else None
        return result

    def _asked(self, asking: asyncio.Task[dict[str, Any] | None]) -> None:
        self._asking.discard(asking)
        if not asking.cancelled():
            asking.exception()  # taken note of: asyncio would print that of one that was given up

    async def _ask(self, request: Request) -> dict[str, Any] | None:
        litellm = self._litellm
        options = {name: value for name, value in request.parameters.items() if value is not None}
        answer = await litellm.acompletion(
            model=request.model,
            messages=[dict(message) for message in request.messages],
            tools=list(request.tools) if request.tools else None,
            base_url=request.base_url,
            api_key=request.api_key,
            timeout=_calls().timeouts.answer_s,  # always the same: another one makes litellm open a new connection
            max_retries=0,
            num_retries=0,
            **options,
            **({"stream_options": {"include_usage": True}} if options.get("stream") else {}),
        )
        if options.get("stream"):
            answer = litellm.stream_chunk_builder([chunk async for chunk in answer])
        return answer.model_dump(warnings=False) if answer is not None else None


def _give_up(asking: asyncio.Task[Any], exchange: Exchange) -> None:
    """End a request. Before it has gone out litellm prepares it in a thread, and what comes of that would be left
    behind, with a warning on stderr: then it goes on to the tap and ends there."""
    exchange.given_up = True
    if exchange.sent_at is not None:
        asking.cancel()


def _left_out(*_: object, **__: object) -> None:
    """In place of litellm's own pricing and logging of every answer, which nobody reads: a third of its time."""


def _unchanged(messages: Any, **_: object) -> Any:
    """In place of a look for files of litellm's proxy in every message, which imports that proxy's types: 16 MB."""
    return messages


def _calls() -> ModelCalls:
    from manifests.load import load

    return load().model_calls
