"""Schemas of what is run: boards, catalogs, subsets, budgets and conditions (design: sections 2 and 6).

A field that a file leaves out, or that no schema knows, is an error. Rules between fields of one object are here;
rules between files are in ``manifests/checks.py``.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Literal, Self

from pydantic import Field, RootModel, model_validator

from manifests.records import Strict

Name = Annotated[str, Field(min_length=1)]
Positive = Annotated[int, Field(gt=0)]
PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Split = Literal["Easy", "Hard"]


# boards.json


class Board(Strict):
    """One benchmark with its own metric. ``subset`` and the first of ``protocols`` are what a run gets without a
    choice; a protocol that a board does not list makes no run of it.

    ``interface`` says what an agent does at each turn, and so which agents there are. ``settings`` are the ways of
    prompting, the first one is the default; ``temperatures`` those of model calls, the first one is the default and the
    others are for models that do not take it; none: the user's choice.
    ``resampled``: what intervals are made of. Where a board's tasks are all that there are and its conditions a sample
    of them, it is the conditions (episodes) of each task; else the tasks. ``breakdowns`` are those of a score, and
    ``shown`` those of a table for people.
    """

    title: Name
    text: Name
    subset: Name
    protocols: Annotated[tuple[Name, ...], Field(min_length=1)]
    interface: Literal["control", "choice"]
    settings: tuple[Name, ...]
    temperatures: tuple[Annotated[float, Field(ge=0, le=2)], ...]
    resampled: Literal["tasks", "episodes"]
    breakdowns: tuple[Name, ...]
    shown: tuple[Name, ...]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name in self.shown:
            if name not in self.breakdowns:
                raise ValueError(f"shown names {name!r}, which is not among the breakdowns")
        return self


class Boards(RootModel[dict[str, Board]]):
    """Boards by name."""


# catalog.json, kidgym_catalog.json


class EnvironmentEntry(Strict):
    """One environment; of Embodied Playground one of 410 (text: 'Task Catalog and Evaluation Subset Indices').

    ``prefix`` is the first part of the identifier, ``family`` the task family of Table 4. ``index``, ``type``,
    ``split`` and ``title`` are those of the EP-100 index, None outside it; ``printed_as`` is the identifier as the text
    prints it where that is a misprint. ``native_level`` is the family's own difficulty label and None for ManiSkill.
    ``capabilities`` are those that the text of KidGym says a task needs.
    """

    id: Name
    prefix: Name
    embodiment: Name
    case: Name
    family: Name
    suite: Name
    simulator: Name
    native_level: Name | None
    index: Name | None = None
    type: Name | None = None
    split: Split | None = None
    title: Name | None = None
    printed_as: Name | None = None
    objective: Name | None = None
    capabilities: tuple[Name, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.id != "/".join((self.prefix, self.embodiment, self.case)):
            raise ValueError(f"id {self.id!r} is not prefix/embodiment/case")
        indexed = {value is None for value in (self.index, self.type, self.split)}
        if len(indexed) != 1 or (self.index is not None and self.title is None):
            raise ValueError(f"{self.id}: index, type, split and title must be given together or left out together")
        return self


class Catalog(Strict):
    """``counts`` holds Table 1 (environments per family) and ``types`` Table 2 (tasks per suite and type)."""

    board: Name
    counts: dict[str, Positive]
    types: dict[str, dict[str, Positive]]
    environments: tuple[EnvironmentEntry, ...]


# subsets.json


class Subset(Strict):
    """``suites`` holds Table 3 (tasks per suite); ``members`` are identifiers in index order, or 'all' of the board's
    catalog. ``split``: every member is of that half of EP-100. ``conditions``: only so many of each task, the first
    ones. A subset that is not rankable never gets a headline number."""

    board: Name
    title: Name
    text: Name
    rankable: bool
    split: Split | None = None
    conditions: Positive | None = None
    suites: dict[str, Positive]
    members: Literal["all"] | tuple[str, ...]


class Subsets(RootModel[dict[str, Subset]]):
    """Subsets by name."""


# budgets.json


class ModelAllowance(Strict):
    """What one attempt may spend on a model; ``cached_tokens_count``: cached input counts towards ``tokens``."""

    tokens: Positive
    cached_tokens_count: bool
    images: Positive


class LevelBudget(Strict):
    """The part of a budget that depends on the native level."""

    actions: Positive
    simulated_s: PositiveFloat


class FamilyBudget(Strict):
    """One row of Table 4. Rates in Hz, times in seconds. ``actions`` and ``simulated_s`` are given either for the whole
    family or per native level; ``event_deadline_s`` is the range of the deadlines of single events."""

    physics_hz: Positive
    control_hz: Positive
    wall_s: PositiveFloat
    actions: Positive | None = None
    simulated_s: PositiveFloat | None = None
    levels: dict[str, LevelBudget] | None = None
    event_deadline_s: tuple[PositiveFloat, PositiveFloat] | None = None
    note: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        rows = dict(self.levels or {})
        if self.actions is not None and self.simulated_s is not None and self.levels is None:
            rows["family"] = LevelBudget(actions=self.actions, simulated_s=self.simulated_s)
        elif not rows or self.actions is not None or self.simulated_s is not None:
            raise ValueError("give actions and simulated_s, or levels, and not both")
        if self.physics_hz % self.control_hz:
            raise ValueError(f"physics_hz {self.physics_hz} is not a multiple of control_hz {self.control_hz}")
        for level, row in rows.items():
            if row.actions != row.simulated_s * self.control_hz:
                given = f"{row.actions} actions at {self.control_hz} Hz"
                raise ValueError(f"{level}: {given} do not take simulated_s {row.simulated_s}")
        return self


class BudgetTable(Strict):
    model: ModelAllowance
    families: dict[str, FamilyBudget]


# conditions.json, launcher_conditions.json, hanoi_conditions.json, seed_lists.json


class Factor(Strict):
    """One thing that conditions vary. Either ``values`` are listed or ``low`` to ``high`` in multiples of ``step``;
    ``size`` is the length of a vector, 1 for a number. ``public``: disclosed to the agent."""

    unit: Name
    text: Name
    public: bool
    values: tuple[int, ...] | tuple[float, ...] | tuple[str, ...] | None = None
    low: float | None = None
    high: float | None = None
    step: PositiveFloat | None = None
    size: Positive = 1

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        span = (self.low, self.high, self.step)
        if (self.values is None) == (None in span) or (self.values is not None and span != (None, None, None)):
            raise ValueError("give values, or low, high and step, and not both")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError(f"low {self.low} is not below high {self.high}")
        return self


class ConditionRule(Strict):
    """How a family's conditions differ (design: section 6). ``mode`` is the evaluated initial mode; ``generated``:
    explicit conditions are stored. ``count`` where it is not that of all families. ``seeds`` names the seed list whose
    i-th seed condition i is drawn from."""

    mode: Name
    generated: bool
    text: Name
    factors: dict[str, Factor]
    count: Positive | None = None
    seeds: Name | None = None


class ConditionRules(Strict):
    count: Positive
    families: dict[str, ConditionRule]


class LauncherParameters(Strict):
    """Parameters of one launcher condition; units in ``docs/conditions.md`` (N/m, degrees, metres)."""

    stiffness: PositiveFloat
    azimuth_offset: float
    elevation_offset: float
    pivot_offset: tuple[float, float, float]
    tray_offset: tuple[float, float]
    mass_factor: PositiveFloat
    background: Name


class LauncherConditions(Strict):
    """Explicit launcher conditions 0 to 3 by environment, for one base seed."""

    base_seed: int
    environments: dict[str, tuple[LauncherParameters, ...]]


Five = tuple[float, float, float, float, float]


class HanoiParameters(Strict):
    """Parameters of one Hanoi condition; units in ``docs/conditions.md`` (m, degrees, factors). Lists of five are per
    ring, the largest first."""

    reset_seed: int
    board_offset: tuple[float, float]
    board_yaw: float
    ring_azimuths: Five
    mass_factors: Five
    friction_factor: PositiveFloat
    lighting: PositiveFloat


class HanoiConditions(Strict):
    """Explicit Hanoi conditions 0 to 3 by environment, for one base seed."""

    base_seed: int
    environments: dict[str, tuple[HanoiParameters, ...]]


Seed = Annotated[int, Field(ge=0, lt=1 << 53)]  # every language can hold it


class SeedList(Strict):
    """Seeds of episodes, one for each condition, all different. ``example`` is that of the worked example which the
    prompts of some settings show: no list may hold it."""

    title: Name
    text: Name
    example: Seed
    seeds: tuple[Seed, ...]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len(set(self.seeds)) != len(self.seeds):
            twice = next(seed for seed in self.seeds if self.seeds.count(seed) > 1)
            raise ValueError(f"seeds: {twice} stands twice")
        if self.example in self.seeds:
            raise ValueError(f"seeds: {self.example} is the seed of the worked example")
        return self

    @property
    def digest(self) -> str:
        """SHA-256 over what episodes follow from: by it a run records its list."""
        drawn = {"example": self.example, "seeds": list(self.seeds)}
        return hashlib.sha256(json.dumps(drawn, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


class SeedLists(RootModel[dict[str, SeedList]]):
    """Seed lists by name."""
