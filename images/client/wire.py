"""Framing of every stream in Assay: gateway socket, environment stdio and sandbox stdio.

frame      = header length (4 bytes, big endian) + header (UTF-8 JSON object) + attachments
attachment = raw bytes, declared in ``header["attachments"]`` as ``{"name", "kind", "dtype", "shape", "size"}``
             in the order in which they follow the header. ``kind`` is ``array`` (C order, little endian, ``dtype`` and
             ``shape`` given) or ``bytes``.

A header that is not a JSON object is a :class:`FrameError`: the reader has consumed exactly the header, so the stream
stays in step. A header length over the limit, or attachments that do not add up, cannot be skipped safely:
:class:`StreamError`, and the reader must close the stream. Neither has any effect on the environment.

The parser does no I/O: it says how many bytes it wants next. :func:`read_frame` drives it from a blocking reader,
:class:`FrameBuffer` from whatever bytes have arrived.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Generator, Mapping
from typing import Any

import numpy as np

PROTOCOL = "assay-gateway/1"
MAX_HEADER = 4 << 20  # bytes
MAX_ATTACHMENT = 64 << 20  # bytes, one attachment
MAX_ATTACHMENTS = 256
MAX_TOTAL = 512 << 20  # bytes, all attachments of a frame
DTYPES = ("float64", "float32", "int64", "int32", "uint8", "bool")
_ITEM_SIZE = {name: np.dtype(name).itemsize for name in DTYPES}
_NATIVE = {np.dtype(name): name for name in DTYPES}  # a look-up costs a tenth of dtype.name
_LENGTH = struct.Struct(">I")

Attachment = np.ndarray | bytes
Frame = tuple[dict[str, Any], dict[str, Attachment]]
Read = Callable[[int], bytes]


class FrameError(ValueError):
    """The frame cannot be understood but the stream is still in step."""


class StreamError(ConnectionError):
    """The stream is out of step, cut short or hostile: close it."""


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not allowed")


# Built once: json.dumps and json.loads make a new object for every call with options, which costs more than the coding.
_encode_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_decode_json = json.JSONDecoder(parse_constant=_no_constant).decode


def encode(header: Mapping[str, Any], attachments: Mapping[str, Attachment] | None = None) -> bytes:
    """One frame as bytes. Raises ValueError for NaN in the header, an unknown dtype or an oversized part, TypeError
    for a header value that JSON does not have."""
    head = dict(header)
    parts: list[bytes] = []
    if attachments:
        if len(attachments) > MAX_ATTACHMENTS:
            raise ValueError(f"{len(attachments)} attachments are over the limit of {MAX_ATTACHMENTS}")
        declared = []
        for name, value in attachments.items():
            declaration, raw = _declare(name, value)
            declared.append(declaration)
            parts.append(raw)
        if sum(map(len, parts)) > MAX_TOTAL:
            raise ValueError(f"attachments of {sum(map(len, parts))} bytes are over the limit of {MAX_TOTAL}")
        head["attachments"] = declared
    text = _encode_json(head).encode("ascii")
    if len(text) > MAX_HEADER:
        raise ValueError(f"frame header of {len(text)} bytes is over the limit of {MAX_HEADER}")
    return b"".join((_LENGTH.pack(len(text)), text, *parts))


def _declare(name: str, value: Attachment) -> tuple[dict[str, Any], bytes]:
    if isinstance(value, np.ndarray):
        dtype = _NATIVE.get(value.dtype)
        if dtype is None:
            dtype = value.dtype.name
            if dtype not in DTYPES:
                raise ValueError(f"attachment {name}: dtype {dtype} is not one of {', '.join(DTYPES)}")
            value = value.astype(dtype)  # from the other byte order
        raw = value.tobytes()
        declaration = {"name": name, "kind": "array", "dtype": dtype, "shape": value.shape, "size": len(raw)}
    else:
        raw = bytes(value)
        declaration = {"name": name, "kind": "bytes", "size": len(raw)}
    if len(raw) > MAX_ATTACHMENT:
        raise ValueError(f"attachment {name}: {len(raw)} bytes is over the limit of {MAX_ATTACHMENT}")
    return declaration, raw


def read_frame(read: Read, max_header: int = MAX_HEADER, max_total: int = MAX_TOTAL) -> Frame:
    """The next frame from ``read(n)``, which returns exactly n bytes or raises EOFError."""
    parser = _parse(max_header, max_total)
    need = next(parser)
    try:
        while True:
            need = parser.send(read(need))
    except StopIteration as stop:
        frame: Frame = stop.value
        return frame


def descriptor_reader(descriptor: int) -> Read:
    """``read(n)`` for :func:`read_frame` over a blocking descriptor. EOFError at the end, also within a frame."""

    def read(size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            chunk = os.read(descriptor, min(size - len(data), 1 << 20))
            if not chunk:
                raise EOFError(f"stream ended with {len(data)} of {size} bytes")
            data += chunk
        return bytes(data)

    return read


class FrameBuffer:
    """Bytes in, frames out, for streams whose bytes arrive in pieces. Limits in bytes."""

    def __init__(self, max_header: int = MAX_HEADER, max_total: int = MAX_TOTAL) -> None:
        self._limits = (max_header, max_total)
        self._bytes = bytearray()
        self._parser = _parse(max_header, max_total)
        self._need = next(self._parser)

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        self._bytes += data

    def next(self) -> Frame | None:
        """The next complete frame, or None until more bytes are fed. Raises FrameError (the bad frame is consumed,
        go on) or StreamError (the stream cannot be used any more)."""
        buffered = self._bytes
        while len(buffered) >= self._need:
            part = buffered[: self._need]
            del buffered[: self._need]
            try:
                self._need = self._parser.send(part)
            except StopIteration as stop:
                self._restart()
                frame: Frame = stop.value
                return frame
            except FrameError:
                self._restart()
                raise
        return None

    def _restart(self) -> None:
        self._parser = _parse(*self._limits)
        self._need = next(self._parser)


def _parse(max_header: int, max_total: int) -> Generator[int, bytes | bytearray, Frame]:
    """Yields the number of bytes wanted next, is sent exactly so many, and returns the frame."""
    (length,) = _LENGTH.unpack((yield 4))
    if length > max_header:
        raise StreamError(f"frame header of {length} bytes is over the limit of {max_header}")
    raw = yield length
    try:
        header = _decode_json(raw.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise FrameError(f"frame header is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise FrameError(f"frame header must be a JSON object, not {type(header).__name__}")
    declared = header.pop("attachments", None)
    attachments: dict[str, Attachment] = {}
    if not declared:
        return header, attachments
    if not isinstance(declared, list) or len(declared) > MAX_ATTACHMENTS:
        raise StreamError(f"attachments must be a list of at most {MAX_ATTACHMENTS} declarations")
    checked = [_check_declaration(index, item) for index, item in enumerate(declared)]
    if sum(item[2] for item in checked) > max_total:
        raise StreamError(f"attachments are over the limit of {max_total} bytes")
    for name, dtype, size, shape in checked:
        if name in attachments:
            raise StreamError(f"attachment {name!r:.200} is declared twice")
        part = yield size
        if dtype is None:
            attachments[name] = bytes(part)
        else:
            attachments[name] = np.frombuffer(part, dtype=dtype).reshape(shape)
    return header, attachments


def _check_declaration(index: int, item: Any) -> tuple[str, str | None, int, tuple[int, ...]]:
    """(name, dtype or None for bytes, size, shape) of one declared attachment. Raises StreamError."""
    try:
        name, kind, size = item["name"], item["kind"], item["size"]
        if type(name) is not str:
            raise ValueError("name is not a string")
        if type(size) is not int or not 0 <= size <= MAX_ATTACHMENT:
            raise ValueError(f"size is not an integer between 0 and {MAX_ATTACHMENT}")
        if kind == "bytes":
            return name, None, size, ()
        dtype, shape = item["dtype"], tuple(item["shape"])
        if kind != "array" or type(dtype) is not str or dtype not in _ITEM_SIZE:
            raise ValueError(f"it is neither bytes nor an array of {', '.join(DTYPES)}")
        if len(shape) > 8 or any(type(n) is not int or n < 0 for n in shape):
            raise ValueError("shape is not a list of at most 8 sizes")
        count = 1
        for n in shape:
            count *= n
        if count * _ITEM_SIZE[dtype] != size:
            raise ValueError(f"shape and dtype do not take {size} bytes")
    except (KeyError, TypeError, ValueError) as error:
        # No value of the peer goes into the text: the repr of a deeply nested one would raise RecursionError.
        raise StreamError(f"attachment {index} is not declared well: {error}") from None
    return name, dtype, size, shape
