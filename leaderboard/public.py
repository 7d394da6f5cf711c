"""What of a stored text may stand on a public page.

Agents, engines and providers write texts that hold anything: escape sequences for terminals, marks that turn the
writing direction, the folders of the machine that ran the attempt, a key in the message of a provider. The store keeps
them as they are, for the audit; the page shows control characters as visible escapes and leaves out the rest. It
recognises absolute paths, credentials in addresses, assignments of variables, fields named like a secret and the usual
shapes of keys; a key of another shape in free text passes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from runner.store.text import canonical

HIDDEN = "[not shown]"
LIMIT = 4000  # characters of one text: a traceback fits, a dumped buffer does not

_SECRET_NAME = re.compile(
    r"api.?key|secret|passw|authorization|credential|bearer|cookie|(access|auth|api|refresh).?token", re.IGNORECASE
)
_SECRET_VALUE = re.compile(
    r"\b(?:sk|pk|rk|xox[abp]|gh[pousr]|glpat|hf|AIza|AKIA|ASIA)[-_]?[A-Za-z0-9][A-Za-z0-9_-]{14,}"
    r"|\b(?:gsk|csk|xai|pplx|nvapi|tvly|r8|github_pat)[-_][A-Za-z0-9][A-Za-z0-9_-]{14,}"
    r"|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"
    r"|(?i:\b(?:bearer|basic)\s+[\w.~+/=-]{12,})"
)
# The same names before a value in free text: the message of a provider, a query of an address, printed JSON.
_ASSIGNED = re.compile(
    r"""((?:api.?key|secret|passw(?:or)?d|(?:access|auth|api|refresh).?token)["']?\s?[=:]\s?)"""
    r"""(?!["']?\[not shown\])("[^"]*"|'[^']*'|[^\s,;&"'.][^\s,;&"']*)""",
    re.IGNORECASE,
)
_USER_INFO = re.compile(r"(?<=://)[^/\s@]+@")
# An absolute path of two parts or more; not the inside of an identifier, an address or a fraction, unless it begins
# where people have their folders (``-I/home/...``).
_PATH = re.compile(
    r"(?:(?<=file:)//[\w.-]*/(?:[\w.@+%-]+/)*"
    r"|(?<![\w/.~*)\]-])~?/(?:[\w.@+-]+/)+"
    r"|/(?:home|Users)/(?:[\w.@+-]+/)*"
    r"|(?<!\w)[A-Za-z]:[\\/]+(?:[\w.@+-]+[\\/]+)+)"
    r"([\w.@+-]*)"
)
# ``RUN=...`` is how messages write that something is to be chosen.
_VARIABLE = re.compile(r"\b([A-Z][A-Z0-9_]{2,})=(?!\.{3,4}(?!\S))(?:\[not shown\]|'[^']*'|\"[^\"]*\"|\S+)")
_UNSEEN = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}


def public(text: str, limit: int = LIMIT) -> str:
    """``text`` as it may be shown, at most ``limit`` characters. Still plain text: escape it for HTML."""
    text = _SECRET_VALUE.sub(HIDDEN, _USER_INFO.sub(f"{HIDDEN}@", text))
    text = _VARIABLE.sub(rf"\1={HIDDEN}", _ASSIGNED.sub(rf"\1{HIDDEN}", _PATH.sub(_file, text)))
    text = "".join(_visible(character) for character in text)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"


def public_value(value: Any) -> Any:
    """The same for every text inside plain data; values of fields named like a secret are left out."""
    return _shown(without_secrets(value))


def without_secrets(value: Any) -> Any:
    """Plain data as it is, but for the values of fields named like a secret."""
    if isinstance(value, Mapping):
        return {
            name: HIDDEN if item and _SECRET_NAME.search(str(name)) else without_secrets(item)
            for name, item in value.items()
        }
    return [without_secrets(item) for item in value] if isinstance(value, list | tuple) else value


def inline(value: Any) -> str:
    """Plain data in one line: texts as they are, the rest as JSON; None is 'unknown'."""
    shown = public_value(value)
    if shown is None:
        return "unknown"
    return shown if isinstance(shown, str) else canonical(shown).decode()


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return public(value)
    if isinstance(value, Mapping):
        return {public(str(name)): _shown(item) for name, item in value.items()}
    return [_shown(item) for item in value] if isinstance(value, list | tuple) else value


def _file(path: re.Match[str]) -> str:
    """Of a path what says which file it is; a folder may be named after a person."""
    name = path.group(1)
    return f"…/{name}" if "." in name.strip(".") else "[path]"


def _visible(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) not in _UNSEEN:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
