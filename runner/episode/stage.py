"""The environment process as a painter: recorded states in, raw pictures out (docs/architecture.md: ``replay``).

The runner reaches a simulator only through its environment process. A pair is what a runtime starts; here its sandbox
stays idle, and no agent is near.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from images.client.wire import Attachment, StreamError
from manifests.load import Manifests
from manifests.records import AttemptRecord, ImageIdentity
from runner.episode.stored import Episode, EpisodeError
from runner.runtimes.base import EngineGone, Limits, PairRequest, Runtime, StartFailed
from runner.seeds import conditions_of
from runner.startup import READY_S, STATE_HZ
from runner.store.store import default_home

BATCH = 64  # states of one request
FRAME_S = 60.0  # one picture, also of a simulator that compiles shaders for its first
WALL_S = 3600.0  # of the whole process: the runtime's dead-man switch
MAX_SIDE = 1024  # pixels: the off-screen buffer of the engines


@dataclass(frozen=True)
class View:
    """What is drawn: one camera at ``size`` x ``size`` pixels. ``fine``: with shadows, and twice as large where the
    engine can, then scaled down, so that edges are smooth."""

    camera: str
    size: int
    fine: bool = False

    @property
    def drawn(self) -> int:
        """Side in pixels as the engine draws it."""
        return 2 * self.size if self.fine and 2 * self.size <= MAX_SIDE else self.size


class Stage:
    """A context manager: one environment process that answers ``replay``. ``name`` says in messages of what.

    Raises EpisodeError, RuntimeUnavailable and EngineGone.
    """

    def __init__(self, runtime: Runtime, request: PairRequest, spec: dict[str, Any], name: str) -> None:
        self._runtime, self._request, self._spec, self._name = runtime, request, spec, name
        self.ready: dict[str, Any] = {}
        self.image: ImageIdentity | None = None
        self.note: str | None = None  # what the viewer should know of these pictures

    def __enter__(self) -> Stage:
        self.image = self._runtime.prepare(self._request)[0]
        try:
            self._pair = self._runtime.open(self._request)
        except StartFailed as error:
            raise EpisodeError(f"the environment process did not start: {error}") from None
        try:
            self._send({"op": "replay", "spec": self._spec})
            self.ready, _ = self._receive("ready", READY_S)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    @property
    def cameras(self) -> tuple[str, ...]:
        return tuple(camera["name"] for camera in self.ready["cameras"])

    def pictures(self, states: np.ndarray, views: Sequence[View]) -> Iterator[list[np.ndarray]]:
        """For each state, in order, a picture uint8 (size, size, 3) of each view, while the next is being drawn.
        Shadows are those of the first view. Raises EpisodeError."""
        from PIL import Image

        for view in views:
            if view.camera not in self.cameras:
                raise EpisodeError(f"camera {view.camera!r} is not one of {', '.join(self.cameras)}")
        wanted = [{"camera": view.camera, "width": view.drawn, "height": view.drawn} for view in views]
        header = {"op": "draw", "views": wanted, "shadows": views[0].fine}
        for start in range(0, len(states), BATCH):
            batch = np.ascontiguousarray(states[start : start + BATCH], dtype=np.float32)
            self._send(header, {"states": batch})
            for _ in range(len(batch)):
                _, parts = self._receive("drawn", FRAME_S)
                found = [np.asarray(parts[f"picture/{number}"]) for number in range(len(views))]
                yield [
                    picture if view.drawn == view.size else np.asarray(Image.fromarray(picture).reduce(2))
                    for picture, view in zip(found, views, strict=True)
                ]

    # ---- frames -----------------------------------------------------------------------------------------------------
    def _send(self, header: dict[str, Any], parts: dict[str, Attachment] | None = None) -> None:
        try:
            self._pair.environment.send(header, parts)
        except (EOFError, OSError) as error:
            raise self._gone(error) from None

    def _receive(self, op: str, timeout: float) -> tuple[dict[str, Any], dict[str, Attachment]]:
        deadline = time.monotonic() + timeout
        try:
            header, parts = self._pair.environment.receive(deadline - time.monotonic())
        except TimeoutError:
            raise EpisodeError(f"the environment process did not answer within {timeout:g} s") from None
        except (EOFError, StreamError, OSError) as error:
            raise self._gone(error) from None
        if header["op"] == "fault":
            text = str(header.get("text", "")).partition(": ")[2] or str(header.get("text", ""))
            raise EpisodeError(f"{self._name}: it cannot be drawn: {text}")
        if header["op"] != op:
            raise EpisodeError(f"the environment process answered {header['op']!r} where {op!r} was due")
        return header, parts

    def _gone(self, error: Exception) -> EpisodeError:
        ended = self._pair.exit("environment", 5.0)
        last = (ended.log.strip().splitlines() or [str(error)])[-1] if ended is not None else str(error)
        memory = " (out of memory)" if ended is not None and ended.oom else ""
        return EpisodeError(f"the environment process ended{memory}: {last[:300]}")

    def _close(self) -> None:
        with suppress(EngineGone):
            self._pair.close()


@contextmanager
def stage_of(runtime: Runtime, manifests: Manifests, episode: Episode) -> Iterator[Stage]:
    """The stage of a stored episode. Raises EpisodeError also for a scene that is not the recorded one."""
    record = episode.record
    with Stage(runtime, pair_request(manifests, record), replay_spec(manifests, record), episode.name) as stage:
        if stage.ready["realized"] != record.realized:
            raise EpisodeError(
                f"{episode.name}: this version makes another initial condition than the recorded one: use the version "
                f"of assay that recorded it ({record.settings.versions.get('assay', 'unknown')})"
            )
        assert stage.image is not None
        made_with = next((image.content for image in record.images if image.role == stage.image.role), None)
        # The identities of two kinds of runtime are of different things and say nothing of each other.
        if record.runtime == runtime.facts.name and made_with != stage.image.content:
            stage.note = f"drawn by another image than the episode was made with ({stage.image.content[:12]})"
        yield stage


@contextmanager
def renderer(name: str) -> Iterator[Runtime]:
    """The runtime ``name`` for drawing. No agent runs in it, so that plain processes will do where nothing else
    works. Raises RuntimeUnavailable."""
    from runner.agents.registry import AgentRequest, make_agent
    from runner.runtimes.select import select

    nobody = make_agent(AgentRequest("noop")).info
    with TemporaryDirectory(prefix="assay-") as home:  # of its lock, which no run shares
        runtime = select(name, nobody, Path(home), lambda text: None, jobs=0)
        try:
            yield runtime
        finally:
            runtime.close()


def pair_request(manifests: Manifests, record: AttemptRecord) -> PairRequest:
    """The pair of a replay. Raises EpisodeError for an engine that this version does not have."""
    engine = manifests.engines.get(record.settings.engine)
    if engine is None or engine.module is None:
        raise EpisodeError(f"engine {record.settings.engine!r} of attempt {record.sequence} cannot run here")

    def limits(row: Any) -> Limits:
        return Limits(row.memory, row.cpus, row.pids, row.tmp, WALL_S)

    return PairRequest(
        run=record.run,
        engine=record.settings.engine,
        sandbox="sandbox",
        environment_limits=limits(engine.limits),
        sandbox_limits=limits(manifests.sandboxes["sandbox"].limits),
    )


def replay_spec(manifests: Manifests, record: AttemptRecord) -> dict[str, Any]:
    """The specification that the attempt was started with, pictures wanted. Raises ManifestError and EpisodeError."""
    settings = record.settings
    found = {item.index: item for item in conditions_of(record, manifests, default_home())}
    if record.condition not in found:
        raise EpisodeError(f"condition {record.condition} of {record.environment_id} is none of this version's")
    budgets = settings.budgets
    return {
        "attempt": record.attempt,
        "environment_id": record.environment_id,
        "mode": settings.mode,
        "condition": {"index": record.condition, "parameters": found[record.condition].parameters},
        "base_seed": settings.base_seed,
        "level": settings.level,
        "grants": list(settings.grants),
        "budget": {"actions": budgets.actions, "simulated_s": budgets.simulated_s},
        "pictures": True,
        "record": {"state_hz": STATE_HZ},
    }
