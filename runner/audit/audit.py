"""The whole audit of a run, in the order in which a doubt grows: log, files, numbers, eligibility, physics, agent."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from manifests.load import Manifests
from runner.agents.base import Agent
from runner.agents.registry import AgentRequest, make_agent
from runner.audit.artifacts import check_artifacts
from runner.audit.chain import check_chain
from runner.audit.findings import Check, Status, check, problem, skipped
from runner.audit.pinned import runtime_of
from runner.audit.recorded import slot
from runner.audit.replays import Replays, SlotOf, check_replays, replayable
from runner.audit.rerun import Reruns, check_reruns
from runner.audit.rescore import Report, eligibility, rescore
from runner.audit.sample import draw, draw_conditions
from runner.audit.snapshot import Folded, fold, snapshot
from runner.runtimes.base import Runtime, RuntimeUnavailable
from runner.store.status import EVALUATED
from runner.store.store import Run, Store
from runner.store.text import now, stamp

AUDIT_VERSION = 1


@dataclass(frozen=True)
class Options:
    """What ``assay audit`` was asked for. ``share`` of the attempts to replay (0: none), ``reruns`` conditions to
    evaluate anew, ``head`` a hash, or the first digits of one, that the ledger must hold, ``against`` a published
    result of ``assay score``."""

    share: float
    reruns: int
    runtime: str
    seed: int
    jobs: int = 1
    head: str | None = None
    against: Report | None = None


@dataclass(frozen=True)
class Audit:
    """A finished audit."""

    run: Run
    options: Options
    began: datetime
    ended: datetime
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        return all(check.status in ("passed", "skipped") for check in self.checks)

    @property
    def verdict(self) -> Status:
        """``passed``, ``failed``, or ``undecided`` where a replay neither confirms nor refutes an attempt."""
        if self.passed:
            return "passed"
        return "failed" if any(check.status == "failed" for check in self.checks) else "undecided"

    @property
    def remark(self) -> str:
        """What the verdict alone does not say: which checks failed or stay undecided, or that nothing could be
        replayed; else empty."""
        if failed := [check.name for check in self.checks if check.status == "failed"]:
            return ", ".join(failed)
        if undecided := [f"{check.name}: {check.summary}" for check in self.checks if check.status == "undecided"]:
            return "; ".join(undecided)
        if self.run.kind != EVALUATED:
            return f"its log and its arithmetic; it is {self.run.kind}, and there is nothing to replay"
        (replay,) = (check for check in self.checks if check.name == "replay")
        return f"nothing was replayed: {replay.summary}" if replay.status == "skipped" else ""

    @property
    def head(self) -> str | None:
        """The hash of the last ledger entry."""
        return next((check.data.get("head") for check in self.checks if check.name == "chain"), None)

    def plain(self) -> dict[str, Any]:
        """JSON."""
        options = {key: value for key, value in asdict(self.options).items() if key != "against"}
        return {
            "audit_version": AUDIT_VERSION,
            "assay": version("assay"),
            "run": {"name": self.run.name, "id": self.run.id, "kind": self.run.kind},
            "passed": self.passed,
            "verdict": self.verdict,
            "remark": self.remark,
            "began": stamp(self.began),
            "ended": stamp(self.ended),
            "options": {**options, "against": self.options.against is not None},
            "checks": [asdict(check) for check in self.checks],
        }


@dataclass(frozen=True)
class Auditor:
    """Audits runs of a store. ``say`` hears the progress, one line at a time. The runtimes are made when something is
    to be run; ``slot_of`` says what the condition of a record is."""

    store: Store
    manifests: Manifests
    say: Callable[[str], None]
    make_runtime: Callable[[Run, Options], Runtime] | None = None
    slot_of: SlotOf = slot
    make_agent: Callable[[AgentRequest], Agent] = make_agent

    def audit(self, run: Run, options: Options) -> Audit:
        """Every check that was asked for. Raises EngineGone when the runtime is lost in the middle."""
        began = now()
        with tempfile.TemporaryDirectory(prefix="assay-audit-") as home, ExitStack() as stack:
            self.say("chain ...")
            found = snapshot(self.store, run)
            folded, doubts = fold(found, Path(home))
            stack.callback(folded.store.close)
            folder = self.store.folder(run)
            chain = check_chain(found, folded, doubts, self.manifests, options.head)
            self.say("artifacts ...")
            files = check_artifacts(folded, folder)
            self.say("rescore ...")
            numbers, report = rescore(self.store, run, found, folded, self.manifests, options.against)
            checks = [chain, files, numbers, eligibility(report, found)]
            checks += [self._replay(run, folded, folder, options), self._rerun(run, folded, options)]
        return Audit(run, options, began, now(), tuple(checks))

    def _replay(self, run: Run, folded: Folded, folder: Path, options: Options) -> Check:
        if (why := _why_not(run, options.share)) is not None:
            return skipped("replay", why)
        possible = replayable(folded)
        chosen = draw(possible, options.seed, options.share)
        if not chosen:
            return skipped("replay", "no attempt took an action that could be replayed")
        make = self.make_runtime or self._replay_runtime
        try:
            runtime = make(run, options)
        except RuntimeUnavailable as error:
            return check("replay", "no runtime", [problem("runtime", str(error))])
        try:
            setting = Replays(folder, runtime, self.manifests, options.jobs, self.say, self.slot_of)
            sampling = {"seed": options.seed, "share": options.share}
            return check_replays(setting, chosen, len(possible), sampling)
        except RuntimeUnavailable as error:
            return check("replay", "no runtime", [problem("runtime", str(error))])
        finally:
            runtime.close()

    def _rerun(self, run: Run, folded: Folded, options: Options) -> Check:
        if (why := _why_not(run, options.reruns)) is not None:
            return skipped("rerun", why)
        chosen = draw_conditions(folded.records.values(), options.seed, options.reruns)
        setting = Reruns(
            run,
            self.manifests,
            lambda agent: self._rerun_runtime(run, options, agent),
            self.say,
            self.slot_of,
            self.make_agent,
        )
        try:
            return check_reruns(setting, chosen, {"seed": options.seed})
        except RuntimeUnavailable as error:
            return check("rerun", "no runtime", [problem("runtime", str(error))])

    def _replay_runtime(self, run: Run, options: Options) -> Runtime:
        runtime = runtime_of(run, options.runtime, self.store.home, self.say, jobs=options.jobs)
        for line in runtime.reap():
            self.say(line)
        return runtime

    def _rerun_runtime(self, run: Run, options: Options, agent: Agent) -> Runtime:
        if self.make_runtime is not None:
            return self.make_runtime(run, options)
        return runtime_of(run, options.runtime, self.store.home, self.say, agent=agent.info)


def _why_not(run: Run, amount: float) -> str | None:
    if run.kind != EVALUATED:
        return f"the run is {run.kind}: its attempts were made elsewhere and left no actions here"
    return None if amount > 0 else "not asked for"
