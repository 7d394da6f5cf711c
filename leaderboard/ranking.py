"""The order of the runs of one setting: who has a rank, who has none, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from leaderboard.source import Entry, Setting
from manifests.load import load
from runner.store.status import EVALUATED

BASELINE = "baseline"  # kind of an agent that no model drives


@dataclass(frozen=True)
class Row:
    """One line. ``rank`` is None for a run that is not ranked, ``reasons`` say why."""

    entry: Entry
    rank: int | None
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Standing:
    """All runs of one setting: ranked by score, complete without a rank by score, partial by their lower bound, and
    those that were withdrawn."""

    setting: Setting
    ranked: tuple[Row, ...]
    unranked: tuple[Row, ...]
    partial: tuple[Row, ...]
    withdrawn: tuple[Row, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        return (*self.ranked, *self.unranked, *self.partial, *self.withdrawn)


def standings(entries: Iterable[Entry]) -> list[Standing]:
    """One standing per setting, the newest record first."""
    settings: dict[Setting, list[Entry]] = {}
    for entry in entries:
        settings.setdefault(entry.setting, []).append(entry)
    found = [standing(setting, members) for setting, members in settings.items()]
    return sorted(found, key=lambda item: (_newest(item), item.setting.id), reverse=True)


def standing(setting: Setting, entries: Iterable[Entry]) -> Standing:
    """Runs with the same rates share a rank, and the next one is as many places lower."""
    ranked, unranked, partial, withdrawn = [], [], [], []
    for entry in sorted(entries, key=_order):
        reasons = why_not_ranked(entry)
        if entry.run.withdrawn is not None:
            withdrawn.append(Row(entry, None, reasons))
        elif not entry.report["complete"]:
            partial.append(Row(entry, None, reasons))
        elif reasons:
            unranked.append(Row(entry, None, reasons))
        else:
            ranked.append(entry)
    rates = [_rates(entry) for entry in ranked]
    rows = tuple(Row(entry, 1 + rates.index(rate), ()) for entry, rate in zip(ranked, rates, strict=True))
    return Standing(setting, rows, tuple(unranked), tuple(partial), tuple(withdrawn))


def weight(standing: Standing) -> tuple[int, int, int, int, int]:
    """Which setting a visitor sees first: the one with the most models that have a rank; then the most models that
    completed a ranked subset without one (made elsewhere, another runtime, stale); baselines come last: the most of
    them with a rank, then the largest selection that a run has completed, then the most runs."""
    subset = load().subsets.get(standing.setting.subset)
    whole = standing.setting.tasks is None and subset is not None and subset.rankable
    complete = (*standing.ranked, *standing.unranked)
    return (
        _models(standing.ranked),
        _models(complete) if whole else 0,
        len(standing.ranked),
        max((row.entry.report["total"]["planned"] for row in complete), default=0),
        len(standing.rows),
    )


def counted(standing: Standing) -> list[Entry]:
    """The runs that are counted together where none is chosen: those of models, without withdrawn ones. Baselines are
    counted where there is nothing else: one of them solves tasks from the fields of the simulator, another does
    nothing, and neither says what a model can do."""
    runs = [row.entry for row in (*standing.ranked, *standing.unranked, *standing.partial)]
    return [entry for entry in runs if not is_baseline(entry)] or runs


def is_baseline(entry: Entry) -> bool:
    return entry.run.settings["agent"].get("kind") == BASELINE


def _models(rows: Iterable[Row]) -> int:
    """Different models among the runs; baselines are none."""
    return len({row.entry.model for row in rows if not is_baseline(row.entry)})


def why_not_ranked(entry: Entry) -> tuple[str, ...]:
    """Empty for a run that has a rank."""
    reasons = list(entry.report["not_rankable"])
    if entry.official is False and entry.run.kind == EVALUATED:
        reasons.append(f"runtime {', '.join(entry.runtimes)} is not official")
    return tuple(reasons)


def pass_keys(report: dict[str, object]) -> list[str]:
    """Keys of the Pass@k metrics of a report, the one that decides first: that of the largest k."""
    names = report["names"]
    assert isinstance(names, dict)
    return sorted((key for key in names if key.startswith("pass_at_")), reverse=True)


def _newest(standing: Standing) -> datetime:
    return max(row.entry.updated_at or row.entry.run.created_at for row in standing.rows)


def _rates(entry: Entry) -> tuple[Fraction, ...]:
    """What decides the order. Of a partial run the lower bounds, which are what it has shown so far."""
    metrics = entry.report["total"]["metrics"]
    exact = [metrics[key]["balanced"] for key in pass_keys(entry.report)]
    return tuple(Fraction(rate["exact"] if rate["exact"] is not None else rate["lower"]) for rate in exact)


def _order(entry: Entry) -> tuple[tuple[Fraction, ...], str]:
    return tuple(-rate for rate in _rates(entry)), entry.run.name
