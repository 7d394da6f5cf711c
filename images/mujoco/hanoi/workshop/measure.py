"""Measurements of a board with a robot beside its certificates: the baselines of the atlas.

``python -m images.mujoco.hanoi.workshop.measure`` brings ``measured/ROBOT/CASE.json`` up to date where the board or its
certificates have changed since. Everything is deterministic.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from images.mujoco.hanoi import board
from images.mujoco.hanoi.workshop import baselines
from images.mujoco.hanoi.workshop.certify import FAMILY

FOLDER = Path(__file__).parent / "measured"


def source(task: str) -> str:
    """Digest of what the measurements depend on: the board, and the final states of its certificates."""
    text = (board.BOARDS / f"{task.split('/')[1]}.json").read_bytes()
    finals = [episode["final_digest"] for episode in FAMILY.stored(task)]
    return hashlib.sha256(text + json.dumps(finals).encode()).hexdigest()[:16]


def stored(task: str) -> dict[str, Any] | None:
    """The measurements on file, if there are any."""
    path = FOLDER / f"{task}.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def _update(task: str) -> str:
    data = {"source": source(task), **baselines.measure(task)}
    path = FOLDER / f"{task}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return f"{task}: straight {', '.join(data['straight'])}; random {', '.join(data['random'])}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="measure", description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", default="*", help="comma-separated tasks or globs: panda/H07,panda/H1*")
    parser.add_argument("--jobs", type=int, default=1, help="tasks at a time")
    options = parser.parse_args()
    patterns = options.tasks.split(",")
    chosen = [task for task in FAMILY.tasks() if any(fnmatch.fnmatch(task, pattern) for pattern in patterns)]
    stale = [
        task
        for task in chosen
        if FAMILY.stored(task) and ((data := stored(task)) is None or data["source"] != source(task))
    ]
    with ProcessPoolExecutor(max_workers=options.jobs) as pool:
        for line in pool.map(_update, stale):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
