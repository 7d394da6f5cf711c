"""Selections from the manifests: the planned tasks of a subset with the labels of their breakdowns."""

from __future__ import annotations

from collections.abc import Iterable

from manifests import lookup
from manifests.load import Manifests

from .selection import Selection, Task


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
    Raises ManifestError for an unknown subset or profile.
    """
    engines = lookup.named("profile", profile, manifests.profiles).engines
    tasks = []
    for entry in lookup.members(manifests, subset):
        labels = {
            "type": entry.type and f"{entry.suite}-{entry.type}",
            "split": entry.split,
            "embodiment": entry.embodiment,
            "family": entry.family,
            "engine": engines[entry.family],
            "level": level,
            "difficulty": entry.native_level,
        }
        given = {key: value for key, value in labels.items() if value is not None}
        count = lookup.condition_count(manifests, entry.id, subset)
        tasks.append(Task(entry.id, entry.suite, given, count, entry.capabilities))
    inner = {
        name: frozenset(entry.id for entry in lookup.members(manifests, name))
        for name, row in manifests.subsets.items()
        if row.rankable
    }
    chosen = manifests.subsets[subset]
    resampled = manifests.boards[chosen.board].resampled
    whole = Selection(subset, tuple(tasks), chosen.rankable, inner, groups, resampled)
    if members is None:
        return whole
    return whole.restricted(f"a choice of tasks from {subset}", members, ranked=False)
