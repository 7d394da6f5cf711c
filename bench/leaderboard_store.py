"""A store of a thousand full runs, written straight into the tables: what the pages are measured on.

Every attempt has a record of the usual size and its three ledger entries, in a hash chain that holds. Records list no
artifact: three million files would be measured, and not the pages.
"""

from __future__ import annotations

import hashlib
import json
import random
import secrets
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from manifests.load import load
from runner.agents.base import AgentInfo
from runner.plan import budget_labels, plan, versions
from runner.settings import Choices, run_settings
from runner.store.ledger import GENESIS
from runner.store.store import Store
from runner.store.text import canonical

ATTEMPTS = 736  # of a run: the number of scored attempts of the text's GPT-6-Astra run
START = datetime(2026, 1, 1, tzinfo=UTC)
OBJECTS = ("plate", "basin", "launcher", "magazine", "door", "handle", "cube", "tray", "lamp", "latch")
CODES = ("COLL", "PEN", "LIMIT", "DROP", "RULE", "MECH", "TIME")


def write(home: Path, runs: int, attempts: int = ATTEMPTS, seed: int = 0) -> Store:
    """``runs`` complete runs over EP-100 under ``pass2`` with ``attempts`` attempts each, 400 at least and 800 at most.

    Returns the store, opened for writing. A second call with the same arguments writes the same outcomes.
    """
    if not 400 <= attempts <= 800:
        raise ValueError(f"attempts {attempts}: EP-100 takes 400 to 800 under pass2")
    store = Store(home)
    settings = _settings()
    places = [(environment, condition) for environment in settings["environments"] for condition in range(4)]
    path = store.database.path
    assert path is not None
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    for number in range(runs):
        chance = random.Random(f"{seed}/{number}")
        with connection:
            _write_run(connection, f"model-{number:04d}", settings, places, attempts, chance)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return store


def _settings() -> dict[str, Any]:
    manifests = load()
    info = AgentInfo("code", "model", "1", "f" * 64, "L0")
    choices = Choices(model="model", subset="ep-100", tasks=None, protocol="pass2", runtime="docker")
    planned = plan(manifests, choices, info)
    return run_settings(
        choices,
        info,
        environments={item.environment_id: item.engine for item in planned},
        budgets=budget_labels(manifests, planned),
        runtime="docker",
        images={},
        versions=versions(manifests, (item.engine for item in planned)),
    )


def _write_run(
    connection: sqlite3.Connection,
    name: str,
    settings: dict[str, Any],
    places: list[tuple[str, int]],
    attempts: int,
    chance: random.Random,
) -> None:
    key, began = f"{chance.getrandbits(128):032x}", START + timedelta(minutes=chance.randrange(400_000))
    mine = {**settings, "model": f"lab/{name}"}
    connection.execute(
        "INSERT INTO run (id, name, created_at, settings) VALUES (?, ?, ?, ?)",
        (key, name, _time(began), canonical(mine).decode()),
    )
    entries = [(key, 1, "run", _time(began), canonical({"name": name, "settings": mine}).decode())]
    rows = []
    for ordinal, (environment, condition, outcome) in enumerate(_outcomes(places, attempts, chance)):
        attempt, sequence = secrets.token_hex(16), 2 + 3 * ordinal
        times = [_time(began + timedelta(minutes=ordinal, seconds=second)) for second in (0, 2, 50)]
        record = _record(attempt, key, sequence, environment, condition, outcome, mine, times, chance)
        text = json.dumps(record, separators=(",", ":"), sort_keys=True)
        place = canonical({"attempt": attempt, "environment_id": environment, "condition": condition}).decode()
        entries += [
            (key, sequence, "opened", times[0], place),
            (key, sequence + 1, "began", times[1], f'{{"attempt":"{attempt}"}}'),
            (key, sequence + 2, "closed", times[2], f'{{"attempt":"{attempt}","record":{text}}}'),
        ]
        said = (outcome, record["cause"], record["code"], "none", text)
        rows.append((attempt, key, sequence, environment, condition, "closed", *times, *said))
    connection.executemany(
        "INSERT INTO entry (run_id, sequence, kind, time, payload, previous, hash) VALUES (?, ?, ?, ?, ?, ?, ?)",
        _chain(entries),
    )
    connection.executemany(
        "INSERT INTO attempt (id, run_id, sequence, environment_id, condition, state, opened_at, began_at, closed_at, "
        "outcome, cause, code, incident, record) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows,
    )


def _chain(entries: list[tuple[str, int, str, str, str]]) -> Iterator[tuple[str, int, str, str, str, str, str]]:
    """The entries with the hash of the one before and their own. The texts are canonical: keys in order, and no number
    that is written otherwise in JSON than in Python."""
    previous = GENESIS
    for run, sequence, kind, time, payload in entries:
        text = (
            f'{{"kind":"{kind}","payload":{payload},"previous":"{previous}","run":"{run}",'
            f'"sequence":{sequence},"time":"{time.replace(" ", "T")}Z"}}'
        )
        found = hashlib.sha256(text.encode()).hexdigest()
        yield run, sequence, kind, time, payload, previous, found
        previous = found


def _outcomes(places: list[tuple[str, int]], attempts: int, chance: random.Random) -> Iterator[tuple[str, int, str]]:
    """Complete under pass2: some conditions end at once, the others take a second attempt."""
    once = set(chance.sample(range(len(places)), 2 * len(places) - attempts))
    for number, (environment, condition) in enumerate(places):
        if number in once:
            yield environment, condition, "success"
        else:
            yield environment, condition, "failure"
            yield environment, condition, "success" if chance.random() < 0.1 else "failure"


def _record(
    attempt: str,
    run: str,
    sequence: int,
    environment: str,
    condition: int,
    outcome: str,
    settings: dict[str, Any],
    times: list[str],
    chance: random.Random,
) -> dict[str, Any]:
    code = None if outcome == "success" else chance.choice(CODES)
    iso = [f"{time.replace(' ', 'T')}Z" for time in times]
    clause = f"L-{chance.randrange(1, 40):02d}"
    identity = {"content": "sha256:" + "b" * 64, "id": "sha256:" + "a" * 64, "reference": "assay/mujoco"}
    return {
        "schema_version": 1,
        "attempt": attempt,
        "run": run,
        "sequence": sequence,
        "environment_id": environment,
        "condition": condition,
        "settings": {
            "profile": "embedded",
            "engine": settings["environments"][environment],
            "mode": "standard",
            "base_seed": 0,
            "level": "L0",
            "grants": [],
            "observation_profile": "rgb",
            "budgets": {"actions": 7500, "simulated_s": 150, "wall_s": 600, "tokens": 30_000_000, "images": 100},
            "protocol": "pass2",
            "versions": settings["versions"],
        },
        "agent": {"name": "code", "kind": "model", "version": "1", "digest": "f" * 64, "model": settings["model"]},
        "runtime": "docker",
        "official": True,
        "images": [{"role": role, **identity} for role in ("mujoco", "sandbox")],
        "fingerprint": {"engine": "4.0.1", "arch": "x86_64", "flags": "avx avx2 avx512f " * 8, "gl": "osmesa"},
        "realized": {f"offset_of_{name}": [0.0125, -0.0275, 0.0055] for name in OBJECTS},
        "opened_at": iso[0],
        "began_at": iso[1],
        "closed_at": iso[2],
        "acted": True,
        "wall_s": 48,
        "success_wall_s": 40.0 + chance.random() if outcome == "success" else None,
        "simulated_s": 31.5,
        "actions": 1575,
        "image_reads": 4,
        "usage": {
            "tokens_input": 200_000 + chance.randrange(100_000),
            "tokens_cached": 150_000,
            "tokens_output": 9_000,
            "estimated": False,
            "images_sent": 4,
            "model_calls": 31,
            "cost_usd": round(0.01 + chance.random(), 4),
        },
        "outcome": outcome,
        "cause": "goal_met" if code is None else "violation",
        "code": code,
        "incident": "none",
        "violation": None
        if code is None
        else {
            "code": code,
            "clause": clause,
            "text": f"{clause}: a joint passed its limit",
            "simulated_s": 31.46,
            "data": {"clause_text": "No joint may pass its limit by more than this.", "limit": 0.05, "value": 0.07},
        },
        "text": "" if code is None else f"{clause}: a joint passed its limit",
        "evidence": {},
        "final_digest": secrets.token_hex(32),
        "artifacts": [],
    }


def _time(moment: datetime) -> str:
    """As SQLAlchemy stores a UTC datetime in SQLite."""
    return f"{moment:%Y-%m-%d %H:%M:%S.%f}"
