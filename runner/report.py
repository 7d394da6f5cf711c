"""The result of a run for people: outcomes, rates with their bounds, broken clauses, what is open, where things are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from manifests.load import load
from runner import replies
from runner.incidents import has_trusted_key
from runner.report_rows import COUNTS, INTERVALS, RARE, attempts, exact, metrics, sections, successes, tasks_solved
from runner.store.status import EVALUATED, IMPORTED
from runner.submission.received import signed_by
from runner.terminal import printable, program
from runner.words import count, fitting

LEGEND = "✓ success (✓2: at the second attempt)  ✗ failure  ? open candidate  ! invalid  · missing, or due again"
MAX_ROWS = 40  # environments in the outcome table; more are counted in one line
MAX_CONDITIONS = 12  # columns of the outcome table; a task with more has its successes counted
CELLS = {"success": ("✓", "green"), "failure": ("✗", "red"), "candidate": ("?", "yellow"), "invalid": ("!", "yellow")}
ROOMY = 100  # columns from which there is room between those of a table
WIDE = 140  # columns that a breakdown with intervals wants


def print_report(console: Console, result: dict[str, Any], again: str, by: Sequence[str] | None = None) -> None:
    """``by``: the breakdowns that were asked for; None shows the suites where there are several. ``again`` is the
    command that prints the same."""
    run = result.get("run")
    console.print(f"\n[bold]{escape(_title(result))}[/bold]", highlight=False)
    if run is not None:
        _marks(console, run)
    _outcomes(console, result)
    _rates(console, result)
    shown = load().boards[run["board"]].shown if run is not None else ("suite",)
    _breakdowns(console, result, [name for name in shown if len(result["by"].get(name, ())) > 1] if by is None else by)
    _failures(console, result)
    if run is not None:
        _open(console, result)
        _where(console, run, begun=any(row["outcome"] is not None for row in result["attempts"]))
    console.print(f"score again: {escape(again)}", highlight=False, soft_wrap=True)


def _title(result: dict[str, Any]) -> str:
    run = result.get("run")
    if run is None:
        return f"a ledger file on {result['selection']}, protocol {result['protocol']}"
    what = f"{run['subset']}, {run['setting']}" if run["setting"] else run["subset"]
    title = f"{run['model']} on {what}, protocol {run['protocol']}, profile {run['profile']}, {run['level']}"
    if run["grants"]:
        title += f", grants {','.join(run['grants'])}"
    if seeds := run["private_seeds"]:
        title += f", private seed list {printable(seeds['title'] or 'not kept here')} ({seeds['sha256'][:12]})"
    return title


def _marks(console: Console, run: dict[str, Any]) -> None:
    """What must be known before any number."""
    if run["kind"] != EVALUATED:
        console.print(f"[yellow]{run['kind']}[/yellow]: {IMPORTED[run['kind']]}; never ranked", highlight=False)
    for text in filter(None, (run["withdrawn"], *run["stale"])):
        console.print(f"[yellow]{escape(printable(text))}[/yellow]", highlight=False)


def _outcomes(console: Console, result: dict[str, Any]) -> None:
    """One row per environment with an attempt, one column per condition."""
    codes, tried = _codes(result), {row["environment_id"] for row in result["attempts"]}
    groups = [group for group in result["groups"] if group["environment_id"] in tried]
    if not groups:
        console.print("no attempt is on record yet")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("environment", no_wrap=True)
    conditions = max(group["planned"] for group in groups)
    listed = conditions <= MAX_CONDITIONS
    for name in [f"c{index}" for index in range(conditions)] if listed else ["solved"]:
        table.add_column(name, no_wrap=True)
    for name in result["names"].values():
        if name.startswith(("Pass", "S")):
            table.add_column(name, justify="right", no_wrap=True)
    for group in groups[:MAX_ROWS]:
        cells = [_cell(group["environment_id"], row, codes) for row in group["conditions"]] if listed else []
        if not listed:
            cells.append(Text(f"{group['successes']} of {group['planned']}"))
        rates = [_percent(rate) for key, rate in group["rates"].items() if key.startswith("pass")]
        table.add_row(group["environment_id"], *cells, *rates)
    console.print(table)
    if len(groups) > MAX_ROWS:
        console.print(f"and {count(len(groups) - MAX_ROWS, 'environment')} more: --by task lists all", highlight=False)
    untouched = len(result["groups"]) - len(groups)
    if untouched:
        said = f"{count(untouched, 'environment')} without an attempt: the conditions are missing"
        console.print(said, highlight=False)
    if listed:
        console.print(f"[dim]{LEGEND}[/dim]", highlight=False)


def _cell(environment_id: str, row: dict[str, Any], codes: dict[tuple[str, int], list[str]]) -> Text:
    found = codes.get((environment_id, row["condition"]), [])
    mark, colour = CELLS.get(row["state"], ("·", "dim"))
    if row["state"] == "success" and len(found) > 1:
        mark += str(len(found))
    if row["state"] != "success" and found:
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
    total = result["total"]
    headline = result["headline"] is not None
    what = "" if headline else " (own rates of this choice, no headline)"
    console.print(
        f"\n{total['scored']} of {count(total['planned'], 'condition')} scored: "
        f"{successes(result)}, {count(total['failures'], 'failure')}, {total['invalid']} invalid, "
        f"{count(total['candidate'], 'open candidate')}, {total['missing']} missing; {total['groups_complete']} of "
        f"{count(total['groups'], 'group')} complete{what}",
        highlight=False,
    )
    found = {name: total["metrics"][key] for key, name in result["names"].items() if key in total["metrics"]}
    for name, metric in found.items():
        console.print(f"  {name:<11} {_rate(metric)}", highlight=False)
    if any(metric["balanced"]["exact_bound"] for metric in found.values()):
        units = result["interval"]["resampled"]
        number = total["tasks"] if units == "tasks" else total["planned"]
        agree = f"all {number} {units} agree" if number > 1 else f"there is one {units.removesuffix('s')}"
        console.print(
            f"[dim]  exact: one-sided 95 % bound; {agree}, and a bootstrap over {units} shows no spread[/dim]",
            highlight=False,
        )
    console.print(
        f"[dim]{attempts(result)}; mean seconds to success {_mean(total['time_at_success_s'])}, "
        f"mean tokens of a success {_mean(total['tokens_at_success'])}[/dim]",
        highlight=False,
    )
    console.print(f"[dim]{tasks_solved(result)}[/dim]", highlight=False)
    if result.get("replies"):
        console.print(f"[dim]{replies.line(result['replies'])}[/dim]", highlight=False)
    if not result["rankable"]:
        console.print(f"[dim]not rankable: {escape('; '.join(result['not_rankable']))}[/dim]", highlight=False)


def _rate(metric: dict[str, Any]) -> str:
    balanced = metric["balanced"]
    counted = f"{metric['successes']} of {metric['planned']}"
    if balanced["value"] is None:
        return (
            f"[yellow]partial[/yellow]: between {balanced['lower_percent']} and {balanced['upper_percent']} % "
            f"({counted} so far)"
        )
    interval = balanced["interval"]
    bounds = f", 95 % interval {100 * interval[0]:.2f} to {100 * interval[1]:.2f}" if interval else ""
    sure = f", exact {exact(balanced)}" if balanced["exact_bound"] else ""
    return f"[bold]{balanced['percent']} %[/bold] ({counted}{bounds}{sure})"


def _breakdowns(console: Console, result: dict[str, Any], by: Sequence[str]) -> None:
    """A table for each dimension; the columns of what is open only where something is."""
    intervals = console.width >= WIDE
    for dimension, found in sections(result, by):
        if dimension != "total":
            console.print()
            console.print(_breakdown(result, dimension, found, console.width, intervals))
    if by and intervals:
        console.print(f"[dim]in brackets {INTERVALS}[/dim]", highlight=False)


def _breakdown(
    result: dict[str, Any], dimension: str, found: list[dict[str, Any]], room: int, intervals: bool
) -> Table:
    """Counts that say nothing, and metrics that no row has, have no column; a narrow terminal has fewer."""
    lines = []
    for row in found:
        counts = {name: str(row[name]) for name in COUNTS}
        rates = dict(zip(result["names"].values(), metrics(result, row, intervals=intervals), strict=True))
        lines.append({dimension: row["label"], **counts, **rates})
    silent = {name for name in RARE if not any(row[name] for row in found)}
    if all(row["scored"] == row["planned"] for row in found):
        silent.add("scored")
    names = [name for name in lines[0] if name not in silent and any(line[name] for line in lines)]
    widths = {name: max(len(name), *(len(line[name]) for line in lines)) for name in names}
    gap = 2 if room >= ROOMY else 1
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0))
    shown = fitting(widths, room, ("failures", "scored", *RARE, "successes"), gap)
    for name in shown:
        justify: Literal["left", "right"] = "left" if name == dimension else "right"
        table.add_column(name, justify=justify, overflow="fold", min_width=widths[name] if name == dimension else None)
    for line in lines:
        table.add_row(*(escape(line[name]) for name in shown))
    return table


def _failures(console: Console, result: dict[str, Any]) -> None:
    failed = f"{result['ledger']['failures']} of {count(result['ledger']['scored'], 'scored attempt')} failed"
    if not result.get("clauses"):
        if codes := result["total"]["codes"]:
            said = ", ".join(f"{code} {number}" for code, number in codes.items())
            console.print(f"\n{failed} by code: {said}", highlight=False)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title=f"Failures: {failed}", title_justify="left")
    table.add_column("attempts", justify="right")
    table.add_column("code", style="red")
    table.add_column("clause", no_wrap=True)
    table.add_column("what it says", overflow="fold")
    for row in result["clauses"]:
        table.add_row(str(row["attempts"]), row["code"], row["clause"] or "–", escape(printable(row["text"])))
    console.print()
    console.print(table)


def _open(console: Console, result: dict[str, Any]) -> None:
    if result["candidates"]:
        _candidates(console, result)
    unknown = result["ledger"]["unknown_causes"]
    if unknown:
        console.print(
            f"[red]{count(len(unknown), 'attempt')} ended with a cause or code that no table has[/red] (ledger "
            f"{', '.join(map(str, unknown[:10]))}): counted as invalid; report it as a fault of assay"
        )
    if result["open_attempts"]:
        console.print(f"[yellow]open[/yellow]: {', '.join(result['open_attempts'][:10])}: the same command goes on")
    for row in result["unavailable"]:
        console.print(f"[dim]missing here: {escape(row['text'])}[/dim]", highlight=False)


def _candidates(console: Console, result: dict[str, Any]) -> None:
    """The attempts that wait for a decision, what that does to the score, and what their owner types next."""
    found, run, waiting = result["candidates"], result["run"]["name"], result["total"]["candidate"]
    console.print("\n[yellow]Incident candidates[/yellow], attempts that the infrastructure may have ended:")
    for row in found[:MAX_ROWS]:
        where = f"{row['environment_id']} c{row['condition']} (ledger {row['sequence']})"
        console.print(f"  {where}: {escape(row['cause'])}: {escape(printable(row['text']))}", highlight=False)
    if len(found) > MAX_ROWS:
        console.print(f"  and {count(len(found) - MAX_ROWS, 'attempt')} more", highlight=False)
    effect = f"{count(waiting, 'condition')} wait{'s' * (waiting == 1)}: the score is partial until each is decided"
    if not waiting:
        effect = "no condition waits for them: they came after what counts there"
    confirmed = f"its condition is invalid: protocol {result['protocol']} replaces no attempt"
    if result["run"]["replaces_incidents"]:
        confirmed = "it takes no opportunity: run the same command again for another attempt"
    incidents, one = f"{program()} incidents", f"{run} {found[0]['sequence']}"
    given = "--reason TEXT" if has_trusted_key() else "--reviewer NAME --reason TEXT"
    for line in (
        effect,
        f"evidence:       {incidents} list {run}",
        f"it was a fault: {incidents} confirm {one} {given}    ({confirmed})",
        f"it was none:    {incidents} reject {one} --ruled agent_exception {given}    (it is that failure)",
        "only a key in manifests/trust.json decides; without one a decision is a proposal (docs/incidents.md). On a "
        f"machine of your own put yours there (`{program()} keys show` prints the line), or start another run with "
        "RUN=...",
    ):
        console.print(f"  {escape(line)}", highlight=False, soft_wrap=True)


def _where(console: Console, run: dict[str, Any], *, begun: bool) -> None:
    if run["kind"] == EVALUATED:
        unofficial = f"not official (runtime {run['runtime']})" if begun else "no attempt is recorded yet"
        official = "official" if run["official"] else unofficial
        if run["submitter"]:
            who = printable(signed_by(run["submitter"]["name"], run["submitter"]["key"]))
            official = f"submitted by {who}, whose records say: {official}"
        console.print(f"\n{escape(official)}; records in {run['records']}", highlight=False, soft_wrap=True)
    else:
        console.print(f"\nnot official ({run['kind']}); there are no records, only what the file said", highlight=False)


def _percent(rate: dict[str, Any]) -> str:
    return rate["percent"] or f"{rate['lower_percent']}–{rate['upper_percent']}"


def _mean(found: dict[str, Any]) -> str:
    if not found["successes"] and not found["unknown"]:
        return "none"
    return "unknown" if found["mean"] is None else f"{found['mean']:,.1f} (over {found['successes']:,})"
