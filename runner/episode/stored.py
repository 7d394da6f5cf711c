"""One stored attempt, read back: its record, states, actions, the evaluator's log and the agent's transcript.

Every file is checked against the hash in its record before it is used: what is shown is what was recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from manifests import arrays, strict
from manifests.records import AttemptRecord
from runner.errors import AssayError, BadInput
from runner.store.artifacts import check, rendered_stem
from runner.store.store import Run, Store
from runner.store.tables import AttemptRow

SHORTEST_ID = 6  # characters of an attempt's id that name it
STATES, TIMES, ACTIONS, LOG, DESCRIBE, TRANSCRIPT = (
    "states.npy",
    "state_times.npy",
    "actions.npy",
    "scorer_log.jsonl",
    "describe.json",
    "transcript.jsonl",
)


class EpisodeError(AssayError):
    """An episode cannot be shown; one line with the reason and, where there is one, the fix."""


@dataclass(frozen=True)
class Episode:
    """A closed attempt. ``folder`` holds its artifacts; ``model`` and ``board`` are what the run says was evaluated."""

    run: str
    model: str
    record: AttemptRecord
    folder: Path
    board: str = ""

    @property
    def name(self) -> str:
        return f"attempt {self.record.sequence} of run {self.run}"

    @property
    def file_stem(self) -> str:
        """What a file drawn of this episode is called, without its ending."""
        return rendered_stem(self.record)

    @cached_property
    def states(self) -> np.ndarray:
        """float32 (m, k), one row for each of ``times``. Raises EpisodeError."""
        if self._find(STATES) is None:
            raise EpisodeError(
                f"{self.name}: no states are stored, so there is nothing to draw: it ended as {self.record.cause}"
                f"{' before the episode began' if self.record.began_at is None else ''}"
            )
        states = self._array(STATES, 2)
        if len(states) == 0 or len(states) != len(self.times):
            raise EpisodeError(f"{self.name}: {len(states)} states and {len(self.times)} times do not fit")
        return states

    @cached_property
    def times(self) -> np.ndarray:
        """float64 (m,): simulated seconds, increasing. Raises EpisodeError."""
        return self._array(TIMES, 1)

    @cached_property
    def actions(self) -> np.ndarray:
        """float64 (n, dim). Raises EpisodeError."""
        return self._array(ACTIONS, 2)

    @cached_property
    def log(self) -> list[dict[str, Any]]:
        """The evaluator's own events with ``simulated_s`` and ``event``; empty where none are stored."""
        return list(self.lines(LOG))

    @cached_property
    def describe(self) -> dict[str, Any]:
        """The public description of the task; empty where none is stored."""
        path = self._find(DESCRIBE)
        if path is None:
            return {}
        try:
            return dict(strict.loads(path.read_bytes()))
        except (ValueError, TypeError):
            raise EpisodeError(f"{self.name}: {DESCRIBE} is not a JSON object") from None

    @property
    def has_transcript(self) -> bool:
        return self._find(TRANSCRIPT) is not None

    def lines(self, name: str) -> Iterator[dict[str, Any]]:
        """The entries of a JSON lines file; none where it is not stored. Raises EpisodeError."""
        path = self._find(name)
        if path is None:
            return
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield strict.loads(line)
                except ValueError:
                    raise EpisodeError(f"{self.name}: line {number} of {name} is not JSON") from None

    def _find(self, name: str) -> Path | None:
        """The checked file of an artifact, or None where the record has none of that name. Raises EpisodeError."""
        artifact = next((item for item in self.record.artifacts if item.name == name), None)
        if artifact is None:
            return None
        if (why := check(self.folder, artifact)) is not None:
            raise EpisodeError(f"{self.name}: {why}")
        return self.folder / name

    def _array(self, name: str, dimensions: int) -> np.ndarray:
        path = self._find(name)
        if path is None:
            raise EpisodeError(f"{self.name}: {name} is not among its artifacts")
        try:
            array = arrays.load(path)
        except (ValueError, OSError) as error:
            raise EpisodeError(f"{self.name}: {name} cannot be read: {error}") from None
        if array.ndim != dimensions or array.dtype.kind != "f":
            raise EpisodeError(f"{self.name}: {name} is {array.dtype} {array.shape}, not {dimensions}-D numbers")
        return np.asarray(array)


def open_episode(store: Store, run: Run, row: AttemptRow) -> Episode:
    """Raises EpisodeError for an attempt without a record."""
    if row.record is None:
        why = "it was made elsewhere" if row.state == "closed" else "it has not ended"
        raise EpisodeError(f"attempt {row.sequence} of run {run.name}: there is no record of it: {why}")
    record = AttemptRecord.model_validate_json(row.record)
    model, board = (str(run.settings.get(name, "")) for name in ("model", "board"))
    return Episode(run.name, model, record, store.attempt_folder(run, row.id).final, board)


def find_attempt(store: Store, run: Run, key: str) -> AttemptRow:
    """By sequence number, id or the first characters of an id. Raises BadInput."""
    if key.isdecimal() and len(key) < SHORTEST_ID:
        return store.attempt(run, int(key))
    found = [row for row in store.attempts(run) if row.id.startswith(key)] if len(key) >= SHORTEST_ID else []
    if not found and key.isdecimal():
        return store.attempt(run, int(key))
    return _only(found, key, f"run {run.name}")


def find_anywhere(store: Store, key: str) -> tuple[Run, AttemptRow]:
    """The attempt whose id begins with ``key``, in any run. Raises BadInput."""
    if len(key) < SHORTEST_ID or store.find_run(key) is not None:
        raise BadInput(f"attempt {key!r}: give a run and a sequence number, as `assay episode RUN 2`, or an id")
    found = {row.id: (run, row) for run in store.runs() for row in store.attempts(run) if row.id.startswith(key)}
    return found[_only([row for _, row in found.values()], key, store.database.label).id]


def _only(found: list[AttemptRow], key: str, where: str) -> AttemptRow:
    if len(found) == 1:
        return found[0]
    if found:
        raise BadInput(f"attempt {key!r}: {len(found)} attempts of {where} begin so; give more of the id")
    raise BadInput(
        f"attempt {key!r}: {where} has none of that id or sequence number; `assay score RUN --format json` lists them"
    )
