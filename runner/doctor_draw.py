"""Whether an OpenGL backend really draws on this machine: one frame of a real scene, in a process of its own.

A library that is installed proves nothing: drivers fail to start, or draw only black. The environment process itself
is asked, as for the pictures of an attempt.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from manifests.load import load
from runner.agents.registry import AgentRequest, make_agent
from runner.episode.stage import Stage
from runner.episode.stored import EpisodeError
from runner.plan import Slot, plan
from runner.runtimes.base import PairRequest, Role
from runner.runtimes.children import ChildRuntime, Command
from runner.runtimes.process import ProcessLauncher
from runner.settings import Choices
from runner.startup import pair_request, start_spec

FORCE = "MUJOCO_GL"
LONGEST = 160  # characters of a reason


class Forced(ProcessLauncher):
    """Plain processes that may use one backend only."""

    def __init__(self, backend: str) -> None:
        super().__init__("doctor")
        self._backend = backend

    def commands(self, request: PairRequest, io: Path) -> dict[Role, Command]:
        found = super().commands(request, io)
        environment = found["environment"]
        variables = {**environment.variables, FORCE: self._backend}
        return {**found, "environment": Command(environment.arguments, variables, environment.folder)}


def draws(backend: str) -> str | None:
    """None when ``backend`` (egl, osmesa) draws a frame here, else why not."""
    manifests, agent = load(), make_agent(AgentRequest("noop"))
    planned = plan(manifests, Choices(model="noop", subset="smoke"), agent.info)[0]
    request = pair_request(manifests, "doctor", planned, agent.info, False)
    spec = start_spec("doctor", Slot(planned, planned.conditions[0]), agent.info)
    with tempfile.TemporaryDirectory(prefix="assay-") as home:
        runtime = ChildRuntime(Forced(backend), jobs=0, locks=Path(home))
        try:
            with Stage(runtime, request, spec, "a frame"):
                return None
        except EpisodeError as error:
            text = str(error).removeprefix("a frame: it cannot be drawn: ").removeprefix("pictures: ")
            return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
        finally:
            runtime.close()
