"""``assay claims check``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from runner.terminal import echo, echo_json

FORMATS = ("table", "json")


@click.group("claims")
def command() -> None:
    """Check published figures against their own denominators."""


@command.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="table", show_default=True, help="What is printed."
)
@click.option("--all", "everything", is_flag=True, help="In the table, also the findings that hold.")
def check(file: Path, form: str, everything: bool) -> int:
    """Check the published rates in FILE (.csv or .json).

    Whether they can come from binary outcomes with their denominators, and agree with each other: docs/claims.md.

    Exit status: 0 consistent, 1 not, 2 a file that cannot be read.
    """
    from manifests.claims import read_claims
    from scoring.claims.check import check as check_claims

    found = check_claims(read_claims(file))
    if form == "json":
        echo_json(found)
    else:
        _print(found, everything)
    return 0 if found["consistent"] else 1


def _print(found: dict[str, Any], everything: bool) -> None:
    """Counts by check, then what fails, what was not decided, and remarks."""
    from rich.table import Table

    from runner.cli.common import console

    out = console()
    table = Table(title=found["title"], title_justify="left", box=None, pad_edge=False)
    for name in ("check", "holds", "fails", "undecided"):
        table.add_column(name, justify="left" if name == "check" else "right", no_wrap=True)
    for name, row in found["counts"].items():
        table.add_row(name, *(str(row[column]) for column in ("holds", "fails", "undecided")))
    out.print(table)
    for finding in found["findings"]:
        if everything or not finding["holds"] or finding["remark"]:
            echo(f"{_verdict(finding)}  {finding['check']}  {finding['where']}: {finding['text']}")
    echo("consistent" if found["consistent"] else "not consistent")


def _verdict(finding: dict[str, Any]) -> str:
    if finding["holds"] is None:
        return "undecided"
    return "remark" if finding["remark"] else "holds" if finding["holds"] else "fails"
