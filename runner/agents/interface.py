"""What a model can do in an episode: functions with their schemas, how plain text asks for one, what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from runner.agents.base import AgentEnd
from runner.models.base import Tool, ToolCall


@dataclass(frozen=True)
class Output:
    """The result of one action. ``pictures`` are PNG bytes as they came out of the sandbox, not checked yet;
    ``omitted`` counts those that were over a limit on the way. ``end`` ends the attempt."""

    text: str
    pictures: tuple[bytes, ...] = ()
    omitted: int = 0
    end: AgentEnd | None = None


class Interface(Protocol):
    """One attempt's hands."""

    tools: tuple[Tool, ...]
    no_action: str  # phrase for a reply in plain text that asks for nothing
    several: str  # phrase for one that asks for more than one thing

    def read(self, text: str) -> list[ToolCall]:
        """What a reply in plain text asks for."""

    def perform(self, name: str, arguments: Mapping[str, Any]) -> Output:
        """Do it. Raises ModelFault ``invalid_tool_arguments``; SandboxGone and EngineGone."""


def function(name: str, text: str, properties: Mapping[str, Any], required: tuple[str, ...] = ()) -> Tool:
    """A function schema."""
    parameters = {"type": "object", "properties": dict(properties), "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": text, "parameters": parameters}}
