"""Builds the agents of a model: identity, manner and interface from a request and an opened model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from images.client.wire import PROTOCOL
from manifests.load import load
from manifests.records import Level
from runner.agents.base import AgentInfo, AttemptContext
from runner.agents.choice import NEEDS_EYES, ChoiceAgent
from runner.agents.code import CodeInterface
from runner.agents.interface import Interface
from runner.agents.levels import offered
from runner.agents.model_agent import MakeInterface, Manner, ModelAgent
from runner.agents.policy import Policy, policy
from runner.agents.prompting import files_digest
from runner.agents.registry import AgentRequest
from runner.agents.tools import ToolsInterface
from runner.errors import BadInput
from runner.models.base import Model
from runner.models.library import library
from runner.store.text import digest

# What an agent's digest covers beside its prompts and policy.
SOURCES = (
    "choice",
    "choice_mentions",
    "choice_record",
    "choice_text",
    "choices",
    "code",
    "conversation",
    "factory",
    "history",
    "interface",
    "levels",
    "model_agent",
    "options",
    "pictures",
    "policy",
    "prompting",
    "replies",
    "returned",
    "status",
    "tools",
)


def _code(context: AttemptContext, rules: Policy, sees: bool) -> Interface:
    return CodeInterface(context, rules)


def _tools(context: AttemptContext, rules: Policy, sees: bool) -> Interface:
    return ToolsInterface(context, rules, sees=sees)


INTERFACES: Mapping[str, MakeInterface] = {"code": _code, "tools": _tools}


def model_agent(
    name: str, request: AgentRequest, model: Model, manner: Manner | None = None, rules: Policy | None = None
) -> ModelAgent:
    """The agent ``name`` of a model. ``manner`` is found from what is known of the model unless it is given, ``rules``
    are those of the policy file. Raises BadInput."""
    rules = rules or policy()
    manner = manner or manner_of(model, rules)
    info = AgentInfo(
        name=name,
        kind="model",
        version=version("assay"),
        digest=digest([PROTOCOL, vars(manner), _policies(rules), files_digest(*_paths())]),
        level=_level(request),
        pictures=True,  # inputs at L0 comprise pictures; a program can read them where the model cannot
        model=request.model,
        parameters={**request.parameters.given(), "manner": vars(manner)},
    )
    return ModelAgent(info, model, manner, rules, INTERFACES[name])


def choice_agent(request: AgentRequest, model: Model, rules: Policy | None = None) -> ChoiceAgent:
    """The agent that names lettered options, in the setting of the request. Raises BadInput, also for a model that is
    known to take no pictures."""
    rules = rules or policy()
    if model.sees_pictures is False:
        raise BadInput(f"model {model.name}: it takes no pictures, as litellm's table says: {NEEDS_EYES}")
    setting = request.setting or request.rules.settings[0]
    info = AgentInfo(
        name="choice",
        kind="model",
        version=version("assay"),
        digest=digest([PROTOCOL, setting, _policies(rules), files_digest(*_paths())]),
        level=_level(request),
        sandbox=None,
        pictures=True,
        trusted=True,  # it runs nothing that a model writes
        model=request.model,
        parameters={**request.parameters.given(), "setting": setting},
    )
    return ChoiceAgent(info, model, rules, setting)


def at_temperature(request: AgentRequest) -> AgentRequest:
    """The request at a temperature of its board, with none where a model takes none. Raises BadInput for another."""
    wanted, given = request.rules.temperatures, request.parameters.temperature
    if not wanted:
        return request
    if given is not None and given not in wanted:
        others = ", ".join(f"{value:g}" for value in wanted[1:])
        raise BadInput(
            f"temperature {given:g}: board {request.board} is played at {wanted[0]:g}, and at {others} where a model "
            "takes nothing else; leave TEMPERATURE out"
        )
    taken = library().takes(request.model)
    chosen = wanted[0] if given is None else given
    unset = taken is not None and "temperature" not in taken
    return replace(request, parameters=replace(request.parameters, temperature=None if unset else chosen))


def manner_of(model: Model, rules: Policy) -> Manner:
    """Tool schemas and pictures where the model is known to take them; the policy says what an unknown one gets."""
    functions, sees = model.calls_functions, model.sees_pictures
    return Manner(
        functions=rules.functions.used_when_unknown if functions is None else functions,
        sees=rules.pictures.sent_when_unknown if sees is None else sees,
    )


def _level(request: AgentRequest) -> Level:
    if request.grants:
        raise BadInput(
            f"grants {','.join(request.grants)}: there is no tool that a model can be granted yet; leave GRANTS out"
        )
    return offered(request.level)


def _policies(rules: Policy) -> list[Any]:
    """The agent's own policy, and that of the calls to its model."""
    return [rules.model_dump(), load().model_calls.model_dump(mode="json")]


def _paths() -> list[str]:
    return [str(Path(__file__).with_name(f"{name}.py")) for name in SOURCES]
