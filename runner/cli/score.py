"""``assay score``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.errors import BadInput
from runner.terminal import echo, echo_json, program

if TYPE_CHECKING:
    from collections.abc import Sequence

FORMATS = ("table", "json", "csv", "markdown")


@click.command("score")
@click.argument("run", required=False)
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="table", show_default=True, help="What is printed."
)
@click.option(
    "--by",
    multiple=True,
    help="Breakdowns, comma-separated: suite, type, split, subset, embodiment, condition, task ...",
)
@click.option("--ledger", type=click.Path(path_type=Path), help="Score a ledger CSV instead of a run.")
@click.option("--subset", help="Of a run: a smaller subset inside its own. With --ledger: the one that was planned.")
@click.option("--protocol", help="With --ledger: the protocol.")
def command(
    run: str | None, form: str, by: tuple[str, ...], ledger: Path | None, subset: str | None, protocol: str | None
) -> int:
    """Compute the numbers of RUN, or of a ledger file.

    From its records alone. Exit status 1: an attempt ended with a cause that no table has.
    """
    from manifests.load import load
    from scoring.report import BREAKDOWNS

    asked = _dimensions(by)
    if ledger is not None:
        if run is not None:
            raise BadInput(f"run {run!r} and --ledger {ledger}: give one of them")
        result = _score_file(ledger, subset or "ep-100", protocol or "pass2", asked or BREAKDOWNS)
    else:
        from runner.cli.common import find_run, open_store
        from runner.score import score_run

        if run is None:
            raise BadInput("run: name one (`assay runs` lists them), or give --ledger FILE")
        if protocol:
            raise BadInput(f"protocol {protocol!r}: that of a run is the one that it was begun with; leave it out")
        store = open_store()
        found = find_run(store, run)
        store.check_intact(found)
        result = score_run(store, found, load(), asked or None, subset)
    again = _again([str(run)] if ledger is None else ["--ledger", str(ledger)], subset, protocol, asked)
    show(result, form, again, asked or None)
    return 1 if result["ledger"]["unknown_causes"] else 0


def show(result: dict[str, Any], form: str, again: str | None = None, by: Sequence[str] | None = None) -> None:
    """Print a result on stdout in the form that was asked for. ``again`` is the command that prints the same; ``by``
    are the breakdowns that a table shows (None: the suites where there are several)."""
    from runner import report, report_rows
    from runner.cli.common import console

    if form == "json":
        echo_json(result)
    elif form == "csv":
        echo(report_rows.as_csv(result), nl=False)
    elif form == "markdown":
        echo(report_rows.as_markdown(result), nl=False)
    else:
        report.print_report(console(), result, again or _again([result["run"]["name"]], None, None, ()), by)


def _again(what: list[str], subset: str | None, protocol: str | None, by: Sequence[str]) -> str:
    """The command that prints the same result."""
    given = (("--subset", subset), ("--protocol", protocol), ("--by", ",".join(by)))
    return shlex.join([program(), "score", *what, *(part for name, value in given if value for part in (name, value))])


def _dimensions(by: tuple[str, ...]) -> tuple[str, ...]:
    """The breakdowns asked for. Raises BadInput for an unknown one."""
    from scoring.rows import DIMENSIONS

    found = tuple(dict.fromkeys(name.strip() for item in by for name in item.split(",")))
    for name in found:
        if name not in DIMENSIONS:
            raise BadInput(f"by {name!r} is not one of {', '.join(DIMENSIONS)}")
    return found


def _score_file(path: Path, subset: str, protocol: str, by: Sequence[str]) -> dict[str, Any]:
    from manifests.load import load
    from runner.imports.ledger import check_known
    from scoring.ledger import LedgerError, attempts_from_csv
    from scoring.plan import selection_of
    from scoring.report import score
    from scoring.rules import Rules

    manifests = load()
    selection = selection_of(manifests, subset, profile="native", level="L3")
    try:
        attempts = attempts_from_csv(path.read_text(encoding="utf-8"))
        for attempt in attempts:
            check_known(attempt, manifests)
        return score(attempts, selection, Rules(manifests, protocol), by=by)
    except OSError as error:
        raise BadInput(f"ledger {path}: {error.strerror}") from None
    except (LedgerError, UnicodeDecodeError) as error:
        raise BadInput(f"ledger {path}: {error}") from None
