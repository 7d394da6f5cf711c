"""What the MuJoCo engine offers of the launcher is what is certified: a success by the arms in every condition."""

from __future__ import annotations

import json
from pathlib import Path

from manifests.load import load

LAUNCHER = Path(__file__).parents[1] / "images" / "mujoco" / "launcher"
CONDITIONS = {0, 1, 2, 3}


def certified() -> list[str]:
    """Cases with a certificate for each of the four conditions."""
    found = []
    for path in sorted((LAUNCHER / "workshop" / "certificates").glob("A*.json")):
        episodes = json.loads(path.read_text(encoding="utf-8"))["episodes"]
        if {episode["condition"] for episode in episodes if episode["success"]} == CONDITIONS:
            found.append(path.stem)
    return found


def test_the_engine_offers_the_certified_scenes_and_no_other() -> None:
    assert load().engines["mujoco"].families["launcher"] == tuple(certified())


def test_every_certified_scene_exists() -> None:
    assert set(certified()) <= {path.stem for path in (LAUNCHER / "scenes").glob("A*.json")}
