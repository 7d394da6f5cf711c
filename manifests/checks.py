"""Rules between the manifest files; each finding is one line that names file and field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from manifests.errors import ManifestError, nearest
from manifests.load import CATALOGS

if TYPE_CHECKING:
    from pydantic import BaseModel

    from manifests.load import Manifests
    from manifests.models import Catalog, Factor


def check(manifests: Manifests) -> None:
    """Raises ManifestError for the first rule that does not hold."""
    _boards(manifests)
    for file, catalog in zip(CATALOGS, manifests.catalogs.values(), strict=True):
        _catalog(file, catalog)
    _subsets(manifests)
    _budgets(manifests)
    _causes(manifests)
    _model_calls(manifests)
    _engines(manifests)
    _conditions(manifests)


def _fail(file: str, path: str, text: str) -> None:
    raise ManifestError(f"manifests/{file}.json: {path}: {text}")


def _same_keys(file: str, path: str, found: Iterable[str], wanted: Iterable[str]) -> None:
    """Each of ``wanted`` is there and nothing else is."""
    found, wanted = set(found), set(wanted)
    if missing := sorted(wanted - found):
        _fail(file, f"{path}.{missing[0]}" if path else missing[0], "field required")
    if unknown := sorted(found - wanted):
        path = f"{path}.{unknown[0]}" if path else unknown[0]
        _fail(file, path, f"unknown name {unknown[0]!r}{nearest(unknown[0], wanted)}")


def _known(file: str, path: str, name: str, known: Iterable[str], what: str) -> None:
    if name not in known:
        _fail(file, path, f"unknown {what} {name!r}{nearest(name, known)}")


def _boards(manifests: Manifests) -> None:
    _same_keys("boards", "", manifests.boards, manifests.catalogs)
    for name, board in manifests.boards.items():
        _known("boards", f"{name}.subset", board.subset, manifests.subsets, "subset")
        for protocol in board.protocols:
            _known("boards", f"{name}.protocols", protocol, manifests.protocols, "protocol")
        if manifests.subsets[board.subset].board != name:
            _fail("boards", f"{name}.subset", f"{board.subset!r} is of board {manifests.subsets[board.subset].board}")


def _catalog(file: str, catalog: Catalog) -> None:
    seen: dict[str, set[str]] = {"id": set(), "index": set()}
    for position, entry in enumerate(catalog.environments):
        _known(file, f"environments[{position}].family", entry.family, catalog.counts, "family")
        _known(file, f"environments[{position}].suite", entry.suite, catalog.types, "suite")
        for name, value in (("id", entry.id), ("index", entry.index)):
            if value in seen[name]:
                _fail(file, f"environments[{position}].{name}", f"{value!r} stands twice")
            if value is not None:
                seen[name].add(value)
        if entry.index is not None and not entry.index.startswith(f"{entry.suite}-"):
            _fail(file, f"environments[{position}].index", f"{entry.index!r} is not of suite {entry.suite}")
    families = Counter(entry.family for entry in catalog.environments)
    for family, count in catalog.counts.items():
        if families[family] != count:
            _fail(file, f"counts.{family}", f"{count} declared, {families[family]} environments given")
    types = Counter((entry.suite, entry.type) for entry in catalog.environments if entry.type)
    declared = {(suite, name): n for suite, names in catalog.types.items() for name, n in names.items()}
    for suite, name in declared.keys() | types.keys():
        if declared.get((suite, name), 0) != types[suite, name]:
            given = declared.get((suite, name), 0)
            _fail(file, f"types.{suite}.{name}", f"{given} declared, {types[suite, name]} tasks given")


def _subsets(manifests: Manifests) -> None:
    for name, subset in manifests.subsets.items():
        _known("subsets", f"{name}.board", subset.board, manifests.boards, "board")
        environments = {entry.id: entry for entry in manifests.catalogs[subset.board].environments}
        members = tuple(environments) if subset.members == "all" else subset.members
        for position, member in enumerate(members):
            path = f"{name}.members[{position}]"
            _known("subsets", path, member, environments, "environment")
            split = environments[member].split
            if subset.split is not None and split != subset.split:
                _fail("subsets", path, f"{member!r} is of split {split}, not {subset.split}")
        if len(set(members)) != len(members):
            twice = Counter(members).most_common(1)[0][0]
            _fail("subsets", f"{name}.members", f"{twice!r} stands twice")
        suites = Counter(environments[member].suite for member in members)
        for suite in subset.suites.keys() | suites.keys():
            declared = subset.suites.get(suite, 0)
            if declared != suites[suite]:
                _fail("subsets", f"{name}.suites.{suite}", f"{declared} declared, {suites[suite]} members given")


def _budgets(manifests: Manifests) -> None:
    budgets = manifests.budgets.families
    _same_keys("budgets", "families", budgets, manifests.families)
    for family, budget in budgets.items():
        if budget.levels is not None:
            levels = {str(e.native_level) for e in manifests.environments.values() if e.family == family}
            _same_keys("budgets", f"families.{family}.levels", budget.levels, levels)


def _causes(manifests: Manifests) -> None:
    for cause, row in manifests.causes.items():
        _same_keys("causes", f"{cause}.outcomes", row.outcomes, manifests.protocols)
        for protocol, outcome in row.outcomes.items():
            if outcome.code is not None:
                _known("causes", f"{cause}.outcomes.{protocol}.code", outcome.code, manifests.codes, "failure code")


def _model_calls(manifests: Manifests) -> None:
    calls = manifests.model_calls
    for number, row in enumerate(calls.faults):
        _known("model_calls", f"faults[{number}].cause", row.cause, manifests.causes, "cause")
    for cause in calls.tolerated_in_a_row:
        _known("model_calls", f"tolerated_in_a_row.{cause}", cause, manifests.causes, "cause")


def _engines(manifests: Manifests) -> None:
    for name, profile in manifests.profiles.items():
        _same_keys("profiles", f"{name}.engines", profile.engines, manifests.families)
        for family, engine in profile.engines.items():
            path = f"{name}.engines.{family}"
            _known("profiles", path, engine, manifests.engines, "engine")
            if family not in manifests.engines[engine].families:
                _fail("profiles", path, f"engine {engine!r} does not list this family in manifests/engines.json")
    for name, spec in manifests.engines.items():
        for family, cases in spec.families.items():
            path = f"engines.{name}.families.{family}"
            _known("engines", path, family, manifests.families, "family")
            own = [entry for entry in manifests.environments.values() if entry.family == family]
            several = len({entry.embodiment for entry in own}) > 1
            known = {f"{entry.embodiment}/{entry.case}" if several else entry.case for entry in own}
            for position, case in enumerate(cases):
                _known("engines", f"{path}[{position}]", case, known, "case")


def _conditions(manifests: Manifests) -> None:
    rules = manifests.conditions
    _same_keys("conditions", "families", rules.families, manifests.families)
    for family, rule in rules.families.items():
        for name, factor in rule.factors.items():
            if family not in manifests.explicit and factor.values is not None and len(factor.values) != rules.count:
                _fail("conditions", f"families.{family}.factors.{name}.values", f"give {rules.count} values")
        if rule.seeds is not None:
            _known("conditions", f"families.{family}.seeds", rule.seeds, manifests.seed_lists, "seed list")
            have, want = len(manifests.seed_lists[rule.seeds].seeds), rule.count or rules.count
            if have != want:
                _fail(
                    "seed_lists", f"{rule.seeds}.seeds", f"{have} seeds, {want} conditions of {family} are prescribed"
                )
    for family, explicit in manifests.explicit.items():
        _explicit(manifests, family, explicit.environments)


def _explicit(manifests: Manifests, family: str, stored: Mapping[str, Sequence[BaseModel]]) -> None:
    """The stored conditions of a family: all its environments, as many as prescribed, every value within its factor."""
    rules, file = manifests.conditions, f"{family}_conditions"
    _same_keys(file, "environments", stored, [e.id for e in manifests.environments.values() if e.family == family])
    factors = rules.families[family].factors
    for environment_id, conditions in stored.items():
        path = f"environments.{environment_id}"
        if len(conditions) != rules.count:
            _fail(file, path, f"{len(conditions)} conditions, {rules.count} are prescribed")
        for index, parameters in enumerate(conditions):
            values = parameters.model_dump()
            _same_keys("conditions", f"families.{family}.factors", factors, values)
            _within(file, f"{path}[{index}]", values, factors)
        for name, factor in factors.items():
            found = tuple(getattr(parameters, name) for parameters in conditions)
            if factor.values is not None and not isinstance(factor.values[0], str) and found != factor.values:
                _fail(file, path, f"{name} {list(found)} is not the prescribed order")


def _within(file: str, path: str, values: dict[str, Any], factors: dict[str, Factor]) -> None:
    for name, factor in factors.items():
        for value in values[name] if isinstance(values[name], tuple) else (values[name],):
            if factor.values is not None:
                if value not in factor.values:
                    _fail(file, f"{path}.{name}", f"{value!r} is not one of {list(factor.values)}")
            elif factor.low is None or factor.high is None or not factor.low <= value <= factor.high:
                limits = f"{factor.low} to {factor.high} {factor.unit}"
                _fail(file, f"{path}.{name}", f"{value!r} is outside {limits}")
