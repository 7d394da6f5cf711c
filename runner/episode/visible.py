"""Text of agents and engines made safe to look at: what a terminal would obey, or hide, is written out.

``\\x1b`` and its like can move the cursor, rename the window or write to the clipboard; a direction mark can show a
text backwards; a lone surrogate cannot be printed at all.
"""

from __future__ import annotations

import re

# C0 and C1 controls but tab and line feed, DEL, marks of direction, line separators, surrogates, tags of language.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """``text`` with controls as ``\\x1b`` or ``\\u202e``; tabs and line feeds stay."""
    return _HIDDEN.sub(_escape, text)


def one_line(text: str) -> str:
    """``visible`` text on one line."""
    return " ".join(visible(text).split())


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
