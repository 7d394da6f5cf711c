"""Errors that a user can cause or must act on: one clear line and an exit status, never a traceback.

2 is bad input (nothing was started), 1 is a run or a store that cannot go on (nothing recorded is lost).
"""

from __future__ import annotations


class AssayError(Exception):
    """One line for the user; ``exit_code`` is the status of the process."""

    exit_code = 1


class BadInput(AssayError):
    """A value that the user gave is wrong. The text names the field, the value and the fix."""

    exit_code = 2


class RunStopped(AssayError):
    """The run cannot go on now; the same command continues it later."""
