"""``assay doctor``: what this machine has, what it lacks, and how to mend it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.terminal import echo, echo_json, printable

if TYPE_CHECKING:
    from rich.console import Console

    from runner.doctor_checks import Check

MARKS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red"), "optional": ("–", "cyan")}


@click.command("doctor")
@click.option("--model", help="Check its key and ask it one small question (provider/model).")
@click.option("--base-url", help="Address of the model's API.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of lines.")
def command(model: str | None, base_url: str | None, as_json: bool) -> int:
    """Check this machine, and say how to mend what is missing.

    Python, packages, isolation, rendering, GPU, disk, store and, with --model, the model. Exit status 0 when nothing
    failed; a warning is no failure. A key is checked by the name of its variable, and its value is never shown.
    """
    from runner.cli.common import console
    from runner.doctor import examine, plain
    from runner.doctor_checks import Subject
    from runner.errors import BadInput
    from runner.images.contents import ROOT
    from runner.words import count

    if base_url is not None and model is None:
        raise BadInput(f"base-url {base_url!r}: name the model too, as --model openai/NAME")
    home = Path(os.environ.get("ASSAY_HOME") or "runs").absolute()
    found, screen = [], console()
    for check in examine(Subject(home, ROOT, model, base_url)):
        found.append(check)
        if not as_json:
            _say(screen, check)
    counts = {state: sum(check.state == state for check in found) for state in MARKS}
    if as_json:
        echo_json({"checks": [plain(check) for check in found], "counts": counts})
    else:
        missing = f", {counts['optional']} optional not installed" if counts["optional"] else ""
        echo(f"\n{counts['ok']} ok{missing}, {count(counts['warn'], 'warning')}, {counts['fail']} failed")
    return 1 if counts["fail"] else 0


def _say(screen: Console, check: Check) -> None:
    from rich.markup import escape

    mark, colour = MARKS[check.state]
    line = f"[{colour}]{mark}[/] {check.name:<11} {escape(printable(check.text))}"
    screen.print(line, highlight=False, soft_wrap=True)
    if check.mend:
        word = "install" if check.state == "optional" else "mend"
        screen.print(f"  {'':<11} {word}: {escape(printable(check.mend))}", highlight=False, soft_wrap=True)
