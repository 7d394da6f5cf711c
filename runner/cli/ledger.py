"""``assay ledger``: attempts made elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from runner.errors import BadInput
from runner.terminal import echo
from runner.words import count


@click.group("ledger")
def command() -> None:
    """Take in attempts made elsewhere. They are marked so, and never ranked."""


@command.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="Name of the run.")
@click.option("--kind", required=True, help="published, reconstructed or external.")
@click.option("--subset", default="ep-100", show_default=True, help="The subset that was planned.")
@click.option("--protocol", default="pass2", show_default=True, help="pass2 or single.")
@click.option("--model", help="What was evaluated [default: the name].")
@click.option("--profile", default="native", show_default=True, help="native or embedded.")
@click.option("--level", default="L3", show_default=True, help="Access level L0 to L3.")
@click.option("--exist-ok", is_flag=True, help="Succeed when the same file stands under the same name already.")
def import_file(
    file: Path,
    name: str,
    kind: str,
    subset: str,
    protocol: str,
    model: str | None,
    profile: str,
    level: str,
    exist_ok: bool,
) -> None:
    """Make a run of the attempts in FILE, a ledger CSV.

    Its columns are sequence, environment_id, condition, outcome, failure_code, incident. Nothing is written unless
    every row is right.
    """
    from manifests.load import load
    from runner.cli.common import open_store
    from runner.imports.ledger import Source, import_ledger

    store = open_store()
    run, made = import_ledger(store, file, Source(name, kind, subset, protocol, model, profile, level), load())
    if not made and not exist_ok:
        raise BadInput(f"name {name!r}: this file is imported already; `assay score {name}` shows it")
    attempts = count(run.settings["source"]["attempts"], "attempt")
    verb = "imported" if made else "there already:"
    echo(f"{verb} {attempts} as run {run.name}, kind {kind}: never ranked; assay score {run.name}")


@command.command("reconstruct")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--output", "-o", required=True, type=click.Path(path_type=Path), help="The ledger CSV to write.")
@click.option("--seed", type=int, default=0, show_default=True, help="Shuffles what no figure tells.")
def reconstruct(file: Path, output: Path, seed: int) -> None:
    """Make a ledger that agrees with the printed figures in FILE.

    FILE is JSON: docs/incidents.md, 'Ledgers from elsewhere'.
    """
    from manifests.demo import read_printed
    from manifests.load import load
    from runner.imports.csv_file import as_csv
    from scoring.reconstruct import reconstruct as make

    try:
        attempts = make(load(), read_printed(file), seed)
        output.write_text(as_csv(attempts), encoding="utf-8")
    except ValueError as error:
        raise BadInput(f"{file}: {error}") from None
    except OSError as error:
        raise BadInput(f"output {output}: cannot be written ({error.strerror})") from None
    echo(f"wrote {count(len(attempts), 'attempt')} to {output}")
