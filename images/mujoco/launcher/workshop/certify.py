"""The launcher's certificates (``images/mujoco/workshop/certify.py``).

``python -m images.mujoco.launcher.workshop.certify`` plays those of the launcher alone.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from images.mujoco.launcher import scene as scenes
from images.mujoco.launcher.environment import Launcher
from images.mujoco.launcher.workshop.episode import Episode, condition
from images.mujoco.workshop.certify import CONDITIONS, Family, main

__all__ = ["CONDITIONS", "FAMILY", "play", "stored"]


def _details(launcher: Launcher) -> dict[str, Any]:
    shots = launcher.plant.shots
    return {"shots": [[round(v, 4) for v in (shot.azimuth, shot.elevation, shot.draw)] for shot in shots]}


def _did(details: dict[str, Any]) -> str:
    number = len(details["shots"])
    return f"{number} shot{'s' * (number != 1)}"


FAMILY = Family(
    folder=Path(__file__).parent / "certificates",
    tasks=scenes.cases,
    condition=condition,
    episode=Episode,
    details=_details,
    did=_did,
)
play, stored = FAMILY.play, FAMILY.stored

if __name__ == "__main__":
    sys.exit(main([FAMILY]))
