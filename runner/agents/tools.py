"""The ``tools`` agent: the four gateway operations as function calls, through the sandbox's relay."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from images.client.wire import Attachment
from runner.agents.base import AttemptContext
from runner.agents.interface import Output, function
from runner.agents.policy import Policy
from runner.agents.prompting import phrase, rounded
from runner.agents.replies import json_calls
from runner.models.base import ModelFault, Tool, ToolCall

_FIELDS = {"type": "array", "items": {"type": "string"}, "description": "names of fields to read"}
_SIZE = {"type": "integer", "description": "pixels"}
_PICTURE = {
    "type": "object",
    "properties": {"camera": {"type": "string"}, "width": _SIZE, "height": _SIZE},
    "required": ["camera"],
}
_ACTIONS = {
    "type": "array",
    "items": {"type": "array", "items": {"type": "number"}},
    "description": "actions in order, each a list of all components",
}
_KEYS = {"describe": (), "observe": ("fields", "pictures"), "step": ("actions", "repeat", "fields"), "finish": ()}
MAX_REQUEST = 128 << 10  # bytes of JSON; the gateway closes the connection over 256 KiB
_REPEAT = {"type": "integer", "minimum": 1, "description": "apply each action so many times in a row; 1 if left out"}


class ToolsInterface:
    tools: tuple[Tool, ...] = (
        function("describe", "The description of the episode: task, controls, fields, cameras, rules, budgets.", {}),
        function(
            "observe",
            "Read fields and take pictures of the present state. No simulated time passes.",
            {"fields": _FIELDS, "pictures": {"type": "array", "items": _PICTURE}},
        ),
        function(
            "step",
            "Apply actions, one control step each, up to the first that ends the episode.",
            {"actions": _ACTIONS, "repeat": _REPEAT, "fields": _FIELDS},
            ("actions",),
        ),
        function("finish", "End the episode for good.", {}),
    )
    no_action = "no_action_call"
    several = "several_calls"

    def __init__(self, context: AttemptContext, policy: Policy, *, sees: bool) -> None:
        self._context, self._policy, self._sees = context, policy.tools, sees
        self._limit = context.describe["budgets"]["actions"]
        self._controls = context.describe["controls"]

    def read(self, text: str) -> list[ToolCall]:
        return json_calls(text)

    def perform(self, name: str, arguments: Mapping[str, Any]) -> Output:
        unknown = sorted(set(arguments) - set(_KEYS[name]))
        if unknown:
            raise _invalid(
                name, f"have an unknown key {unknown[0][:80]!r}: {name} takes {', '.join(_KEYS[name]) or 'none'}"
            )
        request = {"op": name} | {key: arguments[key] for key in ("fields", "pictures") if arguments.get(key)}
        attachments = {"actions": self._actions(arguments)} if name == "step" else {}
        request = _checked(name, request)
        unseen = 0 if self._sees else len(request.pop("pictures", ()))
        header, found = self._context.sandbox.call(request, attachments)
        note = [phrase("pictures_unseen", count=unseen)] if unseen else []
        return Output("\n".join([self._text(header, found), *note]), _pictures(found))

    def _actions(self, arguments: Mapping[str, Any]) -> np.ndarray:
        """float64 [n, dim], checked as the SDK checks it: a slip must not end the attempt. Raises ModelFault."""
        repeat = arguments.get("repeat", 1)
        if type(repeat) is not int or not 1 <= repeat <= self._limit:
            raise _invalid("step", f"have a repeat that is not a whole number from 1 to {self._limit}")
        try:
            array = np.array(arguments["actions"], dtype=np.float64, ndmin=2)
        except (TypeError, ValueError, OverflowError):
            raise _invalid("step", "have actions that are not lists of numbers") from None
        dimension = len(self._controls)
        if array.ndim != 2 or array.shape[1] != dimension or not len(array):
            raise _invalid("step", f"have actions of shape {array.shape}; it must be (n, {dimension})")
        if len(array) * repeat > self._limit:
            raise _invalid("step", f"come to {len(array) * repeat} actions; the budget is {self._limit}")
        for component, control in enumerate(self._controls):
            values = array[:, component]
            wrong = ~((values >= control["low"]) & (values <= control["high"]))
            if wrong.any():
                index = int(wrong.argmax())
                raise _invalid(
                    "step",
                    f"have actions[{index}][{component}] ({control['name']}) = {values[index]:g} outside "
                    f"{control['low']} to {control['high']} {control['unit']}",
                )
        return array.repeat(repeat, axis=0)

    def _text(self, header: Mapping[str, Any], found: Mapping[str, Attachment]) -> str:
        """The reply as JSON, cut; arrays under the names of their fields."""
        values = {key: value for key, value in header.items() if key != "id"}
        arrays = {name: array.tolist() for name, array in found.items() if isinstance(array, np.ndarray)}
        if arrays:
            values["fields"] = arrays
        text = json.dumps(rounded(values, self._policy.significant_digits), ensure_ascii=False)
        limit = self._policy.output_characters
        if len(text) <= limit:
            return text
        half = limit // 2
        return f"{text[:half]}{phrase('cut', count=len(text) - 2 * half)}{text[-half:]}"


def _checked(name: str, request: dict[str, Any]) -> dict[str, Any]:
    """A request that the stream can carry: the gateway judges all the rest. Raises ModelFault."""
    for key in ("fields", "pictures"):
        if not isinstance(request.get(key, []), list):
            raise _invalid(name, f"have {key} that are not a list")
    size = len(json.dumps(request))
    if size > MAX_REQUEST:
        raise _invalid(name, f"have {size} bytes, the limit is {MAX_REQUEST}")
    return request


def _pictures(found: Mapping[str, Attachment]) -> tuple[bytes, ...]:
    return tuple(value for value in found.values() if isinstance(value, bytes))


def _invalid(name: str, what: str) -> ModelFault:
    return ModelFault("invalid_tool_arguments", f"the arguments of {name} {what}", {"call": name})
