"""The two entry points of an attempt, the same under every runtime."""

from __future__ import annotations

from dataclasses import dataclass

from manifests.load import load
from runner.runtimes.base import PairRequest, RuntimeUnavailable


@dataclass(frozen=True)
class EntryPoints:
    """``environment_role`` and ``sandbox_role`` are roles of ``manifests/images.json``; the rest are module names. What
    is the sandbox's is None where none is asked for."""

    environment_role: str
    engine_module: str
    sandbox_role: str | None
    sandbox_module: str | None

    @property
    def images(self) -> tuple[str, ...]:
        """The image roles that are started, the environment's first."""
        return tuple(role for role in (self.environment_role, self.sandbox_role) if role is not None)

    def environment(self, socket: str) -> list[str]:
        return ["-m", "images.gateway", "--engine", self.engine_module, "--socket", socket]

    def sandbox(self, socket: str) -> list[str]:
        assert self.sandbox_module is not None
        return ["-m", self.sandbox_module, "--socket", socket]


def entry_points(request: PairRequest) -> EntryPoints:
    """What ``request`` starts. Raises RuntimeUnavailable for an engine or a sandbox that does not exist."""
    manifests = load()
    engine = manifests.engines.get(request.engine)
    if engine is None:
        raise RuntimeUnavailable(f"engine {request.engine!r} is unknown; known: {', '.join(sorted(manifests.engines))}")
    if engine.module is None:
        raise RuntimeUnavailable(f"engine {request.engine!r} cannot run here: {engine.reason}")
    if request.sandbox is None:
        return EntryPoints(engine.role, engine.module, None, None)
    sandbox = manifests.sandboxes.get(request.sandbox)
    if sandbox is None:
        raise RuntimeUnavailable(
            f"sandbox {request.sandbox!r} is unknown; known: {', '.join(sorted(manifests.sandboxes))}"
        )
    return EntryPoints(engine.role, engine.module, request.sandbox, sandbox.module)


def refuse_gpus(runtime: str, request: PairRequest) -> None:
    """For the runtimes that hand no GPU to an attempt: a request that would be passed over in silence is refused."""
    if request.gpus:
        raise RuntimeUnavailable(
            f"gpus: the runtime {runtime} gives an attempt no GPU; use RUNTIME=docker with NVIDIA's toolkit, or "
            "leave GPUS out"
        )
