"""Any value as canonical JSON (RFC 8785): what agents and engines write is not always storable as it stands.

A lone surrogate has no UTF-8 form, NUL is refused by PostgreSQL, bytes may be in any encoding, JSON has no NaN, and
RFC 8785 keeps integers within 2**53. Each is written as a visible escape (``\\udc80``, ``\\x00``, ``\\xff``,
``"NaN"``), so that the text is stored, exported and scored, and shows what was there.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

import rfc8785

from manifests import strict

MAX_INTEGER = 2**53 - 1  # RFC 8785 section 3.2.2.3: integers beyond IEEE 754 double precision do not survive


def storable_text(text: str) -> str:
    """``text`` with lone surrogates and NUL written out as escapes."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", "\\x00")


def decode_text(raw: bytes) -> str:
    """``raw`` as text; bytes that are not UTF-8 are written out as ``\\xNN``."""
    return raw.decode("utf-8", "backslashreplace").replace("\x00", "\\x00")


def storable(value: Any) -> Any:
    """``value`` as plain JSON data. Raises TypeError for a type that has no JSON form."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, int):
        return value if abs(value) <= MAX_INTEGER else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value).replace("nan", "NaN")
    if isinstance(value, bytes | bytearray | memoryview):
        return decode_text(bytes(value))
    if isinstance(value, datetime):
        return stamp(value)
    if isinstance(value, PurePath):
        return storable_text(str(value))
    if isinstance(value, Mapping):
        return {storable_text(str(key)): storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [storable(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        return storable(value.tolist())
    raise TypeError(f"{type(value).__name__} has no JSON form")


def canonical(value: Any) -> bytes:
    """RFC 8785 bytes of ``storable(value)``. Raises ValueError for one that is nested too deeply."""
    try:
        return rfc8785.dumps(storable(value))
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def digest(value: Any) -> str:
    """SHA-256 (hex) of the canonical form."""
    return hashlib.sha256(canonical(value)).hexdigest()


def parse(text: str) -> Any:
    """The value of stored canonical JSON. Raises ValueError for what was never stored: a key that stands twice, or a
    nesting that is too deep."""
    try:
        return strict.loads(text, parse_int=number)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def stamp(moment: datetime) -> str:
    """An aware instant as UTC with microseconds, always the same length: ``2026-01-31T12:00:00.000000Z``."""
    if moment.tzinfo is None:
        raise ValueError(f"time {moment.isoformat()} has no zone")
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def now() -> datetime:
    """The present instant, aware, in microseconds."""
    return datetime.now(UTC)


def number(text: str) -> int | float:
    """A JSON integer. A whole number above 2**53 was a float, which RFC 8785 writes without a point."""
    value = int(text)
    return value if abs(value) <= MAX_INTEGER else float(text)
