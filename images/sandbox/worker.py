"""The interpreter that runs the agent's code and keeps its variables. A fork of the kernel, so that it starts at once.

It speaks frames with the kernel over a socket pair: ``exec`` in, ``done``, ``note`` and ``show`` out. The agent's code
lives in the same process and could forge them; all that it can forge is the report of its own end and what it shows.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import linecache
import os
import signal
import socket
import sys
import threading
import traceback
import types
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, NoReturn

from images.client import connect
from images.client.sdk import SOCKET_VARIABLE
from images.client.wire import Attachment, descriptor_reader, encode, read_frame
from images.sandbox import notes, pictures, processes

HAND_S = 1.0
CHUNK = 64 << 10
MAX_MESSAGE = 2000  # characters
MAX_TRACEBACK = 8000  # characters; beginning and end are kept


@dataclass
class Worker:
    """The kernel's hold on a worker: its process, the control socket, the read ends of its output."""

    pid: int
    control: socket.socket
    stdout: int
    stderr: int
    ended_streams: set[int] = field(default_factory=set)

    def open_streams(self) -> list[int]:
        return [stream for stream in (self.stdout, self.stderr) if stream not in self.ended_streams]

    def hand(self, frame: bytes) -> bool:
        """Give a frame to the worker. An idle one takes it at once; False for one that was stopped or has ended."""
        try:
            self.control.settimeout(HAND_S)
            self.control.sendall(frame)
            self.control.setblocking(False)
        except OSError:
            return False
        return True

    def take(self) -> bytes:
        """What it has sent; empty when it has ended. To be called when there is something to read."""
        try:
            return self.control.recv(CHUNK)
        except OSError:
            return b""

    def close(self) -> None:
        self.control.close()
        os.close(self.stdout)
        os.close(self.stderr)


def start_worker(gateway: str) -> Worker:
    """Fork a worker with no descriptor of the kernel but its own. Raises OSError when no process can be made."""
    ours, theirs = socket.socketpair()
    stdout, stdout_writer = os.pipe()
    stderr, stderr_writer = os.pipe()
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError:
        ours.close()
        for descriptor in (stdout, stderr):
            os.close(descriptor)
        raise
    finally:
        if os.getpid() == parent:
            theirs.close()
            os.close(stdout_writer)
            os.close(stderr_writer)
    if pid == 0:
        try:
            _become_worker(parent, theirs.fileno(), stdout_writer, stderr_writer, gateway)
        finally:
            os._exit(1)
    ours.setblocking(False)
    return Worker(pid, ours, stdout, stderr)


def _become_worker(parent: int, control: int, stdout: int, stderr: int, gateway: str) -> NoReturn:
    os.setsid()
    processes.die_with_parent(parent)
    processes.unhide()
    processes.prefer_as_victim()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (stdout, 1), (stderr, 2)):
        os.dup2(source, target)
    os.closerange(3, control)
    os.closerange(control + 1, os.sysconf("SC_OPEN_MAX"))
    os.environ[SOCKET_VARIABLE] = gateway
    _Interpreter(control, gateway).run()


class _Interpreter:
    def __init__(self, control: int, gateway: str) -> None:
        self._control = control
        self._read = descriptor_reader(control)
        self._running = False
        self._pid = os.getpid()
        self._shown = 0  # pictures of the running code
        self._sending = threading.Lock()
        self._streams = (_text_stream(1), _text_stream(2))
        self._main = types.ModuleType("__main__")
        self._main.__dict__.update(
            __builtins__=builtins, env=connect(gateway), connect=connect, note=notes.note, show=pictures.show
        )
        sys.modules["__main__"] = self._main  # classes of the agent's code can be pickled
        sys.argv = [""]
        sys.path.append("")  # the agent's own modules, in its working directory
        notes.set_emitter(lambda text: self._send({"op": "note", "text": text}))
        pictures.set_emitter(self._show)

    def run(self) -> NoReturn:
        while True:
            try:
                header, _ = read_frame(self._read)
            except EOFError:
                os._exit(0)
            report = self._execute(f"<exec {header['id']}>", header["code"])
            if os.getpid() != self._pid:  # a fork of the agent's code that came to its end
                os._exit(0)
            self._send({"op": "done", "id": header["id"], **report})

    def _send(self, header: dict[str, Any], attachments: dict[str, Attachment] | None = None) -> None:
        """One whole frame: another thread or the interrupt at the deadline would put the stream out of step."""
        data = memoryview(encode(header, attachments))
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            with self._sending:
                while data:
                    data = data[os.write(self._control, data) :]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _show(self, picture: bytes) -> None:
        if self._shown >= pictures.MAX_PICTURES:
            raise ValueError(f"show() takes at most {pictures.MAX_PICTURES} pictures from one piece of code")
        self._shown += 1
        self._send({"op": "show"}, {"picture": picture})

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._running:
            raise KeyboardInterrupt

    def _execute(self, name: str, code: str) -> dict[str, Any]:
        self._shown = 0
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        sys.stdout, sys.stderr = self._streams
        signal.signal(signal.SIGINT, self._interrupt)
        try:
            try:
                self._running = True
                exec(compile(code, name, "exec"), self._main.__dict__)
                report = _report("ok")
            except SystemExit as error:
                report = _report("ok") if error.code in (None, 0) else _report("error", error)
            except MemoryError as error:
                report = _report("memory", error)
            except KeyboardInterrupt as error:
                report = _report("timeout", error)
            except BaseException as error:
                report = _report("error", error)
            finally:
                self._running = False
        except KeyboardInterrupt as error:  # it came while the report was made
            report = _report("timeout", error)
        for stream in self._streams:
            with contextlib.suppress(OSError, ValueError):  # the agent's code may have closed it
                stream.flush()
        return report


def _text_stream(descriptor: int) -> io.TextIOWrapper:
    """Line-buffered, so that the output before an endless loop is not lost; a lone surrogate is written escaped."""
    return open(descriptor, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)


def _report(status: str, error: BaseException | None = None) -> dict[str, Any]:
    if error is None:
        return {"status": status, "error": None}
    try:
        message = str(error)[:MAX_MESSAGE]
        trace = traceback.TracebackException.from_exception(error)
        trace.stack = traceback.StackSummary.from_list([line for line in trace.stack if line.filename != __file__])
        text = "".join(trace.format())
    except Exception as fault:  # an exception of the agent may not be printable
        message = text = f"{type(error).__name__} (its text cannot be had: {type(fault).__name__})"
    if len(text) > MAX_TRACEBACK:
        text = f"{text[: MAX_TRACEBACK // 2]}\n...\n{text[-MAX_TRACEBACK // 2 :]}"
    return {"status": status, "error": {"type": type(error).__name__, "message": message, "traceback": text}}
