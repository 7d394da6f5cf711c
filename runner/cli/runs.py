"""``assay runs`` and ``assay runs withdraw``."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

import click

from runner.errors import BadInput
from runner.terminal import echo, echo_json, printable
from runner.words import fitting

if TYPE_CHECKING:
    from runner.store.store import Run, Store
    from runner.submission.received import Received

LONGEST = 1000  # characters of a reason
COLUMNS = ("name", "created (UTC)", "kind", "attempts", "success", "failure", "invalid", "open")
LESS = ("created (UTC)", "kind")  # what a narrow terminal goes without


@click.group("runs", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List the runs in the store, or withdraw one."""
    if context.invoked_subcommand is not None:
        return
    from runner.cli.common import open_store
    from runner.submission.received import received

    store = open_store()
    sources = received(store)
    found = [_entry(store, run, sources.get(run.id)) for run in store.runs()]
    if as_json:
        echo_json(found)
        return
    if not found:
        echo(f"no runs in {store.database.label}")
        return
    _show([{**row, "created (UTC)": row["created_at"][:19].replace("T", " "), "kind": _kind(row)} for row in found])


def _show(found: list[dict[str, Any]]) -> None:
    """The table. The name is what one copies from here, and the kind what must be known: neither is ever cut."""
    from rich.table import Table

    from runner.cli.common import console

    out, table = console(), Table(box=None, pad_edge=False)
    widths = {name: max(len(name), *(len(str(row[name])) for row in found)) for name in COLUMNS}
    shown = fitting(widths, out.width, LESS)
    for name in shown:
        justify: Literal["left", "right"] = "left" if name in COLUMNS[:3] else "right"
        table.add_column(name, justify=justify, no_wrap=True, min_width=widths[name])
    for row in found:
        table.add_row(*(str(row[name]) for name in shown))
    out.print(table)
    if "kind" not in shown:
        for row in found:
            if row["kind"] != "evaluated":
                out.print(f"{row['name']}: {row['kind']}", highlight=False, soft_wrap=True)


def _kind(row: dict[str, Any]) -> str:
    if row["withdrawn"]:
        return "withdrawn"
    if row["submitter"]:
        from runner.submission.received import signed_by

        return f"submitted by {printable(signed_by(row['submitter']['name'], row['submitter']['key']))}"
    return str(row["kind"])


@command.command("withdraw")
@click.argument("run")
@click.option("--reason", required=True, help="Stands beside the run from now on.")
@click.option("--reviewer", default="the owner of the store", show_default=True, help="Who withdraws it.")
def withdraw(run: str, reason: str, reviewer: str) -> None:
    """Take RUN out of every ranking for good. Its records and the reason stay."""
    from runner.cli.common import find_run, open_store

    for name, value in (("reason", reason), ("reviewer", reviewer)):
        if not value.strip() or len(value) > LONGEST:
            raise BadInput(f"{name}: {len(value)} characters; give 1 to {LONGEST}")
    store = open_store()
    found = store.withdraw_run(find_run(store, run), reviewer.strip(), reason.strip())
    echo(f"run {found.name}: {printable(str(found.withdrawn))}; its records stay")


def _entry(store: Store, run: Run, source: Received | None) -> dict[str, Any]:
    rows = store.attempts(run)
    outcomes = Counter(row.outcome or "open" for row in rows)
    return {
        "name": run.name,
        "id": run.id,
        "created_at": run.created_at.isoformat(timespec="seconds"),
        "kind": run.kind,
        "withdrawn": str(run.withdrawn) if run.withdrawn is not None else None,
        "submitter": {"key": source.key, "name": source.name} if source is not None else None,
        "attempts": len(rows),
        **{name: outcomes[name] for name in ("success", "failure", "invalid", "open")},
    }
