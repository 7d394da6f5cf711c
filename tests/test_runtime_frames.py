"""Frames from a process that may be hostile: bounded, never out of step, and the end is told apart from silence."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from images.client.wire import StreamError, encode
from runner.runtimes.base import Exit, StartFailed
from runner.runtimes.frames import FRAME_LIMITS, LOG_LIMIT, LogTail, StreamChannel
from runner.runtimes.hello import await_hello


class PipedChannel:
    """A channel that reads from a pipe; ``feed`` writes raw bytes to its other end."""

    def __init__(self, role: str = "sandbox") -> None:
        reader, self._writer = os.pipe()
        self._file = os.fdopen(reader, "rb")
        self.written: list[bytes] = []
        self.channel = StreamChannel(role, self._read, self.written.append, lambda: EOFError("it ended"))

    def feed(self, data: bytes) -> None:
        os.write(self._writer, data)

    def end(self) -> None:
        if self._writer >= 0:
            os.close(self._writer)
            self._writer = -1

    def _read(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) < size:
            raise EOFError
        return data


@pytest.fixture
def piped() -> Iterator[PipedChannel]:
    made = PipedChannel()
    yield made
    made.end()
    made.channel.close()


def test_frames_arrive_in_order_with_their_attachments(piped: PipedChannel) -> None:
    array = np.arange(6.0).reshape(2, 3)
    piped.feed(encode({"op": "a"}, {"x": array}) + encode({"op": "b"}))
    header, attachments = piped.channel.receive(1.0)
    assert header == {"op": "a"}
    np.testing.assert_array_equal(attachments["x"], array)
    assert piped.channel.receive(1.0)[0] == {"op": "b"}


def test_silence_is_a_timeout_and_a_late_frame_is_not_lost(piped: PipedChannel) -> None:
    frame = encode({"op": "late"})
    piped.feed(frame[:3])
    with pytest.raises(TimeoutError):
        piped.channel.receive(0.05)
    piped.feed(frame[3:])
    assert piped.channel.receive(1.0)[0] == {"op": "late"}


def test_the_end_comes_after_what_was_sent_before_it_and_stays(piped: PipedChannel) -> None:
    piped.feed(encode({"op": "last"}))
    piped.end()
    assert piped.channel.receive(1.0)[0] == {"op": "last"}
    for _ in range(2):
        with pytest.raises(EOFError):
            piped.channel.receive(1.0)


def test_a_frame_cut_short_is_an_end(piped: PipedChannel) -> None:
    piped.feed(encode({"op": "cut"})[:-1])
    piped.end()
    with pytest.raises(EOFError):
        piped.channel.receive(1.0)


@settings(max_examples=30, deadline=None)
@given(st.binary(min_size=4, max_size=200))
def test_noise_never_passes_as_a_frame_of_ours(noise: bytes) -> None:
    piped = PipedChannel()
    piped.feed(b"\xff" + noise)  # a header length far over the limit
    with pytest.raises(StreamError):
        piped.channel.receive(1.0)
    with pytest.raises(StreamError):
        piped.channel.receive(1.0)
    piped.end()


def test_a_header_that_is_not_json_ends_the_stream(piped: PipedChannel) -> None:
    piped.feed(b"\x00\x00\x00\x02{]" + encode({"op": "after"}))
    with pytest.raises(StreamError):
        piped.channel.receive(1.0)


def test_a_sandbox_frame_over_its_limit_is_refused_before_it_is_read(piped: PipedChannel) -> None:
    size = 60 << 20
    declared = [{"name": str(i), "kind": "bytes", "size": size} for i in range(FRAME_LIMITS["sandbox"] // size + 1)]
    piped.feed(encode({"op": "result", "attachments": declared}))
    with pytest.raises(StreamError, match="limit"):
        piped.channel.receive(1.0)


def test_a_flood_that_nobody_reads_stops_at_the_read_ahead(piped: PipedChannel) -> None:
    os.set_blocking(piped._writer, False)
    frame, sent = encode({"op": "flood"}, {"x": bytes(32 << 10)}), 0
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < 0.3:
        try:
            sent += os.write(piped._writer, frame)
            quiet_since = time.monotonic()
        except BlockingIOError:
            time.sleep(0.01)
    assert sent < 40 * len(frame)


def test_the_log_keeps_its_end() -> None:
    log = LogTail()
    for index in range(LOG_LIMIT):
        log.add(f"line {index}\n".encode())
    assert log.text().endswith(f"line {LOG_LIMIT - 1}\n")
    assert len(log.text()) == LOG_LIMIT


@pytest.mark.parametrize("fault", [RecursionError, MemoryError, OverflowError, KeyError])
def test_whatever_a_frame_does_to_its_reader_ends_the_stream_and_leaves_nobody_waiting(
    piped: PipedChannel, monkeypatch: pytest.MonkeyPatch, fault: type[Exception]
) -> None:
    def broken(size: int) -> bytes:
        raise fault("the reader is broken")

    monkeypatch.setattr(piped.channel, "_read", broken)  # from the frame after the one that is being waited for
    piped.feed(encode({"op": "a"}))
    assert piped.channel.receive(5.0)[0] == {"op": "a"}
    with pytest.raises(StreamError, match=fault.__name__):
        piped.channel.receive(5.0)


@pytest.mark.parametrize(
    ("log", "said"),
    [("", "the environment ended before its hello"), ("a\nno GPU\n", "the environment ended before its hello: no GPU")],
)
def test_a_process_that_ends_before_its_hello_is_said_once_with_its_last_words(
    piped: PipedChannel, log: str, said: str
) -> None:
    piped.end()
    pair: Any = SimpleNamespace(environment=piped.channel, sandbox=None, exit=lambda role, timeout: Exit(3, False, log))
    with pytest.raises(StartFailed, match=f"^{said}$") as caught:
        await_hello(pair, 5.0)
    assert caught.value.evidence == {"role": "environment", "exit_code": 3, "oom": False, "log": log}
