"""The certificates of the Hanoi boards (``images/mujoco/workshop/certify.py``), by robot and case: ``panda/H07``.

``python -m images.mujoco.hanoi.workshop.certify`` plays those of the Hanoi boards alone.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from images.mujoco.hanoi import board
from images.mujoco.hanoi.environment import PREFIXES, Hanoi
from images.mujoco.hanoi.workshop.episode import Episode, condition
from images.mujoco.workshop.certify import Family, main


def tasks() -> list[str]:
    """Every board with every robot."""
    return [f"{robot}/{case}" for robot in PREFIXES.values() for case in board.cases()]


def _details(environment: Hanoi) -> dict[str, Any]:
    moves = environment.evaluator.moves
    return {"moves": "".join(f"{ring + 1}{'ABC'[peg]}" for ring, _, peg, _ in moves)}


def _did(details: dict[str, Any]) -> str:
    number = len(details["moves"]) // 2
    return f"{number} move{'s' * (number != 1)}"


FAMILY = Family(
    folder=Path(__file__).parent / "certificates",
    tasks=tasks,
    condition=condition,
    episode=Episode,
    details=_details,
    did=_did,
)

if __name__ == "__main__":
    sys.exit(main([FAMILY]))
