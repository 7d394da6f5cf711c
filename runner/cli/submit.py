"""``assay submit``: a run as a signed bundle."""

from __future__ import annotations

from pathlib import Path

import click

from runner.errors import BadInput
from runner.terminal import echo


@click.command("submit")
@click.argument("run")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The bundle, a .zip."
)
@click.option("--name", help="What the submitter is called; only the key is proven.")
def command(run: str, output: Path, name: str | None) -> int:
    """Write RUN as a signed bundle.

    Its ledger and artifacts are checked first. Others verify it offline and import it.
    """
    from manifests.load import load
    from manifests.submission import load_limits
    from runner.cli.common import find_run, open_store
    from runner.cli.verify import show
    from runner.keys import key_path, load_key
    from runner.submission.bundle import submit

    key = load_key(key_path())
    if key is None:
        raise BadInput(f"key {key_path()}: there is none to sign with; `assay keys new` makes one")
    store = open_store()
    done = submit(store, find_run(store, run), load(), load_limits(), key, output, name)
    show(done.report)
    if done.path is None:
        echo(f"{output}: not written")
        return 1
    echo(f"{output}: {output.stat().st_size} bytes, signed by key {key.public}")
    return 0
