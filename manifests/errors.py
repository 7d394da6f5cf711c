"""The one error that a user of the manifests can cause."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ManifestError(ValueError):
    """A manifest, or a name looked up in one, is wrong. The text is one line: field, value, fix."""


def nearest(name: str, known: Iterable[str]) -> str:
    """'; nearest: a, b' for a message about an unknown name, or an empty string when nothing is near."""
    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    return f"; nearest: {', '.join(near)}" if near else ""
