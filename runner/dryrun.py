"""What an evaluation would take, before anything of it is done: attempts, time, tokens, cost, and what stays missing.

Where the store has attempts of the same agent, model and settings in a family, their means are the measure; elsewhere
only the budgets bound it, and not even they where an episode is a few choices. Nothing is written, asked or started.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from manifests.load import Manifests
from manifests.records import AttemptRecord, Budgets
from runner.agents.base import Agent, AgentInfo
from runner.evaluate import AUTO
from runner.plan import Planned, missing_here, run_mode
from runner.settings import Choices, run_settings
from runner.store.scored import scored_attempt
from runner.store.status import EVALUATED
from runner.store.store import Store
from runner.store.tables import AttemptRow
from runner.words import clock, count
from scoring.eligibility import next_due
from scoring.rules import Rules

MEASURED = 2000  # past attempts read at most
SIZED = ("model", "mode", "level", "grants", "profile")
Basis = Literal["records", "budgets", "both", "none"]


@dataclass(frozen=True)
class Span:
    """From ``low`` to ``high``; None: unknown. ``basis``: means of past attempts, or what the budgets allow."""

    low: float | None
    high: float | None
    basis: Basis


@dataclass(frozen=True)
class Part:
    """One family. ``attempts`` from the case that every first one settles its condition to the case that none does;
    ``past`` counts the recorded attempts that were taken as a measure."""

    family: str
    conditions: int
    due: int
    attempts: tuple[int, int]
    past: int
    wall_s: Span
    tokens: Span
    cost_usd: Span


def estimate(
    manifests: Manifests,
    choices: Choices,
    agent: Agent,
    planned: Sequence[Planned],
    name: str,
    store: Store | None,
    jobs: int,
) -> dict[str, Any]:
    """JSON. ``store`` is None where there is none yet. Wall time is that of the attempts one after the other, and
    ``elapsed_s`` with ``at_once`` of them at a time: no more than there are conditions and, for a baseline, cores."""
    run = store.find_run(name) if store is not None else None
    made = store.attempts(run) if store is not None and run is not None else []
    mode = run_mode(manifests, choices.board, planned)
    past = _past(store, choices, agent.info, mode, manifests) if store is not None else {}
    bounded = manifests.boards[choices.board].interface == "control"
    here = [item for item in planned if item.reason is None]
    rules, price = Rules(manifests, choices.protocol), _dearest_token(choices.model, agent.info)
    parts = []
    for family in dict.fromkeys(item.family for item in here):
        slots = _due([item for item in here if item.family == family], made, rules)
        conditions = sum(len(item.conditions) for item in here if item.family == family)
        parts.append(_part(family, conditions, slots, past.get(family, []), price, bounded))
    wall = _sum([part.wall_s for part in parts])
    attempts = tuple(sum(part.attempts[side] for part in parts) for side in (0, 1))
    at_once, why = _at_once(jobs, sum(part.due for part in parts), agent.info)
    away = [(item.environment_id, item.family, item.reason) for item in planned if item.reason is not None]
    return {
        "run": name,
        "exists": run is not None,
        "model": choices.model,
        "agent": agent.info.name,
        "environments": {"planned": len(planned), "here": len(here)},
        "conditions": {"here": sum(part.conditions for part in parts), "due": sum(part.due for part in parts)},
        "attempts": list(attempts),
        "jobs": jobs,
        "at_once": at_once,
        "limited_by": why,
        "wall_s": asdict(wall),
        "elapsed_s": asdict(
            Span(_rounds(wall.low, attempts[0], at_once), _rounds(wall.high, attempts[1], at_once), wall.basis)
        ),
        "tokens": asdict(_sum([part.tokens for part in parts])),
        "cost_usd": asdict(_sum([part.cost_usd for part in parts])),
        "families": [asdict(part) for part in parts],
        "missing": [
            {"family": item.family, "environments": len(item.environments), "reason": item.reason, "text": str(item)}
            for item in missing_here(away)
        ],
    }


@dataclass(frozen=True)
class _Slot:
    """A condition that needs another attempt, and up to how many it may get."""

    most: int
    budgets: Budgets


def _due(planned: Sequence[Planned], made: Sequence[AttemptRow], rules: Rules) -> list[_Slot]:
    found = []
    closed: dict[tuple[str, int], list[AttemptRow]] = {}
    for row in made:
        if row.state == "closed":
            closed.setdefault((row.environment_id, row.condition), []).append(row)
    for item in planned:
        for condition in item.conditions:
            rows = closed.get((item.environment_id, condition.index), [])
            if next_due([scored_attempt(row, rules.manifests) for row in rows], rules).due:
                used = sum(row.outcome in ("success", "failure") for row in rows)
                found.append(_Slot(max(1, rules.opportunities - used), item.budgets))
    return found


def _part(
    family: str,
    conditions: int,
    slots: Sequence[_Slot],
    past: Sequence[AttemptRecord],
    price: float | None,
    bounded: bool,
) -> Part:
    """``bounded`` says whether an attempt can come near its budgets of time and tokens; one of a few choices cannot."""
    attempts = (len(slots), sum(slot.most for slot in slots))
    wall = _bound((slot.most, slot.budgets.wall_s) for slot in slots) if bounded else None
    tokens = _bound((slot.most, slot.budgets.tokens) for slot in slots) if bounded else None
    if price == 0:
        tokens = 0.0
    cost = None if price is None or tokens is None else price * tokens
    return Part(
        family=family,
        conditions=conditions,
        due=len(slots),
        attempts=attempts,
        past=len(past),
        wall_s=_span(attempts, [item.wall_s for item in past], wall),
        tokens=_span(attempts, [_tokens(item) for item in past], tokens),
        cost_usd=_span(attempts, [item.usage.cost_usd for item in past], cost),
    )


def _span(attempts: tuple[int, int], measured: Sequence[float | None], bound: float | None) -> Span:
    """The mean of what was measured for each attempt, where all of it is known; else nothing up to the bound."""
    if attempts[1] == 0:
        return Span(0.0, 0.0, "records" if measured else "budgets")
    known = [value for value in measured if value is not None]
    if measured and len(known) == len(measured):
        each = fmean(known)
        return Span(each * attempts[0], each * attempts[1], "records")
    if bound is None:
        return Span(None, None, "none")
    return Span(0.0, bound, "budgets")


def _bound(each: Iterable[tuple[int, float | None]]) -> float | None:
    total = 0.0
    for number, limit in each:
        if limit is None:
            return None
        total += number * limit
    return total


def _sum(spans: Sequence[Span]) -> Span:
    if not spans or any(span.high is None for span in spans):
        return Span(None, None, "none") if spans else Span(0.0, 0.0, "budgets")
    bases = {span.basis for span in spans}
    basis: Basis = next(iter(bases)) if len(bases) == 1 else "both"
    return Span(sum(span.low or 0.0 for span in spans), sum(span.high or 0.0 for span in spans), basis)


def _at_once(jobs: int, due: int, info: AgentInfo) -> tuple[int, str | None]:
    """How many attempts of ``jobs`` really run at a time, and what holds it there. Attempts at one condition never
    overlap. A baseline computes all the time, so that more of it than cores gain nothing; a model is mostly waited
    for."""
    limits = [(jobs, None), (max(due, 1), count(due, "condition") + " to run")]
    if info.kind == "baseline":
        cores = len(os.sched_getaffinity(0))
        limits.append((cores, count(cores, "core") + " here"))
    return min(limits, key=lambda limit: limit[0])


def _rounds(total: float | None, attempts: int, at_once: int) -> float | None:
    """Seconds of ``attempts`` that take ``total`` together, so many at a time: the last round is a whole one too."""
    if total is None or attempts == 0:
        return total
    return total / attempts * math.ceil(attempts / at_once)


def _past(
    store: Store, choices: Choices, info: AgentInfo, mode: str | None, manifests: Manifests
) -> dict[str, list[AttemptRecord]]:
    """Recorded attempts that began, of whatever makes an attempt long or dear the same, by family; the newest runs
    first, so many at most."""
    wanted = _size_of(
        run_settings(choices, info, environments={}, budgets={}, runtime="", images={}, versions={}, mode=mode)
    )
    found: dict[str, list[AttemptRecord]] = {}
    read = 0
    for run in store.runs():
        elsewhere = choices.runtime not in (AUTO, run.settings.get("runtime"))
        if run.kind != EVALUATED or elsewhere or _size_of(run.settings) != wanted:
            continue
        for row in store.attempts(run):
            if row.record is None or row.began_at is None or row.environment_id not in manifests.environments:
                continue
            family = manifests.environments[row.environment_id].family
            found.setdefault(family, []).append(AttemptRecord.model_validate_json(row.record))
            read += 1
            if read >= MEASURED:
                return found
    return found


def _size_of(settings: Mapping[str, Any]) -> list[Any]:
    """What of a run's settings changes how long its attempts are and what they cost."""
    agent = settings.get("agent", {})
    return [agent.get("name"), agent.get("parameters"), *(settings.get(name) for name in SIZED)]


def _tokens(record: AttemptRecord) -> float | None:
    usage = record.usage
    if usage.tokens_input is None or usage.tokens_output is None:
        return None
    return usage.tokens_input + usage.tokens_output


def _dearest_token(model: str, info: AgentInfo) -> float | None:
    """US dollars of a model's dearest kind of token: 0 for a baseline, None where no price is known."""
    if info.kind == "baseline":
        return 0.0
    from runner.models.library import price_row

    prices = [price_row(model).get(f"{kind}_cost_per_token") for kind in ("input", "output")]
    known = [float(price) for price in prices if isinstance(price, int | float)]
    return max(known) if len(known) == len(prices) else None


# ---- for people -----------------------------------------------------------------------------------------------------
def print_estimate(console: Console, found: dict[str, Any]) -> None:
    """The same as a short text."""
    environments, conditions = found["environments"], found["conditions"]
    state = "goes on with" if found["exists"] else "would begin"
    console.print(f"dry run: {escape(found['model'])} {state} run {escape(found['run'])}", highlight=False)
    console.print(
        f"{environments['here']} of {count(environments['planned'], 'environment')} can run here, "
        f"{conditions['due']:,} of {count(conditions['here'], 'condition')} still to run",
        highlight=False,
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    for name in ("attempts", "time", "tokens", "cost", "measured by"):
        table.add_column(name, justify="left" if name == "measured by" else "right")
    for part in found["families"]:
        table.add_row(part["family"], *_cells(part), _measure(part))
    if len(found["families"]) != 1:
        table.add_row("all", *_cells(found), "")
    console.print(table)
    if found["jobs"] > 1:
        held = f" ({found['limited_by']}, so {found['at_once']} at a time)" if found["limited_by"] else ""
        console.print(f"elapsed with {found['jobs']} jobs{held}: {_range(found['elapsed_s'], clock)}", highlight=False)
    for item in found["missing"]:
        console.print(f"[dim]missing here: {escape(item['text'])}[/dim]", highlight=False)
    console.print("[dim]confirmed incidents are tried again and are not counted here; nothing was touched[/dim]")


def _measure(part: dict[str, Any]) -> str:
    if part["past"]:
        return count(part["past"], "recorded attempt")
    if part["wall_s"]["basis"] == "none":
        return "no attempt of these settings yet: play a few first (TASKS=...)"
    return "budgets alone: upper bounds"


def _cells(part: dict[str, Any]) -> list[str]:
    low, high = part["attempts"]
    return [
        f"{low:,}" if low == high else f"{low:,} to {high:,}",
        _range(part["wall_s"], clock),
        _range(part["tokens"], lambda value: f"{value:,.0f}"),
        _range(part["cost_usd"], lambda value: f"${value:,.2f}"),
    ]


def _range(span: dict[str, Any], show: Callable[[float], str]) -> str:
    if span["high"] is None:
        return "unknown"
    low, high = show(span["low"]), show(span["high"])
    if low == high:
        return low
    return f"at most {high}" if span["basis"] == "budgets" else f"{low} to {high}"
