"""``assay``: what starts it. Nothing that takes time is imported here, so that Ctrl-C is heard from the beginning."""

from __future__ import annotations

import io
import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> None:
    """The console script. Exit status: 0 done, 1 the run cannot go on, 2 bad input, 3 an evaluation that waits for a
    decision, 70 a fault of assay, 130 Ctrl-C."""
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else whoever started this ignores it
    if heard:
        signal.signal(signal.SIGINT, _leave)
    from runner.cli.program import run as command

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a letter that the locale does not have ends no command
            stream.reconfigure(errors="backslashreplace")
    if heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(command(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit status; every error is one line on stderr."""
    from runner.cli.program import run as command

    return command(arguments)


def _leave(_number: int, _frame: FrameType | None) -> None:
    """End at once: nothing has begun, and an exception would come out of the middle of an import."""
    os.write(2, b"\nassay: error: stopped\n")  # below the ^C of the terminal
    os._exit(INTERRUPTED)
