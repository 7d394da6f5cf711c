"""Nothing of a key leaves the host: every text that comes from a provider or its library passes here first."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from runner.store.text import storable, storable_text

SECRET_NAMES = re.compile(
    r"(?:^|_)(?:API|ACCESS)?(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(?:_|\d|$)", re.IGNORECASE
)
SHORTEST = 8  # characters: shorter values ('none', 'EMPTY') are place holders and stand in ordinary text
# What a provider repeats of a key that was mistyped, and headers that an echo shows. For its errors alone: in a reply
# such a word may be the model's own code.
_SHAPES = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf)[-_][A-Za-z0-9_*-]{8,}"
    r"|\bAIza[A-Za-z0-9_-]{20,}"
    r"|(?<=Bearer )[A-Za-z0-9._~+/*-]{8,}=*"
)
MASK = "[redacted]"


class Redactor:
    """Replaces secret values of the environment, and given keys, by ``[redacted]``: as they are and as
    :func:`_shapes` shows them."""

    def __init__(self, secrets: Iterable[str] = (), environment: Mapping[str, str] | None = None) -> None:
        environment = os.environ if environment is None else environment
        values = {value for name, value in environment.items() if SECRET_NAMES.search(name)}
        values |= set(secrets)
        shapes = {shape for value in values if len(value) >= SHORTEST for shape in _shapes(value)}
        self._values = sorted(shapes, key=lambda shape: (-len(shape), shape))

    def text(self, text: str) -> str:
        """``text`` without secrets, storable as it stands."""
        text = storable_text(text)
        for value in self._values:
            if value in text:
                text = text.replace(value, MASK)
        return text

    def error(self, text: str) -> str:
        """A provider's error, also without what only looks like a key."""
        return _SHAPES.sub(MASK, self.text(text))

    def json(self, value: Any) -> Any:
        """Plain JSON of ``value`` without secrets, in keys and in texts."""
        return self._walk(storable(value))

    def _walk(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self._walk(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._walk(item) for item in value]
        return value


def _shapes(value: str) -> set[str]:
    """How a server may show a value: as it is, backwards, escaped for JSON or an address, in hexadecimal, in base64.

    In base64 of something longer (``Bearer ...``) the letters that its neighbours have a part in are not its own.
    """
    raw = value.encode("utf-8", "surrogateescape")
    shapes = {
        value,
        value[::-1],
        value.replace("/", "\\/"),
        quote(value, safe="", errors="backslashreplace"),
        raw.hex(),
        raw.hex().upper(),
    }
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + raw).decode("ascii")
        own = encoded[-(-8 * before // 6) : 8 * (before + len(raw)) // 6]
        shapes |= {own, own.replace("+", "-").replace("/", "_")}
    return shapes
