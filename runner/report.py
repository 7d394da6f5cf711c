"""The result of a run for people: outcomes, rates with their bounds, broken clauses, what is open, where things are."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from runner.store.status import EVALUATED, IMPORTED

MAX_ROWS = 40  # environments in the outcome table; more are counted in one line
CELLS = {"success": ("✓", "green"), "failure": ("✗", "red"), "candidate": ("?", "yellow"), "invalid": ("!", "yellow")}
COLUMNS = ("planned", "scored", "successes", "failures", "invalid", "candidate", "missing")


def print_report(console: Console, result: dict[str, Any]) -> None:
    run = result["run"]
    title = f"{run['model']} on {run['subset']}, protocol {run['protocol']}, profile {run['profile']}, {run['level']}"
    if run["grants"]:
        title += f", grants {','.join(run['grants'])}"
    console.print(f"\n[bold]{escape(title)}[/bold]", highlight=False)
    _marks(console, run)
    _outcomes(console, result)
    _rates(console, result)
    _failures(console, result)
    _open(console, result)
    _where(console, run)


def _marks(console: Console, run: dict[str, Any]) -> None:
    """What must be known before any number."""
    if run["kind"] != EVALUATED:
        console.print(f"[yellow]{run['kind']}[/yellow]: {IMPORTED[run['kind']]}; never ranked", highlight=False)
    for text in filter(None, (run["withdrawn"], *run["stale"])):
        console.print(f"[yellow]{escape(text)}[/yellow]", highlight=False)


def _outcomes(console: Console, result: dict[str, Any]) -> None:
    """One row per environment with an attempt, one column per condition."""
    codes = _codes(result)
    groups = [group for group in result["groups"] if len(group["missing"]) < group["planned"]]
    if not groups:
        console.print("no attempt is on record yet")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("environment", no_wrap=True)
    for index in range(max(group["planned"] for group in groups)):
        table.add_column(f"c{index}", no_wrap=True)
    for name in result["names"].values():
        if name.startswith(("Pass", "S")):
            table.add_column(name, justify="right", no_wrap=True)
    for group in groups[:MAX_ROWS]:
        cells = [_cell(group["environment_id"], row, codes) for row in group["conditions"]]
        rates = [_percent(rate) for key, rate in group["rates"].items() if key.startswith("pass")]
        table.add_row(group["environment_id"], *cells, *rates)
    console.print(table)
    if len(groups) > MAX_ROWS:
        console.print(f"and {_environments(len(groups) - MAX_ROWS)} more: --format csv --by task lists all")
    untouched = len(result["groups"]) - len(groups)
    if untouched:
        console.print(f"{_environments(untouched)} without an attempt: their conditions are missing")
    console.print("[dim]✓ success (✓2: at the second attempt)  ✗ failure  ? open candidate  ! invalid  · missing[/dim]")


def _cell(environment_id: str, row: dict[str, Any], codes: dict[tuple[str, int], list[str]]) -> Text:
    found = codes.get((environment_id, row["condition"]), [])
    mark, colour = CELLS.get(row["state"], ("·", "dim"))
    if row["state"] == "success" and len(found) > 1:
        mark += str(len(found))
    if row["state"] in ("failure", "candidate", "invalid") and found:
        mark += f" {found[-1]}"
    return Text(mark, style=colour)


def _codes(result: dict[str, Any]) -> dict[tuple[str, int], list[str]]:
    """The codes of the scored and open attempts of every condition, in ledger order."""
    found: dict[tuple[str, int], list[str]] = {}
    for row in result["attempts"]:
        if row["status"] not in ("extra", "excluded") and row["outcome"] is not None:
            found.setdefault((row["environment_id"], row["condition"]), []).append(row["code"] or "")
    return found


def _rates(console: Console, result: dict[str, Any]) -> None:
    total, ledger = result["total"], result["ledger"]
    headline = result["headline"] is not None
    what = "" if headline else " (own rates of this choice, no headline)"
    console.print(
        f"\n{total['scored']} of {total['planned']} conditions scored: {total['successes']} successes, "
        f"{total['failures']} failures, {total['invalid']} invalid, {total['candidate']} open candidates, "
        f"{total['missing']} missing; {total['groups_complete']} of {total['groups']} groups complete{what}",
        highlight=False,
    )
    for key, name in result["names"].items():
        if key in total["metrics"]:
            console.print(f"  {name:<11} {_rate(total['metrics'][key])}", highlight=False)
    console.print(
        f"[dim]{ledger['attempts']} attempts: {ledger['scored']} scored, {ledger['excluded']} excluded, "
        f"{ledger['extra']} extra; mean seconds to success {_mean(total['time_at_success_s'])}, "
        f"mean tokens of a success {_mean(total['tokens_at_success'])}[/dim]",
        highlight=False,
    )
    if not result["rankable"]:
        console.print(f"[dim]not rankable: {escape('; '.join(result['not_rankable']))}[/dim]", highlight=False)


def _rate(metric: dict[str, Any]) -> str:
    balanced = metric["balanced"]
    count = f"{metric['successes']} of {metric['planned']}"
    if balanced["value"] is None:
        return (
            f"[yellow]partial[/yellow]: between {balanced['lower_percent']} and {balanced['upper_percent']} % "
            f"({count} so far)"
        )
    interval = balanced["interval"]
    bounds = f", 95 % interval {100 * interval[0]:.2f} to {100 * interval[1]:.2f}" if interval else ""
    return f"[bold]{balanced['percent']} %[/bold] ({count}{bounds})"


def _failures(console: Console, result: dict[str, Any]) -> None:
    if not result["clauses"]:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title="Failures", title_justify="left")
    table.add_column("attempts", justify="right")
    table.add_column("code", style="red")
    table.add_column("clause", no_wrap=True)
    table.add_column("what it says", overflow="fold")
    for row in result["clauses"]:
        table.add_row(str(row["attempts"]), row["code"], row["clause"] or "–", escape(row["text"]))
    console.print()
    console.print(table)


def _open(console: Console, result: dict[str, Any]) -> None:
    if result["candidates"]:
        console.print("\n[yellow]Incident candidates[/yellow] (their conditions stay open until each is decided):")
        for row in result["candidates"][:MAX_ROWS]:
            where = f"{row['environment_id']} c{row['condition']} (ledger {row['sequence']})"
            console.print(f"  {where}: {escape(row['cause'])}: {escape(row['text'])}", highlight=False)
        console.print(
            f"  Only the board's keys decide on them: assay incidents list {result['run']['name']}", highlight=False
        )
    unknown = result["ledger"]["unknown_causes"]
    if unknown:
        console.print(
            f"[red]{len(unknown)} attempts ended with a cause or code that no table has[/red] (ledger "
            f"{', '.join(map(str, unknown[:10]))}): counted as invalid; report it as a fault of assay"
        )
    if result["open_attempts"]:
        console.print(f"[yellow]open[/yellow]: {', '.join(result['open_attempts'][:10])}: the same command goes on")
    for row in result["unavailable"]:
        console.print(f"[dim]missing here: {escape(row['text'])}[/dim]", highlight=False)


def _where(console: Console, run: dict[str, Any]) -> None:
    if run["kind"] == EVALUATED:
        official = "official" if run["official"] else f"not official (runtime {run['runtime']})"
        console.print(f"\n{official}; records in {run['records']}", highlight=False, soft_wrap=True)
    else:
        console.print(f"\nnot official ({run['kind']}); there are no records, only what the file said")
    console.print(f"score again: assay score {run['name']}", highlight=False, soft_wrap=True)


def _environments(count: int) -> str:
    return f"{count} environment{'s' * (count != 1)}"


def _percent(rate: dict[str, Any]) -> str:
    return rate["percent"] or f"{rate['lower_percent']}–{rate['upper_percent']}"


def _mean(found: dict[str, Any]) -> str:
    return "unknown" if found["mean"] is None else f"{found['mean']:,.1f}"


# ---- csv and markdown ---------------------------------------------------------------------------------------------


def rows(result: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The total and every breakdown row: counts, then each metric with its bounds in percent (empty: undefined), and
    the kind of the run (``file`` for a ledger file)."""
    kind = result.get("run", {}).get("kind", "file")
    for dimension, found in [("total", [result["total"]]), *result["by"].items()]:
        for row in found:
            line = {"by": dimension, "label": row["label"], **{name: row[name] for name in COLUMNS}}
            for key in result["names"]:
                metric = row["metrics"].get(key)
                balanced = metric["balanced"] if metric else {}
                line[key] = balanced.get("percent") or ""
                line[f"{key}_lower"] = balanced.get("lower_percent", "")
                line[f"{key}_upper"] = balanced.get("upper_percent", "")
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
    lines = list(rows(result))
    table: list[Sequence[Any]] = [list(lines[0]), ["---"] * len(lines[0]), *(list(line.values()) for line in lines)]
    return "".join(f"| {' | '.join(str(cell).replace('|', '/') for cell in row)} |\n" for row in table)
