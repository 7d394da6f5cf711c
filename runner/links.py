"""The two streams of an attempt as the supervisor and the agent use them (docs/architecture.md).

The environment's stdio is read by a thread of its own, so that a verdict is seen while the agent computes. The
sandbox's stdio is used by the agent's thread alone: one request, then frames until its answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from images.client.wire import Attachment, FrameError, StreamError
from runner.agents.base import ExecResult, SandboxGone
from runner.runtimes.base import Channel, EngineGone, Pair
from runner.store.text import decode_text

MAX_NOTE = 1000  # characters
ANSWER_S = 30.0  # the kernel answers within 2 s of a deadline; 30 s covers a machine that swaps


@dataclass(frozen=True)
class Frame:
    """One frame with the moment (time.monotonic) at which it was read."""

    header: dict[str, Any]
    attachments: dict[str, Attachment]
    at: float


@dataclass
class EnvironmentLink:
    """What the environment has said so far. ``last`` is its verdict or fault, ``gone`` why it fell silent."""

    channel: Channel
    on_progress: Callable[[Mapping[str, Any]], None]
    ready: Frame | None = None
    last: Frame | None = None
    gone: Exception | None = None
    acted: bool = False
    meter: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._changed = threading.Condition()
        self._sending = threading.Lock()  # the supervisor's stop may meet an agent's request
        self._asked = 0
        self._replies: dict[int, Frame] = {}
        self._thread = threading.Thread(target=self._read, name="environment-stdio", daemon=True)
        self._thread.start()

    def send(self, header: Mapping[str, Any], attachments: Mapping[str, Attachment] | None = None) -> None:
        """Write a frame; a process that is gone shows in ``gone``, so nothing is raised here."""
        try:
            with self._sending:
                self.channel.send(header, attachments)
        except (EngineGone, EOFError, OSError, ValueError) as error:
            self._set(gone=self.gone or error)

    def ask(self, request: Mapping[str, Any], attachments: Mapping[str, Attachment]) -> int:
        """Send a request of an agent without a sandbox; returns the number under which :meth:`reply` has the answer."""
        self._asked += 1
        self.send({"op": "call", "id": self._asked, "request": dict(request)}, attachments)
        return self._asked

    def reply(self, number: int, timeout_s: float) -> Frame | None:
        """The answer to a request, once; None when it has not come in time or the environment is gone."""
        with self._changed:
            if number not in self._replies and self.gone is None:
                self._changed.wait(timeout_s)
            return self._replies.pop(number, None)

    def wait(self, until: float, done: Callable[[], bool]) -> bool:
        """Wait for ``done()`` or the moment ``until``; True when done. Checked after each frame and every 0.2 s."""
        with self._changed:
            while not done():
                remaining = until - time.monotonic()
                if remaining <= 0:
                    return False
                self._changed.wait(min(remaining, 0.2))
            return True

    def wake(self) -> None:
        """Let :meth:`wait` look again now."""
        with self._changed:
            self._changed.notify_all()

    @property
    def ended(self) -> bool:
        return self.last is not None or self.gone is not None

    def _read(self) -> None:
        while True:
            try:
                header, attachments = self.channel.receive(None)
            except FrameError as error:
                # Our own gateway never sends one: a broken environment must not be trusted with a verdict.
                self._set(gone=error)
                return
            except (EOFError, EngineGone, StreamError, OSError) as error:
                self._set(gone=error)
                return
            self._take(Frame(header, attachments, time.monotonic()))

    def _take(self, frame: Frame) -> None:
        op = frame.header.get("op")
        if op == "ready":
            self._set(ready=frame)
        elif op == "reply":
            with self._changed:
                self._replies[int(frame.header["id"])] = frame
                self._changed.notify_all()
        elif op == "acted":
            self._set(acted=True)
        elif op == "progress":
            self.meter = {key: value for key, value in frame.header.items() if key != "op"}
            self.on_progress(self.meter)
        elif op in ("verdict", "fault") and self.last is None:
            self._set(last=frame)

    def _set(self, **values: Any) -> None:
        with self._changed:
            for name, value in values.items():
                setattr(self, name, value)
            self._changed.notify_all()


class SandboxLink:
    """The agent's :class:`~runner.agents.base.Sandbox` over the sandbox's stdio."""

    def __init__(self, pair: Pair, on_note: Callable[[str], None]) -> None:
        assert pair.sandbox is not None
        self._pair = pair
        self._channel = pair.sandbox
        self._on_note = on_note
        self._next = 0

    def execute(self, code: str, timeout_s: float, output_limit: int = 65536) -> ExecResult:
        """Run Python code in the sandbox's worker. Raises SandboxGone or EngineGone.

        The kernel ends the code at ``timeout_s``. Code that stops the kernel itself (a SIGSTOP to every process) would
        keep the answer back for as long as the episode has wall time: the sandbox is killed then.
        """
        request = {"op": "exec", "code": code, "timeout_s": timeout_s, "output_limit": output_limit}
        with self._within(timeout_s + ANSWER_S):
            header, attachments = self._ask(request, {}, "result")
        return ExecResult(
            status=str(header["status"]),
            stdout=_text(attachments.get("stdout")),
            stderr=_text(attachments.get("stderr")),
            truncated=int(header.get("truncated") or 0),
            error=header.get("error"),
            restarted=bool(header.get("restarted")),
            pictures=_pictures(attachments),
            pictures_omitted=int(header.get("pictures_omitted") or 0),
        )

    def call(
        self, request: Mapping[str, Any], attachments: Mapping[str, np.ndarray] | None = None
    ) -> tuple[dict[str, Any], dict[str, Attachment]]:
        """One gateway operation; returns the gateway's reply. Raises SandboxGone or EngineGone."""
        header, found = self._ask({"op": "call", "request": {"v": 1, **request}}, attachments or {}, "reply")
        return dict(header["header"]), found

    def close(self) -> None:
        """Ask the sandbox to end; it is killed soon after anyway."""
        try:
            self._channel.send({"op": "close"})
        except (EngineGone, EOFError, OSError):
            return

    @contextmanager
    def _within(self, limit_s: float) -> Iterator[None]:
        """Kill the sandbox when the exchange takes longer. Raises SandboxGone that says so."""
        late = threading.Event()

        def expire() -> None:
            late.set()
            with suppress(EngineGone):
                self._pair.kill("sandbox")

        timer = threading.Timer(limit_s, expire)
        timer.daemon = True
        timer.start()
        try:
            yield
        except SandboxGone:
            if late.is_set():
                raise SandboxGone(
                    f"the sandbox did not answer within {ANSWER_S:g} s of the end of its code's time and was killed"
                ) from None
            raise
        finally:
            timer.cancel()

    def _ask(
        self, header: dict[str, Any], attachments: Mapping[str, Attachment], answer: str
    ) -> tuple[dict[str, Any], dict[str, Attachment]]:
        self._next += 1
        number = self._next
        try:
            self._channel.send({**header, "id": number}, attachments)
            while True:
                found, parts = self._channel.receive(None)
                if found.get("op") == "note":
                    self._on_note(str(found.get("text", ""))[:MAX_NOTE])
                elif found.get("op") == answer and found.get("id") == number:
                    return found, parts
        except EOFError as error:
            raise SandboxGone("the sandbox ended") from error
        except (StreamError, FrameError, OSError) as error:
            raise SandboxGone(f"the sandbox ended: {error}") from error


def _text(raw: Attachment | None) -> str:
    return decode_text(raw) if isinstance(raw, bytes) else ""


def _pictures(attachments: Mapping[str, Attachment]) -> tuple[bytes, ...]:
    """``picture/0``, ``picture/1``, ... in order."""
    found: list[bytes] = []
    while isinstance(picture := attachments.get(f"picture/{len(found)}"), bytes):
        found.append(picture)
    return tuple(found)
