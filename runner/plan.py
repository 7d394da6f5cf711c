"""What a run is about: its environments with engine, budgets and conditions, and those that cannot run here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version

from images.client.wire import PROTOCOL
from manifests.load import Manifests
from manifests.lookup import (
    Condition,
    budget,
    condition_count,
    condition_rule,
    conditions,
    engine_name,
    named,
    select,
    why_not,
)
from manifests.records import Budgets, GroupSettings
from runner.agents.base import AgentInfo
from runner.seeds import VERSION
from runner.settings import Choices
from runner.store.status import current_versions

OBSERVATION_PROFILE = "rgb"  # depth needs an authorized profile (text: 'Access Levels'); none exists yet


@dataclass(frozen=True)
class Planned:
    """One environment of a run. ``reason`` is None when it can run here, else why its slots stay missing."""

    environment_id: str
    family: str
    engine: str
    mode: str
    budgets: Budgets
    settings: GroupSettings
    conditions: tuple[Condition, ...]
    reason: str | None


@dataclass(frozen=True)
class Slot:
    """One condition of one environment."""

    planned: Planned
    condition: Condition

    @property
    def key(self) -> tuple[str, int]:
        return self.planned.environment_id, self.condition.index

    def __str__(self) -> str:
        return f"{self.planned.environment_id} c{self.condition.index}"


def plan(manifests: Manifests, choices: Choices, info: AgentInfo) -> tuple[Planned, ...]:
    """Every environment of the selection, in index order. Raises ManifestError for an unknown name or pattern."""
    named("protocol", choices.protocol, manifests.protocols)
    return tuple(
        _planned(manifests, entry.id, choices, info) for entry in select(manifests, choices.subset, choices.tasks)
    )


def _planned(manifests: Manifests, environment_id: str, choices: Choices, info: AgentInfo) -> Planned:
    engine = engine_name(manifests, environment_id, choices.profile)
    reason = why_not(manifests, environment_id, engine)
    limits = budget(manifests, environment_id)
    rule = condition_rule(manifests, environment_id)
    mode = str(info.parameters.get("setting", rule.mode))
    drawn = {} if rule.seeds is None else {VERSION: manifests.seed_lists[rule.seeds].digest}
    count = condition_count(manifests, environment_id, choices.subset)
    settings = GroupSettings(
        profile=choices.profile,
        engine=engine,
        mode=mode,
        base_seed=choices.seed,
        level=info.level,
        grants=info.grants,
        observation_profile=OBSERVATION_PROFILE,
        budgets=limits,
        protocol=choices.protocol,
        versions={**versions(manifests, (engine,)), **drawn},
    )
    return Planned(
        environment_id=environment_id,
        family=manifests.environments[environment_id].family,
        engine=engine,
        mode=mode,
        budgets=limits,
        settings=settings,
        conditions=() if reason else conditions(manifests, environment_id, choices.seed)[:count],
        reason=reason,
    )


@dataclass(frozen=True)
class Missing:
    """Environments of one family that cannot run here; ``reason`` is that of the first, ``alike`` whether of all."""

    family: str
    environments: tuple[str, ...]
    reason: str
    alike: bool

    def __str__(self) -> str:
        count = len(self.environments)
        what = self.environments[0] if count == 1 else f"{count} {self.family} environments"
        return f"{what}: {self.reason}" + ("" if self.alike else ", and so for the others")


def missing_here(found: Iterable[tuple[str, str, str]]) -> list[Missing]:
    """(environment, family, reason) by family: a subset of 410 environments is told in a few lines."""
    families: dict[str, list[tuple[str, str]]] = {}
    for environment_id, family, reason in found:
        families.setdefault(family, []).append((environment_id, reason))
    return [
        Missing(family, tuple(name for name, _ in rows), rows[0][1], len({reason for _, reason in rows}) == 1)
        for family, rows in families.items()
    ]


def budget_labels(manifests: Manifests, planned: tuple[Planned, ...]) -> dict[str, Budgets]:
    """The distinct limits of a run by family, and by native level where they depend on it: ``bookshelf D2``."""
    labels: dict[str, Budgets] = {}
    for item in planned:
        by_level = manifests.budgets.families[item.family].levels is not None
        level = manifests.environments[item.environment_id].native_level
        labels[f"{item.family} {level}" if by_level else item.family] = item.budgets
    return labels


def run_mode(manifests: Manifests, board: str, planned: Iterable[Planned]) -> str | None:
    """The setting of a run; None on a board that has none, whose families each have their mode."""
    return next((item.mode for item in planned), None) if manifests.boards[board].settings else None


def run_versions(planned: Iterable[Planned]) -> dict[str, str]:
    """The versions of all groups of a run."""
    return {name: version for item in planned for name, version in item.settings.versions.items()}


def versions(manifests: Manifests, engines: Iterable[str]) -> dict[str, str]:
    """Versions of a group: of assay, of the gateway's protocol, of the scoring, and of its engines' evaluators."""
    return {"assay": version("assay"), "protocol": PROTOCOL, **current_versions(manifests, engines)}
