"""The body of an answer while it arrives: without its transfer coding, and no longer than is taken."""

from __future__ import annotations

import zlib

CODINGS = "gzip"  # what is asked for
# What ended an exchange, beside the kinds of httpx.
TOO_LONG, BADLY_CODED = "AnswerTooLong", "BadContentEncoding"
EITHER = 32 + zlib.MAX_WBITS  # zlib tells gzip and zlib by their beginnings


class TooLong(Exception):
    """There is more of the body than is taken."""


class BadCoding(Exception):
    """The body is not in the coding that it says."""


class Body:
    """Takes a body part by part. ``most`` bytes of it are taken, decoded: what unpacks to more is never unpacked."""

    def __init__(self, coding: str, most: int) -> None:
        coding = coding.strip().lower()
        if coding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise BadCoding(coding)
        self._inflate = None if coding in ("", "identity") else zlib.decompressobj(EITHER)
        self._left = most

    def take(self, part: bytes) -> bytes:
        """The part as it is meant. Raises TooLong and BadCoding."""
        if self._inflate is not None:
            try:
                part = self._inflate.decompress(part, self._left + 1)
            except zlib.error:
                raise BadCoding("damaged") from None
        self._left -= len(part)
        if self._left < 0:
            raise TooLong
        return part

    @property
    def whole(self) -> bool:
        """Whether what was packed has come to its end."""
        return self._inflate is None or self._inflate.eof
