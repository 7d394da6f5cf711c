"""Golden digests of KidGym's pictures: ``python tests/kidgym_pictures.py`` writes them anew, after a change
that is meant. They hold for the Pillow of the lock file, which brings the letters' outlines with it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from images.kidgym import solve
from images.kidgym.catalog import LEVELS, NAMES
from images.kidgym.draw import SIDES, frame
from images.kidgym.episode import Episode

FILE = Path(__file__).parent / "data" / "kidgym_pictures.json"
SEED = 3


def digest(code: str, level: int, side: int) -> str:
    """Of every picture of one episode, from the first to the one that shows success."""
    episode, found = Episode(code, level, SEED), hashlib.sha256()
    for action in [*solve.solution(episode.task), None]:
        found.update(frame(episode.scene, episode.task.theme, side).tobytes())
        if action is not None:
            episode.choose(episode.index_of(action))
    return found.hexdigest()[:16]


def golden() -> dict[str, str]:
    found: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    made = {f"{code} {level} {side}": digest(code, level, side) for code in NAMES for level in LEVELS for side in SIDES}
    FILE.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
