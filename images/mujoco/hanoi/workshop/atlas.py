"""``docs/hanoi-atlas.md`` and ``docs/hanoi.png`` from boards, certificates and measurements on file."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from images import mujoco
from images.mujoco.hanoi import board
from images.mujoco.hanoi import geometry as g
from images.mujoco.hanoi.board import Board
from images.mujoco.hanoi.environment import PREFIXES
from images.mujoco.hanoi.model import heights, ring
from images.mujoco.hanoi.workshop import measure
from images.mujoco.hanoi.workshop.certify import FAMILY
from images.mujoco.hanoi.workshop.episode import environment_id, start
from images.mujoco.workshop import sheet
from images.mujoco.workshop.certify import CONDITIONS

ROOT = Path(__file__).parents[4]
ROBOTS = tuple(PREFIXES.values())
BAND = slice(222, 508)  # rows of a picture from the front that show the board and its letters
BASELINES = ("straight", "random", "noop")
EXTRA = {"panda": 0, "fr3-sharpa": 2, "floating-sharpa": 3}
HEAD = """# Atlas of the Hanoi boards

Made by `python -m images.mujoco.hanoi.workshop.atlas` from `workshop/certificates` and `workshop/measured`. The words
are those of `hanoi.md`.

{counts}

The reference agent looks at every ring's pose: it recentres a ring on its peg before it lifts it, corrects where it
hangs before it lowers it, and tries again beside where it sticks. The straight planner plans as well and moves the hand
by the same paths, but does none of that: what it cannot see after the grasp it does not correct. Random goes slowly
from one random pose to the next; noop keeps the robot where it stands for 20 s and leaves.

| level | moves | reference | straight planner | random | noop |
| --- | --- | --- | --- | --- | --- |
{levels}

{ends}

## Boards

EP: type and split in EP-100 (E Easy, H Hard). Load: workload score. s: simulated seconds of the reference agent in
condition 0 to 3; `-` where it has no certificate. Straight, random, noop: conditions that they win, of 0 and 1; the
clauses are those that ended the straight planner. `?` is not measured.

| task | title | EP | level | load | s | pace | reference | straight | random | noop |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


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
    lines = [HEAD.format(counts=_counts(played), levels="\n".join(_levels(played)), ends=_ends(played))]
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
        shares = [_share([end == "success" for data in known for end in data[name]]) for name in BASELINES]
        lines.append(f"| {' | '.join([str(level), str(moves), _share(wins), *shares])} |")
    return lines


def _ends(played: dict[str, list[dict[str, Any]]]) -> str:
    """How often the baselines end in which way, with each robot."""
    lines = ["| robot | straight planner | random | noop |", "| --- | --- | --- | --- |"]
    for robot in ROBOTS:
        known = [data for task in played if task.startswith(f"{robot}/") and (data := measure.stored(task)) is not None]
        counts = [Counter(end for data in known for end in data[name]) for name in BASELINES]
        told = [", ".join(f"{end} {count}" for end, count in sorted(ends.items())) for ends in counts]
        lines.append(f"| {robot} | {' | '.join(told)} |")
    return "\n".join(lines)


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
    won = ["?"] * len(BASELINES)
    if data is not None:
        won = [str(data[name].count("success")) for name in BASELINES]
        won[0] = " ".join([won[0], *sorted(set(data["straight"]) - {"success"})])
    kind = f"{entry.get('type') or ''} {(entry.get('split') or '')[:1]}".strip()
    cells = [
        task, found.title, kind, str(found.level), str(workload(found, robot)), seconds,
        _pace(list(good.values())).split(" ")[0], f"{len(good)} of 4", *won,
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def tile(case: str) -> tuple[str, Any]:
    """Caption and picture (n, 512, 3) of a board in its first condition: its start above, its goal below."""
    environment: Any = mujoco.create(start(f"floating-sharpa/{case}", 0, pictures=True))
    found, compiled = board.load(case), environment.plant.compiled
    begins = environment.state()
    ends = begins.copy()
    for index, (letter, height) in enumerate(zip(found.goal, heights(found, found.goal), strict=True)):
        first = int(compiled.model.joint(ring(index)).qposadr[0])
        peg = found.pegs[g.PEGS.index(letter)]
        ends[first : first + 3] = *compiled.realized.place(peg.at), height
    above, below = (environment.redraw(state, "front", 512, 512, shadows=True)[BAND] for state in (begins, ends))
    environment.close()
    divider = np.full((4, 512, 3), 255, dtype=np.uint8)
    plural = "move" if found.moves == 1 else "moves"
    return f"{case} {found.title}, {found.moves} {plural}", np.concatenate([above, divider, below])


if __name__ == "__main__":
    sys.exit(main())
