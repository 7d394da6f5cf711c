"""Opens the model of a run by its litellm name; checks name, key, parameters and address before the first attempt."""

from __future__ import annotations

import base64
import os
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from manifests.calls import ModelCalls
from manifests.load import load
from runner.errors import BadInput, RunStopped
from runner.models.base import Allowance, CallCancelled, Message, ModelFault, Reply, Sampling
from runner.models.client import Client, Link, Origin
from runner.models.library import Library, library, price_row
from runner.models.limiter import limiter_of
from runner.models.redact import SECRET_NAMES, Redactor
from runner.models.window import Rates
from runner.store.store import default_home

NO_KEY = "none"  # what a local server without keys is given: clients refuse to send no key at all
QUESTION = "Answer with the word OK."
CHECK_TOKENS = 64  # output limit of the check; without it where reasoning comes first
CHECK_S = 120.0
CHECK_TRIES = 3  # a mistyped address should not take minutes to be named
ADDRESS_ENDS = ("_BASE", "_URL", "_ENDPOINT", "_HOST")  # of variables that are no keys
ADDRESS_STARTS = {"bedrock": "AWS_BEDROCK"}  # of the variables of a provider; else the first word of its name
KEY_STARTS = {"bedrock": "AWS"}


# Names of a request that have an option of their own, or would take a secret into the settings of the run.
RESERVED = (
    *("model", "messages", "tools", "functions", "n", "temperature", "reasoning_effort", "max_tokens"),
    *("max_completion_tokens", "stream", "stream_options", "api_key", "api_base", "base_url", "organization"),
    *("headers", "extra_headers", "extra_body", "timeout", "max_retries", "num_retries"),
)


def open_model(
    name: str, sampling: Sampling | None = None, rates: Rates | None = None, policy: ModelCalls | None = None
) -> OpenedModel:
    """The model ``name`` (``provider/model``). litellm's import starts in the background; nothing is sent yet.

    Raises BadInput for a base URL or a parameter that cannot be recorded and for missing packages.
    """
    sampling = sampling or Sampling()
    _check_address(sampling.base_url)
    if sampling.max_output_tokens is not None and sampling.max_output_tokens < 1:
        raise BadInput(f"max-output-tokens {sampling.max_output_tokens}: give a whole number from 1")
    for parameter in sampling.extra:
        if parameter in RESERVED:
            raise BadInput(f"parameter {parameter!r}: it cannot be given so; `assay evaluate --help` has its option")
    return OpenedModel(name, sampling, rates or Rates(), policy or load().model_calls, library())


@dataclass(frozen=True)
class OpenedModel:
    """A :class:`~runner.models.base.Model`. Only a check and a call wait for litellm's import."""

    name: str
    sampling: Sampling
    rates: Rates
    policy: ModelCalls
    _library: Library

    @property
    def context_tokens(self) -> int | None:
        entry = price_row(self.name)
        found = entry.get("max_input_tokens") or entry.get("max_tokens")
        return found if isinstance(found, int) else None

    @property
    def sees_pictures(self) -> bool | None:
        return self._supports("supports_vision")

    @property
    def calls_functions(self) -> bool | None:
        return self._supports("supports_function_calling")

    @property
    def priced(self) -> bool:
        return price_row(self.name).get("input_cost_per_token") is not None

    def client(self, allowance: Allowance) -> Client:
        return Client(self._link, allowance)

    def preflight(self, picture: bytes | None = None) -> str:
        """One small request with the parameters of the run, and a picture where one is given. Returns one line for the
        user.

        Raises BadInput (name, key, parameter) or RunStopped (no answer, no quota).
        """
        model, provider = self._library.provider(self.name)
        self._check_parameters()
        missing = [name for name in self._library.missing_keys(self.name) if not name.endswith(ADDRESS_ENDS)]
        if missing and self.sampling.base_url is None:
            raise BadInput(f"model {self.name}: no key for {provider}: set {' or '.join(missing)} in the environment")
        client = Client(self._checking_link(), Allowance())
        messages: list[Message] = [{"role": "user", "content": QUESTION if picture is None else _beside(picture)}]
        try:
            answered = self._asked(client, messages).model
        except ModelFault as fault:
            if fault.reply is None or load().causes[fault.cause].incident:
                raise self._refused(fault) from None
            answered = fault.reply.model  # a model's bad answer is an answer: key, name and parameters are taken
        except CallCancelled:
            raise RunStopped(
                f"model {self.name}: no answer within {CHECK_S:g} s, waiting for RPM and TPM included: run the same "
                "command later"
            ) from None
        usage = client.usage
        used = (usage.tokens_input or 0) + (usage.tokens_output or 0)
        return f"model {self.name} answers as {answered or model} ({used} tokens for the check)"

    def _asked(self, client: Client, messages: list[Message]) -> Reply:
        """The reply to the check. Raises what a call raises; BadInput when it went where only the environment said."""
        try:
            return client.complete(messages, deadline=time.monotonic() + CHECK_S, cancel=threading.Event())
        finally:
            if self.sampling.base_url is None and (variable := _named_by(client.origins)) is not None:
                raise _unrecorded(variable) from None

    def close(self) -> None:
        """Nothing is held open for one model: connections belong to the process."""

    def _supports(self, what: str) -> bool | None:
        entry = price_row(self.name)
        return bool(entry.get(what)) if entry else None

    @cached_property
    def _link(self) -> Link:
        return self._make_link(self._parameters())

    def _make_link(self, parameters: dict[str, Any]) -> Link:
        _, provider = self._library.provider(self.name)
        base_url = self.sampling.base_url
        return Link(
            name=self.name,
            parameters=parameters,
            base_url=base_url,
            api_key=NO_KEY if base_url and self._library.missing_keys(self.name) else None,
            library=self._library,
            limiter=limiter_of(
                default_home().absolute(), provider, base_url, _keys(provider), self.rates, self.policy.rate_window_s
            ),
            policy=self.policy,
            redactor=Redactor(),
        )

    def _checking_link(self) -> Link:
        parameters = self._parameters()
        if self.sampling.effort is None:
            parameters["max_tokens"] = min(CHECK_TOKENS, self.sampling.max_output_tokens or CHECK_TOKENS)
        retry = self.policy.retry.model_copy(update={"tries": min(CHECK_TRIES, self.policy.retry.tries)})
        link = self._make_link(parameters)
        return replace(link, policy=self.policy.model_copy(update={"retry": retry}))

    def _parameters(self) -> dict[str, Any]:
        given = self.sampling
        return {
            **given.extra,
            "temperature": given.temperature,
            "reasoning_effort": given.effort,
            "max_tokens": given.max_output_tokens,
            "stream": given.stream or None,
        }

    def _check_parameters(self) -> None:
        """Raises BadInput for a declared parameter that the model does not take: it would be left out or refused."""
        taken = self._library.takes(self.name)
        _, provider = self._library.provider(self.name)
        start = _start(provider, ADDRESS_STARTS)
        for variable in sorted(os.environ):
            address = variable.startswith(start) and variable.endswith(ADDRESS_ENDS)
            if address and os.environ[variable] and self.sampling.base_url is None:
                raise _unrecorded(variable)
        for option, parameter in (("temperature", "temperature"), ("effort", "reasoning_effort")):
            value = getattr(self.sampling, option)
            if value is not None and taken is not None and parameter not in taken:
                raise BadInput(f"{option} {value!r}: {self.name} takes no {parameter}; leave {option.upper()} out")

        for parameter, value in self.sampling.extra.items():
            if taken is not None and parameter not in taken:
                raise BadInput(f"parameter {parameter} {value!r}: {self.name} takes none of that name; leave it out")

    def _refused(self, fault: ModelFault) -> BadInput | RunStopped:
        where = f" at {self.sampling.base_url}" if self.sampling.base_url else ""
        if fault.cause == "bad_key":
            return BadInput(f"model {self.name}: the key was refused{where} ({fault.text}): check the provider's key")
        if fault.cause == "model_not_found":
            return BadInput(f"model {self.name}: it is unknown{where} ({fault.text}): check MODEL and BASE_URL")
        if fault.cause == "rejected_request":
            return BadInput(f"model {self.name}: its parameters are refused{where} ({fault.text}): change them")
        if fault.cause == "quota_gone":
            return RunStopped(
                f"model {self.name}: no quota is left ({fault.text}): add some, then run the same command"
            )
        if fault.cause == "adapter_fault":
            return RunStopped(
                f"model {self.name}: it cannot be asked ({fault.text}): mend that, then run the same command"
            )
        if fault.reply is not None:
            return RunStopped(
                f"model {self.name}: what answers{where} is no model ({fault.text}): check MODEL and BASE_URL, then "
                "run the same command"
            )
        return RunStopped(
            f"model {self.name}: it does not answer{where} ({fault.text}): when it does, run the same command"
        )


def _start(provider: str, others: Mapping[str, str]) -> str:
    """How the names of a provider's variables begin."""
    return others.get(provider, provider.split("_")[0].upper())


def _keys(provider: str) -> dict[str, str]:
    """The provider's keys in the environment: who uses others has a rate of their own."""
    start = _start(provider, KEY_STARTS)
    return {name: value for name, value in os.environ.items() if name.startswith(start) and SECRET_NAMES.search(name)}


def _named_by(origins: Iterable[Origin]) -> str | None:
    """A variable of the environment that holds the address of one of ``origins``: providers read their addresses from
    variables of any name, and a table of these would be old with the next version of litellm."""
    for variable, value in sorted(os.environ.items()):
        try:
            parts = urlsplit(value if "://" in value else f"https://{value}")
            known = (parts.hostname, parts.port) in {(host, port) for _, host, port in origins}
        except ValueError:
            continue
        if known and variable.upper().endswith(ADDRESS_ENDS):
            return variable
    return None


def _unrecorded(variable: str) -> BadInput:
    return BadInput(
        f"{variable} is set, and a run must record where its model is: give the address with BASE_URL= (--base-url), "
        f"or unset {variable}"
    )


def _beside(picture: bytes) -> list[dict[str, Any]]:
    url = f"data:image/png;base64,{base64.b64encode(picture).decode('ascii')}"
    return [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": url}}]


def _check_address(base_url: str | None) -> None:
    """The address stands in the settings of the run: it must be one, and hold no secret."""
    if base_url is None:
        return
    try:
        parts = urlsplit(base_url)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        whole = False
    if not whole:
        raise BadInput(f"base-url {base_url!r}: give an address such as http://127.0.0.1:8000/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise BadInput(
            "base-url: it is recorded with the run, so it must hold no user, password or query: give the key in the "
            "provider's environment variable"
        )
    if Redactor().text(base_url) != base_url:
        raise BadInput(
            "base-url: it is recorded with the run, and it holds the value of a key of the environment: give an "
            "address without it"
        )
