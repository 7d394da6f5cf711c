"""Rules and selections from the manifests: the policy that a score is computed under, and the tasks that it is over."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from manifests.errors import ManifestError, nearest
from manifests.load import Manifests

from .rules import Rules
from .selection import Selection, Task


def rules_of(manifests: Manifests, protocol: str) -> Rules:
    """The rules of a protocol by name, with its column of the cause table."""
    if protocol not in manifests.protocols:
        known = ", ".join(manifests.protocols)
        raise ManifestError(f"protocol {protocol!r} is not one of {known}{nearest(protocol, manifests.protocols)}")
    found = manifests.protocols[protocol]
    column = {cause: row.outcomes[protocol] for cause, row in manifests.causes.items() if protocol in row.outcomes}
    return Rules(
        name=protocol,
        opportunities=found.opportunities,
        pass_at=found.pass_at,
        stop_at_success=found.stop_at_success,
        exclusion_cap=None if found.exclusion is None else Fraction(str(found.exclusion.max_fraction)),
        outcomes={cause: (row.outcome, row.code) for cause, row in column.items()},
    )


def selection_of(
    manifests: Manifests,
    subset: str,
    *,
    profile: str,
    level: str,
    members: Iterable[str] | None = None,
    groups: tuple[str, ...] | None = None,
) -> Selection:
    """A subset by name, or of it only the environments ``members``; the latter never has a headline.

    ``profile`` and ``level`` are those of the run: each task is labelled with its engine and with the access level.
    """
    if subset not in manifests.subsets:
        known = ", ".join(manifests.subsets)
        raise ManifestError(f"subset {subset!r} is not one of {known}{nearest(subset, manifests.subsets)}")
    if profile not in manifests.profiles:
        known = ", ".join(manifests.profiles)
        raise ManifestError(f"profile {profile!r} is not one of {known}{nearest(profile, manifests.profiles)}")
    engines = manifests.profiles[profile].engines
    tasks = []
    for name in _members(manifests, subset):
        entry = manifests.environments[name]
        labels = {
            "type": entry.type and f"{entry.suite}-{entry.type}",
            "split": entry.split,
            "embodiment": entry.embodiment,
            "family": entry.family,
            "engine": engines[entry.family],
            "level": level,
        }
        given = {key: value for key, value in labels.items() if value is not None}
        tasks.append(Task(name, entry.suite, given, manifests.conditions.count))
    inner = {name: frozenset(_members(manifests, name)) for name, row in manifests.subsets.items() if row.rankable}
    whole = Selection(subset, tuple(tasks), manifests.subsets[subset].rankable, inner, groups)
    if members is None:
        return whole
    return whole.restricted(f"tasks of {subset}", members, ranked=False)


def _members(manifests: Manifests, subset: str) -> tuple[str, ...]:
    members = manifests.subsets[subset].members
    return tuple(manifests.environments) if members == "all" else members
