"""Pure look-ups on top of the manifests: which tasks, which budget, which engine, which conditions, which outcome.

An unknown name is a ManifestError that names the value, what is near it and how to list what there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeVar

from manifests.errors import ManifestError, nearest
from manifests.words import count

if TYPE_CHECKING:
    from manifests.load import Manifests
    from manifests.models import ConditionRule, EnvironmentEntry
    from manifests.policy import Cause, Engine
    from manifests.records import Budgets, Outcome

T = TypeVar("T")


def named(what: str, name: str, known: Mapping[str, T]) -> T:
    """``known[name]``, or a ManifestError that lists what there is: subsets, profiles, protocols."""
    if name not in known:
        raise ManifestError(f"{what} {name!r} is unknown{nearest(name, known)}; choose one of: {', '.join(known)}")
    return known[name]


def environment(manifests: Manifests, environment_id: str) -> EnvironmentEntry:
    """The catalog entry of an identifier or an EP-100 index (``Launch-02``)."""
    if environment_id in manifests.environments:
        return manifests.environments[environment_id]
    by_index = {entry.index: entry for entry in manifests.environments.values() if entry.index}
    if environment_id in by_index:
        return by_index[environment_id]
    near = _cases(manifests.environments, environment_id) or nearest(
        environment_id, [*manifests.environments, *by_index]
    )
    raise ManifestError(f"environment {environment_id!r} is unknown{near}; `assay tasks` lists all of them")


def meant(manifests: Manifests, name: str) -> EnvironmentEntry:
    """``environment`` for what a person writes: also an end of an identifier that no other has (``A007``). Records
    name environments in full."""
    ends = [entry for entry in manifests.environments.values() if _ends(entry.id, name)]
    if len(ends) > 1 and name not in manifests.environments:
        several = ", ".join(entry.id for entry in ends)
        raise ManifestError(f"environment {name!r} can be one of several: name one of {several}")
    return ends[0] if len(ends) == 1 else environment(manifests, name)


def members(manifests: Manifests, subset: str) -> tuple[EnvironmentEntry, ...]:
    """The environments of a subset, in index order."""
    chosen = named("subset", subset, manifests.subsets)
    if chosen.members == "all":
        return manifests.catalogs[chosen.board].environments
    return tuple(manifests.environments[member] for member in chosen.members)


def select(manifests: Manifests, subset: str, patterns: str | None = None) -> tuple[EnvironmentEntry, ...]:
    """The environments of a subset that match at least one of the comma-separated shell patterns, in index order.

    A pattern is held against the identifier, its end of as many parts (``A007``, ``panda/H0*``) and the EP-100 index;
    ``*`` also matches ``/``. A pattern without a match is an error, so that a slip never makes a run smaller in
    silence.
    """
    candidates = members(manifests, subset)
    if patterns is None:
        return candidates
    chosen: set[str] = set()
    for pattern in (part.strip() for part in patterns.split(",")):
        matched = {entry.id for entry in candidates if _matches(entry, pattern)}
        if not matched:
            raise ManifestError(_no_match(manifests, subset, patterns, pattern))
        chosen |= matched
    return tuple(entry for entry in candidates if entry.id in chosen)


def _matches(entry: EnvironmentEntry, pattern: str) -> bool:
    return (
        fnmatchcase(entry.id, pattern)
        or _ends(entry.id, pattern)
        or (entry.index is not None and fnmatchcase(entry.index, pattern))
    )


def _ends(environment_id: str, pattern: str) -> bool:
    """Whether the last parts of the identifier match, as many as the pattern has."""
    parts = pattern.count("/") + 1
    return fnmatchcase("/".join(environment_id.split("/")[-parts:]), pattern)


def _no_match(manifests: Manifests, subset: str, patterns: str, pattern: str) -> str:
    if not pattern:
        return f"tasks {patterns!r} contains an empty pattern: remove the spare comma"
    elsewhere = [entry.id for entry in manifests.environments.values() if _matches(entry, pattern)]
    if elsewhere:
        return (
            f"tasks pattern {pattern!r} matches nothing in subset {subset!r} but "
            f"{count(len(elsewhere), 'environment')} of the catalog: choose another subset, for example "
            f"{_largest(manifests, elsewhere[0])}"
        )
    own = [entry.id for entry in manifests.catalogs[manifests.subsets[subset].board].environments]
    near = _cases(own, pattern) or nearest(pattern, own)
    return f"tasks pattern {pattern!r} matches no environment{near}; `assay tasks` lists all of them"


def _largest(manifests: Manifests, environment_id: str) -> str:
    """A subset that holds all of the environment's board."""
    board = next(
        name for name, catalog in manifests.catalogs.items() if environment_id in {e.id for e in catalog.environments}
    )
    return next(name for name, row in manifests.subsets.items() if row.board == board and row.members == "all")


def _cases(known: Iterable[str], name: str) -> str:
    """'; did you mean marble/dual-panda/A007' for the case alone, or an empty string."""
    found = [item for item in known if item.rpartition("/")[2].lower() == name.lower()]
    return f"; did you mean {' or '.join(found[:3])}" if found else ""


def budget(manifests: Manifests, environment_id: str) -> Budgets:
    """The limits of one attempt: Table 4 and the model allowance."""
    from manifests.records import Budgets

    entry = environment(manifests, environment_id)
    row, model = manifests.budgets.families[entry.family], manifests.budgets.model
    physical = row if row.levels is None else row.levels[str(entry.native_level)]
    assert physical.actions is not None
    assert physical.simulated_s is not None
    return Budgets(
        actions=physical.actions,
        simulated_s=physical.simulated_s,
        wall_s=row.wall_s,
        tokens=model.tokens,
        images=model.images,
    )


def engine_name(manifests: Manifests, environment_id: str, profile: str) -> str:
    """The engine that runs an environment under a profile, implemented or not."""
    family = environment(manifests, environment_id).family
    return named("profile", profile, manifests.profiles).engines[family]


def why_not(manifests: Manifests, environment_id: str, engine: str) -> str | None:
    """None when the engine has this environment now, else the reason in a few words."""
    entry = environment(manifests, environment_id)
    spec: Engine = named("engine", engine, manifests.engines)
    if spec.reason is not None:
        return spec.reason
    if not spec.families.get(entry.family):
        return f"{engine} has no {entry.family} environments yet"
    listed = spec.families[entry.family]
    case = f"{entry.embodiment}/{entry.case}" if "/" in listed[0] else entry.case
    if case not in listed:
        return f"{engine} has no {entry.family} case {case} yet"
    if not manifests.conditions.families[entry.family].generated:
        return f"the conditions of {entry.family} are not generated yet"
    return None


@dataclass(frozen=True)
class Condition:
    """One prescribed initial condition. ``public`` is the part of ``parameters`` that the agent is told."""

    index: int
    parameters: dict[str, Any]
    public: dict[str, Any] = field(default_factory=dict)


def condition_rule(manifests: Manifests, environment_id: str) -> ConditionRule:
    """How the conditions of the environment's family differ; ``mode`` is the evaluated initial mode."""
    return manifests.conditions.families[environment(manifests, environment_id).family]


def condition_count(manifests: Manifests, environment_id: str, subset: str | None = None) -> int:
    """How many conditions an environment has: all, or those that a subset takes."""
    every = condition_rule(manifests, environment_id).count or manifests.conditions.count
    taken = None if subset is None else manifests.subsets[subset].conditions
    return every if taken is None else min(every, taken)


def conditions(manifests: Manifests, environment_id: str, base_seed: int = 0) -> tuple[Condition, ...]:
    """The explicit conditions, from 0. Raises ManifestError where none are stored for the family or the base seed."""
    entry = environment(manifests, environment_id)
    rule = condition_rule(manifests, environment_id)
    if not rule.generated:
        raise ManifestError(f"environment {entry.id!r}: the conditions of family {entry.family} are not generated yet")
    stored = manifests.explicit.get(entry.family, manifests.launcher_conditions)
    if base_seed != stored.base_seed:
        raise ManifestError(f"base seed {base_seed}: no conditions are stored for it; use {stored.base_seed}")
    if rule.seeds is not None:
        seeds = manifests.seed_lists[rule.seeds]
        return tuple(Condition(i, {"seed": seed, "example": seeds.example}) for i, seed in enumerate(seeds.seeds))
    result = []
    for index, row in enumerate(stored.environments[entry.id]):
        parameters = row.model_dump(mode="json")
        public = {name: value for name, value in parameters.items() if rule.factors[name].public}
        result.append(Condition(index, parameters, public))
    return tuple(result)


@dataclass(frozen=True)
class Ruling:
    """What an attempt's end means under a protocol. ``known`` is False for a cause that no table has: such an attempt
    is invalid, counted, and makes the command exit non-zero."""

    outcome: Outcome
    code: str | None
    incident: bool
    known: bool


def rule(manifests: Manifests, cause: str, protocol: str, violation_code: str | None = None) -> Ruling:
    """Outcome and code of a cause under a protocol (design: section 7). ``violation_code`` is used where the table
    leaves the code to the violation; a code outside ``codes.json``, or none at all, makes the ruling unknown."""
    named("protocol", protocol, manifests.protocols)
    row: Cause | None = manifests.causes.get(cause)
    if row is None:
        return Ruling("invalid", "ERR", incident=False, known=False)
    found = row.outcomes[protocol]
    code = found.code
    if found.outcome == "failure" and code is None:
        code = violation_code
        if code is None or code == "ERR" or code not in manifests.codes:
            return Ruling("invalid", "ERR", incident=False, known=False)
    return Ruling(found.outcome, code, row.incident, known=True)
