"""What a runtime gives to the runner: fresh pairs of an environment and a sandbox process, and their ends.

The contract is the same for containers, bubblewrap and plain processes; a runtime decides only how the two processes
are started, confined and killed. Everything else (frames, budgets, verdicts) is above it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from images.client.wire import Attachment
from manifests.records import ImageIdentity

Role = Literal["environment", "sandbox"]


class RuntimeUnavailable(RuntimeError):
    """This runtime cannot run here. The text is one line and says what to install or start."""


class EngineGone(RuntimeError):
    """The container engine stopped answering (stopped daemon, broken connection)."""


class StartFailed(RuntimeError):
    """A process of the pair did not reach its ``hello``. ``evidence`` goes to the record (exit code, log tail)."""

    def __init__(self, text: str, evidence: dict[str, Any] | None = None) -> None:
        super().__init__(text)
        self.evidence = evidence or {}


@dataclass(frozen=True)
class Limits:
    """Resource limits of one process. Sizes in bytes, time in seconds of wall clock."""

    memory: int
    cpus: float
    pids: int
    tmp: int
    wall_s: float


@dataclass(frozen=True)
class PairRequest:
    """Which pair to start. ``sandbox`` is the image role of the agent's side: ``sandbox`` or ``reference``; None for an
    agent that runs no code, whose environment is alone."""

    run: str
    engine: str
    sandbox: str | None
    environment_limits: Limits
    sandbox_limits: Limits | None
    gpus: bool = False


@dataclass(frozen=True)
class Exit:
    """How a process ended. ``oom`` is None where the runtime cannot tell."""

    code: int | None
    oom: bool | None
    log: str = ""


class Channel(Protocol):
    """Frames to and from one process's stdio. Used by one reader and one writer thread at a time."""

    def send(self, header: Mapping[str, Any], attachments: Mapping[str, Attachment] | None = None) -> None:
        """Raises EngineGone or EOFError when the process cannot be reached any more."""

    def receive(self, timeout: float | None = None) -> tuple[dict[str, Any], dict[str, Attachment]]:
        """The next frame. Raises TimeoutError, EOFError (the process ended), EngineGone, wire.StreamError."""


class Pair(Protocol):
    """One running pair; both ``hello`` frames have been received. ``sandbox`` is None where none was asked for; killing
    it then does nothing, and it has no end."""

    environment: Channel
    sandbox: Channel | None
    environment_hello: dict[str, Any]
    sandbox_hello: dict[str, Any]
    images: tuple[ImageIdentity, ...]
    start_s: float  # seconds that starting took: counted into the attempt's wall time

    def exit(self, role: Role, timeout: float) -> Exit | None:
        """How the process ended, or None when it still runs after ``timeout`` seconds."""

    def kill(self, role: Role) -> None:
        """End the process now, with everything that it started. Never raises when it is gone already."""

    def close(self) -> None:
        """Kill both, remove containers, volume and folders. Idempotent."""


@dataclass(frozen=True)
class RuntimeFacts:
    """What the record says of the runtime."""

    name: str
    official: bool
    why: str
    details: dict[str, Any] = field(default_factory=dict)


class Runtime(Protocol):
    facts: RuntimeFacts

    def prepare(self, request: PairRequest) -> tuple[ImageIdentity, ...]:
        """Once per run and engine, before the first attempt: images present, limits supported, GPU usable when asked
        for. Returns the identities of what ``open`` will start (they belong to the settings of the run: a resume with
        other images is refused). Raises RuntimeUnavailable with the fix."""

    def open(self, request: PairRequest) -> Pair:
        """A fresh pair; takes a pre-started one when the pool holds one and starts the next in the background.
        Raises StartFailed or EngineGone."""

    def reap(self) -> list[str]:
        """Remove what dead runs left behind (labels whose lock nobody holds); returns a line for each thing removed."""

    def close(self) -> None:
        """End the pool. Idempotent."""
