"""Measurements of a board with a robot beside its certificates: the baselines of the atlas.

``python -m images.mujoco.hanoi.workshop.measure`` brings ``measured/ROBOT/CASE.json`` up to date where the board or its
certificates have changed since. Everything is deterministic.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from images.mujoco.hanoi import board
from images.mujoco.hanoi.workshop import baselines
from images.mujoco.hanoi.workshop.certify import FAMILY
from images.mujoco.workshop.measured import Measurements

FOLDER = Path(__file__).parent / "measured"


def source(task: str) -> str:
    """Digest of what the measurements depend on: the board, and the final states of its certificates."""
    text = (board.BOARDS / f"{task.split('/')[1]}.json").read_bytes()
    finals = [episode["final_digest"] for episode in FAMILY.stored(task)]
    return hashlib.sha256(text + json.dumps(finals).encode()).hexdigest()[:16]


def _told(found: dict[str, list[str]]) -> str:
    return "; ".join(f"{name} {', '.join(found[name])}" for name in baselines.BASELINES)


MEASUREMENTS = Measurements(FOLDER, FAMILY.tasks, source, baselines.measure, _told)
stored = MEASUREMENTS.stored

if __name__ == "__main__":
    sys.exit(MEASUREMENTS.main(__doc__.split("\n")[0]))
