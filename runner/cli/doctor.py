"""``assay doctor``: what this machine has, what it lacks, and how to mend it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.terminal import echo, echo_json

if TYPE_CHECKING:
    from runner.doctor import Check

MARKS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


@click.command("doctor")
@click.option("--model", help="Check its key and ask it one small question (provider/model).")
@click.option("--base-url", help="Address of the model's API.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of lines.")
def command(model: str | None, base_url: str | None, as_json: bool) -> int:
    """Check Python, packages, isolation, rendering, GPU, disk, store and, with --model, the model.

    Exit status 0 when nothing failed; a warning is no failure. A key is checked by the name of its variable, and its
    value is never shown.
    """
    from runner.doctor import Subject, examine, plain
    from runner.errors import BadInput
    from runner.images.contents import ROOT

    if base_url is not None and model is None:
        raise BadInput(f"base-url {base_url!r}: name the model too, as --model openai/NAME")
    home = Path(os.environ.get("ASSAY_HOME") or "runs").absolute()
    found = []
    for check in examine(Subject(home, ROOT, model, base_url)):
        found.append(check)
        if not as_json:
            _say(check)
    counts = {state: sum(check.state == state for check in found) for state in MARKS}
    if as_json:
        echo_json({"checks": [plain(check) for check in found], "counts": counts})
    else:
        echo(f"\n{counts['ok']} ok, {counts['warn']} warnings, {counts['fail']} failed")
    return 1 if counts["fail"] else 0


def _say(check: Check) -> None:
    mark, colour = MARKS[check.state]
    click.secho(mark, fg=colour, nl=False)
    echo(f" {check.name:<11} {check.text}")
    if check.mend:
        echo(f"  {'':<11} mend: {check.mend}")
