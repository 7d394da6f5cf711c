"""Progress lines of a program in the sandbox."""

from __future__ import annotations

import sys
from collections.abc import Callable

MAX_NOTE = 500  # characters

_emit: Callable[[str], None] | None = None


def note(text: object) -> None:
    """Show one line in the host's progress display; outside the sandbox it goes to stderr."""
    line = str(text)[:MAX_NOTE]
    if _emit is None:
        print(line, file=sys.stderr)
    else:
        _emit(line)


def set_emitter(emit: Callable[[str], None]) -> None:
    """Where notes go; the worker sets it."""
    global _emit
    _emit = emit
