"""The supervisor of a running episode: the agent in a thread, the environment's word, the wall clock, the end.

It decides only who ended the episode; what that means is the cause table's business. A success or a violation that the
environment has on record binds, whatever the supervisor asks for afterwards.
"""

from __future__ import annotations

import threading
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.agents.base import Agent, AgentEnd, AttemptContext, SandboxGone
from runner.halt import Halt
from runner.links import EnvironmentLink, Frame
from runner.record import Ending
from runner.runtimes.base import EngineGone, Pair
from runner.startup import exit_evidence
from runner.store.text import storable_text

STOP_S = 15.0  # the gateway answers a stop within one control step; a picture being rendered may come before it
AGENT_S = 5.0  # an agent that hears of the end closes its accounts; then its sandbox is killed
KILLED_S = 10.0  # and then its thread ends, unless it hangs in a call of its own
# What the gateway accepts as a reason; any other cause of an agent's end is sent as 'interrupted' and kept here.
STOP_REASONS = frozenset(
    ("finished", "wall_clock", "token_budget", "image_budget", "agent_exception", "sandbox_memory", "interrupted")
)
ENVIRONMENT_ONLY = "goal_met"  # an agent that ends with this claim has merely finished
ARTIFACTS = {
    "actions": "actions.npy",
    "states": "states.npy",
    "state_times": "state_times.npy",
    "digests": "digests.json",
    "scorer_log": "scorer_log.jsonl",
}


class AgentThread(threading.Thread):
    """Runs the agent; ``end`` is set when it has ended, whatever it raised."""

    def __init__(self, agent: Agent, context: AttemptContext, pair: Pair, link: EnvironmentLink) -> None:
        super().__init__(name="agent", daemon=True)
        self.end: AgentEnd | None = None
        self._agent, self._context, self._pair, self._link = agent, context, pair, link

    @property
    def facts(self) -> dict[str, Any]:
        """What the agent has said of itself so far, for the record."""
        return dict(self._context.facts)

    def run(self) -> None:
        self.end = self._run()
        self._link.wake()

    def _run(self) -> AgentEnd:
        try:
            return self._agent.run(self._context)
        except SandboxGone as error:
            return sandbox_end(self._pair, error)
        except EngineGone as error:
            return AgentEnd("engine_fault", str(error))
        except Exception as error:  # an agent may raise anything; the cause table says what it costs
            said = f"{type(error).__name__}: {error.strerror if isinstance(error, OSError) else error}"
            return AgentEnd("agent_exception", said, {"traceback": f"{_raised(error)}\n{said}"[-8000:]})


def _raised(error: Exception) -> str:
    """Where an error was raised, a line for each frame, without the folders of this host."""
    frames = traceback.extract_tb(error.__traceback__)
    return "\n".join(f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}" for frame in frames)


def sandbox_end(pair: Pair, error: SandboxGone) -> AgentEnd:
    """Why the sandbox is gone. The agent's code can kill its own sandbox, so this is never an incident by itself."""
    try:
        found = pair.exit("sandbox", 5.0)
    except EngineGone as gone:
        return AgentEnd("engine_fault", str(gone))
    evidence: dict[str, Any] = {}
    if found is not None:
        evidence = {"exit_code": found.code, "oom": found.oom, "log": found.log[-4000:]}
        if found.oom:
            return AgentEnd("sandbox_memory", "the sandbox ran out of memory", evidence)
    return AgentEnd("agent_exception", str(error), evidence)


@dataclass
class Supervisor:
    """One running episode. ``deadline`` is a time.monotonic() value."""

    pair: Pair
    link: EnvironmentLink
    thread: AgentThread
    stop: threading.Event
    deadline: float
    halt: Halt
    _evidence: dict[str, Any] = field(default_factory=dict)

    def run(self) -> Ending:
        """Start the agent, wait for the end, return it. The agent does nothing any more afterwards."""
        self.thread.start()
        reason, cause, text = self._wait()
        if not self.link.ended:
            self.link.send({"op": "stop", "reason": reason if reason in STOP_REASONS else "interrupted"})
            self.link.wait(time.monotonic() + STOP_S, lambda: self.link.ended)
        self._end_agent(at_once=reason in ("wall_clock", "interrupted"))
        if (end := self.thread.end) is not None and end.cause is None:
            self._evidence |= end.evidence  # of an agent that ended in order, whoever ended the episode
        ending = self._ending(cause, text)
        ending.acted = self.link.acted or int(ending.meter.get("actions", 0)) > 0
        ending.evidence = {**self.thread.facts, **self._evidence, **ending.evidence}
        return ending

    def _wait(self) -> tuple[str, str, str]:
        """(stop reason, cause, text) once something has ended the episode."""
        self.link.wait(
            self.deadline,
            lambda: self.link.ended or self.thread.end is not None or self.halt.abandoning.is_set(),
        )
        if self.halt.abandoning.is_set() and not self.link.ended:
            return "interrupted", "interrupted", "the run was stopped while the episode was running"
        end = self.thread.end
        if end is None and not self.link.ended:
            return "wall_clock", "wall_clock", "the wall-clock limit was reached"
        if end is None or end.cause in (None, ENVIRONMENT_ONLY):
            return "finished", "quit", ""
        self._evidence |= end.evidence
        return end.cause, end.cause, end.text

    def _end_agent(self, *, at_once: bool) -> None:
        self.stop.set()
        if not at_once:
            self.thread.join(AGENT_S)
        if not self.thread.is_alive():
            return  # its sandbox is ended together with the environment
        with suppress(EngineGone):
            self.pair.kill("sandbox")
        self.thread.join(KILLED_S)
        if self.thread.is_alive():
            self._evidence["agent"] = f"its thread did not end within {KILLED_S:g} s"

    def _ending(self, cause: str, text: str) -> Ending:
        last = self.link.last
        if last is not None and last.header["op"] == "verdict":
            return _verdict(last, cause, text)
        if last is not None:
            ending = Ending(
                cause=str(last.header.get("cause", "container_fault")),
                text=str(last.header.get("text", "")),
                evidence={"traceback": last.header.get("traceback", "")},
                meter=dict(self.link.meter),
            )
            ending.files = _files(last)
            return ending
        return self._silent(cause, text)

    def _silent(self, cause: str, text: str) -> Ending:
        """The environment said nothing final: it died, or it does not answer the stop."""
        gone, meter = self.link.gone, dict(self.link.meter)
        if gone is None:
            with suppress(EngineGone):
                self.pair.kill("environment")
            evidence = {"environment": f"no verdict within {STOP_S:g} s of the stop"}
            if cause in ("wall_clock", "interrupted"):
                return Ending(cause, text=text, evidence=evidence, meter=meter)
            return Ending("container_fault", text="the environment stopped answering", evidence=evidence, meter=meter)
        if isinstance(gone, EngineGone):
            return _engine_fault(gone, meter)
        try:
            evidence = exit_evidence(self.pair, gone)
        except EngineGone as error:
            return _engine_fault(error, meter)
        return Ending("container_fault", text="the environment ended without a verdict", evidence=evidence, meter=meter)


def _engine_fault(error: EngineGone, meter: dict[str, Any]) -> Ending:
    return Ending("engine_fault", text=str(error), evidence={"engine": str(error)}, meter=meter)


def _verdict(frame: Frame, cause: str, text: str) -> Ending:
    """The environment's word; a cause that only the host knows (provider fault) replaces its 'interrupted'."""
    judgement = frame.header["judgement"]
    found = str(judgement["cause"])
    if found == "interrupted" and cause not in STOP_REASONS:
        found = cause
    return Ending(
        cause=found,
        code=judgement.get("code"),
        clause=judgement.get("clause"),
        text=storable_text(text if found == cause and text else str(judgement.get("text", ""))),
        data=dict(judgement.get("data") or {}),
        meter=dict(frame.header["meter"]),
        digest=frame.header.get("digest"),
        event_simulated_s=frame.header.get("event_simulated_s"),
        success_at=frame.at if found == "goal_met" else None,
        files=_files(frame),
    )


def _files(frame: Frame) -> dict[str, Any]:
    return {ARTIFACTS.get(name, f"{name}.bin"): content for name, content in frame.attachments.items()}
