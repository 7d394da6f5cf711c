"""Which access levels a run can have. L1 and L2 are L0 with tools and models that are granted by name; as long as there
is none to grant, a run of theirs would be one of L0 under another name."""

from __future__ import annotations

from typing import cast

from manifests.records import Level
from runner.errors import BadInput

LEVELS = ("L0", "L1", "L2", "L3")
OFFERED = ("L0", "L3")


def offered(level: str | None) -> Level:
    """The level that was asked for, L0 without a choice. Raises BadInput."""
    if level is None:
        return "L0"
    if level not in LEVELS:
        raise BadInput(f"level {level!r} is not one of {', '.join(LEVELS)}")
    if level not in OFFERED:
        raise BadInput(f"level {level!r}: there is nothing to grant at L1 and L2 yet; choose {' or '.join(OFFERED)}")
    return cast(Level, level)
