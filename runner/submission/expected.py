"""What a run of these choices has to look like by this program's manifests: settings, groups, conditions, images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from typing import Any

from manifests.image_lock import load_image_lock
from manifests.load import Manifests
from manifests.records import Budgets
from manifests.submission import RunSettings
from runner.agents.base import AgentInfo
from runner.agents.registry import BASELINES, AgentRequest, make_agent
from runner.errors import BadInput
from runner.plan import Planned, budget_labels, plan, run_mode
from runner.settings import Choices, run_settings
from runner.submission.facts import condition_hashes


@dataclass(frozen=True)
class Expected:
    """``settings`` lacks ``images`` and ``versions``: those are of the submitter's machine and release."""

    settings: dict[str, Any]
    planned: dict[str, Planned]

    @property
    def conditions(self) -> dict[str, tuple[str, ...]]:
        """Condition hashes of every environment that this program can run."""
        return {
            name: condition_hashes(condition.parameters for condition in item.conditions)
            for name, item in self.planned.items()
            if item.reason is None
        }


def expected(settings: RunSettings, manifests: Manifests) -> Expected:
    """Raises ManifestError for a subset, a task, a profile, a protocol or a seed that the manifests do not have."""
    agent = settings.agent
    choices = Choices(
        model=settings.model,
        board=settings.board,
        subset=settings.subset,
        tasks=settings.tasks,
        protocol=settings.protocol,
        profile=settings.profile,
        seed=settings.seed,
        gpus=settings.gpus,
    )
    info = AgentInfo(
        name=agent.name,
        kind=agent.kind,
        version=agent.version,
        digest=agent.digest,
        level=settings.level,
        grants=settings.grants,
        parameters=agent.parameters,
    )
    planned = plan(manifests, choices, info)
    budgets: Mapping[str, Budgets] = budget_labels(manifests, planned)
    found = run_settings(
        choices,
        info,
        environments={item.environment_id: item.engine for item in planned},
        budgets=budgets,
        runtime=settings.runtime,
        images={},
        versions={},
        mode=run_mode(manifests, settings.board, planned),
    )
    own = {name: value for name, value in found.items() if name not in ("images", "versions")}
    return Expected(own, {item.environment_id: item for item in planned})


def baseline_digest(model: str, board: str) -> str | None:
    """The digest of a baseline of this program, or None for a model."""
    return make_agent(AgentRequest(model, board=board)).info.digest if model in BASELINES else None


def image_known(runtime: str, role: str, content: str) -> bool | None:
    """Whether an image of this content is one that this program's pins make; None where there are no pins to ask.

    Containers are pinned by the releases of ``manifests/images.lock``. Without containers the identity is that of
    sources, packages and interpreter: known when this checkout has the same.
    """
    if runtime == "docker":
        lock = load_image_lock()
        locked = any(role in release.roles for release in lock.releases.values())
        return lock.release_of(role, content) is not None if locked else None
    from manifests.errors import ManifestError
    from runner.runtimes.view import identity

    try:
        return identity(runtime, role).content == content or None
    except (ManifestError, BadInput, OSError, PackageNotFoundError):
        return None
