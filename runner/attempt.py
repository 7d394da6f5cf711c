"""One attempt, from its ledger entry to its record (design: section 4; docs/architecture.md).

Three ends are possible: a closed record; :class:`~runner.startup.Cancelled` or EngineGone before the agent could act,
which leaves the slot to be taken up again; or an error of the store, after which the next start closes the attempt as
interrupted. In each of them the pair is gone.
"""

from __future__ import annotations

import errno
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from manifests.load import Manifests
from manifests.records import AttemptRecord, Usage
from runner.agents.base import Agent, AttemptContext
from runner.direct import sandbox_of
from runner.errors import AssayError, RunStopped
from runner.halt import Halt
from runner.incidents import automatic
from runner.plan import Slot
from runner.record import CLAUSE_TEXT, Course, Ending, Identity, make_record
from runner.runtimes.base import EngineGone, Pair, Role, Runtime
from runner.schedule import Taken
from runner.settings import attempt_seed
from runner.startup import Cancelled, CannotStart, Started, pair_request, start, start_spec
from runner.store.artifacts import AttemptFolder
from runner.store.leases import Owner
from runner.store.store import Run, Store
from runner.store.tables import AttemptRow
from runner.store.text import canonical
from runner.supervise import AgentThread, Supervisor

# The longest episodes leave about 10 MB (states at 25 Hz, actions, logs), a model's transcript some 50 MB.
MIN_FREE = 64 << 20  # bytes that must be free under ASSAY_HOME before an attempt is opened
TRANSCRIPT = "transcript.jsonl"
ROLES: tuple[Role, ...] = ("environment", "sandbox")
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass
class AttemptView:
    """What the progress display shows of a running attempt. Written by its thread, read by the display."""

    slot: Slot
    ordinal: int = 1
    phase: str = "opening"
    opened: float = field(default_factory=time.monotonic)
    began: bool = False
    record: AttemptRecord | None = None  # once it is in the ledger
    meter: dict[str, Any] = field(default_factory=dict)
    usage: Usage | None = None
    note: str = ""


@dataclass(frozen=True)
class Services:
    """What the attempts of one evaluation share."""

    store: Store
    run: Run
    owner: Owner
    runtime: Runtime
    agent: Agent
    manifests: Manifests
    halt: Halt
    gpus: bool = False


def run_attempt(services: Services, taken: Taken, view: AttemptView) -> AttemptRecord:
    """Run one attempt at the slot that was taken.

    Raises Cancelled, EngineGone (slot left open), RunStopped (disk), StoreError.
    """
    check_space(services.store)
    if taken.resume is None:
        row = services.store.open_attempt(services.run, *taken.slot.key, services.owner)
    else:
        row = services.store.resume_attempt(services.run, taken.resume, services.owner)
    try:
        return _Attempt(services, taken, row, view).run()
    finally:
        view.phase = "closed"
        services.store.release_lease(services.run, row.id, services.owner)


def check_space(store: Store) -> None:
    """Raises RunStopped when the disk under the store is nearly full."""
    free = shutil.disk_usage(store.home).free
    if free < MIN_FREE:
        raise RunStopped(
            f"disk: {free >> 20} MB are free under {store.home}, an attempt needs {MIN_FREE >> 20} MB: free some "
            "space or set ASSAY_HOME to another disk, then run the same command"
        )


class _Attempt:
    def __init__(self, services: Services, taken: Taken, row: AttemptRow, view: AttemptView) -> None:
        self.services, self.slot, self.ordinal, self.row, self.view = services, taken.slot, taken.ordinal, row, view
        slot = taken.slot
        self.opened = time.monotonic()
        self.folder: AttemptFolder = services.store.attempt_folder(services.run, row.id)
        self.usage = Usage()
        if services.agent.info.kind == "baseline":  # calls no model: known to be nothing
            self.usage = Usage(tokens_input=0, tokens_cached=0, tokens_output=0, cost_usd=0.0)
        self.identity = Identity(
            attempt=row.id,
            run=services.run.id,
            sequence=row.sequence,
            planned=slot.planned,
            condition=slot.condition.index,
            agent=services.agent.info,
            facts=services.runtime.facts,
            opened_at=row.opened_at,
        )

    def run(self) -> AttemptRecord:
        services, info = self.services, self.services.agent.info
        self._make_folder()
        try:
            started = start(
                services.runtime,
                pair_request(services.manifests, services.run.name, self.slot.planned, info, services.gpus),
                start_spec(self.row.id, self.slot, info),
                services.manifests,
                services.halt,
                self._phase,
                self._progress,
            )
        except CannotStart as failure:
            ending = Ending(failure.cause, text=failure.text, evidence=failure.evidence)
            return self._close(ending, Course(wall_s=time.monotonic() - self.opened, usage=self.usage))
        try:
            ending, course = self._episode(started)
            self._logs(started.pair, ending)
        finally:
            with suppress(EngineGone):
                started.pair.close()
        return self._close(ending, course)

    def _make_folder(self) -> None:
        try:
            self.folder.start()
        except OSError as error:
            raise RunStopped(
                f"disk: {self.folder.part} cannot be made ({error.strerror}): free some space or make it writable, "
                "then run the same command"
            ) from None

    def _episode(self, started: Started) -> tuple[Ending, Course]:
        services, ready = self.services, started.ready.header
        if services.halt.draining.is_set():
            raise Cancelled
        self.view.began = True  # before the ledger says so: from here on a Ctrl-C lets the episode end
        try:
            began_at = services.store.begin_attempt(services.run, self.row.id)
        except AssayError:
            self.view.began = False
            raise
        self._phase("running")
        zero = self.opened - started.before_s
        supervisor = self._supervisor(started, zero + self.slot.planned.budgets.wall_s)
        ending = supervisor.run()
        self._phase("recording")
        ending.files["describe.json"] = canonical(ready["describe"])
        disclosed = {clause["id"]: clause["text"] for clause in ready["describe"].get("clauses", ())}
        if ending.clause in disclosed:
            ending.data[CLAUSE_TEXT] = disclosed[ending.clause]
        wall_s = time.monotonic() - zero
        success_wall_s = ending.success_at - zero if ending.success_at is not None else None
        return ending, self._course(started, began_at, wall_s, success_wall_s)

    def _supervisor(self, started: Started, deadline: float) -> Supervisor:
        agent, pair = self.services.agent, started.pair
        seed = attempt_seed(self.slot.planned.settings.base_seed, *self.slot.key, self.ordinal)
        stop = threading.Event()
        context = AttemptContext(
            attempt=self.row.id,
            describe=started.ready.header["describe"],
            sandbox=sandbox_of(pair, started.link, stop, self._note),
            seed=seed,
            deadline=deadline,
            stop=stop,
            note=self._note,
            report_usage=self._report_usage,
            transcript=lambda entry: self.folder.append(TRANSCRIPT, entry),
            keep=self.folder.keep,
        )
        thread = AgentThread(agent, context, pair, started.link)
        return Supervisor(pair, started.link, thread, context.stop, deadline, self.services.halt)

    def _course(self, started: Started, began_at: datetime, wall_s: float, success_wall_s: float | None) -> Course:
        pair = started.pair
        return Course(
            began_at=began_at,
            wall_s=wall_s,
            success_wall_s=success_wall_s,
            images=pair.images,
            fingerprint=dict(pair.environment_hello.get("fingerprint") or {}),
            realized=dict(started.ready.header.get("realized") or {}),
            usage=self.usage,
        )

    def _logs(self, pair: Pair, ending: Ending) -> None:
        """End both processes and keep what they wrote to stderr. At once: killing a container takes 0.1 to 0.2 s."""
        with ThreadPoolExecutor(len(ROLES)) as threads:
            for role, log in zip(ROLES, threads.map(partial(_end, pair), ROLES), strict=True):
                if log:
                    ending.files[f"{role}.log"] = log.encode("utf-8", "backslashreplace")

    def _close(self, ending: Ending, course: Course) -> AttemptRecord:
        """Artifacts, record, ledger entry. Without artifacts the record says so, and the run stops."""
        services = self.services
        full: OSError | None = None
        try:
            for name, content in ending.files.items():
                self.folder.write(name, content)
            artifacts = self.folder.seal()
            record = make_record(services.manifests, self.identity, course, ending, artifacts)
            self.folder.publish(record)
        except OSError as error:
            full = error
            self.folder.discard()
            record = make_record(services.manifests, self.identity, course, _lost(ending, error), ())
        decision = automatic(services.store, services.run, record, services.manifests)
        services.store.close_attempt(services.run, record, services.owner, decision)
        self.view.record = record
        if full is not None:
            fix = "free some space" if full.errno in _NO_SPACE else "let it be written, and nothing be removed there"
            raise RunStopped(
                f"disk: the artifacts of {self.slot} could not be kept under {services.store.home} ({full.strerror}); "
                f"the attempt is recorded as evidence_fault: {fix}, then run the same command"
            )
        return record

    def _phase(self, phase: str) -> None:
        self.view.phase = phase

    def _progress(self, meter: Any) -> None:
        self.view.meter = dict(meter)

    def _note(self, text: str) -> None:
        self.view.note = text

    def _report_usage(self, usage: Usage) -> None:
        self.usage = self.view.usage = usage


def _end(pair: Pair, role: Role) -> str:
    """Kill one process; returns the end of what it wrote to stderr."""
    with suppress(EngineGone):
        pair.kill(role)
        found = pair.exit(role, 5.0)
        return found.log if found is not None else ""
    return ""


def _lost(ending: Ending, error: OSError) -> Ending:
    """The same attempt without its evidence: the verdict is named, but it cannot count."""
    return Ending(
        "evidence_fault",
        text=f"the artifacts could not be kept: {error.strerror}",
        evidence={"verdict": ending.cause, "code": ending.code, "error": str(error)},
        meter=ending.meter,
        acted=ending.acted,
    )
