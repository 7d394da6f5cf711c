"""A :class:`~runner.runtimes.base.Channel` over any byte stream: one thread reads frames ahead, callers take them.

What comes in may be hostile (agent code shares the sandbox with our relay), so a frame and the frames read ahead are
bounded: a sandbox can never make the host hold more than ``READ_AHEAD + 1`` times its frame limit.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Mapping
from typing import Any

from images.client.wire import MAX_TOTAL, Attachment, Frame, FrameError, StreamError, encode, read_frame

READ_AHEAD = 4  # frames
FRAME_LIMITS = {"environment": MAX_TOTAL, "sandbox": 128 << 20}  # bytes; a verdict carries all artifacts of an episode
LOG_LIMIT = 16 << 10  # bytes of standard error kept as evidence


class LogTail:
    """The last ``LOG_LIMIT`` bytes of a process's standard error."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept = bytearray()

    def add(self, data: bytes) -> None:
        with self._lock:
            self._kept += data
            del self._kept[:-LOG_LIMIT]

    def text(self) -> str:
        with self._lock:
            return self._kept.decode("utf-8", "replace")


class StreamChannel:
    """``read(n)`` returns exactly n bytes or raises EOFError or OSError; ``write`` sends all or raises OSError.

    ``gone`` says what an ended stream means (EOFError, or EngineGone when the engine itself is lost).
    """

    def __init__(
        self,
        role: str,
        read: Callable[[int], bytes],
        write: Callable[[bytes], None],
        gone: Callable[[], Exception],
    ) -> None:
        self._read, self._write, self._gone = read, write, gone
        self._limit = FRAME_LIMITS[role]
        self._frames: queue.Queue[Frame | StreamError | None] = queue.Queue(READ_AHEAD)
        self._end: Exception | None = None
        self._closed = False
        self.ended = threading.Event()  # the stream is over; frames that were read ahead may still wait
        threading.Thread(target=self._pump, name=f"frames-{role}", daemon=True).start()

    def send(self, header: Mapping[str, Any], attachments: Mapping[str, Attachment] | None = None) -> None:
        """Raises EngineGone or EOFError when the process cannot be reached any more."""
        frame = encode(header, attachments)
        try:
            self._write(frame)
        except (OSError, ValueError):  # ValueError: the pipe was closed on this side
            raise self._gone() from None

    def receive(self, timeout: float | None = None) -> Frame:
        """The next frame. Raises TimeoutError, EOFError, EngineGone or StreamError; the last three stay."""
        if self._end is not None:
            raise self._end
        try:
            item = self._frames.get(timeout=None if timeout is None else max(timeout, 0.0))
        except queue.Empty:
            raise TimeoutError(f"no frame within {timeout:.3g} s") from None
        if isinstance(item, tuple):
            return item
        self._end = item if item is not None else self._gone()
        raise self._end

    def close(self) -> None:
        """Stop reading ahead; whoever waits in ``receive`` gets the end of the stream."""
        self._closed = True
        with contextlib.suppress(queue.Full):
            self._frames.put_nowait(None)

    def _pump(self) -> None:
        end: StreamError | None = None
        try:
            while not self._closed:
                self._put(read_frame(self._read, max_total=self._limit))
        except (StreamError, FrameError) as error:
            # The frames of this stream are written by our own entry points: a broken one means that somebody else
            # wrote to it, and nothing after it can be trusted to be in step.
            end = StreamError(str(error))
        except (EOFError, OSError, ValueError):
            pass
        except Exception as error:  # whatever a hostile frame does to its reader must not leave the caller waiting
            end = StreamError(f"the frame cannot be read ({type(error).__name__})")
        self.ended.set()
        self._put(end)

    def _put(self, item: Frame | StreamError | None) -> None:
        while not self._closed:
            try:
                self._frames.put(item, timeout=0.5)
                return
            except queue.Full:
                continue
