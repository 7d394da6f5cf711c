"""``python -m images.mujoco.hanoi.workshop.offer``: write into ``manifests/engines.json`` what is certified."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from images.mujoco.hanoi.environment import PREFIXES
from images.mujoco.hanoi.workshop.certify import FAMILY

ENGINES = Path(__file__).parents[4] / "manifests" / "engines.json"
ROW = 6  # tasks in a line
INDENT = " " * 10


def offered() -> list[str]:
    """Tasks with a certificate in every condition."""
    return [task for task in FAMILY.tasks() if FAMILY.certified(task)]


def listed(tasks: list[str]) -> str:
    """The tasks as the list stands in the file: the robots one below the other."""
    rows = []
    for robot in PREFIXES.values():
        own = [json.dumps(task) for task in tasks if task.startswith(f"{robot}/")]
        rows += [INDENT + ", ".join(own[start : start + ROW]) for start in range(0, len(own), ROW)]
    return "[\n" + ",\n".join(rows) + "\n" + INDENT[:-2] + "]"


def main() -> int:
    text = ENGINES.read_text(encoding="utf-8")
    first = text.index('"hanoi": [') + len('"hanoi": ')
    tasks = offered()
    ENGINES.write_text(text[:first] + listed(tasks) + text[text.index("]", first) + 1 :], encoding="utf-8")
    print(f"{len(tasks)} of {len(FAMILY.tasks())} Hanoi tasks are offered")
    return 0


if __name__ == "__main__":
    sys.exit(main())
