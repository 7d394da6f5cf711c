"""The rows of a result, the same in every form: table, Markdown, CSV (JSON is the result itself)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

COUNTS = ("planned", "scored", "successes", "failures", "invalid", "candidate", "missing")
RARE = ("invalid", "candidate", "missing")  # of no interest to people while all are 0


def sections(result: dict[str, Any], by: Sequence[str] | None = None) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The total and the breakdowns (all, or those named in ``by``), each with its rows of :mod:`scoring.rows`."""
    yield "total", [result["total"]]
    for dimension, found in result["by"].items():
        if by is None or dimension in by:
            yield dimension, found


def rows(result: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """For programs: counts, then each metric with its bounds, its 95 % interval and, where all tasks agree, its exact
    bound, all in percent (empty: undefined), and the kind of the run (``file`` for a ledger file)."""
    kind = result.get("run", {}).get("kind", "file")
    for dimension, found in sections(result):
        for row in found:
            line = {"by": dimension, "label": row["label"], **{name: row[name] for name in COUNTS}}
            for key in result["names"]:
                balanced = row["metrics"].get(key, {}).get("balanced", {})
                line[key] = balanced.get("percent") or ""
                line[f"{key}_lower"] = balanced.get("lower_percent", "")
                line[f"{key}_upper"] = balanced.get("upper_percent", "")
                for name, ends in (("interval", balanced.get("interval")), ("exact", balanced.get("exact_bound"))):
                    line[f"{key}_{name}_lower"], line[f"{key}_{name}_upper"] = map(_percent, ends or (None, None))
            line["kind"] = kind
            yield line


def as_csv(result: dict[str, Any]) -> str:
    lines = list(rows(result))
    out = io.StringIO()
    writer = csv.DictWriter(out, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def as_markdown(result: dict[str, Any]) -> str:
    """One table: a row of the total and of every part of each breakdown."""
    head = ["by", "label", *COUNTS, *result["names"].values()]
    table = [head, ["---"] * len(head)]
    for dimension, found in sections(result):
        for row in found:
            counts = [str(row[name]) for name in COUNTS]
            table.append([dimension, row["label"], *counts, *metrics(result, row, intervals=True)])
    kind = result.get("run", {}).get("kind", "file")
    lines = "".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |\n" for row in table)
    return f"{lines}\nKind: {kind}. Rates in percent; in brackets {INTERVALS}.\n"


INTERVALS = "the 95 % interval, or the exact one-sided 95 % bound where all tasks agree; a–b: partial, its bounds"


def metrics(result: dict[str, Any], row: dict[str, Any], *, intervals: bool) -> list[str]:
    """Each metric of a row for people: ``13.80``, ``13.80 (8.93–19.23)``, ``100.00 (≥ 36.84)``, ``0.00–25.00``."""
    return [metric(row["metrics"][key], intervals) if key in row["metrics"] else "" for key in result["names"]]


def metric(found: dict[str, Any], intervals: bool) -> str:
    balanced = found["balanced"]
    if balanced["percent"] is None:
        return f"{balanced['lower_percent']}–{balanced['upper_percent']}"
    if not intervals or not (balanced["exact_bound"] or balanced["interval"]):
        return str(balanced["percent"])
    if balanced["exact_bound"]:
        return f"{balanced['percent']} ({exact(balanced)})"
    low, high = map(_percent, balanced["interval"])
    return f"{balanced['percent']} ({low}–{high})"


def exact(balanced: dict[str, Any]) -> str:
    """The exact bound: ``≥ 36.84`` or ``≤ 63.16``."""
    low, high = balanced["exact_bound"]
    return f"≥ {_percent(low)}" if high == 1 else f"≤ {_percent(high)}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2f}"
