"""Which agents there are for each interface of a board: name to factory. The agents of models import what they need
when one is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from manifests.errors import nearest
from manifests.load import load
from manifests.models import Board
from runner.agents import baselines, choosers
from runner.agents.base import Agent
from runner.errors import BadInput
from runner.models.window import Rates

if TYPE_CHECKING:
    from runner.models.base import Model


@dataclass(frozen=True)
class AgentRequest:
    """What the user asked for. ``level``, ``grants`` and ``setting`` are None where nothing was said."""

    model: str
    agent: str | None = None
    level: str | None = None
    grants: tuple[str, ...] | None = None
    parameters: Parameters = field(default_factory=lambda: Parameters())
    rates: Rates = field(default_factory=Rates)  # of this start; no setting of the run
    board: str = "ep"
    setting: str | None = None

    @property
    def rules(self) -> Board:
        """The board, which is known to exist."""
        return load().boards[self.board]


@dataclass(frozen=True)
class Parameters:
    """Parameters of a model call; part of the run's settings and of the agent's digest."""

    temperature: float | None = None
    effort: str | None = None
    base_url: str | None = None
    max_output_tokens: int | None = None
    stream: bool | None = None
    extra: Mapping[str, Any] | None = None  # others of the provider, by their names in OpenAI's form

    def given(self) -> dict[str, Any]:
        """Those that were set."""
        return {name: value for name, value in asdict(self).items() if value is not None}


Factory = Callable[[AgentRequest], Agent]

BASELINES: Mapping[str, tuple[Factory, str]] = {
    "reference": (baselines.reference, "solves the task from L3 fields and proxy models; makes certificates"),
    "random": (baselines.random, "random joint targets within the described limits, seeded"),
    "noop": (baselines.noop, "finishes at once"),
}


def _code(request: AgentRequest) -> Agent:
    return _of_model("code", request)


def _tools(request: AgentRequest) -> Agent:
    return _of_model("tools", request)


MODEL_AGENTS: Mapping[str, tuple[Factory, str]] = {  # the first is the default
    "code": (_code, "the model writes Python that runs in the sandbox"),
    "tools": (_tools, "the model calls the operations of the gateway"),
}


def _choice(request: AgentRequest) -> Agent:
    from runner.agents.factory import at_temperature, choice_agent

    request = at_temperature(request)
    return choice_agent(request, _model(request))


CHOICE_BASELINES: Mapping[str, tuple[Factory, str]] = {
    "reference": (choosers.reference, "takes a shortest solution, which the environment shows at L3"),
    "random": (choosers.random, "takes one of the options at each step, all equally likely, seeded"),
    "noop": (choosers.noop, "finishes at once"),
}
CHOICE_AGENTS: Mapping[str, tuple[Factory, str]] = {
    "choice": (_choice, "the model sees a picture and names one of the lettered options"),
}


@dataclass(frozen=True)
class Roster:
    """The agents of one interface; of those of models the first is the default."""

    baselines: Mapping[str, tuple[Factory, str]]
    models: Mapping[str, tuple[Factory, str]]


ROSTERS: Mapping[str, Roster] = {
    "control": Roster(BASELINES, MODEL_AGENTS),
    "choice": Roster(CHOICE_BASELINES, CHOICE_AGENTS),
}


def make_agent(request: AgentRequest) -> Agent:
    """The agent of a request. Raises BadInput naming the value and the fix."""
    roster = ROSTERS[request.rules.interface]
    _check_setting(request)
    if request.model in roster.baselines:
        _refuse_for_baseline(request)
        return roster.baselines[request.model][0](request)
    name = request.agent or next(iter(roster.models))
    if name not in roster.models:
        raise BadInput(f"agent {name!r} is unknown: choose one of {', '.join(roster.models)}")
    if "/" not in request.model:
        raise BadInput(
            f"model {request.model!r} is neither a baseline ({', '.join(roster.baselines)}) nor provider/model, for "
            "example openai/gpt-4o, anthropic/claude-sonnet-4-5, ollama/llama3"
            f"{nearest(request.model, roster.baselines)}"
        )
    return roster.models[name][0](request)


def preflight(agent: Agent) -> str | None:
    """Ask the agent's model whether it can be used, before the first attempt; one line for the user, None for a
    baseline. Raises BadInput or RunStopped."""
    check: Callable[[], str | None] | None = getattr(agent, "preflight", None)
    return check() if check is not None else None


def _of_model(name: str, request: AgentRequest) -> Agent:
    from runner.agents.factory import model_agent

    return model_agent(name, request, _model(request))


def _model(request: AgentRequest) -> Model:
    from runner.models.base import Sampling
    from runner.models.open import open_model

    return open_model(request.model, Sampling(**request.parameters.given()), request.rates)


def _check_setting(request: AgentRequest) -> None:
    known = request.rules.settings
    if request.setting is not None and request.setting not in known:
        fix = f"choose one of {', '.join(known)}" if known else f"board {request.board} has none; leave SETTING out"
        raise BadInput(f"setting {request.setting!r} is unknown: {fix}")


def _refuse_for_baseline(request: AgentRequest) -> None:
    if request.agent is not None and request.agent != request.model:
        raise BadInput(f"agent {request.agent!r}: the baseline {request.model} is its own agent; leave AGENT out")
    if request.setting is not None:
        raise BadInput(f"setting {request.setting!r}: the baseline {request.model} reads no prompt; leave SETTING out")
    given = request.parameters.given() | {name: value for name, value in asdict(request.rates).items() if value}
    for field_name, value in given.items():
        name = "parameter" if field_name == "extra" else field_name
        raise BadInput(
            f"{name.replace('_', '-')} {value!r}: the baseline {request.model} calls no model; leave {name.upper()} out"
        )
