"""Reads the manifest files: ``load().budgets.families["launcher"]``.

A file is checked against its schema, all files against each other (``manifests/checks.py``), once per process. What is
wrong is one line with the file and the path of the field:
``manifests/budgets.json: families.launcher.wall_s: field required``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from manifests import strict
from manifests.errors import ManifestError

if TYPE_CHECKING:  # pydantic takes 0.2 s to import: not before a manifest is really read
    from pydantic import BaseModel, ValidationError

    from manifests import calls, models, policy

FOLDER = Path(__file__).resolve().parent
Model = TypeVar("Model", bound="BaseModel")

# file stem -> module and name of its model
FILES = {
    "boards": ("models", "Boards"),
    "catalog": ("models", "Catalog"),
    "kidgym_catalog": ("models", "Catalog"),
    "subsets": ("models", "Subsets"),
    "budgets": ("models", "BudgetTable"),
    "protocols": ("policy", "Protocols"),
    "causes": ("policy", "Causes"),
    "codes": ("policy", "Codes"),
    "trust": ("policy", "TrustList"),
    "model_calls": ("calls", "ModelCalls"),
    "profiles": ("policy", "Profiles"),
    "engines": ("policy", "Engines"),
    "conditions": ("models", "ConditionRules"),
    "launcher_conditions": ("models", "LauncherConditions"),
    "hanoi_conditions": ("models", "HanoiConditions"),
    "seed_lists": ("models", "SeedLists"),
}
CATALOGS = ("catalog", "kidgym_catalog")


@dataclass(frozen=True)
class Manifests:
    """Every manifest, checked. ``catalogs`` by board; ``environments`` holds those of all boards by id, ``families``
    their names, in catalog order."""

    boards: dict[str, models.Board]
    catalogs: dict[str, models.Catalog]
    subsets: dict[str, models.Subset]
    budgets: models.BudgetTable
    protocols: dict[str, policy.Protocol]
    causes: dict[str, policy.Cause]
    codes: dict[str, str]
    trust: policy.TrustList
    model_calls: calls.ModelCalls
    profiles: dict[str, policy.Profile]
    engines: dict[str, policy.Engine]
    sandboxes: dict[str, policy.SandboxImage]
    conditions: models.ConditionRules
    launcher_conditions: models.LauncherConditions
    hanoi_conditions: models.HanoiConditions
    seed_lists: dict[str, models.SeedList]
    environments: dict[str, models.EnvironmentEntry]

    @property
    def catalog(self) -> models.Catalog:
        """The 410 environments of Embodied Playground."""
        return self.catalogs["ep"]

    @property
    def explicit(self) -> dict[str, models.LauncherConditions | models.HanoiConditions]:
        """The stored conditions by family; each has a file of its own, ``FAMILY_conditions.json``."""
        return {"launcher": self.launcher_conditions, "hanoi": self.hanoi_conditions}

    @property
    def families(self) -> tuple[str, ...]:
        return tuple(family for catalog in self.catalogs.values() for family in catalog.counts)


@cache
def load(folder: Path = FOLDER) -> Manifests:
    """All manifests of ``folder``. Raises ManifestError for the first file, field or rule that is wrong."""
    from manifests.checks import check

    read: dict[str, Any] = {stem: read_file(folder, stem) for stem in FILES}
    catalogs = [read[stem] for stem in CATALOGS]
    manifests = Manifests(
        boards=read["boards"].root,
        catalogs={catalog.board: catalog for catalog in catalogs},
        subsets=read["subsets"].root,
        budgets=read["budgets"],
        protocols=read["protocols"].root,
        causes=read["causes"].root,
        codes=read["codes"].root,
        trust=read["trust"],
        model_calls=read["model_calls"],
        profiles=read["profiles"].root,
        engines=read["engines"].engines,
        sandboxes=read["engines"].sandboxes,
        conditions=read["conditions"],
        launcher_conditions=read["launcher_conditions"],
        hanoi_conditions=read["hanoi_conditions"],
        seed_lists=read["seed_lists"].root,
        environments={entry.id: entry for catalog in catalogs for entry in catalog.environments},
    )
    check(manifests)
    return manifests


def model_of(stem: str) -> type[BaseModel]:
    """The schema of a file."""
    module, name = FILES[stem]
    model: type[BaseModel] = getattr(import_module(f"manifests.{module}"), name)
    return model


def read_file(folder: Path, stem: str) -> BaseModel:
    """One file against its schema."""
    name = f"manifests/{stem}.json"
    try:
        text = (folder / f"{stem}.json").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError(f"{name}: cannot be read: {error}") from None
    return parse(name, text, model_of(stem))


def parse(name: str, text: str, model: type[Model]) -> Model:
    """Strict JSON against a schema: no key twice, no NaN. Raises ManifestError with ``name`` and the field."""
    from pydantic import ValidationError

    try:
        strict.loads(text)
        return model.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise ManifestError(f"{name}: {first_line(error)}") from None
    except RecursionError:
        raise ManifestError(f"{name}: is not valid JSON: it is nested too deeply") from None
    except ValueError as error:
        raise ManifestError(f"{name}: is not valid JSON: {error}") from None


def first_line(error: ValidationError) -> str:
    """The first of pydantic's findings as ``path: what is wrong``, and how many more there are."""
    found = error.errors(include_url=False)
    first = found[0]
    path = ""
    for part in first["loc"]:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    text = {"missing": "field required", "extra_forbidden": "unknown field"}.get(first["type"])
    if text is None:
        text = first["msg"].removeprefix("Value error, ")
        if first["type"] != "value_error":
            text = f"{text[0].lower()}{text[1:]}, got {first['input']!r:.100}"
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{path.lstrip('.') or 'top level'}: {text}{more}"
