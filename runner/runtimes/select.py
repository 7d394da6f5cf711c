"""Which runtime a run gets, and why: ``--runtime auto|docker|bubblewrap|process``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from runner.agents.base import AgentInfo
from runner.runtimes.base import Runtime, RuntimeUnavailable

RUNTIMES = ("auto", "docker", "bubblewrap", "process")
LOCKS = "locks"  # folder under the home of the records
_NOT_OFFICIAL = "not official"


def select(
    name: str,
    agent: AgentInfo,
    home: Path,
    say: Callable[[str], None] = print,
    *,
    jobs: int = 1,
    build: bool = True,
) -> Runtime:
    """The runtime ``name``, or the best that works here for ``auto``; ``facts.why`` is one line that says why.

    Only a ``trusted`` agent (it runs no code but this repository's) runs as a plain process. ``home`` holds the
    run-lock folder, ``jobs`` is the number of attempts in parallel, ``build`` whether missing images are built. Raises
    RuntimeUnavailable with what to install.
    """
    locks, trusted = home / LOCKS, agent.trusted
    if name not in RUNTIMES:
        raise RuntimeUnavailable(f"runtime {name!r} is unknown; choose one of {', '.join(RUNTIMES)}")
    if name == "docker":
        return _docker("docker: asked for", jobs, locks, build, say)
    if name == "bubblewrap":
        return _bubblewrap(f"bubblewrap ({_NOT_OFFICIAL}): asked for", jobs, locks)
    if name == "process":
        if not trusted:
            raise RuntimeUnavailable(
                "runtime 'process' runs without isolation, and so no agent that runs code of a model; "
                "use docker or bubblewrap for this agent"
            )
        return _process(f"process ({_NOT_OFFICIAL}, no isolation): asked for", jobs, locks)
    try:
        return _docker("docker: an Engine answers", jobs, locks, build, say)
    except RuntimeUnavailable as error:
        no_docker = str(error)
    try:
        return _bubblewrap(f"bubblewrap ({_NOT_OFFICIAL}): {no_docker}", jobs, locks)
    except RuntimeUnavailable as error:
        no_bubblewrap = str(error)
    if trusted:
        why = (
            f"process ({_NOT_OFFICIAL}, no isolation; fine where no code of a model runs): {no_docker}; {no_bubblewrap}"
        )
        return _process(why, jobs, locks)
    raise RuntimeUnavailable(f"no runtime can isolate this agent: {no_docker}; or {no_bubblewrap}")


def clean(name: str, agent: AgentInfo, home: Path) -> list[str]:
    """Remove what runtimes that died have left, where nothing else is to be done; a line for each thing removed."""
    from runner.runtimes.owner import dead_owners

    if not dead_owners(home / LOCKS):
        return []
    try:
        runtime = select(name, agent, home, jobs=0, build=False)
    except RuntimeUnavailable as error:
        return [f"what an earlier start has left cannot be removed now: {error}"]
    try:
        return runtime.reap()
    finally:
        runtime.close()


# The imports wait until a runtime is wanted: the Docker SDK alone takes 0.15 s, which `assay --help` must not pay.
def _docker(why: str, jobs: int, locks: Path, build: bool, say: Callable[[str], None]) -> Runtime:
    from runner.runtimes.docker import DockerRuntime

    return DockerRuntime(jobs=jobs, locks=locks, why=why, build=build, say=say)


def _bubblewrap(why: str, jobs: int, locks: Path) -> Runtime:
    from runner.runtimes.bubblewrap import BubblewrapLauncher
    from runner.runtimes.children import ChildRuntime

    return ChildRuntime(BubblewrapLauncher(why), jobs=jobs, locks=locks)


def _process(why: str, jobs: int, locks: Path) -> Runtime:
    from runner.runtimes.children import ChildRuntime
    from runner.runtimes.process import ProcessLauncher

    return ChildRuntime(ProcessLauncher(why), jobs=jobs, locks=locks)
