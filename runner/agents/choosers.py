"""Baselines of boards whose actions are lettered options. They run no code, so they need no sandbox."""

from __future__ import annotations

import random as random_numbers
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from runner.agents import baselines
from runner.agents.base import AgentEnd, AgentInfo, AttemptContext
from runner.agents.choice_record import Steps
from runner.agents.options import Options, Unreachable
from runner.agents.prompting import files_digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.agents.registry import AgentRequest

SOURCES = ("choosers", "choice_record", "options")


class Chooser:
    """Takes the options whose indices ``choose`` yields, until the episode is over."""

    def __init__(self, info: AgentInfo, choose: Callable[[AttemptContext, Options], Iterator[int | None]]) -> None:
        self.info, self._choose = info, choose

    def run(self, context: AttemptContext) -> AgentEnd:
        options, steps = Options(context.sandbox), Steps(context.facts)
        try:
            options.look()
            for index in self._choose(context, options):
                steps.taken(options.now, index)
                options.choose(index)
                if options.over:
                    break
        except Unreachable:  # the supervisor knows why
            return AgentEnd()
        return AgentEnd()


def _uniform(context: AttemptContext, options: Options) -> Iterator[int | None]:
    numbers = random_numbers.Random(context.seed)
    while True:
        yield numbers.randrange(len(options.now))


def _solution(context: AttemptContext, options: Options) -> Iterator[int | None]:
    yield from (int(index) for index in options.read("solution") if index >= 0)


def reference(request: AgentRequest) -> Chooser:
    """Solves the episode from its state: reads a shortest solution, which the environment shows at L3."""
    baselines.check_reference(request)
    return Chooser(_info(request, level="L3", grants=(baselines.REFERENCE_KIT,)), _solution)


def random(request: AgentRequest) -> Chooser:
    """One of the options at each step, all equally likely, seeded."""
    return Chooser(_info(request, level=baselines.level_of(request), grants=()), _uniform)


def noop(request: AgentRequest) -> baselines.Noop:
    return baselines.Noop(_info(request, level=baselines.level_of(request), grants=()))


def _info(request: AgentRequest, *, level: baselines.Level, grants: tuple[str, ...]) -> AgentInfo:
    return AgentInfo(
        name=request.model,
        kind="baseline",
        version=version("assay"),
        digest=_digest(),
        level=level,
        grants=grants,
        sandbox=None,
        trusted=True,
    )


@cache
def _digest() -> str:
    return files_digest(*(str(Path(__file__).with_name(f"{name}.py")) for name in SOURCES))
