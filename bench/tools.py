"""Small things that several benches need."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

PROGRAMS = Path(__file__).with_name("programs")


def assay() -> str:
    """The console script of this environment."""
    return str(Path(sys.executable).with_name("assay"))


def evaluate(home: str, options: Sequence[str]) -> float:
    """``assay evaluate`` with its records in ``home``; seconds of the whole command.

    Raises RuntimeError with its last line when it fails.
    """
    began = time.perf_counter()
    environment = {**os.environ, "ASSAY_HOME": home}
    done = subprocess.run([assay(), "evaluate", *options], env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise RuntimeError(f"assay evaluate {' '.join(options)} ended with {done.returncode}: {last}")
    return seconds


def program(name: str) -> str:
    """The text of a program that runs elsewhere: in a sandbox's worker or as an environment's only process."""
    return (PROGRAMS / f"{name}.py").read_text(encoding="utf-8")


def say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)
