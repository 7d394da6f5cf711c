"""One stored episode again: the same actions through the gateway, in a fresh pair, to its end.

The actions go through the sandbox's relay in large batches, so that the replay costs what the physics costs; digests
and states are recorded by the gateway as they were then, and compared afterwards (:mod:`runner.audit.compare`).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from manifests.audit import load_audit
from manifests.load import Manifests
from manifests.records import AttemptRecord, ImageIdentity
from runner.agents.base import Sandbox, SandboxGone
from runner.audit.recorded import CannotReplay, Course, replayer
from runner.direct import sandbox_of
from runner.halt import Halt
from runner.links import EnvironmentLink
from runner.plan import Slot
from runner.runtimes.base import EngineGone, Runtime
from runner.startup import CannotStart, Started, pair_request, start, start_spec
from runner.supervise import STOP_REASONS, STOP_S

BATCH = 5000  # actions of one call: a few MB, some seconds of work; fewer than that cost a round trip each
VERDICT_S = 60.0  # artifacts of the longest episodes on a loaded machine


@dataclass(frozen=True)
class Replayed:
    """What the environment said this time. ``cause`` is None where it did not end as an episode (``fault`` says why).

    ``asked``: the reason with which the host ended it, None where it ended by itself. ``stepping_s``: seconds of wall
    clock from the first action to the verdict.
    """

    course: Course
    cause: str | None
    code: str | None
    clause: str | None
    fault: str
    asked: str | None
    fingerprint: dict[str, Any]
    images: tuple[ImageIdentity, ...]
    stepping_s: float


def replay(
    runtime: Runtime,
    record: AttemptRecord,
    recorded: Course,
    slot: Slot,
    manifests: Manifests,
    halt: Halt,
    on_actions: Callable[[int], None],
) -> Replayed:
    """Start a fresh pair, apply the stored actions, end the episode as it was ended. ``on_actions`` hears the progress.

    Raises CannotReplay, EngineGone, runner.startup.Cancelled; in each case no pair is left.
    """
    info = replayer(record, recorded.described, manifests)
    request = pair_request(manifests, "audit", slot.planned, info, False)
    spec = start_spec(record.attempt, slot, info)
    try:
        started = start(
            runtime, request, spec, manifests, halt, lambda phase: None, lambda meter: on_actions(meter["actions"])
        )
    except CannotStart as error:
        raise CannotReplay(f"the environment does not start: {error.cause}: {error.text}") from None
    limit = threading.Timer(slot.planned.budgets.wall_s, _end, (started,))
    limit.daemon = True
    limit.start()
    try:
        return _course(started, record, recorded.actions)
    except SandboxGone as error:
        raise CannotReplay(f"{error}, or the replay took over {slot.planned.budgets.wall_s:g} s") from None
    finally:
        limit.cancel()
        with suppress(EngineGone):
            started.pair.close()


def feed(sandbox: Sandbox, actions: np.ndarray, batch: int = BATCH) -> dict[str, Any] | None:
    """Apply actions float64 (n, dim) up to the end of the episode; returns its terminal, None while it goes on.

    Raises CannotReplay when the gateway refuses them.
    """
    for first in range(0, len(actions), batch):
        reply, _ = sandbox.call({"op": "step"}, {"actions": np.ascontiguousarray(actions[first : first + batch])})
        if not reply.get("ok"):
            raise CannotReplay(f"the gateway refuses its actions: {reply.get('error', {}).get('text')}")
        terminal: dict[str, Any] | None = reply["terminal"]
        if terminal is not None:
            return terminal
    return None


def finish(link: EnvironmentLink, sandbox: Sandbox, record: AttemptRecord, dimension: int) -> str | None:
    """End an episode that the stored actions left running, in the way in which it was ended. Returns the reason given
    to the gateway, None where an action ended it.

    A rejected action is not stored, so one that is rejected takes its place. Where the actions should have ended it and
    did not, the environment is asked what it makes of that.
    """
    if record.cause == "rejected_action":
        sandbox.call({"op": "step"}, {"actions": np.full((1, dimension), np.nan)})
        return None
    reason = "finished" if record.cause in load_audit().ended_by_environment else record.cause
    reason = reason if reason in STOP_REASONS else "interrupted"
    link.send({"op": "stop", "reason": reason})
    link.wait(time.monotonic() + STOP_S, lambda: link.ended)
    return reason


def _course(started: Started, record: AttemptRecord, actions: np.ndarray) -> Replayed:
    link = started.link
    sandbox = sandbox_of(started.pair, link, threading.Event(), lambda text: None)
    began = time.monotonic()
    asked = None
    if feed(sandbox, actions) is None and not link.ended:
        asked = finish(link, sandbox, record, actions.shape[1])
    if not link.wait(time.monotonic() + VERDICT_S, lambda: link.ended) or link.last is None:
        raise CannotReplay(f"the environment gave no verdict: {link.gone or 'it does not answer'}")
    stepping_s = time.monotonic() - began
    last, ready = link.last, started.ready.header
    judgement = last.header.get("judgement") or {}
    return Replayed(
        course=course_of(last.attachments, ready),
        cause=judgement.get("cause"),
        code=judgement.get("code"),
        clause=judgement.get("clause"),
        fault=f"{last.header.get('cause')}: {last.header.get('text')}" if not judgement else "",
        asked=asked,
        fingerprint=dict(started.pair.environment_hello.get("fingerprint") or {}),
        images=started.pair.images,
        stepping_s=stepping_s,
    )


def course_of(parts: Mapping[str, Any], ready: dict[str, Any]) -> Course:
    """The course of an episode from the attachments of its verdict and its ``ready`` frame."""
    return Course(
        actions=parts["actions"],
        digests=tuple((count, found) for count, found in json.loads(parts["digests"])),
        states=parts["states"],
        times=parts["state_times"],
        scorer_log=parts.get("scorer_log", b""),
        described=ready["describe"],
        realized=ready["realized"],
    )


def _end(started: Started) -> None:
    with suppress(EngineGone):
        started.pair.kill("environment")
        started.pair.kill("sandbox")
