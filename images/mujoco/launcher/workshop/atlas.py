"""``docs/launcher-atlas.md`` and ``docs/launcher.png`` from scenes, certificates and measurements on file."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from PIL import Image

from images.mujoco.launcher import scene as scenes
from images.mujoco.launcher.scene import Scene
from images.mujoco.launcher.workshop import certify, measure
from images.mujoco.launcher.workshop.episode import condition
from images.mujoco.launcher.workshop.proxy import Proxy
from images.mujoco.render import Painter
from images.mujoco.workshop import sheet as shared

ROOT = Path(__file__).parents[4]
CASES = 100
HEAD = """# Atlas of the launcher

Made by `python -m images.mujoco.launcher.workshop.atlas` from `workshop/certificates` and `workshop/measured`.
The words are those of `launcher.md`.

{authored} of {cases} scenes are authored. {certified} have a certificate in at least one condition, {complete} in all
four: {wins} of {conditions} conditions.

{elsewhere}

{pace}

{tiers}

## Scenes

EP: type and split in EP-100 (E Easy, H Hard). D: D-level, from the share of aims beside it. Load: workload score.
Shots: used by the reference agent in condition 0 to 3, of those that there are; `-` where it has no certificate. s:
simulated seconds of these episodes. Naive, random, noop: conditions that they win; `?` is not measured.

{header}
{rule}"""
HEADER = [
    "case",
    "title",
    "EP",
    "tier",
    "D",
    "aims",
    "targets",
    "load",
    "shots",
    "s",
    "reference",
    "naive",
    "random",
    "noop",
]


def catalog() -> dict[str, Any]:
    """The cases of the launcher in the catalog: their native levels, and of EP-100 types and splits."""
    entries = json.loads((ROOT / "manifests" / "catalog.json").read_text(encoding="utf-8"))["environments"]
    return {entry["case"]: entry for entry in entries if entry["family"] == "launcher"}


def workload(scene: Scene) -> int:
    """Ten times the native tier, plus the D-level, plus the number of required targets."""
    return 10 * scene.tier + scene.d_level + len(scene.task.required)


def main() -> int:
    parser = argparse.ArgumentParser(prog="atlas", description=__doc__)
    parser.add_argument("--picture", action="store_true", help="draw the contact sheet too")
    options = parser.parse_args()
    (ROOT / "docs" / "launcher-atlas.md").write_text(page(), encoding="utf-8")
    if options.picture:
        sheet(scenes.cases()).save(ROOT / "docs" / "launcher.png", optimize=True)
    return 0


def page() -> str:
    """The whole atlas."""
    cases = scenes.cases()
    found = {case: scenes.load(case) for case in cases}
    played = {case: certify.stored(case) for case in cases}
    measured = {case: measure.stored(case) for case in cases}
    known = {case: data for case, data in measured.items() if data is not None}
    wins = sum(episode["success"] for episodes in played.values() for episode in episodes)
    certified = sum(any(episode["success"] for episode in episodes) for episodes in played.values())
    complete = sum(sum(episode["success"] for episode in episodes) == 4 for episodes in played.values())
    lines = [
        HEAD.format(
            authored=len(cases),
            certified=certified,
            complete=complete,
            wins=wins,
            cases=CASES,
            conditions=4 * CASES,
            elsewhere=_elsewhere(known),
            pace=_pace(played),
            tiers="\n".join(_tiers(found, played, known)),
            header=f"| {' | '.join(HEADER)} |",
            rule="| --- " * len(HEADER) + "|",
        ),
        *(_row(found[case], played[case], measured[case]) for case in cases),
        "",
        *_without(found, played),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _row(scene: Scene, episodes: list[dict[str, Any]], data: dict[str, Any] | None) -> str:
    entry = catalog()[scene.case]
    kind, split = entry.get("type") or "", entry.get("split") or ""
    good = {episode["condition"]: episode for episode in episodes if episode["success"]}
    shots = " ".join(str(len(good[i]["shots"])) if i in good else "-" for i in certify.CONDITIONS)
    seconds = " ".join(f"{good[i]['simulated_s']:.0f}" if i in good else "-" for i in certify.CONDITIONS)
    measured = ["?", "?", "?", "?"]
    if data is not None:
        noop = "?" if data["reached_untouched"] else "0"  # what sleeps before any target is reached sleeps on
        random = sum(end == "success" for end in data["random"])
        measured = [f"{100 * data['window']:.1f} %", str(sum(data["naive"])), str(random), noop]
    cells = [
        scene.case, scene.title, f"{kind} {split[:1]}".strip(), str(scene.tier), str(scene.d_level), measured[0],
        str(len(scene.task.required)), str(workload(scene)), f"{shots} / {len(scene.projectiles)}", seconds,
        f"{len(good)} of 4", *measured[1:],
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _share(values: Iterable[bool]) -> str:
    flat = list(values)
    return f"{100 * sum(flat) / len(flat):.0f} %" if flat else "?"


def _tiers(
    found: dict[str, Scene], played: dict[str, list[dict[str, Any]]], known: dict[str, dict[str, Any]]
) -> list[str]:
    lines = ["| tier | scenes | reference | naive aimer |", "| --- | --- | --- | --- |"]
    for tier in range(1, 6):
        cases = [case for case, scene in found.items() if scene.tier == tier]
        reference = _share(episode["success"] for case in cases for episode in played[case])
        naive = _share(won for case in cases if case in known for won in known[case]["naive"])
        lines.append(f"| {tier} | {len(cases)} | {reference} | {naive} |")
    return lines


def _elsewhere(known: dict[str, dict[str, Any]]) -> str:
    aims = _share(not won for data in known.values() for row in data["elsewhere"] for won in row)
    arms = _share(not won for data in known.values() for row in data["replayed"] for won in row)
    return (
        f"What solves one condition fails in another in {arms} of the ordered pairs of conditions when the arms'\n"
        f"actions are repeated, and in {aims} when the same azimuths, elevations and draws are shot again."
    )


def _pace(played: dict[str, list[dict[str, Any]]]) -> str:
    """How fast the environment ran, without the agent, on one core of the machine that recorded the certificates."""
    paces = sorted(
        (episode["simulated_s"] / episode["environment_s"], case)
        for case, episodes in played.items()
        for episode in episodes
        if episode["success"]
    )
    if not paces:
        return "No episode is on file."
    median, (slowest, case) = paces[len(paces) // 2][0], paces[0]
    return (
        f"The environment ran these episodes at {median:.0f} times real time (median, one core, arms moving), the\n"
        f"slowest at {slowest:.0f} ({case})."
    )


def _without(found: dict[str, Scene], played: dict[str, list[dict[str, Any]]]) -> list[str]:
    lines = []
    for case in found:
        for episode in played[case]:
            if not episode["success"]:
                lines.append(f"| {case} | {episode['condition']} | {episode['outcome']} |")
        if not played[case]:
            lines.append(f"| {case} | all | not played |")
    if not lines:
        return []
    return [
        "## Without certificate",
        "",
        "| case | condition | how the reference agent ended |",
        "| --- | --- | --- |",
        *lines,
    ]


def sheet(cases: list[str]) -> Image.Image:
    """The range of every scene with its case and title, in the background of its first condition."""
    tiles = []
    for case in cases:
        scene = scenes.load(case)
        proxy = Proxy(scene, condition(case, 0))
        painter = Painter(proxy.plant.model, proxy.plant.data)
        tiles.append((f"{case} {scene.title}", painter.picture("range", 512, 512)[56:456, 56:456]))
        painter.close()
    return shared.sheet(tiles)


if __name__ == "__main__":
    sys.exit(main())
