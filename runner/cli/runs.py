"""``assay runs``."""

from __future__ import annotations

import json
from collections import Counter

import click


@click.command("runs")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")
def command(as_json: bool) -> None:
    """List the runs in the store, newest first."""
    from runner.cli.common import console, open_store

    store = open_store()
    found = []
    for run in store.runs():
        rows = store.attempts(run)
        outcomes = Counter(row.outcome or "open" for row in rows)
        found.append(
            {
                "name": run.name,
                "id": run.id,
                "created_at": run.created_at.isoformat(timespec="seconds"),
                "attempts": len(rows),
                **{name: outcomes[name] for name in ("success", "failure", "invalid", "open")},
            }
        )
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    if not found:
        click.echo(f"no runs in {store.database.label}")
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    columns = ("name", "created_at", "attempts", "success", "failure", "invalid", "open")
    for name in columns:
        table.add_column(name, justify="left" if name in ("name", "created_at") else "right", no_wrap=name != "name")
    for row in found:
        table.add_row(*(str(row[name]) for name in columns))
    console().print(table)
