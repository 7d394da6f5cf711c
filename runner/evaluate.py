"""One evaluation: recover what the last start left, run what is due, end cleanly whatever happens."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Protocol

from manifests.load import Manifests
from manifests.records import AttemptRecord, ImageIdentity
from runner.agents.base import Agent
from runner.attempt import AttemptView, Services, check_space, run_attempt
from runner.errors import AssayError, BadInput, RunStopped
from runner.halt import Halt
from runner.plan import Planned, budget_labels, run_mode, run_versions
from runner.recover import close_interrupted
from runner.runtimes.base import EngineGone, Runtime
from runner.schedule import Schedule, Taken
from runner.settings import Choices, check_same, run_settings
from runner.startup import Cancelled, pair_request
from runner.stops import Stops
from runner.store.leases import RENEW_S, Owner
from runner.store.scored import scored_attempt
from runner.store.store import Run, Store
from runner.submission.received import received
from runner.words import count
from scoring.rules import Rules

AUTO = "auto"  # the choice of a runtime that leaves it to what works here


class Observer(Protocol):
    """Who is told what happens (:mod:`runner.progress`). Called from several threads."""

    def say(self, text: str) -> None: ...

    def begin(self, schedule: Schedule, jobs: int) -> None:
        """The first attempt may open now."""

    def opened(self, view: AttemptView) -> None: ...

    def closed(self, view: AttemptView, record: AttemptRecord | None) -> None:
        """``record`` is None for an attempt whose slot is taken up again later."""


@dataclass
class Evaluation:
    """What ``assay evaluate`` was asked for. ``make_runtime`` is called only when something is due, ``clean``
    with the run's runtime when nothing is: it removes what a start that died has left. ``max_cost_usd`` is a limit of
    this start and no setting of the run."""

    store: Store
    manifests: Manifests
    choices: Choices
    agent: Agent
    planned: tuple[Planned, ...]
    name: str
    jobs: int
    make_runtime: Callable[[], Runtime]
    observer: Observer
    halt: Halt = field(default_factory=Halt)
    owner: Owner = field(default_factory=Owner.current)
    max_cost_usd: float | None = None
    clean: Callable[[str], list[str]] = lambda runtime: []

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise BadInput(f"jobs {self.jobs}: give the number of attempts to run at once, 1 or more")
        self.views: list[AttemptView] = []  # attempts that are running now
        self.schedule: Schedule | None = None
        self._stops = Stops(self.manifests, self.max_cost_usd, lambda: [view.usage for view in list(self.views)])
        self._error: BaseException | None = None
        self._lock = threading.Lock()

    def run(self) -> Run:
        """Run everything that is due. Raises RunStopped or StoreError when it cannot go on; what is recorded stays."""
        if not any(item.reason is None for item in self.planned):
            raise BadInput(
                f"subset {self.choices.subset}: none of its {count(len(self.planned), 'environment')} can run here "
                f"({self.planned[0].environment_id}: {self.planned[0].reason})"
            )
        with ExitStack() as stack:
            stack.callback(self.store.lock(self.name).release)
            run = self.store.find_run(self.name)
            if run is not None:
                self.store.check_intact(run)
            if run is not None and run.withdrawn is not None:
                raise BadInput(f"run {run.name}: it is {run.withdrawn}; start another with RUN=...")
            if run is not None and (source := received(self.store).get(run.id)) is not None:
                raise BadInput(
                    f"run {run.name}: it was submitted by key {source.key}, and only they go on with it; start another "
                    "with RUN=..."
                )
            if run is not None:
                check_same(self.name, *map(self._typed, (run.settings, self._settings(self.choices.runtime, {}))))
                if not self._open(run):
                    for line in self.clean(str(run.settings["runtime"])):
                        self.observer.say(line)
                    return run
            check_space(self.store)
            runtime = self.make_runtime()
            stack.callback(runtime.close)
            run = self._run(run, runtime)
            self.store.lease_run(run, self.owner)
            stack.callback(self.store.release_leases, run, self.owner)
            for line in runtime.reap():
                self.observer.say(line)
            self._recover(run, runtime)
            stack.enter_context(_Heartbeat(self.store, run, self.owner, self._stop))
            self._work(run, runtime)
        if self._error is not None:
            raise self._error
        return run

    def _open(self, run: Run) -> bool:
        """Whether anything is left to do: a due slot or an attempt that began and never closed."""
        rows = self.store.attempts(run)
        unclosed = any(row.state == "began" for row in rows)
        return unclosed or Schedule(self.planned, rows, self._rules()).due > 0

    def _run(self, run: Run | None, runtime: Runtime) -> Run:
        """The run in the store, made or checked: settings, images and runtime are those that it was begun with."""
        images: dict[str, tuple[ImageIdentity, ...]] = {}
        for item in self.planned:
            if item.reason is None and item.engine not in images:
                request = pair_request(self.manifests, self.name, item, self.agent.info, self.choices.gpus)
                images[item.engine] = runtime.prepare(request)
        settings = self._settings(runtime.facts.name, images)
        if run is None:
            return self.store.create_run(self.name, settings)
        check_same(self.name, run.settings, settings)
        return run

    def running(self) -> int | None:
        """How many episodes have begun and not ended; None before the first attempt may open."""
        return sum(view.began for view in list(self.views)) if self.schedule else None

    def _settings(self, runtime: str, images: dict[str, tuple[ImageIdentity, ...]]) -> dict[str, object]:
        return run_settings(
            self.choices,
            self.agent.info,
            environments={item.environment_id: item.engine for item in self.planned},
            budgets=budget_labels(self.manifests, self.planned),
            runtime=runtime,
            images=images,
            versions=run_versions(self.planned),
            mode=run_mode(self.manifests, self.choices.board, self.planned),
        )

    def _typed(self, settings: dict[str, object]) -> dict[str, object]:
        """Settings without what only a prepared runtime knows: the images, and which runtime ``auto`` finds."""
        unknown = ("images", "runtime") if self.choices.runtime == AUTO else ("images",)
        return {key: value for key, value in settings.items() if key not in unknown}

    def _recover(self, run: Run, runtime: Runtime) -> None:
        planned = {item.environment_id: item for item in self.planned}
        for record in close_interrupted(
            self.store, run, self.owner, planned, self.manifests, self.agent.info, runtime.facts
        ):
            self.observer.say(
                f"{record.environment_id} c{record.condition}: closed as {record.cause}, left by an earlier start"
            )

    def _work(self, run: Run, runtime: Runtime) -> None:
        services = Services(
            self.store, run, self.owner, runtime, self.agent, self.manifests, self.halt, self.choices.gpus
        )
        rows = self.store.attempts(run)
        if self.max_cost_usd is not None:
            self._stops.spent(AttemptRecord.model_validate_json(row.record) for row in rows if row.record is not None)
        self.schedule = schedule = Schedule(self.planned, rows, self._rules())
        self.observer.begin(schedule, self.jobs)
        workers = [
            threading.Thread(target=self._worker, args=(services, schedule), name=f"job-{number}")
            for number in range(min(self.jobs, schedule.planned))
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            while worker.is_alive():  # with a timeout, so that the main thread handles signals meanwhile
                worker.join(0.2)

    def _worker(self, services: Services, schedule: Schedule) -> None:
        while (taken := schedule.take(self.halt.draining.is_set)) is not None:
            try:
                self._attempt(services, schedule, taken)
            except BaseException as error:
                self._stop(error)
                return

    def _attempt(self, services: Services, schedule: Schedule, taken: Taken) -> None:
        try:
            self._stops.before_opening()
        except RunStopped:
            schedule.left(taken.slot)
            raise
        view = AttemptView(taken.slot, taken.ordinal)
        self.views.append(view)
        record: AttemptRecord | None = None
        self.observer.opened(view)
        try:
            record = run_attempt(services, taken, view)
            row = services.store.attempt(services.run, record.sequence)
            schedule.closed(taken.slot, scored_attempt(row, services.manifests))
        except Cancelled:
            schedule.left(taken.slot)
        except EngineGone as error:
            schedule.left(taken.slot)
            raise RunStopped(f"{error}; what is recorded is kept") from None
        finally:
            self.views.remove(view)
            self.observer.closed(view, record or view.record)
        if record is not None:
            self._stops.closed(record)

    def _stop(self, error: BaseException) -> None:
        """End the run for ``error``; the first one is what the user sees."""
        with self._lock:
            self._error = self._error or error
        self.halt.drain()

    def _rules(self) -> Rules:
        return Rules(self.manifests, self.choices.protocol)


class _Heartbeat:
    """Renews the leases of this process until the block ends."""

    def __init__(self, store: Store, run: Run, owner: Owner, stop: Callable[[BaseException], None]) -> None:
        self._store, self._run, self._owner, self._stop = store, run, owner, stop
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="leases", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._done.wait(RENEW_S):
            try:
                if not self._store.renew_leases(self._run, self._owner):
                    self._stop(RunStopped(f"run {self._run.name}: another machine has taken it over"))
                    return
            except AssayError as error:
                self._stop(error)
                return
