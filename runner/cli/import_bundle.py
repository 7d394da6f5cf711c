"""``assay import``: a verified bundle becomes a run of the store."""

from __future__ import annotations

from pathlib import Path

import click

from runner.terminal import echo


@click.command("import")
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option("--name", help="Name of the run here [default: the submitter's].")
@click.option("--key", help="Public key that has to have signed (hexadecimal).")
def command(bundle: Path, name: str | None, key: str | None) -> int:
    """Verify BUNDLE and record its run.

    As a whole or not at all.
    """
    from manifests.load import load
    from manifests.submission import load_limits
    from runner.cli.common import open_store
    from runner.cli.verify import check_key, show, verdict
    from runner.submission.importing import import_bundle

    check_key(key)
    done = import_bundle(open_store(), bundle, load(), load_limits(), name, key)
    show(done.report)
    if done.run is None:
        echo(f"{bundle}: {verdict(done.report)}; nothing was imported")
        return 1
    echo(f"{bundle}: imported as {done.run.name}; score it: assay score {done.run.name}")
    return 0
