"""The rows of a result, the same in every form: table, Markdown, CSV (JSON is the result itself)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

from runner.words import count

COUNTS = ("planned", "scored", "successes", "failures", "invalid", "candidate", "missing")
RARE = ("invalid", "candidate", "missing")  # of no interest to people while all are 0
ATTEMPTS = ("scored", "excluded", "candidate", "extra", "invalid", "pending")  # what the protocol makes of attempts
ALWAYS = ("scored", "excluded", "extra")  # the others only where there are some
SOLVED = ("at_least_one", "all")  # conditions of a task


def sections(result: dict[str, Any], by: Sequence[str] | None = None) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The total and the breakdowns (all, or those named in ``by``), each with its rows of :mod:`scoring.rows`."""
    yield "total", [result["total"]]
    for dimension, found in result["by"].items():
        if by is None or dimension in by:
            yield dimension, found


def rows(result: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """For programs: counts of conditions, of attempts (successes among the extra ones only in the total) and of tasks
    solved in at least one or in all conditions within so many attempts, then each metric with its bounds, its 95 %
    interval and, where all tasks agree, its exact bound, all in percent (empty: undefined), and the kind of the run
    (``file`` for a ledger file)."""
    kind = result.get("run", {}).get("kind", "file")
    for dimension, found in sections(result):
        for row in found:
            line = {"by": dimension, "label": row["label"], **{name: row[name] for name in COUNTS}}
            line |= {f"attempts_{name}": row["attempts"][name] for name in ATTEMPTS}
            line["extra_successes"] = result["ledger"]["extra_successes"] if dimension == "total" else ""
            line["tasks"] = row["tasks"]
            for k, solved in row["tasks_solved"].items():
                for name in SOLVED:
                    value, lower, upper = (solved[name][end] for end in ("value", "lower", "upper"))
                    key = f"tasks_{name}_at_{k}"
                    line |= {key: "" if value is None else value, f"{key}_lower": lower, f"{key}_upper": upper}
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
    """One table: a row of the total and of every part of each breakdown; then what there is of the total alone."""
    head = ["by", "label", *COUNTS, *result["names"].values()]
    table = [head, ["---"] * len(head)]
    for dimension, found in sections(result):
        for row in found:
            counts = [str(row[name]) for name in COUNTS]
            table.append([dimension, row["label"], *counts, *metrics(result, row, intervals=True)])
    kind = result.get("run", {}).get("kind", "file")
    lines = "".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |\n" for row in table)
    said = f"{attempts(result)}; {tasks_solved(result)}"
    return f"{lines}\n{said[0].upper()}{said[1:]}.\n\nKind: {kind}. Rates in percent; in brackets {INTERVALS}.\n"


INTERVALS = "the 95 % interval, or the exact one-sided 95 % bound where all tasks agree; a–b: partial, its bounds"


def attempts(result: dict[str, Any]) -> str:
    """``846 attempts: 736 scored (645 failed), 69 excluded, 41 extra (2 succeeded, unscored)``."""
    ledger = result["ledger"]
    kinds = {name: f"{ledger[name]} {name}" for name in ATTEMPTS if ledger[name] or name in ALWAYS}
    if ledger["failures"]:
        kinds["scored"] += f" ({ledger['failures']} failed)"
    if ledger["extra_successes"]:
        kinds["extra"] += f" ({ledger['extra_successes']} succeeded, unscored)"
    return f"{count(ledger['attempts'], 'attempt')}: {', '.join(kinds.values())}"


def successes(result: dict[str, Any]) -> str:
    """``91 successes (64 at the first attempt, 27 later)``, in conditions."""
    total = result["total"]
    first = next(iter(total["metrics"].values()))["successes"]
    later = total["successes"] - first
    return count(total["successes"], "success") + (f" ({first} at the first attempt, {later} later)" if later else "")


def tasks_solved(result: dict[str, Any]) -> str:
    """``tasks solved within 1 and 2 attempts, of 100: 31 and 40 in at least one condition, 4 and 9 in every
    condition``; while some task can still change it, a number is its bounds."""
    total = result["total"]
    one, every = ([_counted(solved[name]) for solved in total["tasks_solved"].values()] for name in SOLVED)
    within = "" if len(one) == 1 else f" within {' and '.join(total['tasks_solved'])} attempts"
    return (
        f"tasks solved{within}, of {total['tasks']}: {' and '.join(one)} in at least one condition, "
        f"{' and '.join(every)} in every condition"
    )


def _counted(found: dict[str, int | None]) -> str:
    """A number of tasks, or its bounds while some task can still change it."""
    return str(found["value"]) if found["value"] is not None else f"{found['lower']}–{found['upper']}"


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
