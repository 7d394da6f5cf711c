"""One line of ``assay doctor``, and what is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

State = Literal["ok", "warn", "fail", "optional"]


@dataclass(frozen=True)
class Check:
    """One line of the result. ``mend`` is empty where there is nothing to mend."""

    name: str
    state: State
    text: str
    mend: str = ""


@dataclass(frozen=True)
class Subject:
    """What to look at. ``home`` is the folder of the records; ``root`` of the checkout."""

    home: Path
    root: Path
    model: str | None = None
    base_url: str | None = None
