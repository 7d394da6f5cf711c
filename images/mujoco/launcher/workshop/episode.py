"""A launcher episode in this process."""

from __future__ import annotations

from typing import Any

from images.mujoco.surroundings import BACKGROUNDS
from images.mujoco.workshop import episode as shared

BUDGET = {"actions": 7500, "simulated_s": 150.0}

STIFFNESS = (22.0, 24.0, 26.0, 28.0)  # N/m, of the four conditions
NOMINAL: dict[str, Any] = {
    "stiffness": 25.0,
    "azimuth_offset": 0.0,
    "elevation_offset": 0.0,
    "pivot_offset": [0.0, 0.0, 0.0],
    "tray_offset": [0.0, 0.0],
    "mass_factor": 1.0,
    "background": "courtyard",
}


def condition(case: str, index: int) -> dict[str, Any]:
    """One of the four prescribed initial conditions of a case; a case that has none yet gets the four springs without
    offsets."""
    try:
        return shared.condition("launcher_conditions.json", f"marble/dual-panda/{case}", index)
    except KeyError:
        return NOMINAL | {"stiffness": STIFFNESS[index], "background": list(BACKGROUNDS)[index]}


def start(
    case: str,
    index: int,
    level: str = "L3",
    mode: str = "loaded",
    parameters: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The specification of the host's ``start`` frame; ``parameters`` in place of the prescribed condition."""
    realized = parameters or condition(case, index)
    return shared.start(f"marble/dual-panda/{case}", index, realized, mode, BUDGET, level)


class Episode(shared.Episode):
    """``choices`` are those of :func:`start`."""

    def __init__(self, case: str, index: int, **choices: Any) -> None:
        super().__init__(start(case, index, **choices))
