"""An agent without a sandbox: its operations over the environment's own stdio, and what it hears when that is gone."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

import pytest
from kidgym_house import baseline, evaluation
from test_kidgym_agent import records

from runner.agents.base import AgentEnd, AgentInfo, AttemptContext
from runner.agents.options import Options, Unreachable
from runner.direct import DirectLink


@dataclass
class Silent:
    """A link whose environment never answers."""

    gone: Exception | None = None
    asked: list[Any] = field(default_factory=list)

    def ask(self, request: Any, attachments: Any) -> int:
        self.asked.append(request)
        return len(self.asked)

    def reply(self, number: int, timeout_s: float) -> None:
        time.sleep(0.01)


def test_an_environment_that_is_gone_is_unreachable_and_no_exception() -> None:
    link = Silent(gone=EOFError("the environment ended"))
    reply, parts = DirectLink(link, threading.Event()).call({"op": "observe"})  # type: ignore[arg-type]
    assert (reply["ok"], reply["error"]["kind"], parts) == (False, "unreachable", {})
    assert "the environment ended" in reply["error"]["text"]
    assert link.asked == [{"v": 1, "op": "observe"}]
    with pytest.raises(Unreachable, match="unreachable: "):
        Options(DirectLink(link, threading.Event())).look()  # type: ignore[arg-type]


def test_an_environment_that_hangs_keeps_no_agent_waiting_once_the_episode_has_ended(monkeypatch) -> None:
    monkeypatch.setattr("runner.direct.LAST_REPLY_S", 0.05)
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    reply, _ = DirectLink(Silent(), stop).call({"op": "observe"})  # type: ignore[arg-type]
    assert "the episode has ended" in reply["error"]["text"]


def test_there_is_no_code_to_run_without_a_sandbox() -> None:
    with pytest.raises(RuntimeError, match="no sandbox"):
        DirectLink(Silent(), threading.Event()).execute("1", 1.0)  # type: ignore[arg-type]


class Killer:
    """Ends its environment's process in the middle of the episode."""

    info = AgentInfo("random", "baseline", "1", "d" * 64, "L0", sandbox=None, trusted=True)

    def run(self, context: AttemptContext) -> AgentEnd:
        options = Options(context.sandbox)
        options.look()
        context.sandbox._link.channel._write(b"\xff\xff\xff\xff")  # type: ignore[attr-defined] # no frame: the gateway leaves
        try:
            while not options.over:
                options.choose(None)
        except Unreachable as error:
            return AgentEnd(evidence={"said": str(error)})
        return AgentEnd()


def test_an_environment_that_ends_by_itself_is_a_container_fault_and_an_incident_candidate(tmp_path) -> None:
    made = evaluation(tmp_path, Killer(), "CL-L3", 1)
    made.run()
    record = records(tmp_path)[0]
    assert (record.cause, record.outcome, record.incident) == ("container_fault", "invalid", "candidate")
    assert [image.role for image in record.images] == ["kidgym"]


def test_two_attempts_at_once_do_not_mix_their_replies(tmp_path) -> None:
    evaluation(tmp_path, baseline("reference"), "SE-L2,SO-L1", 2, jobs=2).run()
    assert [record.outcome for record in records(tmp_path)] == ["success"] * 4
