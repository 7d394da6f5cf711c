"""Framing of every stream in Assay: gateway socket, environment stdio and sandbox stdio.

frame      = header length (4 bytes, big endian) + header (UTF-8 JSON object) + attachments
attachment = raw bytes, declared in ``header["attachments"]`` as ``{"name", "kind", "dtype", "shape", "size"}``
             in the order in which they follow the header. ``kind`` is ``array`` (C order, little endian, ``dtype`` and
             ``shape`` given) or ``bytes``.

A header that is not a JSON object is a :class:`FrameError`: the reader has consumed exactly the header, so the stream
stays in step. A header length over the limit, or attachments that do not add up, cannot be skipped safely:
:class:`StreamError`, and the reader must close the stream. Neither has any effect on the environment.

:func:`read_frame` takes frames from a blocking reader, :class:`FrameBuffer` from whatever bytes have arrived.
"""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from images.client.strict import DuplicateKey, no_constant, unique

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
Reply = tuple[dict[str, Any] | str, dict[str, Attachment]]  # str: the members as JSON text, without attachments
Read = Callable[[int], bytes]


class FrameError(ValueError):
    """The frame cannot be understood but the stream is still in step."""


class StreamError(ConnectionError):
    """The stream is out of step, cut short or hostile: close it."""


# Built once: json.dumps and json.loads make a new object for every call with options, which costs more than the coding.
_encode_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_decode_json = json.JSONDecoder(parse_constant=no_constant, object_pairs_hook=unique).raw_decode
_decode_trusted = json.JSONDecoder(parse_constant=no_constant).raw_decode  # a third less to do


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


def encode_reply(identity: int | None, reply: Reply) -> bytes:
    """The frame of a reply. ``id`` comes first. Raises as :func:`encode`."""
    members, parts = reply
    if not isinstance(members, str):
        return encode({"id": identity, **members}, parts)
    text = f'{{"id":{"null" if identity is None else identity},{members}}}'
    return _LENGTH.pack(len(text)) + text.encode("ascii")


class FrameTemplate:
    """Frames that differ only in their ``id`` and in the values of one attachment: the rest is encoded once."""

    def __init__(self, header: Mapping[str, Any], name: str, like: np.ndarray) -> None:
        declaration, _ = _declare(name, like)
        text = _encode_json({**header, "attachments": [declaration]}).encode("ascii")
        self._rest = b"," + text[1:]
        self._dtype, self._shape = like.dtype, like.shape

    def encode(self, identity: int, value: np.ndarray) -> bytes:
        """One frame; ``value`` must have the dtype and shape of the template."""
        if value.dtype != self._dtype or value.shape != self._shape:
            raise ValueError(f"{value.dtype} {value.shape} is not {self._dtype} {self._shape}")
        head = b'{"id":%d' % identity
        return b"".join((_LENGTH.pack(len(head) + len(self._rest)), head, self._rest, value.tobytes()))


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
    header, declared, size = _open_header(read(_header_size(read(4), max_header)), max_total)
    return header, _split(declared, read(size)) if declared else {}


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
    """Bytes in, frames out, for streams whose bytes arrive in pieces. Limits in bytes.

    A client that steps in a loop sends headers that differ only in their id; one that repeats is not parsed again.
    ``trusted`` looks for no key that stands twice: for what our own gateway wrote."""

    def __init__(self, max_header: int = MAX_HEADER, max_total: int = MAX_TOTAL, *, trusted: bool = False) -> None:
        self._max_header, self._max_total = max_header, max_total
        self._decode = _decode_trusted if trusted else _decode_json
        self._bytes = bytearray()
        self._opened: _Opened | None = None
        self._repeated = _Repeated()

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        self._bytes += data

    def next(self) -> Frame | None:
        """The next complete frame, or None until more bytes are fed. Raises FrameError (the bad frame is consumed,
        go on) or StreamError (the stream cannot be used any more)."""
        data = self._bytes
        if self._opened is None:
            if len(data) < 4:
                return None
            end = 4 + _header_size(data[:4], self._max_header)
            if len(data) < end:
                return None
            raw = bytes(data[4:end])
            del data[:end]
            self._opened = self._repeated.look_up(raw) or self._repeated.keep(
                raw, _open_header(raw, self._max_total, self._decode)
            )
        header, declared, size = self._opened
        if len(data) < size:
            return None
        self._opened = None
        if not declared:
            return header, {}
        body = data[:size]
        del data[:size]
        return header, _split(declared, body)


class _Repeated:
    """The last header of the form ``{"id":N,REST}`` whose REST came twice in a row, opened."""

    def __init__(self) -> None:
        self._before = self._rest = b""
        self._opened: _Opened = ({}, [], 0)

    def look_up(self, raw: bytes) -> _Opened | None:
        match = _NUMBERED(raw)
        if match is None or match[2] != self._rest:
            return None
        header, declared, size = self._opened
        return {"id": int(match[1]), **header}, declared, size

    def keep(self, raw: bytes, opened: _Opened) -> _Opened:
        match = _NUMBERED(raw)
        if match is not None:
            if match[2] == self._before:
                self._remember(match[2], opened)
            self._before = match[2]
        return opened

    def _remember(self, rest: bytes, opened: _Opened) -> None:
        header, _ = _decode_json("{" + rest[1:].decode("utf-8", "surrogatepass"))
        header.pop("attachments", None)
        self._rest, self._opened = rest, (header, *opened[1:])


_Decode = Callable[[str], tuple[Any, int]]
_NUMBERED = re.compile(rb'\{"id":(0|[1-9][0-9]{0,14})(,.+)', re.DOTALL).fullmatch
_Declaration = tuple[str, str | None, int, tuple[int, ...]]  # name, dtype or None for bytes, size, shape
_Opened = tuple[dict[str, Any], list[_Declaration], int]  # header, declared attachments, their size together


def _header_size(raw: bytes | bytearray, limit: int) -> int:
    size: int = _LENGTH.unpack(raw)[0]
    if size > limit:
        raise StreamError(f"frame header of {size} bytes is over the limit of {limit}")
    return size


def _open_header(raw: bytes | bytearray, max_total: int, decode: _Decode = _decode_json) -> _Opened:
    """Header, declared attachments and their size together. Raises FrameError and StreamError."""
    text = ""
    try:
        text = raw.decode("utf-8", "surrogatepass").strip()
        header, end = decode(text)
        if end != len(text):
            raise ValueError(f"there is more after character {end}")
    except DuplicateKey as error:
        # Where a reader that takes the last of two keys sees attachments, another may see others: none can be skipped.
        kind = StreamError if "attachments" in text else FrameError
        raise kind(f"frame header is not JSON: {error}") from None
    except (ValueError, RecursionError) as error:
        raise FrameError(f"frame header is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise FrameError(f"frame header must be a JSON object, not {type(header).__name__}")
    declared = header.pop("attachments", None)
    if not declared:
        return header, [], 0
    if not isinstance(declared, list) or len(declared) > MAX_ATTACHMENTS:
        raise StreamError(f"attachments must be a list of at most {MAX_ATTACHMENTS} declarations")
    checked = [_check_declaration(index, item) for index, item in enumerate(declared)]
    size = sum([item[2] for item in checked])
    if size > max_total:
        raise StreamError(f"attachments of {size} bytes are over the limit of {max_total}")
    if len(checked) > 1 and len({item[0] for item in checked}) < len(checked):
        raise StreamError("an attachment is declared twice")
    return header, checked, size


def _split(declared: list[_Declaration], body: bytes | bytearray) -> dict[str, Attachment]:
    """The attachments in the bytes after a header. Each has memory of its own, so that arrays are aligned."""
    attachments: dict[str, Attachment] = {}
    start = 0
    for name, dtype, size, shape in declared:
        part = body if size == len(body) else body[start : start + size]
        start += size
        attachments[name] = bytes(part) if dtype is None else np.frombuffer(part, dtype).reshape(shape)
    return attachments


def _check_declaration(index: int, item: Any) -> _Declaration:
    """One declared attachment. Raises StreamError."""
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
        count = span = 1
        for n in shape:
            count *= n
            span *= n or 1  # NumPy refuses a shape by its other sizes also where one is 0
        if span > MAX_ATTACHMENT:
            raise ValueError(f"shape spans more than {MAX_ATTACHMENT} items")
        if count * _ITEM_SIZE[dtype] != size:
            raise ValueError(f"shape and dtype do not take {size} bytes")
    except (KeyError, TypeError, ValueError) as error:
        # No value of the peer goes into the text: the repr of a deeply nested one would raise RecursionError.
        raise StreamError(f"attachment {index} is not declared well: {error}") from None
    return name, dtype, size, shape
