"""The runtime of a replay or a rerun: the run's own, with the very images of the run where they are here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from runner.agents.base import AgentInfo
from runner.runtimes.base import Runtime, RuntimeUnavailable
from runner.runtimes.select import select
from runner.store.store import Run

AUDITOR = AgentInfo("audit", "baseline", "1", "", "L0", trusted=True)


def runtime_of(
    run: Run, name: str, home: Path, say: Callable[[str], None], *, agent: AgentInfo = AUDITOR, jobs: int = 1
) -> Runtime:
    """``auto`` is the runtime of the run, or the best one that works here. Raises RuntimeUnavailable.

    Says which image of the run is not here: then that of this checkout is used, and the replay's class tells.
    """
    from runner.runtimes.docker import DockerRuntime  # takes 0.15 s to import: only where something is replayed

    runtime = _select(name, run, agent, home, say, jobs)
    wanted = {role: content for images in run.settings["images"].values() for role, content in images.items()}
    if isinstance(runtime, DockerRuntime):
        for role in runtime.pin(wanted):
            say(f"audit: the image {role} {wanted[role][:12]} of the run is not here; that of this checkout is used")
    return runtime


def _select(name: str, run: Run, agent: AgentInfo, home: Path, say: Callable[[str], None], jobs: int) -> Runtime:
    if name != "auto":
        return select(name, agent, home, say, jobs=jobs)
    try:
        return select(run.settings["runtime"], agent, home, say, jobs=jobs)
    except RuntimeUnavailable as error:
        say(f"audit: {error}")
        return select("auto", agent, home, say, jobs=jobs)
