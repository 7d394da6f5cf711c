"""Pictures on their way to a model: checked, named by their hash, stored, sent as data URLs.

A picture comes out of a sandbox whose code may have forged it, and a provider that refuses one would end the attempt as
a fault of its own. So every PNG is checked here down to its last row, with no image library: 8 bits, grey or RGB with
or without alpha, not interlaced, no side over the limit, and no more decompressed than its size allows.
"""

from __future__ import annotations

import base64
import hashlib
import struct
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}  # by colour type
FILTERS = 4  # the highest filter type of a row
_HEADER = struct.Struct(">IIBBBBB")
_LENGTH = struct.Struct(">I")
_ALLOWED = frozenset((b"IHDR", b"IDAT", b"IEND"))


class PictureError(ValueError):
    """Not a picture that can be sent; the text says why."""


@dataclass(frozen=True)
class Picture:
    """A checked PNG. ``width`` and ``height`` in pixels."""

    sha256: str
    width: int
    height: int
    data: bytes

    @property
    def name(self) -> str:
        """The artifact that holds it; stands for it in the transcript."""
        return f"pictures/{self.sha256}.png"

    def part(self) -> dict[str, Any]:
        """As it stands in a stored message, named by its artifact."""
        return {"type": "image_url", "image_url": {"url": self.name}}

    @cached_property
    def url(self) -> str:
        """As it is sent, with every request anew."""
        return f"data:image/png;base64,{base64.b64encode(self.data).decode('ascii')}"


def blank_png(side: int) -> bytes:
    """A white square, to find out whether a model takes pictures at all."""
    rows = (b"\0" + b"\xff" * side) * side
    header = _HEADER.pack(side, side, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    chunks = (_LENGTH.pack(len(data)) + kind + data + _LENGTH.pack(zlib.crc32(kind + data)) for kind, data in parts)
    return SIGNATURE + b"".join(chunks)


def check_png(data: bytes, side: int, limit: int) -> Picture:
    """The picture in ``data``; at most ``side`` pixels a side and ``limit`` bytes. Raises PictureError."""
    if len(data) > limit:
        raise PictureError(f"it has {len(data)} bytes, the limit is {limit}")
    if not data.startswith(SIGNATURE):
        raise PictureError("it is not a PNG")
    chunks = _chunks(data)
    kind, header = chunks[0]
    if kind != b"IHDR" or len(header) != _HEADER.size or chunks[-1][0] != b"IEND":
        raise PictureError("its PNG header or end is missing")
    width, height, depth, colour, compression, filtering, interlace = _HEADER.unpack(header)
    if depth != 8 or colour not in CHANNELS or compression or filtering or interlace:
        raise PictureError("it is not an 8-bit grey or RGB PNG without interlacing")
    if not (0 < width <= side and 0 < height <= side):
        raise PictureError(f"it has {width} x {height} pixels, a side has 1 to {side}")
    _check_rows(b"".join(part for kind, part in chunks if kind == b"IDAT"), height, 1 + width * CHANNELS[colour])
    return Picture(hashlib.sha256(data).hexdigest(), width, height, data)


def _chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    found: list[tuple[bytes, bytes]] = []
    at = len(SIGNATURE)
    while at < len(data):
        if at + 12 > len(data):
            raise PictureError("its PNG is cut short")
        (size,) = _LENGTH.unpack_from(data, at)
        end = at + 12 + size
        if end > len(data):
            raise PictureError("its PNG is cut short")
        kind = data[at + 4 : at + 8]
        if kind[:1].isupper() and kind not in _ALLOWED:
            raise PictureError("its PNG has a palette or an unknown part")
        if zlib.crc32(data[at + 4 : end - 4]) != _LENGTH.unpack_from(data, end - 4)[0]:
            raise PictureError("its PNG has a wrong checksum")
        found.append((kind, data[at + 8 : end - 4]))
        at = end
    if not found:
        raise PictureError("its PNG is empty")
    return found


def _check_rows(packed: bytes, height: int, row: int) -> None:
    unpacker = zlib.decompressobj()
    try:
        rows = unpacker.decompress(packed, height * row + 1)
    except zlib.error:
        raise PictureError("its PNG data is broken") from None
    if len(rows) != height * row or not unpacker.eof or max(rows[::row]) > FILTERS:
        raise PictureError("its PNG data does not fit its size")
