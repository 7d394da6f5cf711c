"""Agents that need no key (design: section 11). ``random`` and ``reference`` run a program text in the sandbox."""

from __future__ import annotations

import hashlib
import time
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from images.client.wire import PROTOCOL
from manifests.records import Level
from runner.agents.base import AgentEnd, AgentInfo, AttemptContext, ExecResult
from runner.agents.levels import offered
from runner.errors import BadInput

if TYPE_CHECKING:
    from runner.agents.registry import AgentRequest

PROGRAMS = Path(__file__).with_name("programs")
AFTER_DEADLINE_S = 30.0
SEED_LINE = "SEED = 0"  # of a program that wants one
REFERENCE_KIT = "reference-kit"  # the recorded grant of the reference agents
OUTPUT_LIMIT = 65536  # bytes of stdout and of stderr that are kept


class Noop:
    """Ends the episode at once: what doing nothing scores."""

    def __init__(self, info: AgentInfo) -> None:
        self.info = info

    def run(self, context: AttemptContext) -> AgentEnd:
        context.sandbox.call({"v": 1, "op": "finish"})
        return AgentEnd()


class Program:
    """Runs one program text of ours in the sandbox until it ends or the wall clock does."""

    def __init__(self, info: AgentInfo, text: str) -> None:
        self.info = info
        self.text = text

    def run(self, context: AttemptContext) -> AgentEnd:
        # The supervisor ends the attempt at the deadline; the limit here only keeps a lost supervisor from blocking it.
        limit_s = context.deadline - time.monotonic() + AFTER_DEADLINE_S
        code = self.text.replace(SEED_LINE, f"SEED = {context.seed}", 1)
        context.transcript({"kind": "exec", "code": code})
        result = context.sandbox.execute(code, timeout_s=limit_s, output_limit=OUTPUT_LIMIT)
        context.transcript({"kind": "result", **vars(result)})
        return end_of(result)


def end_of(result: ExecResult) -> AgentEnd:
    """What the end of a program means for the attempt. ``timeout`` is left to the supervisor's wall clock."""
    if result.status in ("ok", "timeout"):
        return AgentEnd()
    if result.status == "memory":
        return AgentEnd("sandbox_memory", "the program ran out of the sandbox's memory")
    error = result.error or {}
    text = f"{error.get('type', result.status)}: {error.get('message', 'the program ended without a result')}"
    return AgentEnd("agent_exception", text, {"error": error, "stderr": result.stderr[-4000:]})


def reference(request: AgentRequest) -> Program:
    """Works at L3 with the grant ``reference-kit``: its sandbox image holds proxy models of the scenes."""
    check_reference(request)
    return _program(request, "L3", grants=(REFERENCE_KIT,), sandbox="reference")


def check_reference(request: AgentRequest) -> None:
    """Raises BadInput for a level or grants that are not the reference agent's."""
    if request.level not in (None, "L3"):
        raise BadInput(f"level {request.level}: the baseline reference works at L3; leave LEVEL out")
    if request.grants not in (None, (REFERENCE_KIT,)):
        raise BadInput(
            f"grants {','.join(request.grants or ())}: the baseline reference has {REFERENCE_KIT}; leave GRANTS out"
        )


def random(request: AgentRequest) -> Program:
    """Uniform joint targets within the limits of ``describe``, a second at a time."""
    return _program(request, level_of(request))


def noop(request: AgentRequest) -> Noop:
    return Noop(_info(request, level_of(request), _source_digest()))


def _program(request: AgentRequest, level: Level, **fields: Any) -> Program:
    text = (PROGRAMS / f"{request.model}.py").read_text(encoding="utf-8")
    digest = hashlib.sha256(f"{_source_digest()}\n{text}".encode()).hexdigest()
    return Program(_info(request, level, digest, **fields), text)


def _info(request: AgentRequest, level: Level, digest: str, **fields: Any) -> AgentInfo:
    return AgentInfo(
        name=request.model,
        kind="baseline",
        version=version("assay"),
        digest=digest,
        level=level,
        trusted=True,
        **fields,
    )


def level_of(request: AgentRequest) -> Level:
    """The access level of a baseline that uses no tool. Raises BadInput."""
    if request.grants:
        raise BadInput(
            f"grants {','.join(request.grants)}: the baseline {request.model} uses no tool; leave GRANTS out"
        )
    return offered(request.level)


@cache
def _source_digest() -> str:
    """SHA-256 over this module and the protocol that it speaks."""
    return hashlib.sha256(Path(__file__).read_bytes() + PROTOCOL.encode()).hexdigest()
