"""``rerun``: chosen conditions once more, by the same agent. Reported beside what was recorded, never scored.

The new attempts go into a store of their own. An agent need not do twice what it did once, so a difference is no
problem by itself; an agent that is not the recorded one is.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manifests.load import Manifests
from manifests.records import AttemptRecord
from runner.agents.base import Agent
from runner.agents.registry import AgentRequest, Parameters
from runner.attempt import AttemptView, Services, run_attempt
from runner.audit.findings import Check, Finding, check, note, problem, skipped
from runner.audit.replays import SlotOf
from runner.errors import AssayError
from runner.halt import Halt
from runner.runtimes.base import Runtime
from runner.schedule import Taken
from runner.store.leases import Owner
from runner.store.store import Run, Store
from runner.words import count


@dataclass(frozen=True)
class Reruns:
    """How to evaluate anew. ``make_runtime`` is called once, when the agent is known to be the recorded one."""

    run: Run
    manifests: Manifests
    make_runtime: Callable[[Agent], Runtime]
    say: Callable[[str], None]
    slot_of: SlotOf
    make_agent: Callable[[AgentRequest], Agent]


def check_reruns(setting: Reruns, chosen: list[AttemptRecord], sampling: dict[str, Any]) -> Check:
    """Evaluate the conditions of the chosen records. Raises EngineGone and StoreError."""
    if not chosen:
        return skipped("rerun", "no condition has an attempt")
    try:
        agent = setting.make_agent(request_of(setting.run.settings))
    except AssayError as error:
        return check("rerun", "the agent cannot be made", [problem("agent", str(error))])
    wanted = setting.run.settings["agent"]["digest"]
    if agent.info.digest != wanted:
        text = f"{agent.info.name} has other code or prompts ({agent.info.digest[:12]}) than in the run ({wanted[:12]})"
        return check("rerun", "another agent", [problem("agent", f"{text}: check out the version that the run names")])
    runtime = setting.make_runtime(agent)
    try:
        with tempfile.TemporaryDirectory(prefix="assay-audit-") as home:
            made = [_one(setting, Path(home), agent, runtime, record) for record in chosen]
    finally:
        runtime.close()
    findings = [finding for record, again in zip(chosen, made, strict=True) for finding in _differs(record, again)]
    rows = [_row(record, again) for record, again in zip(chosen, made, strict=True)]
    same = sum(row["recorded"]["outcome"] == row["rerun"]["outcome"] for row in rows)
    before = sum(row["recorded"]["outcome"] == "success" for row in rows)
    now = sum(row["rerun"]["outcome"] == "success" for row in rows)
    summary = f"{count(len(rows), 'condition')} anew: {same} with the same outcome, successes {before} then, {now} now"
    data = {"sampling": {**sampling, "chosen": [record.sequence for record in chosen]}, "conditions": rows}
    return check("rerun", summary, findings, data)


def request_of(settings: dict[str, Any]) -> AgentRequest:
    """The agent that a run's settings ask for."""
    parameters = settings["agent"]["parameters"]
    known = {name: parameters[name] for name in Parameters.__dataclass_fields__ if name in parameters}
    baseline = settings["agent"]["kind"] == "baseline"
    return AgentRequest(
        model=settings["model"],
        agent=None if baseline else settings["agent"]["name"],
        level=settings["level"],
        grants=tuple(settings["grants"]) or None,
        parameters=Parameters(**known),
        board=settings["board"],
        setting=parameters.get("setting"),
    )


def _one(setting: Reruns, home: Path, agent: Agent, runtime: Runtime, record: AttemptRecord) -> AttemptRecord:
    """One attempt in a store of its own; its seed is that of a condition's first attempt."""
    with tempfile.TemporaryDirectory(dir=home) as folder:
        store = Store(Path(folder), f"sqlite:///{folder}/rerun.sqlite")
        try:
            run = store.create_run("rerun", setting.run.settings)
            services = Services(store, run, Owner.current(), runtime, agent, setting.manifests, Halt())
            place = setting.slot_of(record, setting.manifests)
            setting.say(f"rerun of {place} ...")
            made = run_attempt(services, Taken(place, 1, None), AttemptView(place))
            setting.say(f"rerun of {place}: {made.outcome} {made.code or ''}".rstrip())
            return made
        finally:
            store.close()


def _differs(record: AttemptRecord, again: AttemptRecord) -> list[Finding]:
    where = f"attempt {record.sequence}"
    if again.outcome == "invalid" and again.incident == "candidate":
        return [problem(where, f"could not be evaluated anew: {again.cause}: {again.text}")]
    if (again.outcome, again.cause) != (record.outcome, record.cause):
        return [note(where, f"recorded {record.outcome} ({record.cause}), anew {again.outcome} ({again.cause})")]
    return []


def _row(record: AttemptRecord, again: AttemptRecord) -> dict[str, Any]:
    def short(one: AttemptRecord) -> dict[str, Any]:
        return {"outcome": one.outcome, "cause": one.cause, "code": one.code, "actions": one.actions}

    return {
        "sequence": record.sequence,
        "environment_id": record.environment_id,
        "condition": record.condition,
        "recorded": short(record),
        "rerun": short(again),
        "same_states": None if again.final_digest is None else again.final_digest == record.final_digest,
    }
