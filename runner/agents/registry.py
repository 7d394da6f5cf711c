"""Which agents there are: name to factory. Model agents register in ``MODEL_AGENTS`` and need no other change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from runner.agents import baselines
from runner.agents.base import Agent
from runner.errors import BadInput


@dataclass(frozen=True)
class AgentRequest:
    """What the user asked for. ``level`` and ``grants`` are None where nothing was said."""

    model: str
    agent: str | None = None
    level: str | None = None
    grants: tuple[str, ...] | None = None
    parameters: Parameters = field(default_factory=lambda: Parameters())


@dataclass(frozen=True)
class Parameters:
    """Parameters of a model call; part of the run's settings and of the agent's digest."""

    temperature: float | None = None
    effort: str | None = None
    base_url: str | None = None

    def given(self) -> dict[str, Any]:
        """Those that were set."""
        return {name: value for name, value in asdict(self).items() if value is not None}


Factory = Callable[[AgentRequest], Agent]

BASELINES: Mapping[str, tuple[Factory, str]] = {
    "reference": (baselines.reference, "solves the task from L3 fields and proxy models; makes certificates"),
    "random": (baselines.random, "random joint targets within the described limits, seeded"),
    "noop": (baselines.noop, "finishes at once"),
}
MODEL_AGENTS: Mapping[str, Factory] = {}  # name of AGENT= -> factory


def make_agent(request: AgentRequest) -> Agent:
    """The agent of a request. Raises BadInput naming the value and the fix."""
    if request.model in BASELINES:
        _refuse_for_baseline(request)
        return BASELINES[request.model][0](request)
    if not MODEL_AGENTS:
        raise BadInput(
            f"model {request.model!r} is not a baseline, and agents for models come in a later release: choose one of "
            f"{', '.join(BASELINES)}"
        )
    name = request.agent or next(iter(MODEL_AGENTS))
    if name not in MODEL_AGENTS:
        raise BadInput(f"agent {name!r} is unknown: choose one of {', '.join(MODEL_AGENTS)}")
    return MODEL_AGENTS[name](request)


def _refuse_for_baseline(request: AgentRequest) -> None:
    if request.agent is not None and request.agent != request.model:
        raise BadInput(f"agent {request.agent!r}: the baseline {request.model} is its own agent; leave AGENT out")
    for name, value in request.parameters.given().items():
        raise BadInput(
            f"{name.replace('_', '-')} {value!r}: the baseline {request.model} calls no model; leave {name.upper()} out"
        )
