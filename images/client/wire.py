"""Framing of every stream in Assay: gateway socket, environment stdio and sandbox stdio.

frame      = header length (4 bytes, big endian) + header (UTF-8 JSON object) + attachments
attachment = raw bytes, declared in ``header["attachments"]`` as ``{"name", "kind", "dtype", "shape", "size"}``
             in the order in which they follow the header. ``kind`` is ``array`` (C order, little endian, ``dtype`` and
             ``shape`` given) or ``bytes``.

A header that is not JSON is a :class:`FrameError`: the reader has consumed exactly the header, so the stream stays in
step. A header length over the limit, or attachments that do not add up, cannot be skipped safely: :class:`StreamError`,
and the reader must close the stream. Neither has any effect on the environment.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

PROTOCOL = "assay-gateway/1"
MAX_HEADER = 4 << 20  # bytes
MAX_ATTACHMENT = 64 << 20  # bytes, one attachment
MAX_ATTACHMENTS = 256
DTYPES = ("float64", "float32", "int64", "int32", "uint8", "bool")
_LENGTH = struct.Struct(">I")

Attachment = np.ndarray | bytes
Read = Callable[[int], bytes]


class FrameError(ValueError):
    """The frame cannot be understood but the stream is still in step."""


class StreamError(ConnectionError):
    """The stream is out of step, cut short or hostile: close it."""


def encode(header: Mapping[str, Any], attachments: Mapping[str, Attachment] | None = None) -> bytes:
    """One frame as bytes. Raises ValueError for NaN in the header, an unknown dtype or an oversized part."""
    head = dict(header)
    parts: list[bytes] = []
    if attachments:
        declared = []
        for name, value in attachments.items():
            if isinstance(value, np.ndarray):
                dtype = value.dtype.name
                if dtype not in DTYPES:
                    raise ValueError(f"attachment {name}: dtype {dtype} is not one of {', '.join(DTYPES)}")
                raw = np.ascontiguousarray(value).tobytes()
                declared.append(
                    {"name": name, "kind": "array", "dtype": dtype, "shape": list(value.shape), "size": len(raw)}
                )
            else:
                raw = bytes(value)
                declared.append({"name": name, "kind": "bytes", "size": len(raw)})
            if len(raw) > MAX_ATTACHMENT:
                raise ValueError(f"attachment {name}: {len(raw)} bytes is over the limit of {MAX_ATTACHMENT}")
            parts.append(raw)
        head["attachments"] = declared
    text = json.dumps(head, separators=(",", ":"), allow_nan=False).encode("utf-8", "surrogatepass")
    if len(text) > MAX_HEADER:
        raise ValueError(f"frame header of {len(text)} bytes is over the limit of {MAX_HEADER}")
    return b"".join((_LENGTH.pack(len(text)), text, *parts))


def read_frame(read: Read) -> tuple[dict[str, Any], dict[str, Attachment]]:
    """The next frame from ``read(n)``, which returns exactly n bytes or raises EOFError."""
    (length,) = _LENGTH.unpack(read(4))
    if length > MAX_HEADER:
        raise StreamError(f"frame header of {length} bytes is over the limit of {MAX_HEADER}")
    raw = read(length)
    try:
        header = json.loads(raw.decode("utf-8", "surrogatepass"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"frame header is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise FrameError(f"frame header must be a JSON object, not {type(header).__name__}")
    declared = header.pop("attachments", [])
    if not declared:
        return header, {}
    return header, _read_attachments(declared, read)


def _read_attachments(declared: Any, read: Read) -> dict[str, Attachment]:
    if not isinstance(declared, list) or len(declared) > MAX_ATTACHMENTS:
        raise StreamError(f"attachments must be a list of at most {MAX_ATTACHMENTS} declarations")
    attachments: dict[str, Attachment] = {}
    for item in declared:
        try:
            name, kind, size = str(item["name"]), item["kind"], item["size"]
            if type(size) is not int or not 0 <= size <= MAX_ATTACHMENT:
                raise ValueError(f"size {size!r} is not between 0 and {MAX_ATTACHMENT}")
            if kind == "bytes":
                attachments[name] = read(size)
                continue
            dtype, shape = item["dtype"], tuple(item["shape"])
            if kind != "array" or dtype not in DTYPES:
                raise ValueError(f"kind {kind!r} with dtype {dtype!r} is unknown")
            if any(type(n) is not int or n < 0 for n in shape) or len(shape) > 8:
                raise ValueError(f"shape {shape!r} is not a list of at most 8 sizes")
            count = 1
            for n in shape:
                count *= n
            if count * np.dtype(dtype).itemsize != size:
                raise ValueError(f"shape {shape!r} of {dtype} does not take {size} bytes")
        except (KeyError, TypeError, ValueError) as error:
            raise StreamError(f"attachment declaration {item!r:.200}: {error}") from None
        attachments[name] = np.frombuffer(read(size), dtype=dtype).reshape(shape)
    return attachments


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not allowed")
