"""``docs/hanoi-atlas.md`` and ``docs/hanoi.png`` from boards, certificates and measurements on file."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from images import mujoco
from images.mujoco.hanoi import board
from images.mujoco.hanoi.board import Board
from images.mujoco.hanoi.environment import PREFIXES
from images.mujoco.hanoi.workshop import measure
from images.mujoco.hanoi.workshop.certify import FAMILY
from images.mujoco.hanoi.workshop.episode import environment_id, start
from images.mujoco.workshop import sheet
from images.mujoco.workshop.certify import CONDITIONS

ROOT = Path(__file__).parents[4]
ROBOTS = tuple(PREFIXES.values())
EXTRA = {"panda": 0, "fr3-sharpa": 2, "floating-sharpa": 3}
HEAD = """# Atlas of the Hanoi boards

Made by `python -m images.mujoco.hanoi.workshop.atlas` from `workshop/certificates` and `workshop/measured`. The words
are those of `hanoi.md`.

{counts}

The reference agent looks at every ring's pose: it recentres a ring on its peg before it lifts it, corrects where it
hangs before it lowers it, and tries again beside where it sticks. The straight planner plans as well and moves the hand
by the same paths, but does none of that: what it cannot see after the grasp it does not correct. Random goes slowly
from one random pose to the next; doing nothing wins nowhere, as no board starts solved.

| level | moves | reference | straight planner | random |
| --- | --- | --- | --- | --- |
{levels}

## Boards

EP: type and split in EP-100 (E Easy, H Hard). Load: workload score. s: simulated seconds of the reference agent in
condition 0 to 3; `-` where it has no certificate. Straight, random: conditions that they win, of 0 and 1; the clauses
are those that ended the straight planner.

| task | title | EP | level | load | s | pace | reference | straight | random |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


def catalog() -> dict[str, dict[str, Any]]:
    """The catalog's entries of the family by identifier."""
    entries = json.loads((ROOT / "manifests" / "catalog.json").read_text(encoding="utf-8"))["environments"]
    return {entry["id"]: entry for entry in entries if entry["family"] == "hanoi"}


def workload(found: Board, robot: str) -> int:
    """Twice the depth index, plus 1 for a physical theme, plus 2 or 3 for a five-finger hand."""
    return 2 * (found.level - 1) + (found.theme != board.THEMES[0]) + EXTRA[robot]


def main() -> int:
    parser = argparse.ArgumentParser(prog="atlas", description=__doc__)
    parser.add_argument("--picture", action="store_true", help="draw the contact sheet too")
    options = parser.parse_args()
    (ROOT / "docs" / "hanoi-atlas.md").write_text(page(), encoding="utf-8")
    if options.picture:
        sheet.sheet([tile(case) for case in board.cases()]).save(ROOT / "docs" / "hanoi.png", optimize=True)
    return 0


def page() -> str:
    """The whole atlas."""
    played = {task: FAMILY.stored(task) for task in FAMILY.tasks()}
    lines = [HEAD.format(counts=_counts(played), levels="\n".join(_levels(played)))]
    lines += [_row(task, episodes) for task, episodes in played.items() if episodes]
    failed = [
        f"| {task} | {episode['condition']} | {episode['outcome']} |"
        for task, episodes in played.items()
        for episode in episodes
        if not episode["success"]
    ]
    if failed:
        title = ["", "## Without certificate", "", "| task | condition | how the reference agent ended |"]
        lines += [*title, "| --- | --- | --- |", *failed]
    return "\n".join(lines) + "\n"


def _counts(played: dict[str, list[dict[str, Any]]]) -> str:
    lines = ["| robot | boards | with all four certificates | certificates | pace |", "| --- | --- | --- | --- | --- |"]
    for robot in ROBOTS:
        own = {task: episodes for task, episodes in played.items() if task.startswith(f"{robot}/")}
        good = [episode for episodes in own.values() for episode in episodes if episode["success"]]
        complete = sum(FAMILY.certified(task) for task in own)
        lines.append(f"| {robot} | {len(own)} | {complete} | {len(good)} of {4 * len(own)} | {_pace(good)} |")
    return "\n".join(lines)


def _pace(episodes: list[dict[str, Any]]) -> str:
    """Median of the environment's pace, without the agent, on one core of the machine that recorded them."""
    paces = sorted(episode["simulated_s"] / episode["environment_s"] for episode in episodes)
    return f"{paces[len(paces) // 2]:.0f} times real time" if paces else "-"


def _levels(played: dict[str, list[dict[str, Any]]]) -> list[str]:
    lines = []
    for level, moves in board.MOVES.items():
        tasks = [task for task in played if _board(task).level == level and played[task]]
        known = [data for task in tasks if (data := measure.stored(task)) is not None]
        wins = [episode["success"] for task in tasks for episode in played[task]]
        shares = [_share([end == "success" for data in known for end in data[name]]) for name in ("straight", "random")]
        lines.append(f"| {level} | {moves} | {_share(wins)} | {shares[0]} | {shares[1]} |")
    return lines


def _share(values: list[bool]) -> str:
    return f"{100 * sum(values) / len(values):.0f} %" if values else "?"


def _board(task: str) -> Board:
    return board.load(task.split("/")[1])


def _row(task: str, episodes: list[dict[str, Any]]) -> str:
    found, entry = _board(task), catalog()[environment_id(task)]
    robot = task.split("/")[0]
    good = {episode["condition"]: episode for episode in episodes if episode["success"]}
    seconds = " ".join(f"{good[i]['simulated_s']:.0f}" if i in good else "-" for i in CONDITIONS)
    data = measure.stored(task)
    straight = random = "?"
    if data is not None:
        ends = sorted(set(data["straight"]) - {"success"})
        straight = " ".join([str(data["straight"].count("success")), *ends])
        random = str(data["random"].count("success"))
    kind = f"{entry.get('type') or ''} {(entry.get('split') or '')[:1]}".strip()
    cells = [
        task, found.title, kind, str(found.level), str(workload(found, robot)), seconds,
        _pace(list(good.values())).split(" ")[0], f"{len(good)} of 4", straight, random,
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def tile(case: str) -> tuple[str, Any]:
    """Caption and picture of a board in its first condition."""
    environment = mujoco.create(start(f"panda/{case}", 0, pictures=True))
    picture = environment.render("front", 512, 512)
    environment.close()
    return f"{case} {board.load(case).title}", picture


if __name__ == "__main__":
    sys.exit(main())
