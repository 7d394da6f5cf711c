"""Figures, their targets, and how a ratio is made of repeated measurements.

Machines drift while they measure, so ours and raw are always measured in turn and compared pair by pair: the ratio is
the median over the pairs, never the quotient of two numbers from different minutes. Only work that repeats exactly is
summed from its least disturbed parts (:func:`composed`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Literal

Relation = Literal["<", "<=", ">="]
Subject = Literal["ours", "ratio"]


@dataclass(frozen=True)
class Target:
    """What a figure has to reach, in its ``ratio`` or in its own unit (``ours``)."""

    subject: Subject
    relation: Relation
    value: float

    def met(self, figure: Figure) -> bool:
        measured = figure.ours if self.subject == "ours" else figure.ratio
        if measured is None:
            raise ValueError(f"figure {figure.name}: a target for its ratio needs a raw baseline")
        if self.relation == ">=":
            return measured >= self.value
        return measured < self.value if self.relation == "<" else measured <= self.value

    def __str__(self) -> str:
        return f"{self.relation} {self.value:g}" + (" (ours)" if self.subject == "ours" else "")


@dataclass(frozen=True)
class Figure:
    """One measured figure. ``ours`` and ``raw`` are in ``unit``; ``spread`` is the range of the ratios of the pairs."""

    name: str
    unit: str
    ours: float
    raw: float | None = None
    ratio: float | None = None
    spread: tuple[float, float] | None = None
    pairs: int = 1
    target: Target | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        return None if self.target is None else self.target.met(self)

    def plain(self) -> dict[str, Any]:
        """JSON."""
        target = str(self.target) if self.target else None
        return {**asdict(self), "target": target, "met": self.met}


def paired(
    name: str, unit: str, ours: Sequence[float], raw: Sequence[float], target: Target | None = None, note: str = ""
) -> Figure:
    """A figure of measurements made in turn: medians of both sides, and the median of ours / raw over the pairs.

    Raises ValueError when the two sides are not pairs.
    """
    if len(ours) != len(raw) or not ours:
        raise ValueError(f"figure {name}: {len(ours)} of ours and {len(raw)} of raw are not pairs")
    ratios = [a / b for a, b in zip(ours, raw, strict=True)]
    spread = min(ratios), max(ratios)
    return Figure(name, unit, median(ours), median(raw), median(ratios), spread, len(ratios), target, note)


def composed(
    name: str,
    unit: str,
    amount: float,
    ours: Sequence[Sequence[float]],
    raw: Sequence[Sequence[float]],
    target: Target | None = None,
    note: str = "",
) -> Figure:
    """A rate (``amount`` per second) of work that was timed in parts: ``ours[round][part]`` and ``raw[round][part]`` in
    seconds.

    Each part's time is its least over the rounds, and the whole is their sum. Rounds do the same work on the same
    state, so whatever differs between them was added by the machine; a disturbance costs one sample of one part and not
    a whole round, while dear and cheap parts keep their weight. ``spread`` is over whole rounds. Raises ValueError when
    the parts of the two sides differ.
    """
    shapes = {(len(rounds), *{len(parts) for parts in rounds}) for rounds in (ours, raw)}
    if len(shapes) != 1 or not ours or not ours[0]:
        raise ValueError(f"figure {name}: ours and raw do not have the same rounds and parts")
    our_s, raw_s = (sum(min(part) for part in zip(*rounds, strict=True)) for rounds in (ours, raw))
    whole = [sum(b) / sum(a) for a, b in zip(ours, raw, strict=True)]
    spread = min(whole), max(whole)
    return Figure(name, unit, amount / our_s, amount / raw_s, raw_s / our_s, spread, len(ours), target, note)


def table(figures: Sequence[Figure]) -> str:
    """figure | ours | raw | ratio | target | met, as Markdown that also reads well in a terminal."""
    rows = [("figure", "unit", "ours", "raw", "ratio", "range", "pairs", "target", "met")]
    for figure in figures:
        rows.append(
            (
                figure.name,
                figure.unit,
                _number(figure.ours),
                _number(figure.raw),
                _number(figure.ratio),
                "-" if figure.spread is None else f"{_number(figure.spread[0])} to {_number(figure.spread[1])}",
                str(figure.pairs),
                str(figure.target or "-"),
                {True: "yes", False: "NO", None: "-"}[figure.met],
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    notes = [f"{figure.name}: {figure.note}" for figure in figures if figure.note]
    return "\n".join([*lines, *notes])


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
