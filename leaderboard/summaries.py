"""What the pages keep of a run: in memory, and in a file beside no record that is made again when it is of no use."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import time
from collections.abc import Mapping, Set
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from leaderboard import rows
from leaderboard.facts import Received
from leaderboard.source import Entry, Unscored, setting_of
from manifests import load as manifests_load
from runner.store.store import Run, Store
from scoring.report import SCORING_VERSION

VERSION = 3  # of what is kept of a run
KEPT = ("report", "slots", "failures", "others", "runtimes", "official", "cost_usd", "unpriced", "stale")
TABLE = (
    "CREATE TABLE IF NOT EXISTS summary_3 (run TEXT PRIMARY KEY, length INTEGER, head TEXT, made_by TEXT, value TEXT, "
    "stamp TEXT, looked REAL)"
)
logger = logging.getLogger("leaderboard")

Head = tuple[int, str]  # entries and last hash of a ledger


@dataclass(frozen=True)
class Summary:
    """A run at one head of its ledger. ``looked`` (seconds since 1970) is when it last was what its ledger says, or was
    found not to be, and ``stamp`` names the files of the store as they were then."""

    head: Head
    found: Entry | Unscored
    stamp: str
    looked: float

    def good(self, stamp: str, age_s: float) -> bool:
        """Whether the last look still stands."""
        return self.stamp == stamp and 0 <= time.time() - self.looked <= age_s


def place_of(store: Store) -> Path:
    """The file of a store's summaries: in ASSAY_CACHE, or the user's cache folder."""
    given = os.environ.get("ASSAY_CACHE")
    folder = Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay"
    return folder / f"board-{hashlib.sha256(store.database.label.encode()).hexdigest()[:16]}.sqlite"


def load(place: Path | None, store: Store, heads: Mapping[str, Head]) -> dict[str, Summary]:
    """Those of the file that are of these heads, and were made as they would be made now."""
    if place is None or not place.is_file():
        return {}
    try:
        with closing(sqlite3.connect(f"file:{place}?mode=ro", uri=True, timeout=2)) as connection:
            query = "SELECT run, length, head, value, stamp, looked FROM summary_3 WHERE made_by = ?"
            lines = connection.execute(query, [_maker()]).fetchall()
    except sqlite3.Error as error:
        logger.warning("%s: not used (%s)", place, error)
        return {}
    kept = {key: (value, stamp, looked) for key, *head, value, stamp, looked in lines if heads.get(key) == tuple(head)}
    found = {}
    for key, run in rows.named(store, list(kept)).items():
        value, stamp, looked = kept[key]
        try:
            found[key] = Summary(heads[key], read(run, value), stamp, looked)
        except (ValueError, KeyError, TypeError, AttributeError):  # what is no summary is made again
            logger.warning("%s: the summary of %s is not used: it cannot be read", place, run.name)
    return found


def save(place: Path | None, changed: Mapping[str, Summary], same: Set[str] = frozenset()) -> Path | None:
    """Write what has changed; of ``same`` only when it was looked at. Returns None where nothing can be written."""
    looked = [(item.stamp, item.looked, key) for key, item in changed.items() if key in same]
    lines = [
        (key, *item.head, _maker(), written(item.found), item.stamp, item.looked)
        for key, item in changed.items()
        if key not in same
    ]
    if place is None or not (lines or looked):
        return place
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(place, timeout=5)) as connection, connection:
            connection.execute(TABLE)
            connection.executemany("INSERT OR REPLACE INTO summary_3 VALUES (?, ?, ?, ?, ?, ?, ?)", lines)
            connection.executemany("UPDATE summary_3 SET stamp = ?, looked = ? WHERE run = ?", looked)
    except (OSError, sqlite3.Error) as error:
        logger.warning("%s: not written (%s): scores are made again at the next start", place, error)
        return None
    return place


def written(found: Entry | Unscored) -> str:
    """As JSON, without the run itself."""
    if isinstance(found, Unscored):
        return json.dumps({"why": found.why, "damaged": found.damaged})
    value: dict[str, Any] = {name: getattr(found, name) for name in KEPT}
    value["rest"] = found.setting.rest
    value["updated_at"] = found.updated_at.isoformat() if found.updated_at else None
    value["signer"] = [found.signer.key, found.signer.name] if found.signer else None
    return json.dumps(value)


def read(run: Run, text: str) -> Entry | Unscored:
    """The opposite of :func:`written`."""
    value = json.loads(text)
    if "why" in value:
        return Unscored(run, value["why"], value["damaged"])
    agent = run.settings["agent"]
    return Entry(
        run=run,
        setting=setting_of(run.settings, value["rest"]),
        model=str(run.settings["model"]),
        agent=str(agent["name"]),
        parameters=dict(agent["parameters"]),
        runtimes=tuple(value["runtimes"]),
        official=value["official"],
        updated_at=datetime.fromisoformat(value["updated_at"]) if value["updated_at"] else None,
        stale=tuple(value["stale"]),
        report=value["report"],
        slots=value["slots"],
        failures=tuple((suite, code, clause, count) for suite, code, clause, count in value["failures"]),
        others=tuple((status, cause, count) for status, cause, count in value["others"]),
        cost_usd=value["cost_usd"],
        unpriced=value["unpriced"],
        signer=Received(*value["signer"]) if value["signer"] else None,
    )


@cache
def _maker() -> str:
    """What a summary was made by: the manifests, the scoring, the form of a summary."""
    found = hashlib.sha256(f"{VERSION} {SCORING_VERSION}".encode())
    folder = Path(manifests_load.__file__).parent
    for path in sorted(folder.glob("*.json")):
        found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()
