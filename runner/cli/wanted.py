"""What the options of ``assay evaluate`` ask for, checked against the manifests before anything is started."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.errors import BadInput

if TYPE_CHECKING:
    from manifests.load import Manifests
    from runner.agents.base import Agent
    from runner.plan import Planned
    from runner.settings import Choices

RUNTIMES = ("auto", "docker", "bubblewrap", "process")
EXACT = 2**53  # larger whole numbers are not the same in every reader of JSON


@dataclass(frozen=True)
class Wanted:
    """What the options ask for, checked against the manifests."""

    agent: Agent
    choices: Choices
    manifests: Manifests
    planned: tuple[Planned, ...]
    name: str


def check(model: str, options: dict[str, Any]) -> Wanted:
    """Raises BadInput or ManifestError."""
    if options["runtime"] not in RUNTIMES:
        raise BadInput(f"runtime {options['runtime']!r} is not one of {', '.join(RUNTIMES)}")
    from manifests.load import load
    from runner.agents.registry import AgentRequest, Parameters, make_agent
    from runner.cli.board import complete, with_seeds
    from runner.models.window import Rates
    from runner.plan import plan
    from runner.settings import Choices, default_name
    from runner.store.store import check_name

    parameters = Parameters(
        options["temperature"],
        options["effort"],
        options["base_url"],
        options["max_output_tokens"],
        options["stream"],
        _extra(options["extra"]),
    )
    grants = _split(options["grants"])
    rates = Rates(options["rpm"], options["tpm"])
    manifests = load()
    for field in ("subset", "board", "protocol", "profile"):
        if options[field] is not None and not options[field].strip():
            raise BadInput(f"{field} {options[field]!r}: give a name, or leave it out for the default")
    complete(options, manifests)
    manifests = with_seeds(options, manifests)
    agent = make_agent(
        AgentRequest(
            model,
            options["agent"],
            options["level"],
            grants,
            parameters,
            rates,
            board=options["board"],
            setting=options["setting"],
        )
    )
    _check_cost(options["max_cost"], agent)
    choices = Choices(
        model=model,
        board=options["board"],
        subset=options["subset"],
        tasks=options["tasks"],
        protocol=options["protocol"],
        profile=options["profile"],
        seed=options["seed"],
        runtime=options["runtime"],
        gpus=options["gpus"],
        agent=options["agent"],
        level=options["level"],
        grants=grants,
        parameters=parameters.given(),
    )
    planned = plan(manifests, choices, agent.info)
    name = default_name(choices, agent.info) if options["run_name"] is None else options["run_name"]
    check_name(name)
    return Wanted(agent, choices, manifests, planned, name)


def _check_cost(max_cost: float | None, agent: Agent) -> None:
    """A limit that cannot hold is refused instead of kept in silence."""
    if max_cost is None:
        return
    model = getattr(agent, "model", None)
    if model is None:
        raise BadInput(f"max-cost {max_cost:g}: the baseline {agent.info.name} calls no model; leave MAX_COST out")
    if not model.priced:
        raise BadInput(
            f"max-cost {max_cost:g}: the price of {model.name} is unknown, so that its cost cannot be limited; leave "
            "MAX_COST out"
        )


def _extra(given: tuple[str, ...]) -> dict[str, Any] | None:
    """``top_p=0.9 seed=7 stop=END`` as a dictionary; a value that is no JSON is text."""
    found: dict[str, Any] = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not name or not equals:
            raise BadInput(f"parameter {item[:80]!r}: give NAME=VALUE, for example top_p=0.9")
        if name in found:
            raise BadInput(f"parameter {item[:80]!r}: {name} is given twice; keep one of them")
        try:
            found[name] = _value(value)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"parameter {item[:80]!r}: {error}; give another VALUE") from None
    return found or None


def _value(text: str) -> Any:
    """Raises ValueError, and RecursionError for JSON that is nested too deeply."""
    from manifests import strict

    try:
        value = strict.loads(text)
    except strict.DuplicateKey:
        raise
    except ValueError as error:
        if text.lstrip().startswith(("{", "[", '"')):
            raise ValueError(f"it begins as JSON and is none ({error})") from None
        try:
            value = float(text)  # of the numbers that JSON does not have, NaN and the infinities
        except ValueError:
            return text
    _check_numbers(value)
    return value


def _check_numbers(value: Any) -> None:
    """Raises ValueError for a number that is not recorded as it is sent."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _check_numbers(item)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("it is no finite number")
    elif isinstance(value, int) and abs(value) >= EXACT:
        raise ValueError("it is no whole number below 2**53")


def _split(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())
