"""Captured output with a limit: the beginning and the end are kept, what lies between is counted."""

from __future__ import annotations


class Capture:
    """``limit`` bytes of one stream. Memory stays within three limits however much is written."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit // 2
        self._tail_limit = limit - self._head_limit
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def write(self, data: bytes) -> None:
        self._total += len(data)
        space = self._head_limit - len(self._head)
        if space > 0:
            self._head += data[:space]
            data = data[space:]
        self._tail += data
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: len(self._tail) - self._tail_limit]

    @property
    def omitted(self) -> int:
        """Bytes that were written and not kept."""
        return max(0, self._total - self._head_limit - self._tail_limit)

    def value(self) -> bytes:
        """What was kept; a line between the two parts says how many bytes are left out."""
        if not self.omitted:
            return bytes(self._head + self._tail)
        tail = self._tail[len(self._tail) - self._tail_limit :] if self._tail_limit else b""
        return bytes(self._head + b"\n[... %d bytes left out ...]\n" % self.omitted + tail)
