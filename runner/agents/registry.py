"""Which agents there are: name to factory. The agents of models import what they need when one is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from manifests.errors import nearest
from runner.agents import baselines
from runner.agents.base import Agent
from runner.errors import BadInput
from runner.models.limiter import Rates


@dataclass(frozen=True)
class AgentRequest:
    """What the user asked for. ``level`` and ``grants`` are None where nothing was said."""

    model: str
    agent: str | None = None
    level: str | None = None
    grants: tuple[str, ...] | None = None
    parameters: Parameters = field(default_factory=lambda: Parameters())
    rates: Rates = field(default_factory=Rates)  # of this start; no setting of the run


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


def make_agent(request: AgentRequest) -> Agent:
    """The agent of a request. Raises BadInput naming the value and the fix."""
    if request.model in BASELINES:
        _refuse_for_baseline(request)
        return BASELINES[request.model][0](request)
    name = request.agent or next(iter(MODEL_AGENTS))
    if name not in MODEL_AGENTS:
        raise BadInput(f"agent {name!r} is unknown: choose one of {', '.join(MODEL_AGENTS)}")
    if "/" not in request.model:
        raise BadInput(
            f"model {request.model!r} is neither a baseline ({', '.join(BASELINES)}) nor provider/model, for example "
            f"openai/gpt-4o, anthropic/claude-sonnet-4-5, ollama/llama3{nearest(request.model, BASELINES)}"
        )
    return MODEL_AGENTS[name][0](request)


def preflight(agent: Agent) -> str | None:
    """Ask the agent's model whether it can be used, before the first attempt; one line for the user, None for a
    baseline. Raises BadInput or RunStopped."""
    check: Callable[[], str | None] | None = getattr(agent, "preflight", None)
    return check() if check is not None else None


def _of_model(name: str, request: AgentRequest) -> Agent:
    from runner.agents.factory import model_agent
    from runner.models.base import Sampling
    from runner.models.open import open_model

    given = request.parameters
    return model_agent(name, request, open_model(request.model, Sampling(**given.given()), request.rates))


def _refuse_for_baseline(request: AgentRequest) -> None:
    if request.agent is not None and request.agent != request.model:
        raise BadInput(f"agent {request.agent!r}: the baseline {request.model} is its own agent; leave AGENT out")
    given = request.parameters.given() | {name: value for name, value in asdict(request.rates).items() if value}
    for field_name, value in given.items():
        name = "parameter" if field_name == "extra" else field_name
        raise BadInput(
            f"{name.replace('_', '-')} {value!r}: the baseline {request.model} calls no model; leave {name.upper()} out"
        )
