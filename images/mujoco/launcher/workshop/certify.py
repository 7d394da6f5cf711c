"""Certificates: recorded successes of the reference agent, made by the arms through the public operations.

``python -m images.mujoco.launcher.workshop.certify`` plays every certified episode again and compares the digests of
its actions and of its final state; ``--record`` plays the conditions of the chosen cases and stores what comes of it.
The reference agent draws no random numbers, so that it is the compact form of its actions.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from images.mujoco.launcher import scene as scenes
from images.mujoco.launcher.environment import Launcher
from images.mujoco.launcher.workshop.episode import Episode, condition
from images.reference import solve

FOLDER = Path(__file__).parent / "certificates"
CONDITIONS = (0, 1, 2, 3)
COMPARED = ("parameters", "outcome", "actions", "action_digest", "final_digest")


def play(case: str, index: int) -> dict[str, Any]:
    """One episode of the reference agent, as its certificate says it; ``cpu_s`` and ``environment_s`` beside it."""
    started = time.process_time()
    client = Episode(case, index)
    lines: list[str] = []
    terminal = solve(client, lines.append)
    launcher = client.environment
    assert isinstance(launcher, Launcher)
    shots = launcher.plant.shots
    return {
        "condition": index,
        "parameters": condition(case, index),
        "outcome": terminal.cause if terminal.success else f"{terminal.cause} {terminal.code or ''}: {terminal.text}",
        "success": bool(terminal.success),
        "shots": [[round(v, 4) for v in (shot.azimuth, shot.elevation, shot.draw)] for shot in shots],
        "actions": client.session.meter.actions,
        "simulated_s": round(client.session.meter.simulated_s, 2),
        "action_digest": client.action_digest(),
        "final_digest": launcher.digest(),
        "cpu_s": round(time.process_time() - started, 1),
        "environment_s": round(client.environment_s, 2),
        "report": lines,
    }


def stored(case: str) -> list[dict[str, Any]]:
    """The episodes on file of a case, one for each condition that was played."""
    path = FOLDER / f"{case}.json"
    return list(json.loads(path.read_text(encoding="utf-8"))["episodes"]) if path.is_file() else []


def record(case: str, episodes: list[dict[str, Any]]) -> None:
    """Write a case's file: certificates, and for a condition without one how the episode ended."""
    kept = [
        {key: value for key, value in episode.items() if key not in ("report", "cpu_s")}
        for episode in sorted(episodes, key=lambda item: item["condition"])
    ]
    rows = ",\n  ".join(json.dumps(item) for item in kept)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{case}.json").write_text(
        f'{{\n "case": "{case}",\n "episodes": [\n  {rows}\n ]\n}}\n', encoding="utf-8"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="certify", description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", default="*", help="comma-separated cases or globs: A007,A02[56]")
    parser.add_argument("--record", action="store_true", help="play and store instead of comparing")
    parser.add_argument("--conditions", default="0,1,2,3", help="with --record: which conditions are played again")
    parser.add_argument("--jobs", type=int, default=1, help="episodes at a time")
    parser.add_argument("--verbose", action="store_true", help="what the reference agent reports")
    options = parser.parse_args()
    patterns = [part.split("/")[-1] for part in options.tasks.split(",")]
    cases = [case for case in scenes.cases() if any(fnmatch.fnmatch(case, pattern) for pattern in patterns)]
    if not cases:
        print(f"error: --tasks {options.tasks!r} matches no scene; there are: {', '.join(scenes.cases())}")
        return 2
    wanted = [int(part) for part in options.conditions.split(",")]
    work = [
        (case, index)
        for case in cases
        for index in (wanted if options.record else [e["condition"] for e in stored(case) if e["success"]])
    ]
    with ProcessPoolExecutor(max_workers=options.jobs) as pool:
        played = pool.map(partial(_play, verbose=options.verbose), work)
        return _record(work, played) if options.record else _compare(work, played)


def _play(item: tuple[str, int], verbose: bool) -> dict[str, Any]:
    episode = play(*item)
    if verbose:
        print("\n".join(f"  {line}" for line in episode["report"]), flush=True)
    return episode


def _tell(case: str, episode: dict[str, Any], text: str) -> None:
    pace = episode["simulated_s"] / max(episode["environment_s"], 1e-3)
    print(
        f"{case} condition {episode['condition']}: {text}; {len(episode['shots'])} shots, "
        f"{episode['simulated_s']:.1f} s simulated, environment {pace:.0f}x, {episode['cpu_s']:.1f} s CPU",
        flush=True,
    )


def _record(work: list[tuple[str, int]], played: Any) -> int:
    failed = 0
    for (case, _), episode in zip(work, played, strict=True):
        failed += not episode["success"]
        _tell(case, episode, episode["outcome"])
        record(case, [e for e in stored(case) if e["condition"] != episode["condition"]] + [episode])
    print(f"{len(work) - failed} of {len(work)} episodes succeed")
    return int(failed > 0)


def _compare(work: list[tuple[str, int]], played: Any) -> int:
    """The same digests, or at least success: on another machine the last bits of the arms' paths may differ."""
    failed = differing = 0
    for (case, index), episode in zip(work, played, strict=True):
        certificate = next(item for item in stored(case) if item["condition"] == index)
        fields = [name for name in COMPARED if certificate[name] != episode[name]]
        failed += not episode["success"]
        differing += bool(fields)
        _tell(case, episode, f"differs in {', '.join(fields)}: {episode['outcome']}" if fields else "the same")
    print(f"{len(work)} certificates: {len(work) - differing} the same, {failed} without success")
    return int(failed > 0 or differing > 0)


if __name__ == "__main__":
    sys.exit(main())
