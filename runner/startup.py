"""From an opened attempt to a pair that is ready to act: start, initialize, retry as the cause table says.

Nothing here counts against the agent: it has not acted, so a slot whose start was cancelled is simply taken up again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from manifests.load import Manifests
from runner.agents.base import AgentInfo
from runner.halt import Halt
from runner.links import EnvironmentLink, Frame
from runner.plan import Planned, Slot
from runner.runtimes.base import EngineGone, Limits, Pair, PairRequest, Runtime, StartFailed

READY_S = 300.0  # loading a scene takes a second in MuJoCo and up to minutes in a GPU simulator that compiles shaders
STATE_HZ = 25.0  # samples per simulated second: a smooth replay, about 3 MB for the longest launcher episode


class Cancelled(Exception):
    """The run stops and this attempt had not begun: its slot is taken up again by the next start."""


class CannotStart(Exception):
    """The last permitted start failed: the attempt is closed with this cause."""

    def __init__(self, cause: str, text: str, evidence: dict[str, Any]) -> None:
        super().__init__(text)
        self.cause, self.text, self.evidence = cause, text, evidence


@dataclass(frozen=True)
class Started:
    """A pair whose environment is initialized. ``before_s``: start-up of a pooled pair that happened before its
    attempt was opened, which counts into the attempt's wall time all the same."""

    pair: Pair
    link: EnvironmentLink
    ready: Frame
    before_s: float


def pair_request(manifests: Manifests, run: str, planned: Planned, info: AgentInfo, gpus: bool) -> PairRequest:
    """Which pair an environment and an agent need, with the limits of their images."""
    wall_s = planned.budgets.wall_s

    def limits(row: Any) -> Limits:
        return Limits(row.memory, row.cpus, row.pids, row.tmp, wall_s)

    return PairRequest(
        run=run,
        engine=planned.engine,
        sandbox=info.sandbox,
        environment_limits=limits(manifests.engines[planned.engine].limits),
        sandbox_limits=None if info.sandbox is None else limits(manifests.sandboxes[info.sandbox].limits),
        gpus=gpus,
    )


def start_spec(attempt: str, slot: Slot, info: AgentInfo) -> dict[str, Any]:
    """The ``start`` frame's specification (docs/architecture.md)."""
    budgets = slot.planned.budgets
    disclosed: dict[str, Any] = {
        "actions": budgets.actions,
        "simulated_s": budgets.simulated_s,
        "wall_s": budgets.wall_s,
    }
    if info.kind == "model":
        disclosed |= {"tokens": budgets.tokens, "images": budgets.images}
    return {
        "attempt": attempt,
        "environment_id": slot.planned.environment_id,
        "mode": slot.planned.mode,
        "condition": {"index": slot.condition.index, "parameters": slot.condition.parameters},
        "base_seed": slot.planned.settings.base_seed,
        "level": info.level,
        "grants": list(info.grants),
        "budget": disclosed,
        "pictures": info.pictures,
        "record": {"state_hz": STATE_HZ},
    }


def start(
    runtime: Runtime,
    request: PairRequest,
    spec: dict[str, Any],
    manifests: Manifests,
    halt: Halt,
    on_phase: Callable[[str], None],
    on_progress: Callable[[Any], None],
) -> Started:
    """Raises Cancelled, CannotStart or EngineGone; in each case no pair is left."""
    failures: dict[str, int] = {}
    while True:
        try:
            return _once(runtime, request, spec, halt, on_phase, on_progress)
        except CannotStart as failure:
            failures[failure.cause] = failures.get(failure.cause, 0) + 1
            known = manifests.causes.get(failure.cause)
            if failures[failure.cause] > (known.start_retries if known else 0):
                failure.evidence["starts"] = sum(failures.values())
                raise


def _once(
    runtime: Runtime,
    request: PairRequest,
    spec: dict[str, Any],
    halt: Halt,
    on_phase: Callable[[str], None],
    on_progress: Callable[[Any], None],
) -> Started:
    _check(halt)
    on_phase("starting")
    asked = time.monotonic()
    try:
        pair = runtime.open(request)
    except StartFailed as error:
        raise CannotStart("container_fault", str(error), dict(error.evidence)) from None
    opened_s = time.monotonic() - asked
    try:
        _check(halt)
        on_phase("initializing")
        link = EnvironmentLink(pair.environment, on_progress)
        link.send({"op": "start", "spec": spec})
        ready = _await_ready(pair, link, halt)
    except BaseException:
        with suppress(EngineGone):
            pair.close()
        raise
    return Started(pair, link, ready, max(0.0, pair.start_s - opened_s))


def _await_ready(pair: Pair, link: EnvironmentLink, halt: Halt) -> Frame:
    limit = time.monotonic() + READY_S
    link.wait(limit, lambda: link.ready is not None or link.ended or halt.draining.is_set())
    if link.ready is not None and not link.ended:
        return link.ready
    if link.last is not None:
        fault = link.last.header
        cause = str(fault.get("cause", "initialization_error"))
        evidence = {"traceback": fault.get("traceback", "")}
        raise CannotStart(cause, str(fault.get("text", "the environment failed to initialize")), evidence)
    if isinstance(link.gone, EngineGone):
        raise link.gone
    if link.gone is not None:
        raise CannotStart(
            "container_fault", "the environment ended before it was ready", exit_evidence(pair, link.gone)
        )
    _check(halt)
    raise CannotStart("initialization_error", f"the environment was not ready after {READY_S:g} s", {})


def exit_evidence(pair: Pair, error: Exception) -> dict[str, Any]:
    """How the environment process ended, for the record. Raises EngineGone."""
    found = pair.exit("environment", 5.0)
    evidence: dict[str, Any] = {"stream": str(error) or type(error).__name__}
    if found is not None:
        evidence |= {"exit_code": found.code, "oom": found.oom, "log": found.log[-4000:]}
    return evidence


def _check(halt: Halt) -> None:
    if halt.draining.is_set():
        raise Cancelled
