"""``assay tasks`` and ``assay tasks show``."""

from __future__ import annotations

from typing import Any

import click

from runner.terminal import echo, echo_json
from runner.words import count, fitting

UNTITLED = "–"
READABLE = 40  # columns of a title that the others make room for


@click.group("tasks", invoke_without_command=True)
@click.option(
    "--subset",
    default="full",
    show_default=True,
    help="Those of a subset: full has all of Embodied Playground, kidgym all of KidGym.",
)
@click.option("--tasks", "patterns", help="Comma-separated ids or globs.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")
@click.pass_context
def command(context: click.Context, subset: str, patterns: str | None, as_json: bool) -> None:
    """List the environments of a subset and their engines here."""
    if context.invoked_subcommand is not None:
        return
    from manifests.tasks import rows

    found = rows(subset, patterns)
    if as_json:
        echo_json(found)
        return
    _show(found)


def _show(found: list[dict[str, Any]]) -> None:
    """The table. An id is never cut; a narrow terminal goes without split and index so that titles can be read."""
    from rich.table import Table

    from runner.cli.common import console

    out, table = console(), Table(box=None, pad_edge=False)
    cells = [
        {
            "environment": row["id"],
            "index": row["index"] or "–",
            "split": row["split"] or "–",
            "here": _here(row),
            "title": row["title"] or row["objective"] or UNTITLED,
        }
        for row in found
    ]
    widths = {name: max(len(name), *(len(row[name]) for row in cells)) for name in cells[0]}
    title = min(widths["title"], READABLE)
    shown = fitting({**widths, "title": title}, out.width, ("split", "index"))
    for name in shown[:-1]:
        table.add_column(name, no_wrap=True, min_width=widths[name])
    room = out.width - sum(widths[name] + 2 for name in shown[:-1])
    table.add_column("title", overflow="fold", max_width=max(room, len("title")))
    for row in cells:
        table.add_row(*(row[name] for name in shown))
    out.print(table)
    if any(row["title"] == UNTITLED for row in cells):
        out.print(
            f"[dim]{UNTITLED}: the specification gives no title; the atlases in docs/ draw it[/dim]", soft_wrap=True
        )
    here = sum(any(engine["implemented"] for engine in row["engines"].values()) for row in found)
    said = f"{count(len(found), 'environment')}, {here} of them run here; `assay tasks show ID` explains one"
    out.print(said, highlight=False, soft_wrap=True)


@command.command("show")
@click.argument("environment")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")
def show(environment: str, as_json: bool) -> None:
    """Explain one environment.

    Its goal, budgets, conditions and engines. ENVIRONMENT is an id or an index.
    """
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
        f"  budgets: {count(budget['actions'], 'action')}, {budget['simulated_s']:g} s simulated, "
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
