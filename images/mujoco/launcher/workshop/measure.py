"""Measurements of a scene beside its certificates: baselines, the window of aims, and aims shot in other conditions.

``python -m images.mujoco.launcher.workshop.measure`` brings ``measured/CASE.json`` up to date where the scene or its
certificates have changed since. Everything is deterministic.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from images.mujoco.launcher import scene as scenes
from images.mujoco.launcher.workshop import certify, checks
from images.mujoco.launcher.workshop.episode import Episode, condition
from images.mujoco.launcher.workshop.proxy import Aim, Proxy
from images.mujoco.workshop import baselines
from images.mujoco.workshop.measured import Measurements
from images.reference import solve

FOLDER = Path(__file__).parent / "measured"
LABELS = ("title", "brief", "tier", "d_level")


def measure(case: str) -> dict[str, Any]:
    """Everything that the atlas says of one scene, apart from its certificates."""
    scene = scenes.load(case)
    untouched, share = checks.stay(scene), checks.window(scene)
    naive = [checks.naive(scene, condition(case, index)) for index in certify.CONDITIONS]
    return {
        "drift_mm": round(1000 * untouched.drift, 4),
        "asleep_s": untouched.asleep_s,
        "reached_untouched": not untouched.good,
        "window": round(share, 4),
        "d_level": checks.d_level(share),
        "naive": [bool(shots) and shots[-1].won for shots in naive],
        "random": [random_play(case, index) for index in certify.CONDITIONS],
        "elsewhere": elsewhere(case),
        "replayed": replayed(case),
    }


def source(case: str) -> str:
    """Digest of what the measurements depend on: the scene but for its words and labels, and the shots of its
    certificates."""
    scene = json.loads((scenes.SCENES / f"{case}.json").read_text(encoding="utf-8"))
    play = {key: value for key, value in scene.items() if key not in LABELS}
    shots = [episode["shots"] for episode in certify.stored(case) if episode["success"]]
    return hashlib.sha256(json.dumps([play, shots]).encode()).hexdigest()[:16]


def random_play(case: str, index: int) -> str:
    """How the random baseline ends."""
    terminal = baselines.random_play(Episode(case, index, level="L0"), case, index)
    return "success" if terminal.success else str(terminal.code or terminal.cause)


def elsewhere(case: str) -> list[list[bool]]:
    """For each certified condition (rows) and each other one: does shooting the same aims again succeed there?"""
    scene, rows = scenes.load(case), []
    for episode in certify.stored(case):
        if not episode["success"]:
            continue
        row = []
        for other in certify.CONDITIONS:
            if other == episode["condition"]:
                continue
            proxy = Proxy(scene, condition(case, other))
            for shot in episode["shots"]:
                if proxy.judgement is None and proxy.plant.shots_left:
                    proxy.fire(Aim(*shot))
            proxy.advance(8.0)
            row.append(proxy.judgement is not None and proxy.judgement.cause == "goal_met")
        rows.append(row)
    return rows


def replayed(case: str) -> list[list[bool]]:
    """The same for the arms' actions themselves, open loop."""
    rows = []
    for episode in certify.stored(case):
        if not episode["success"]:
            continue
        client, row = Episode(case, episode["condition"]), []
        solve(client, lambda line: None)
        for other in certify.CONDITIONS:
            if other == episode["condition"]:
                continue
            environment = Episode(case, other).environment
            for action in client.actions:
                if environment.judge() is None:
                    environment.apply(action)
            row.append(environment.finish().success)
        rows.append(row)
    return rows


def _told(found: dict[str, Any]) -> str:
    return (
        f"{100 * found['window']:.1f} % of aims, D-level {found['d_level']}; naive {sum(found['naive'])} of 4; "
        f"random {', '.join(found['random'])}; aims of another condition win {sum(map(sum, found['elsewhere']))}, "
        f"actions {sum(map(sum, found['replayed']))} times of 12"
    )


MEASUREMENTS = Measurements(FOLDER, scenes.cases, source, measure, _told)
stored = MEASUREMENTS.stored

if __name__ == "__main__":
    sys.exit(MEASUREMENTS.main(__doc__.split("\n")[0]))
