"""A board with one trusted key, and records to decide on, for the tests of incidents."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from leaderboard_records import Play, write_run

from manifests.load import Manifests, load
from manifests.policy import TrustedKey, TrustList
from runner.incidents import Reviewer, reviewer
from runner.keys import Key, new_key
from runner.record import Ending
from runner.store.store import Run, Store

BOARD = "the board"
LATE_FAULT = Ending(cause="container_fault", text="the container ended", evidence={"exit": 137}, acted=True)
NO_EVIDENCE = Ending(cause="engine_fault", text="the Engine stopped answering", acted=True)
SANITY = Ending(cause="physics_sanity", text="NaN in qvel", evidence={"traceback": "x"}, acted=True)
INTERRUPTED = Ending(cause="interrupted", text="the runner ended", evidence={"wall_s": "unknown"}, acted=True)


ALWAYS = datetime(2020, 1, 1, tzinfo=UTC)


def trusting(*keys: Key, since: datetime = ALWAYS) -> Manifests:
    """The manifests of a board that trusts these keys from then on; the first one is called ``BOARD``."""
    names = [BOARD, *(f"key {number}" for number in range(1, len(keys)))]
    listed = tuple(
        TrustedKey(name=name, public_key=key.public, since=since) for name, key in zip(names, keys, strict=True)
    )
    return replace(load(), trust=TrustList(keys=listed))


def board(folder: Path) -> tuple[Manifests, Reviewer]:
    """Manifests that trust a new key, and its holder."""
    key = new_key(folder / "board.pem")
    manifests = trusting(key)
    return manifests, reviewer(None, key, manifests)


def one_condition(store: Store, name: str, *endings: Ending | None, protocol: str = "pass2") -> Run:
    """A run whose condition 0 of its first environment ended so, in order; the other conditions are to come."""
    first: list[str] = []

    def play(environment_id: str, condition: int, ordinal: int) -> Ending | None:
        first.append(environment_id)
        here = environment_id == first[0] and condition == 0
        return endings[ordinal - 1] if here and ordinal <= len(endings) else None

    found: Play = play
    return write_run(store, name, found, protocol=protocol)
