"""The agent interface: baselines implement it today, model agents implement the same one.

An agent lives on the host side. It sees the public description of its task and a :class:`Sandbox`; it reaches the
environment only through that sandbox. What it returns ends the attempt; the verdict is the environment's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from images.client.wire import Attachment
from manifests.records import Level, Usage


class SandboxGone(RuntimeError):
    """The sandbox process ended or was killed; the attempt is over."""


@dataclass(frozen=True)
class ExecResult:
    """The end of one piece of agent code. ``status``: ok, error, timeout, killed, memory.

    ``restarted``: the variables of earlier code are gone. ``pictures``: what the code showed, as it claims PNG bytes.
    """

    status: str
    stdout: str
    stderr: str
    truncated: int
    error: dict[str, str] | None = None
    restarted: bool = False
    pictures: tuple[bytes, ...] = ()
    pictures_omitted: int = 0


class Sandbox(Protocol):
    """The agent's side of one attempt."""

    def execute(self, code: str, timeout_s: float, output_limit: int = 65536) -> ExecResult: ...

    def call(
        self, request: Mapping[str, Any], attachments: Mapping[str, np.ndarray] | None = None
    ) -> tuple[dict[str, Any], dict[str, Attachment]]:
        """One gateway operation through the sandbox's relay: for agents that run no code of their own."""


@dataclass(frozen=True)
class AgentInfo:
    """What the record and the run settings say of an agent. ``digest`` covers its code and prompts."""

    name: str
    kind: str  # 'baseline' or 'model'
    version: str
    digest: str
    level: Level
    grants: tuple[str, ...] = ()
    sandbox: str | None = "sandbox"  # image role; None: it runs no code and needs none
    pictures: bool = False
    trusted: bool = False  # runs this repository's code alone: may run without isolation
    model: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass
class AttemptContext:
    """What one attempt hands to its agent."""

    attempt: str
    describe: dict[str, Any]
    sandbox: Sandbox
    seed: int
    deadline: float  # time.monotonic() value of the wall-clock limit
    stop: threading.Event  # set when the episode has ended or the runner stops
    note: Callable[[str], None]  # one line for the progress display
    report_usage: Callable[[Usage], None]  # cumulative usage so far
    transcript: Callable[[dict[str, Any]], None]  # append one JSON entry to the stored transcript
    keep: Callable[[str, bytes], None]  # store a whole artifact, by its name
    facts: dict[str, Any] = field(default_factory=dict)  # for the record's evidence, whatever ends the attempt


@dataclass(frozen=True)
class AgentEnd:
    """Why the agent stopped. ``cause`` is None for a normal end (the episode decides), else an id of the cause table:
    ``agent_exception``, ``sandbox_memory``, ``token_budget``, ``image_budget``, ``provider_fault``."""

    cause: str | None = None
    text: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)


class Agent(Protocol):
    info: AgentInfo

    def run(self, context: AttemptContext) -> AgentEnd: ...
