"""What is stored of one attempt, read back for playback: every file is checked against the hash in the record first.

Pictures and videos were drawn before (``assay episode``, ``RENDER=1``) into the run's ``rendered`` folder; nothing is
drawn here. Of the evaluator's log only the public part is kept: when something happened, its name, and the names in it.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from manifests import arrays, strict
from manifests.records import AttemptRecord
from runner.store.artifacts import RENDERED, check, rendered_stem
from runner.store.store import Run, Store

LARGEST = 64 << 20  # bytes of a file that a page reads
RATES = (0.01, 1e6)  # control steps a second that can be: what else a description says is not used
LONGEST_S = 1e6  # simulated seconds of an event that can be
VIDEOS = {".mp4": "video/mp4", ".webp": "image/webp"}


@dataclass(frozen=True)
class Drawn:
    """A video or picture drawn from the stored states. ``label`` names its camera."""

    label: str
    path: Path


@dataclass(frozen=True)
class Stored:
    """Empty where nothing is stored. ``actions`` float64 [n, dim]; ``events`` (simulated seconds, words);
    ``problems`` say which files are missing or not what was recorded."""

    describe: dict[str, Any] = field(default_factory=dict)
    actions: npt.NDArray[np.float64] | None = None
    events: tuple[tuple[float, str], ...] = ()
    transcript: tuple[dict[str, Any], ...] = ()
    videos: tuple[Drawn, ...] = ()
    sheets: tuple[Drawn, ...] = ()
    problems: tuple[str, ...] = ()
    folder: Path = Path()

    def seconds(self, record: AttemptRecord) -> npt.NDArray[np.float64]:
        """Simulated time (s) at the end of each action [n]."""
        count = 0 if self.actions is None else len(self.actions)
        rate = self.describe.get("control_hz")
        if isinstance(rate, int | float) and RATES[0] <= rate <= RATES[1]:
            step = 1 / rate
        else:
            step = record.simulated_s / max(count, 1)
        return np.arange(1, count + 1, dtype=np.float64) * float(step)

    def picture(self, record: AttemptRecord, name: str) -> bytes | None:
        """A PNG that the model was sent, by the name of its artifact."""
        artifact = next((item for item in record.artifacts if item.name == name), None)
        if artifact is None or artifact.media_type != "image/png" or artifact.size > LARGEST:
            return None
        return (self.folder / name).read_bytes() if check(self.folder, artifact) is None else None


def read(store: Store, run: Run, record: AttemptRecord) -> Stored:
    """Never raises for what a file holds: a file that cannot be used is one of the problems."""
    folder, problems = store.attempt_folder(run, record.attempt).final, []
    raw: dict[str, bytes] = {}
    for artifact in record.artifacts:
        if artifact.name not in ("describe.json", "actions.npy", "scorer_log.jsonl", "transcript.jsonl"):
            continue
        if artifact.size > LARGEST:
            problems.append(f"{artifact.name} has {artifact.size:,} bytes and is left out of this page")
        elif (why := check(folder, artifact)) is not None:
            problems.append(f"{artifact.name}: {'is missing' if 'missing' in why else 'is not what was recorded'}")
        else:
            raw[artifact.name] = (folder / artifact.name).read_bytes()
    found: dict[str, Any] = {}
    for name, reader in (("describe.json", strict.loads), ("actions.npy", _actions), ("transcript.jsonl", _lines)):
        try:
            found[name] = reader(raw[name]) if name in raw else None
        except (ValueError, OSError, RecursionError):
            problems.append(f"{name} cannot be read")
    describe = found.get("describe.json")
    return Stored(
        describe=describe if isinstance(describe, dict) else {},
        actions=found.get("actions.npy"),
        events=_events(raw.get("scorer_log.jsonl", b"")),
        transcript=tuple(found.get("transcript.jsonl") or ()),
        videos=_drawn(store.folder(run) / RENDERED, rendered_stem(record), tuple(VIDEOS)),
        sheets=_drawn(store.folder(run) / RENDERED, rendered_stem(record), (".png",)),
        problems=tuple(problems),
        folder=folder,
    )


def _actions(raw: bytes) -> npt.NDArray[np.float64]:
    array = arrays.read(io.BytesIO(raw))
    if array.ndim != 2 or array.dtype.kind != "f":
        raise ValueError(f"actions are {array.dtype} {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("an action is no number")
    return np.asarray(array, dtype=np.float64)


def _lines(raw: bytes) -> list[dict[str, Any]]:
    return [entry for entry in map(strict.loads, raw.splitlines()) if isinstance(entry, dict)]


def _events(raw: bytes) -> tuple[tuple[float, str], ...]:
    found = []
    try:
        entries = _lines(raw)
    except (ValueError, RecursionError):
        return ()
    for entry in entries:
        time, name = entry.get("simulated_s"), entry.get("event")
        if isinstance(time, int | float) and 0 <= time < LONGEST_S and isinstance(name, str):
            names = [value for key, value in entry.items() if key != "event" and isinstance(value, str)]
            found.append((float(time), f"{name}: {', '.join(names)}" if names else name))
    return tuple(found)


def _drawn(folder: Path, stem: str, endings: tuple[str, ...]) -> tuple[Drawn, ...]:
    """``STEM.mp4``, or ``STEM.CAMERA.mp4`` for one of several (:func:`rendered_stem`)."""
    try:
        paths = sorted(path for path in folder.glob(f"{stem}.*") if path.suffix in endings and path.is_file())
    except OSError:
        return ()
    small = [path for path in paths if path.stat().st_size <= LARGEST]
    return tuple(Drawn(path.name[len(stem) + 1 : -len(path.suffix)] or "first camera", path) for path in small)
