"""The runtime of a replay: the run's own, with the very images that the run was made with where they are here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from runner.agents.base import AgentInfo
from runner.runtimes.base import Runtime, RuntimeUnavailable
from runner.runtimes.select import select
from runner.store.store import Run

AUDITOR = AgentInfo("audit", "baseline", "1", "", "L0", trusted=True)


def replay_runtime(name: str, run: Run, home: Path, say: Callable[[str], None], jobs: int) -> Runtime:
    """``auto`` is the runtime of the run, or the best one that works here. Raises RuntimeUnavailable.

    Says which image of the run is not here: then that of this checkout is used, and the replay's class tells.
    """
    from runner.runtimes.docker import DockerRuntime  # takes 0.15 s to import: only where something is replayed

    runtime = _select(name, run, home, say, jobs)
    wanted = {role: content for images in run.settings["images"].values() for role, content in images.items()}
    if isinstance(runtime, DockerRuntime):
        for role in runtime.pin(wanted):
            say(f"audit: the image {role} {wanted[role][:12]} of the run is not here; that of this checkout is used")
    return runtime


def _select(name: str, run: Run, home: Path, say: Callable[[str], None], jobs: int) -> Runtime:
    if name != "auto":
        return select(name, AUDITOR, home, say, jobs=jobs)
    try:
        return select(run.settings["runtime"], AUDITOR, home, say, jobs=jobs)
    except RuntimeUnavailable as error:
        say(f"audit: {error}")
        return select("auto", AUDITOR, home, say, jobs=jobs)
