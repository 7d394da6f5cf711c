"""``assay verify``: every problem of a bundle, offline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.errors import BadInput
from runner.terminal import echo, echo_json
from runner.words import count

if TYPE_CHECKING:
    from runner.submission.check import Verified
    from runner.submission.findings import Report

KEY_DIGITS = 64


@click.command("verify")
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option("--key", help="Public key that has to have signed (hexadecimal).")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of lines.")
def command(bundle: Path, key: str | None, as_json: bool) -> int:
    """Check BUNDLE offline, and print every problem.

    Without network, store or simulator. Exit status 1: it has a problem.
    """
    from manifests.load import load
    from manifests.submission import load_limits
    from runner.submission.archive import Archive, NoBundle
    from runner.submission.check import check
    from runner.submission.findings import Report

    check_key(key)
    limits, report, verified = load_limits(), Report(), None
    try:
        with Archive(bundle, limits, report) as archive:
            verified = check(archive, load(), limits, report, key)
    except NoBundle:
        pass
    if as_json:
        echo_json(_plain(bundle, report, verified))
        return 1 if report.problems else 0
    show(report)
    echo(f"{bundle}: {verdict(report)}{_who(verified)}")
    return 1 if report.problems else 0


def show(report: Report) -> None:
    """Every finding on a line of its own, problems first."""
    for finding in (*report.problems, *report.notes):
        echo(str(finding))


def verdict(report: Report) -> str:
    return f"REFUSED, {count(len(report.problems), 'problem')}" if report.problems else "good"


def check_key(key: str | None) -> None:
    """Raises BadInput for what is no public key."""
    if key is not None and (len(key) != KEY_DIGITS or not set(key) <= set("0123456789abcdef")):
        raise BadInput(f"key {key!r}: give the {KEY_DIGITS} hexadecimal digits that `assay keys show` prints")


def _who(verified: Verified | None) -> str:
    if verified is None:
        return ""
    said = verified.statement.predicate
    name = f" ({said.submitter.name})" if said.submitter.name else ""
    return f"; run {said.run.name} {said.run.id}, key {said.submitter.key}{name}"


def _plain(bundle: Path, report: Report, verified: Verified | None) -> dict[str, Any]:
    said = verified.statement.predicate if verified is not None else None
    return {
        "bundle": str(bundle),
        "good": not report.problems,
        "run": said.run.model_dump() if said else None,
        "submitter": said.submitter.model_dump() if said else None,
        "problems": [{"path": finding.path, "text": finding.text} for finding in report.problems],
        "notes": [{"path": finding.path, "text": finding.text} for finding in report.notes],
    }
