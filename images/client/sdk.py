"""The client of an episode: what an agent's program imports. Needs the standard library, NumPy and Pillow.

>>> from images.client import connect
>>> env = connect()
>>> print(env.describe().task)
>>> now = env.observe(fields=["joint_positions"], pictures=["front"])
>>> result = env.step(action, fields=["joint_positions"])
>>> env.finish()

Nothing is sent before the first call. An action is checked against the described controls before it is sent, so that a
slip is an :class:`ActionError` here and not the end of the attempt.
"""

from __future__ import annotations

import io
import os
import socket
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import le
from typing import Any

import numpy as np

from images.client.patience import Patience
from images.client.results import (
    Control,
    Description,
    Event,
    Observation,
    StepResult,
    Terminal,
    parse_description,
    parse_terminal,
)
from images.client.wire import Attachment, Frame, FrameBuffer, FrameError, FrameTemplate, encode

SOCKET_VARIABLE = "ASSAY_SOCKET"
DEFAULT_SOCKET = "/io/s"
VERSION = 1
CHUNK = 64 << 10

Picture = str | tuple[str, int, int] | Mapping[str, Any]


class GatewayError(RuntimeError):
    """The gateway refused a request; nothing has happened. ``kind`` as in docs/protocol.md."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind


class EpisodeEnded(GatewayError):
    """The episode has ended: it takes no action any more. ``terminal`` says how (None: the environment failed)."""

    def __init__(self, text: str, terminal: Terminal | None) -> None:
        super().__init__("ended", text)
        self.terminal = terminal


class ConnectionLost(ConnectionError):
    """The connection broke while a reply was due. A step may or may not have happened: ``observe().actions`` tells."""


class ActionError(ValueError):
    """The action breaks the described schema. It was not sent; the attempt goes on."""


def connect(path: str | None = None) -> Client:
    """A client of the episode behind the Unix socket at ``path`` (default: $ASSAY_SOCKET, else /io/s). It connects with
    its first call and again after a broken connection."""
    return Client(path or os.environ.get(SOCKET_VARIABLE) or DEFAULT_SOCKET)


class Client:
    """One stream to the gateway. Calls from several threads are made one after the other."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._socket: socket.socket | None = None
        self._replies = FrameBuffer(trusted=True)
        self._patience = Patience()
        self._lock = threading.Lock()
        self._next_id = 0
        self._description: Description | None = None
        self._controls: list[Control] = []
        self._low = self._high = np.zeros(0)
        self._lowest: list[float] = []
        self._highest: list[float] = []
        self._step_like: tuple[Any, FrameTemplate | None] = (None, None)

    # ---- operations -------------------------------------------------------------------------------------------------
    def describe(self) -> Description:
        """Task, controls, fields, cameras, clauses and budgets. Asked for once, then remembered."""
        if self._description is None:
            reply, _ = self._ask("describe")
            self._description = parse_description(reply["describe"])
            self._controls = self._description.controls
            self._low = np.array([control.low for control in self._controls])
            self._high = np.array([control.high for control in self._controls])
            self._lowest, self._highest = self._low.tolist(), self._high.tolist()
        return self._description

    def observe(self, fields: Iterable[str] | None = None, pictures: Iterable[Picture] = ()) -> Observation:
        """Read fields (default: all that are permitted) and pictures; no simulated time passes. A picture is a camera's
        name, (name, width, height) or {"camera", "width", "height"}; with one side given the other follows."""
        names = list(self.describe().fields) if fields is None else _names(fields)
        wanted = [_picture(item) for item in ([pictures] if isinstance(pictures, str) else pictures)]
        reply, parts = self._ask("observe", fields=names, pictures=wanted)
        images = [_decode(parts.pop(f"picture/{index}")) for index in range(len(wanted))]
        return Observation(
            fields=_arrays(parts),
            pictures=images,
            simulated_s=reply["simulated_s"],
            actions=reply["actions"],
            terminal=parse_terminal(reply["terminal"]),
        )

    def step(
        self, actions: np.ndarray | Sequence[float] | Sequence[Sequence[float]], fields: Iterable[str] = ()
    ) -> StepResult:
        """Apply one action (dim,) or several (n, dim), one control step each, up to the first that ends the episode,
        then read ``fields``. Raises ActionError (nothing sent), EpisodeEnded, ConnectionLost."""
        array = self.check(actions)
        template = self._step_template(array, _names(fields))
        reply, parts = self._call(lambda identity: template.encode(identity, array), repeatable=False)
        return StepResult(
            reply["applied"],
            reply["simulated_s"],
            reply["actions"],
            reply["remaining"],
            [Event(**event) for event in reply["events"]],
            parse_terminal(reply["terminal"]),
            _arrays(parts),
        )

    def finish(self) -> Terminal:
        """End the episode; returns how it ended, also when it had ended before."""
        try:
            reply, _ = self._ask("finish", repeatable=False)
        except EpisodeEnded as error:
            if error.terminal is None:
                raise
            return error.terminal
        return Terminal(**reply["terminal"])

    def check(self, actions: Any) -> np.ndarray:
        """The actions as float64 (n, dim), inside their limits. Raises ActionError naming component, value, limits."""
        if self._description is None:
            self.describe()
        try:
            array = np.array(actions, dtype=np.float64, ndmin=2)
        except (TypeError, ValueError) as error:
            raise ActionError(f"action is not an array of numbers: {error}") from None
        dimension = len(self._controls)
        if array.ndim != 2 or array.shape[1] != dimension or not len(array):
            names = ", ".join(control.name for control in self._controls)
            raise ActionError(
                f"action has shape {np.shape(actions)}; it must be ({dimension},) or (n, {dimension}): {names}"
            )
        if len(array) == 1:  # lists of 16 numbers touch less memory than four ufuncs do
            row = array[0].tolist()
            if all(map(le, self._lowest, row)) and all(map(le, row, self._highest)):
                return array
        inside = (array >= self._low) & (array <= self._high)
        if not np.logical_and.reduce(inside, axis=None):  # half the time of inside.all()
            raise self._outside(array, inside)
        return array

    def _outside(self, array: np.ndarray, inside: np.ndarray) -> ActionError:
        index, component = (int(i) for i in np.argwhere(~inside)[0])
        control, value = self._controls[component], float(array[index, component])
        where = f"actions[{index}]" if len(array) > 1 else "action"
        why = f"is outside [{control.low}, {control.high}]" if np.isfinite(value) else "is not finite"
        return ActionError(
            f"{where}[{component}] ({control.name}) = {value} {control.unit} {why}; "
            f"limits are {control.low} to {control.high} {control.unit}"
        )

    def close(self) -> None:
        """Close the connection; the episode goes on."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    # ---- transport --------------------------------------------------------------------------------------------------
    def _step_template(self, array: np.ndarray, fields: list[str]) -> FrameTemplate:
        """The frame of a step; that of the last one when it had the same shape and fields."""
        kind, template = self._step_like
        if template is None or kind != (array.shape, fields):
            template = FrameTemplate({"v": VERSION, "op": "step", "fields": fields}, "actions", array)
            self._step_like = ((array.shape, fields), template)
        return template

    def _ask(self, op: str, repeatable: bool = True, **details: Any) -> Frame:
        return self._call(lambda identity: encode({"v": VERSION, "id": identity, "op": op, **details}), repeatable)

    def _call(self, request: Callable[[int], bytes], repeatable: bool) -> Frame:
        """Send the frame that ``request`` makes for an id, and return its reply."""
        with self._lock:
            self._next_id += 1
            data = request(self._next_id)
            fresh = self._socket is None
            try:
                reply, parts = self._exchange(data, fresh)
            except _Unsent as error:
                # Not all bytes were taken, so the gateway has no whole frame and nothing can have happened.
                if fresh:
                    raise ConnectionLost(f"no connection to the gateway at {self._path}: {error}") from None
                reply, parts = self._exchange_again(data)
            except (OSError, EOFError, FrameError):
                if fresh or not repeatable:
                    raise ConnectionLost(f"the gateway at {self._path} closed the connection") from None
                reply, parts = self._exchange_again(data)
        if reply.get("ok") is True and reply.get("id") == self._next_id:
            return reply, parts
        self._raise(reply)
        raise AssertionError("unreachable")

    def _exchange_again(self, data: bytes) -> Frame:
        try:
            return self._exchange(data, True)
        except (_Unsent, OSError, EOFError, FrameError) as error:
            raise ConnectionLost(f"the gateway at {self._path} cannot be reached any more: {error}") from None

    def _exchange(self, data: bytes, fresh: bool) -> Frame:
        """Send one request and read its reply. Whatever breaks it, an interrupt too, leaves a reply that nobody reads:
        the connection is closed then."""
        try:
            try:
                if fresh:
                    self._open()
                assert self._socket is not None
                self._socket.sendall(data)
            except OSError as error:
                raise _Unsent(error.strerror or str(error)) from None
            while True:
                received = self._patience.receive(self._socket, CHUNK)
                if not received:
                    raise EOFError("the gateway closed the connection")
                self._replies.feed(received)
                frame = self._replies.next()
                if frame is not None:
                    return frame
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._replies = FrameBuffer(trusted=True)
        self._socket.connect(self._path)

    def _raise(self, reply: dict[str, Any]) -> None:
        error = reply.get("error")
        if not isinstance(error, dict):
            self.close()
            raise ConnectionLost(f"the gateway at {self._path} answered out of turn")
        if error["kind"] == "ended":
            raise EpisodeEnded(error["text"], parse_terminal(error.get("terminal")))
        raise GatewayError(error["kind"], error["text"])


class _Unsent(Exception):
    """The request did not leave as a whole."""


def _names(fields: Iterable[str]) -> list[str]:
    return [fields] if isinstance(fields, str) else list(fields)


def _picture(item: Picture) -> dict[str, Any]:
    if isinstance(item, str):
        return {"camera": item}
    if isinstance(item, Mapping):
        return dict(item)
    camera, width, height = item
    return {"camera": camera, "width": width, "height": height}


def _decode(data: Attachment) -> Any:
    from PIL import Image  # here, because programs without pictures start faster without it

    image = Image.open(io.BytesIO(bytes(data)))
    return image.convert("RGB")


def _arrays(parts: Mapping[str, Attachment]) -> dict[str, np.ndarray]:
    return {name: value for name, value in parts.items() if isinstance(value, np.ndarray)}
