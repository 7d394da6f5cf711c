"""``assay tasks`` and ``assay tasks show``."""

from __future__ import annotations

from typing import Any

import click

from runner.terminal import echo, echo_json

COLUMNS = ("environment", "index", "split", "here")


@click.group("tasks", invoke_without_command=True)
@click.option("--subset", default="full", show_default=True)
@click.option("--tasks", "patterns", help="Comma-separated ids or globs.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")
@click.pass_context
def command(context: click.Context, subset: str, patterns: str | None, as_json: bool) -> None:
    """List the environments of a subset, and which engine runs each here."""
    if context.invoked_subcommand is not None:
        return
    from manifests.tasks import rows

    found = rows(subset, patterns)
    if as_json:
        echo_json(found)
        return
    from rich.table import Table

    from runner.cli.common import console

    table = Table(box=None, pad_edge=False)
    out = console()
    cells = [(row["id"], row["index"] or "–", row["split"] or "–", _here(row)) for row in found]
    widths = [max(map(len, (name, *column))) for name, column in zip(COLUMNS, zip(*cells, strict=True), strict=True)]
    for name, width in zip(COLUMNS, widths, strict=True):
        table.add_column(name, no_wrap=True, min_width=width)
    table.add_column("title", overflow="ellipsis", no_wrap=True, max_width=max(8, out.width - sum(widths) - 2 * 4))
    for row, first in zip(found, cells, strict=True):
        table.add_row(*first, row["title"] or row["objective"] or "–")
    out.print(table)
    here = sum(any(engine["implemented"] for engine in row["engines"].values()) for row in found)
    out.print(
        f"{len(found)} environments, {here} of them run here; `assay tasks show ID` explains one", highlight=False
    )


@command.command("show")
@click.argument("environment")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")
def show(environment: str, as_json: bool) -> None:
    """Explain one environment: its goal, budgets, conditions and engines. ENVIRONMENT is an id or an index."""
    from manifests.tasks import show as describe

    found = describe(environment)
    if as_json:
        echo_json(found)
        return
    for line in _lines(found):
        echo(line)


def _here(row: dict[str, Any]) -> str:
    """Profiles under which the environment runs here, by engine."""
    engines = {engine["engine"] for engine in row["engines"].values() if engine["implemented"]}
    return ", ".join(sorted(engines)) or "no"


def _lines(found: dict[str, Any]) -> list[str]:
    budget, conditions = found["budget"], found["conditions"]
    lines = [
        f"{found['id']}" + (f"  ({found['index']}, {found['type']}, {found['split']})" if found["index"] else ""),
        f"  {found['title'] or found['objective'] or 'no title in the specification'}",
        f"  suite {found['suite']}, family {found['family']}, embodiment {found['embodiment']}, "
        f"native level {found['native_level'] or 'none'}",
        f"  subsets: {', '.join(found['subsets'])}",
        f"  budgets: {budget['actions']:,} actions, {budget['simulated_s']:g} s simulated, "
        f"{budget['wall_s']:g} s wall; for a model {budget['tokens']:,} tokens and {budget['images']} images",
        f"  rates: physics {found['physics_hz']} Hz, control {found['control_hz']} Hz",
        f"  conditions: {conditions['count']} ({conditions['mode']} mode). {conditions['text']}",
    ]
    if found["printed_as"]:
        lines.insert(1, f"  printed in the specification as {found['printed_as']}")
    if found["budget_note"]:
        lines.append(f"  note: {found['budget_note']}")
    for row in conditions["explicit"] or ():
        lines.append(f"    c{row['index']}: " + ", ".join(f"{k} {v}" for k, v in row.items() if k != "index"))
    lines.append("  engines here and now:")
    for profile, engine in found["engines"].items():
        state = "runs" if engine["implemented"] else f"does not run: {engine['reason']}"
        lines.append(f"    {profile}: {engine['engine']} {state}")
    return lines
