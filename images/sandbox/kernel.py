"""The sandbox's kernel: one thread that waits for the host, the worker, its output and the gateway at once.

Nothing that the worker does can keep the kernel from the host's next frame: it never waits for the worker, reads at
most one chunk of each stream per round, and the end of its stdin ends every process below it.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import select
import signal
import struct
import termios
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from images.client.wire import Attachment, FrameBuffer, FrameError, StreamError, encode
from images.sandbox import processes
from images.sandbox.output import Capture
from images.sandbox.pictures import MAX_BYTES, Shown
from images.sandbox.relay import Relay
from images.sandbox.worker import Worker, start_worker

CHUNK = 64 << 10
GRACE_S = 1.0  # from the interrupt to the kill
START_TRIES = 20
MAX_REPORT = 256 << 10  # bytes of the header of a worker's frame
MAX_NOTES = 20  # per second
DEFAULT_LIMIT = 65536


@dataclass
class Job:
    """One running ``exec``."""

    identity: int
    deadline: float
    limit: int
    interrupted: bool = False
    oom_kills: int = field(default_factory=processes.oom_kills)
    shown: Shown = field(default_factory=Shown)

    def __post_init__(self) -> None:
        self.stdout, self.stderr = Capture(self.limit), Capture(self.limit)


class HostGone(Exception):
    """The host closed its side, or asked for the end."""


class Kernel:
    """Serves the frames of ``stdin`` until its end. ``gateway`` is the path of the episode's socket."""

    def __init__(self, stdin: int, stdout: int, gateway: str) -> None:
        self._stdin, self._stdout, self._gateway = stdin, stdout, gateway
        self._requests = FrameBuffer()
        self._reports = FrameBuffer(MAX_REPORT, MAX_BYTES)
        self._relay = Relay(gateway)
        self._queue: deque[Mapping[str, Any]] = deque()
        self._job: Job | None = None
        self._worker: Worker | None = None
        self._restarted = False
        self._notes = (0.0, 0)  # second, notes in it
        self._child_ended, writer = os.pipe()
        for descriptor in (self._child_ended, writer):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)

    def run(self) -> None:
        """Returns when the host has gone; by then nothing of the agent runs any more."""
        gc.freeze()  # a collection in the worker would copy every page that it shares with the kernel
        self._worker = start_worker(self._gateway)
        try:
            self._send({"op": "hello"})
            while True:
                self._round()
        except HostGone:
            pass
        finally:
            processes.end_descendants()

    # ---- one round --------------------------------------------------------------------------------------------------
    def _round(self) -> None:
        ready = dict(self._poll().poll(self._patience()))
        if self._stdin in ready:
            self._read_host()
        self._read_worker(ready)
        if self._child_ended in ready:  # after reading: a new worker may have the old one's descriptors
            with contextlib.suppress(BlockingIOError):
                os.read(self._child_ended, CHUNK)
            self._note_ended(processes.reap())
        interest = self._relay.interest()
        if interest is not None and interest[0] in ready:
            self._relay.advance()
        while self._relay.replies:
            identity, header, attachments = self._relay.replies.popleft()
            self._send({"op": "reply", "id": identity, "header": header}, attachments)
        self._check_deadline()
        while self._job is None and self._queue:
            self._start_job(self._queue.popleft())

    def _poll(self) -> select.poll:
        poll = select.poll()
        poll.register(self._stdin, select.POLLIN)
        poll.register(self._child_ended, select.POLLIN)
        if self._worker is not None:
            poll.register(self._worker.control, select.POLLIN)
            if self._job is not None:  # output between two jobs waits in the pipe for the next
                for descriptor in self._worker.open_streams():
                    poll.register(descriptor, select.POLLIN)
        interest = self._relay.interest()
        if interest is not None:
            poll.register(*interest)
        return poll

    def _patience(self) -> float | None:
        """Milliseconds until the running job's deadline."""
        return None if self._job is None else max(0.0, (self._job.deadline - time.monotonic()) * 1000 + 1)

    # ---- host -------------------------------------------------------------------------------------------------------
    def _read_host(self) -> None:
        data = os.read(self._stdin, CHUNK)
        if not data:
            raise HostGone
        self._requests.feed(data)
        try:
            while (frame := self._requests.next()) is not None:
                self._obey(*frame)
        except (FrameError, StreamError) as error:
            raise HostGone from error

    def _obey(self, header: Mapping[str, Any], attachments: Mapping[str, Attachment]) -> None:
        op = header.get("op")
        if op == "exec":
            self._queue.append(header)
        elif op == "call" and isinstance(header.get("request"), dict):
            self._relay.request(header["id"], header["request"], attachments)
        else:  # close, or a frame of another protocol
            raise HostGone

    def _send(self, header: Mapping[str, Any], attachments: Mapping[str, Attachment] | None = None) -> None:
        data = memoryview(encode(header, attachments))
        try:
            while data:
                data = data[os.write(self._stdout, data) :]
        except OSError as error:
            raise HostGone from error

    # ---- jobs -------------------------------------------------------------------------------------------------------
    def _start_job(self, header: Mapping[str, Any]) -> None:
        deadline = time.monotonic() + float(header["timeout_s"])
        self._job = Job(header["id"], deadline, int(header.get("output_limit", DEFAULT_LIMIT)))
        if self._worker is None:
            self._replace_worker()
        if self._worker is None:
            self._finish_job("killed", _error("WorkerDied", "no process for a new worker could be made"))
            return
        if not self._worker.hand(encode({"op": "exec", "id": header["id"], "code": header["code"]})):
            self._lose_worker("killed", "the worker took no more code")

    def _check_deadline(self) -> None:
        job, now = self._job, time.monotonic()
        if job is None or now < job.deadline or self._worker is None:
            return
        if job.interrupted:
            self._lose_worker("timeout", "the code did not stop when it was interrupted")
            return
        job.interrupted, job.deadline = True, now + GRACE_S
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._worker.pid, signal.SIGINT)

    def _finish_job(self, status: str, error: dict[str, str] | None) -> None:
        job = self._job
        assert job is not None
        if job.interrupted:
            status = "timeout"
        self._job = None
        header = {
            "op": "result",
            "id": job.identity,
            "status": status,
            "error": error,
            "truncated": job.stdout.omitted + job.stderr.omitted,
            "pictures_omitted": job.shown.omitted,
            "restarted": self._restarted,
        }
        self._restarted = False
        streams = {"stdout": job.stdout.value(), "stderr": job.stderr.value()}
        self._send(header, {**streams, **job.shown.attachments()})

    # ---- worker -----------------------------------------------------------------------------------------------------
    def _read_worker(self, ready: Mapping[int, int]) -> None:
        worker = self._worker
        if worker is None:
            return
        if self._job is not None:
            for descriptor, capture in ((worker.stdout, self._job.stdout), (worker.stderr, self._job.stderr)):
                if ready.get(descriptor, 0) & select.POLLIN:
                    capture.write(os.read(descriptor, CHUNK))
                elif descriptor in ready:
                    worker.ended_streams.add(descriptor)
        if worker.control.fileno() not in ready:
            return
        data, broken = worker.take(), ""
        try:
            self._reports.feed(data)
            while (frame := self._reports.next()) is not None:
                self._hear(*frame)
        except HostGone:
            raise
        except Exception as error:  # the agent's code can write here: whatever a frame does is the end of its worker
            broken = f", its report cannot be read ({type(error).__name__})"
        if self._worker is worker and (broken or not data):
            # Outside the handler: a fork inside it would show its exception in every traceback of the agent.
            self._lose_worker("killed", f"the worker ended{broken}")

    def _hear(self, header: Mapping[str, Any], attachments: Mapping[str, Attachment]) -> None:
        """A frame of the worker, which the agent's code may have forged: only text, pictures and a status are taken."""
        op, job = header.get("op"), self._job
        if op == "note" and isinstance(header.get("text"), str):
            self._note(header["text"])
        elif op == "show" and job is not None:
            job.shown.add(attachments.get("picture"))
        elif op == "done" and job is not None and header.get("id") == job.identity:
            if job.interrupted and self._worker is not None:  # its forks do not get the interrupt
                self._note_ended(processes.end_descendants(spare=self._worker.pid))
            if self._job is None:  # the worker ended meanwhile
                return
            self._drain(job)
            error = header.get("error")
            status = header.get("status")
            self._finish_job(
                status if status in ("ok", "error", "memory", "timeout") else "error",
                _error(**{key: str(error.get(key, "")) for key in ("type", "message", "traceback")})
                if isinstance(error, dict)
                else None,
            )

    def _note(self, text: str) -> None:
        second, count = self._notes
        now = float(int(time.monotonic()))
        self._notes = (now, count + 1 if now == second else 1)
        if self._notes[1] <= MAX_NOTES:
            self._send({"op": "note", "text": text[:500]})

    def _drain(self, job: Job) -> None:
        """What is in the pipes now; a child that goes on writing does not keep the result back."""
        if self._worker is None:
            return
        for descriptor, capture in ((self._worker.stdout, job.stdout), (self._worker.stderr, job.stderr)):
            (left,) = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0\0\0\0"))
            while left > 0 and (data := os.read(descriptor, min(left, CHUNK))):
                capture.write(data)
                left -= len(data)

    def _note_ended(self, ended: Mapping[int, int]) -> None:
        if self._worker is not None and self._worker.pid in ended:
            status = os.waitstatus_to_exitcode(ended[self._worker.pid])
            self._lose_worker("killed", f"signal {-status}" if status < 0 else f"exit code {status}")

    def _lose_worker(self, status: str, text: str) -> None:
        """End what is left of a worker and its children; start a fresh one; report the job that ran in it."""
        assert self._worker is not None
        ended = processes.end_descendants()
        if self._worker.pid in ended and status == "killed":
            code = os.waitstatus_to_exitcode(ended[self._worker.pid])
            if code not in (0, -signal.SIGKILL):
                text = f"signal {-code}" if code < 0 else f"exit code {code}"
        if self._job is not None:
            self._drain(self._job)
        self._worker.close()
        self._worker = None
        self._replace_worker()
        if self._job is not None:
            if status == "killed" and processes.oom_kills() > self._job.oom_kills:
                status, text = "memory", "the worker was killed because memory ran out"
            self._finish_job(status, _error("WorkerDied", text))

    def _replace_worker(self) -> None:
        """A fresh worker, or None when even repeated tries get no process (the next job tries again)."""
        self._restarted = True
        self._reports = FrameBuffer(MAX_REPORT, MAX_BYTES)
        for _ in range(START_TRIES):
            with contextlib.suppress(OSError):
                self._worker = start_worker(self._gateway)
                return
            processes.end_descendants()
            time.sleep(0.01)


def _error(type: str, message: str, traceback: str = "") -> dict[str, str]:
    return {"type": type, "message": message, "traceback": traceback}
