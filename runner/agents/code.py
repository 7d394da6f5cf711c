"""The ``code`` agent: the model writes Python that runs in the sandbox against the client SDK.

Code reaches the sandbox as the ``code`` of a ``run_python`` call, or as the one fenced Python block of a reply
(:mod:`runner.agents.replies`). One interpreter keeps its variables for the attempt.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from runner.agents.base import AgentEnd, AttemptContext, ExecResult
from runner.agents.interface import Output, function
from runner.agents.policy import Code, Policy
from runner.agents.prompting import phrase
from runner.agents.replies import code_blocks
from runner.models.base import ModelFault, Tool, ToolCall

RUN = "run_python"
AFTER_DEADLINE_S = 30.0  # the supervisor ends the attempt at the deadline; this only bounds a lost one
_ENDS = {"memory": "sandbox_memory"}  # cause of an end that the policy does not survive; agent_exception otherwise


class CodeInterface:
    tools: tuple[Tool, ...] = (
        function(
            RUN,
            "Run a Python program in the sandbox's interpreter and get its output.",
            {"code": {"type": "string", "description": "the program"}},
            ("code",),
        ),
    )
    no_action = "no_action_code"
    several = "several_blocks"

    def __init__(self, context: AttemptContext, policy: Policy) -> None:
        self._context, self._policy = context, policy.code

    def read(self, text: str) -> list[ToolCall]:
        return [ToolCall("", RUN, json.dumps({"code": code})) for code in code_blocks(text)]

    def perform(self, name: str, arguments: Mapping[str, Any]) -> Output:
        code = arguments["code"]
        if not isinstance(code, str):
            raise ModelFault("invalid_tool_arguments", f"code is {type(code).__name__}, not a string")
        size = len(code.encode("utf-8", "surrogatepass"))
        if size > self._policy.code_bytes:
            return Output(phrase("code_too_long", size=size, limit=self._policy.code_bytes))
        left_s = self._context.deadline - time.monotonic() + AFTER_DEADLINE_S
        result = self._context.sandbox.execute(
            code, timeout_s=min(self._policy.timeout_s, max(left_s, 1.0)), output_limit=self._policy.output_bytes
        )
        shown = {key: value for key, value in vars(result).items() if key != "pictures"}
        self._context.transcript({"kind": "result", **shown, "pictures": len(result.pictures)})
        return Output(result_text(result), result.pictures, result.pictures_omitted, end_after(result, self._policy))


def result_text(result: ExecResult) -> str:
    """What the model reads of a program's end: status, streams, error, and whether its variables are gone."""
    parts = [f"status: {result.status}"]
    for name, text in (("stdout", result.stdout), ("stderr", result.stderr)):
        if text:
            parts.append(f"--- {name}\n{text.rstrip()}")
    if result.error is not None:
        trace = result.error.get("traceback") or f"{result.error.get('type')}: {result.error.get('message')}"
        parts.append(f"--- error\n{trace.rstrip()}")
    if result.restarted:
        parts.append(phrase("restarted"))
    return "\n".join(parts)


def end_after(result: ExecResult, policy: Code) -> AgentEnd | None:
    """The end of the attempt where the policy does not go on after this end of a program."""
    if result.status in policy.goes_on_after:
        return None
    error = result.error or {}
    text = f"the program ended as {result.status}: {error.get('message', '')}"
    return AgentEnd(_ENDS.get(result.status, "agent_exception"), text, {"error": error})
