"""A real OpenAI-compatible HTTP server that answers from a script and keeps every request: what a provider sees.

``with ModelServer([say("hello"), fault(429, "slow down", headers={"Retry-After": "1"})]) as server`` answers the first
call with a text and the second with a fault; a function ``(request) -> Answer`` decides call by call. An answer is sent
whole or as server-sent events, as the request asks.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150}
PIECE = 24  # characters of text in one streamed event


@dataclass(frozen=True)
class Request:
    """One request as it arrived. ``at`` is a time.monotonic() value; names of headers are in lower case."""

    at: float
    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    port: int  # of the client: the same for requests on one connection

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.raw)


@dataclass(frozen=True)
class Answer:
    """``body`` is a completion (or error) object, or bytes sent as they are. ``reset_after`` bytes of the body the
    connection is reset; ``delay_s`` passes before the first byte, ``pace_s`` between streamed events."""

    body: Mapping[str, Any] | bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    pace_s: float = 0.0
    reset_after: int | None = None


Script = Sequence[Answer] | Callable[[Request], Answer]


def say(
    text: str | None,
    calls: Iterable[tuple[str, str]] = (),
    *,
    finish: str | None = None,
    usage: Mapping[str, Any] | None = USAGE,
    model: str = "scripted-2026-01-01",
    refusal: str | None = None,
    **answer: Any,
) -> Answer:
    """A completion with a text and tool calls (name, arguments text)."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if refusal is not None:
        message["refusal"] = refusal
    tools = [
        {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in enumerate(calls)
    ]
    if tools:
        message["tool_calls"] = tools
    choice = {"index": 0, "message": message, "finish_reason": finish or ("tool_calls" if tools else "stop")}
    return Answer(completion([choice], usage=usage, model=model), **answer)


def completion(
    choices: list[Any], *, usage: Mapping[str, Any] | None = USAGE, model: str = "scripted-2026-01-01"
) -> dict[str, Any]:
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1767225600, "model": model, "choices": choices}
    return body if usage is None else {**body, "usage": dict(usage)}


def fault(status: int, message: str, code: str | None = None, **answer: Any) -> Answer:
    """An error as OpenAI words it."""
    return Answer({"error": {"message": message, "type": "error", "param": None, "code": code}}, status, **answer)


class ModelServer:
    """Serves on a free port of the loopback address. Past the end of its script the last answer repeats."""

    def __init__(self, script: Script, models: Sequence[str] | Answer = ("scripted",)) -> None:
        self.script, self.models = script, models
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def calls(self) -> list[Request]:
        """The requests for a completion, in order of arrival."""
        return [request for request in self.requests if request.method == "POST"]

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def wait(self, seconds: float) -> None:
        """Sleep that ends with the server."""
        self._closing.wait(seconds)

    def answer(self, request: Request) -> Answer:
        with self._lock:
            self.requests.append(request)
            if request.method == "GET":
                return self._listed()
            number = len(self.calls) - 1
        if callable(self.script):
            return self.script(request)
        return self.script[min(number, len(self.script) - 1)]

    def _listed(self) -> Answer:
        if isinstance(self.models, Answer):
            return self.models
        return Answer({"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                self._serve(b"")

            def do_POST(self) -> None:
                self._serve(self.rfile.read(int(self.headers.get("Content-Length", 0))))

            def _serve(self, raw: bytes) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Request(time.monotonic(), self.command, self.path, headers, raw, self.client_address[1])
                answer = server.answer(request)
                server.wait(answer.delay_s)
                with contextlib.suppress(ConnectionError):  # the client may have given up meanwhile
                    _send(self, server, request, answer)

            def log_message(self, *_: object) -> None:
                """Quiet: the tests look at ``requests``."""

        return Handler


def _send(handler: BaseHTTPRequestHandler, server: ModelServer, request: Request, answer: Answer) -> None:
    streamed = answer.status == 200 and not isinstance(answer.body, bytes) and _wants_stream(request)
    handler.send_response(answer.status)
    for name, value in answer.headers.items():
        handler.send_header(name, value)
    if streamed:
        assert not isinstance(answer.body, bytes)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.close_connection = True
        handler.end_headers()
        sent = 0
        for event in events(answer.body):
            handler.wfile.write(event)
            sent += len(event)
            if answer.reset_after is not None and sent > answer.reset_after:
                return _reset(handler)
            server.wait(answer.pace_s)
        return None
    body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body if answer.reset_after is None else body[: answer.reset_after])
    return _reset(handler) if answer.reset_after is not None else None


def _wants_stream(request: Request) -> bool:
    return bool(request.raw) and request.body.get("stream") is True


def _reset(handler: BaseHTTPRequestHandler) -> None:
    """Close with RST instead of FIN: the peer reads 'connection reset by peer'."""
    handler.wfile.flush()
    time.sleep(0.05)  # so that the part of the body arrives before the reset discards it
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


def events(body: Mapping[str, Any]) -> Iterator[bytes]:
    """A completion as server-sent events: text in pieces, tool calls in pieces, the end, usage, ``[DONE]``."""
    head = {name: body[name] for name in ("id", "created", "model") if name in body}
    head["object"] = "chat.completion.chunk"
    if "error" in body:
        yield _event(dict(body))
        return
    for choice in body["choices"] or ():
        message = choice.get("message") or {}
        for delta in _deltas(message):
            yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        end = {name: choice[name] for name in ("finish_reason", "error") if name in choice}
        yield _event({**head, "choices": [{"index": 0, "delta": {}, **end}]})
    if "usage" in body:
        yield _event({**head, "choices": [], "usage": body["usage"]})
    yield b"data: [DONE]\n\n"


def _deltas(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    if message.get("refusal"):
        yield {"refusal": message["refusal"]}
    text = message.get("content") or ""
    size = max(PIECE, len(text) // 64)  # a long text in 64 events, so that two megabytes stay quick
    for start in range(0, len(text), size):
        yield {"content": text[start : start + size]}
    for index, call in enumerate(message.get("tool_calls", ())):
        function = call["function"]
        first = {"index": index, "id": call["id"], "type": "function"}
        yield {"tool_calls": [{**first, "function": {"name": function["name"], "arguments": ""}}]}
        half = len(function["arguments"]) // 2
        for part in (function["arguments"][:half], function["arguments"][half:]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": part}}]}


def _event(value: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"
