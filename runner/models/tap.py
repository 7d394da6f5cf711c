"""What really went over the wire, read beside litellm.

litellm turns every answer into one form, and some into another meaning: a reset connection becomes a status of 500, an
answer without usage gets zeros, a stream loses the model's id and a refusal, an empty choice is filled in. Status,
headers and body as they arrived decide here; litellm's reading serves providers of other formats.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import httpx

from manifests.calls import AnswerBytes
from runner.models.inflate import BADLY_CODED, CODINGS, TOO_LONG, BadCoding, Body, TooLong
from runner.models.window_file import clock

STREAMS = ("event-stream", "ndjson", "eventstream")  # in the type of an answer that comes in events

_current: ContextVar[Exchange | None] = ContextVar("exchange", default=None)


@dataclass
class Exchange:
    """One HTTP exchange. ``broken`` names the transport fault that ended it; ``raw`` is the body without its transfer
    coding, as far as it arrived; ``origin`` is where the last request went (scheme, host, port).

    ``sent_at`` (the clock of :mod:`runner.models.window_file`) is when its first request went out; ``given_up`` keeps
    one that has not gone out from being sent. ``heard_at`` is when the last bytes of a body came.
    """

    sent_at: float | None = None
    heard_at: float | None = None
    given_up: bool = False
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytearray = field(default_factory=bytearray)
    broken: str | None = None
    origin: tuple[str, str, int | None] | None = None

    def body(self) -> bytes:
        return bytes(self.raw)


class _Copied(httpx.AsyncByteStream):
    """A body that is unpacked and copied while it is read. Raises ReadError where it is too long or badly packed."""

    def __init__(self, stream: Any, exchange: Exchange, coding: str, most: int) -> None:
        self._stream, self._exchange, self._coding, self._most = stream, exchange, coding, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            body = Body(self._coding, self._most)
            async for part in self._stream:
                found = body.take(part)
                self._exchange.raw += found
                self._exchange.heard_at = clock()
                yield found
            if not body.whole:
                raise BadCoding("cut")
        except httpx.TransportError as error:
            self._exchange.broken = _name(error)
            raise
        except (TooLong, BadCoding) as error:
            self._exchange.broken = TOO_LONG if isinstance(error, TooLong) else BADLY_CODED
            raise httpx.ReadError(self._exchange.broken) from None

    async def aclose(self) -> None:
        await self._stream.aclose()


class Tap(httpx.AsyncHTTPTransport):
    """The usual transport, which fills the exchange of the task that sends."""

    connect_s = 15.0
    answers: AnswerBytes

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        exchange = _current.get()
        if exchange is None:
            return await super().handle_async_request(request)
        if exchange.given_up:
            raise httpx.ConnectError("given up", request=request)
        exchange.sent_at = exchange.sent_at or clock()
        timeouts = dict(request.extensions.get("timeout", {}))
        request.extensions = {**request.extensions, "timeout": {**timeouts, "connect": self.connect_s}}
        request.headers["accept-encoding"] = CODINGS
        exchange.status, exchange.broken, exchange.raw = None, None, bytearray()
        exchange.origin = (request.url.scheme, request.url.host, request.url.port)
        try:
            response = await super().handle_async_request(request)
        except httpx.TransportError as error:
            exchange.broken = _name(error)
            raise
        exchange.status = response.status_code
        exchange.headers = {name.lower(): value for name, value in response.headers.items()}
        if response.has_redirect_location and not _stays(request.url, response.headers["location"]):
            del response.headers["location"]  # it would be followed, and takes some providers' keys along
        coding = exchange.headers.get("content-encoding", "")
        for name in ("content-encoding", "content-length"):  # of the body as it was packed
            response.headers.pop(name, None)
        response.stream = _Copied(response.stream, exchange, coding, self._most(exchange.headers))
        return response

    def _most(self, headers: Mapping[str, str]) -> int:
        streamed = any(kind in headers.get("content-type", "") for kind in STREAMS)
        return self.answers.streamed if streamed else self.answers.whole


def _stays(here: httpx.URL, location: str) -> bool:
    """Whether a redirect leads to the same server, or to its encrypted side."""
    try:
        there = here.join(location)
    except httpx.InvalidURL:
        return False
    same = (here.scheme, here.port) == (there.scheme, there.port) or (there.scheme, there.port) == ("https", None)
    return here.host == there.host and same


def tapped(exchange: Exchange) -> None:
    """From here on, what the running task sends is copied into ``exchange``."""
    _current.set(exchange)


def install(connect_s: float, answers: AnswerBytes) -> None:
    """Make litellm's asynchronous clients use the tap, proxies of the environment included.

    litellm has no hook for this (it has one for OpenAI's own client alone), so two names of its transport module are
    set. A test holds them against the locked version.
    """
    import litellm
    from litellm.llms.custom_httpx import http_handler

    litellm.disable_aiohttp_transport = True
    Tap.connect_s, Tap.answers = connect_s, answers
    http_handler.AsyncHTTPTransport = Tap
    http_handler.AsyncHTTPHandler.create_async_transport = staticmethod(_transport)
    http_handler.AsyncHTTPHandler._create_async_transport = staticmethod(_transport)


def _transport(ssl_context: Any = None, ssl_verify: bool | None = None, **options: Any) -> Tap:
    verify = ssl_context if ssl_context is not None else ssl_verify is not False
    known = {name: options[name] for name in ("cert", "limits") if options.get(name) is not None}
    return Tap(verify=verify, **known)


def _name(error: httpx.TransportError) -> str:
    """``ReadTimeout``, ``ConnectError``: the kind alone, since its text may name hosts and paths."""
    return type(error).__name__
