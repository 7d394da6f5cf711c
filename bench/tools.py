"""Small things that several benches need."""

from __future__ import annotations

import sys
from pathlib import Path

PROGRAMS = Path(__file__).with_name("programs")


def assay() -> str:
    """The console script of this environment."""
    return str(Path(sys.executable).with_name("assay"))


def program(name: str) -> str:
    """The text of a program that runs elsewhere: in a sandbox's worker or as an environment's only process."""
    return (PROGRAMS / f"{name}.py").read_text(encoding="utf-8")


def say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)
