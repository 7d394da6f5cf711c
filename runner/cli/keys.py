"""``assay keys``."""

from __future__ import annotations

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
    """Print your public key and whether this board trusts it."""
    from manifests.load import load
    from runner.keys import key_path, load_key

    path = key_path()
    key = load_key(path)
    if key is None:
        raise BadInput(f"key {path}: there is none; `assay keys new` makes one, or set ASSAY_KEY to yours")
    name = load().trust.name_of(key.public)
    echo(f"private key: {path}\npublic key:  {key.public}")
    echo(f"trusted as {name!r}" if name else "not on the trust list (manifests/trust.json): decisions are proposals")
