"""``assay keys``."""

from __future__ import annotations

import json

import click

from runner.errors import BadInput
from runner.terminal import echo


@click.group("keys")
def command() -> None:
    """Make or show the key that signs what you decide and submit."""


@command.command("new")
def new() -> None:
    """Make a key (Ed25519).

    At ASSAY_KEY, or in your configuration folder. Only you can read it; keep a copy.
    """
    from runner.keys import key_path, new_key

    path = key_path()
    key = new_key(path)
    echo(f"private key: {path} (never share it)\npublic key:  {key.public}")


@command.command("show")
def show() -> None:
    """Print your public key and since when this board trusts it."""
    from manifests.load import load
    from runner.keys import key_path, load_key
    from runner.store.text import now, stamp

    path = key_path()
    key = load_key(path)
    if key is None:
        raise BadInput(f"key {path}: there is none; `assay keys new` makes one, or set ASSAY_KEY to yours")
    listed = load().trust.entry(key.public)
    echo(f"private key: {path}\npublic key:  {key.public}")
    if listed is not None:
        echo(f"trusted as {listed.name!r} since {stamp(listed.since)}: what you decided before is a proposal")
        return
    line = {"name": "YOUR NAME", "public_key": key.public, "since": now().isoformat(timespec="seconds")}
    echo("not on the trust list (manifests/trust.json): decisions are proposals; a board that trusts you from now adds")
    echo(json.dumps(line))
