"""An agent that asks a model turn by turn: ask, do what the reply asks for, tell what came of it (design: section 11).

``code`` and ``tools`` differ in their :class:`~runner.agents.interface.Interface` alone. A reply that asks for nothing
that can be done is answered with what is wrong, as often in a row as ``manifests/model_calls.json`` tolerates for its
cause; the next one ends the attempt with that cause. Nothing is asked twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from manifests.load import load
from runner.agents.base import AgentEnd, AgentInfo, AttemptContext
from runner.agents.conversation import Conversation
from runner.agents.interface import Interface, Output
from runner.agents.pictures import Picture, PictureError, check_png
from runner.agents.policy import Policy
from runner.agents.prompting import phrase, system_text, task_text
from runner.agents.status import Status, read_status
from runner.models.base import (
    Allowance,
    CallCancelled,
    Message,
    Model,
    ModelFault,
    ToolCall,
    tool_arguments,
)

NO_ACTION = "no_action"
LENGTH_STOP = "length_stop"
MakeInterface = Callable[[AttemptContext, Policy, bool], Interface]


@dataclass(frozen=True)
class Manner:
    """How a model is spoken to: with tool schemas or in plain text, with pictures or without."""

    functions: bool
    sees: bool


class ModelAgent:
    """``info.name`` names the prompt files; ``make`` builds the interface of one attempt."""

    def __init__(self, info: AgentInfo, model: Model, manner: Manner, policy: Policy, make: MakeInterface) -> None:
        self.info, self.model, self.manner = info, model, manner
        self._policy, self._make = policy, make

    def preflight(self) -> str | None:
        """Whether key and model name are good; what the check says. Raises BadInput and RunStopped."""
        return self.model.preflight()

    def run(self, context: AttemptContext) -> AgentEnd:
        return _Attempt(self, context, self._policy, self._make(context, self._policy, self.manner.sees)).run()


class _Attempt:
    def __init__(self, agent: ModelAgent, context: AttemptContext, policy: Policy, interface: Interface) -> None:
        self.agent, self.context, self.policy, self.interface = agent, context, policy, interface
        self.manner = agent.manner
        self.budgets = context.describe["budgets"]
        self.client = agent.model.client(Allowance(self.budgets.get("tokens"), self.budgets.get("images")))
        tools = interface.tools if self.manner.functions else ()
        self.talk = Conversation(context, agent.model, self.client, policy, tools)
        self.tolerated = load().model_calls.tolerated_in_a_row
        self.faults = 0  # replies in a row that asked for nothing that can be done

    def run(self) -> AgentEnd:
        try:
            self._begin()
            while (end := self._turn()) is None:
                pass
        except CallCancelled:
            end = AgentEnd()
        except ModelFault as fault:
            end = fault.end()
        return end

    def _begin(self) -> None:
        tools = self.interface.tools if self.manner.functions else ()
        self.context.transcript({"kind": "begin", "agent": self.agent.info.name, "tools": list(tools)})
        name = self.agent.info.name
        self.talk.prompt("system", system_text(name, **vars(self.manner), policy=self.policy))
        task = task_text(self.context.describe, self.policy.tools.significant_digits)
        self.talk.prompt("user", f"{task}\n{self._status_line(self._status())}")

    def _turn(self) -> AgentEnd | None:
        """Ask once and do what the reply asks for; the end of the attempt, or None to go on."""
        self.context.note(f"turn {self.talk.turn + 1}: the model is asked")
        try:
            reply = self.talk.ask()
        except ModelFault as fault:
            if fault.cause != LENGTH_STOP or fault.reply is None:
                raise
            self.talk.take(fault.reply, calls=False)
            return self._answer([], [Output(phrase("length"))], fault)
        calls = list(reply.tool_calls) if self.manner.functions else []
        if calls:
            self.talk.take(reply, calls=True)
            return self._perform(calls, calls)
        self.talk.take(reply, calls=False)
        return self._perform([], self.interface.read(reply.text))

    def _perform(self, calls: list[ToolCall], wanted: list[ToolCall]) -> AgentEnd | None:
        """Do what is wanted: all function ``calls``, else the first that plain text asks for."""
        if not wanted:
            name = "no_action_functions" if self.manner.functions else self.interface.no_action
            nothing = ModelFault(NO_ACTION, phrase(name, tools=", ".join(self._names())))
            return self._answer([], [Output(nothing.text)], nothing)
        outputs: list[Output] = []
        faults: list[ModelFault] = []
        for call in wanted if calls else wanted[:1]:
            self.context.note(f"turn {self.talk.turn}: {call.name[:40]!r}")
            if self.context.stop.is_set():
                outputs.append(Output(phrase("after_end")))
                continue
            try:
                outputs.append(self.interface.perform(call.name, tool_arguments(call, self.interface.tools)))
            except ModelFault as slip:
                faults.append(slip)
                outputs.append(Output(slip.text))
            if outputs[-1].end is not None:
                return outputs[-1].end
        fault = faults[0] if len(faults) == len(outputs) else None
        if not calls and len(wanted) > 1:
            outputs.append(Output(phrase(self.interface.several, count=len(wanted))))
        return self._answer(calls, outputs, fault)

    def _answer(self, calls: list[ToolCall], outputs: list[Output], fault: ModelFault | None) -> AgentEnd | None:
        """Tell the model what came of its reply, unless the episode has ended or its faults are too many."""
        status = self._status()
        if status is None or status.ended:
            self.context.transcript(
                {"kind": "ended", "turn": self.talk.turn, "status": vars(status) if status else None}
            )
            return AgentEnd()
        self.faults = self.faults + 1 if fault is not None else 0
        if fault is not None and self.faults > self.tolerated.get(fault.cause, 0):
            self.context.transcript({"kind": "fault", "turn": self.talk.turn, "cause": fault.cause, "text": fault.text})
            return fault.end()
        self._tell(calls, outputs, self._status_line(status))
        return None

    def _tell(self, calls: list[ToolCall], outputs: list[Output], status: str) -> None:
        """One message for each function call, or one of the user; pictures follow in a message of the user, because
        providers take none as the result of a function."""
        pictures: list[Picture] = []
        texts = []
        for output in outputs:
            good, notes = self._pictures(output)
            pictures += good
            texts.append("\n".join([output.text, *notes]))
        texts[-1] = f"{texts[-1]}\n{status}"
        if calls:
            for call, text in zip(calls, texts, strict=True):
                self.talk.output({"role": "tool", "tool_call_id": call.id, "content": text}, [])
            if pictures:
                self.talk.output(_user(_sizes(pictures), pictures), pictures)
        else:
            text = "\n".join(texts)
            message = _user(f"{text}\n{_sizes(pictures)}", pictures) if pictures else {"role": "user", "content": text}
            self.talk.output(message, pictures)

    def _pictures(self, output: Output) -> tuple[list[Picture], list[str]]:
        """Those of an output that can be sent, and what is to be said of the others."""
        limits, good, notes = self.policy.pictures, [], []
        if output.pictures and not self.manner.sees:
            return [], [phrase("pictures_unseen", count=len(output.pictures))]
        for data in output.pictures:
            try:
                good.append(check_png(data, limits.side, limits.bytes))
            except PictureError as error:
                notes.append(phrase("pictures_refused", count=1, why=error))
        if output.omitted:
            notes.append(phrase("pictures_omitted", count=output.omitted))
        return good, notes

    def _status(self) -> Status | None:
        return read_status(self.context.sandbox)

    def _status_line(self, status: Status | None) -> str:
        return "" if status is None else status.line(self.budgets, self.client.usage, self.context.deadline)

    def _names(self) -> list[str]:
        return [str(tool["function"]["name"]) for tool in self.interface.tools]


def _user(text: str, pictures: list[Picture]) -> Message:
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
    return {"role": "user", "content": [*parts, *(picture.part() for picture in pictures)]}


def _sizes(pictures: list[Picture]) -> str:
    return phrase("pictures_follow", sizes=", ".join(f"{item.width} x {item.height}" for item in pictures))
