"""``assay audit``."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from manifests import strict
from runner.errors import BadInput
from runner.terminal import echo, echo_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEAD = (12, 64)  # digits of a hash that name an entry
RUNTIMES = ("auto", "docker", "bubblewrap", "process")


@click.command("audit")
@click.argument("run")
@click.option(
    "--replay", default=None, metavar="SHARE", help="Share of attempts to replay: 0.1, all, or 0 [default: 0.1]."
)
@click.option("--rerun", type=int, default=0, show_default=True, metavar="N", help="Conditions to evaluate anew.")
@click.option("--runtime", default="auto", show_default=True, help=f"{', '.join(RUNTIMES)}; auto: that of the run.")
@click.option("--jobs", type=int, default=1, show_default=True, help="Replays in parallel.")
@click.option("--seed", type=int, help="Of the sample; a report names its own [default: drawn anew].")
@click.option("--head", help="Hash of a ledger entry seen before, 12 digits or more: it must still be there.")
@click.option("--against", type=click.Path(path_type=Path), help="A published `assay score --format json` to compare.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("table", "json")),
    default="table",
    show_default=True,
    help="What is printed.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder for audit.json, audit.md, audit.html.")
def command(run: str, form: str, output: Path | None, **given: Any) -> int:
    """Check RUN: its log, files, numbers, eligibility, replays.

    Exit status 0: every check passed or was not asked for.
    """
    from manifests.load import load
    from runner.audit import pages
    from runner.audit.audit import Auditor
    from runner.cli.common import console, find_run
    from runner.store.store import Store

    options = _options(given)
    store = Store(read_only=True)
    found = find_run(store, run)
    with _progress() as say:
        audit = Auditor(store, load(), say).audit(found, options)
    if form == "json":
        echo_json(audit.plain(), indent=1)
    else:
        pages.show(console(), audit, written=output is not None)
    for path in pages.write(audit, output) if output is not None else ():
        echo(f"wrote {path}", err=True)
    return 0 if audit.passed else 1


def _options(given: dict[str, Any]) -> Any:
    from runner.audit.audit import Options
    from runner.audit.sample import SEEDS, new_seed

    if given["runtime"] not in RUNTIMES:
        raise BadInput(f"runtime {given['runtime']!r} is not one of {', '.join(RUNTIMES)}")
    for name, least in (("rerun", 0), ("jobs", 1)):
        if given[name] < least:
            raise BadInput(f"{name} {given[name]}: give a whole number from {least}")
    seed = new_seed() if given["seed"] is None else given["seed"]
    if not 0 <= seed < SEEDS:
        raise BadInput(f"seed {seed}: give a whole number from 0 to {SEEDS - 1}")
    share, against = _share(given["replay"]), _result(given["against"])
    return Options(share, given["rerun"], given["runtime"], seed, given["jobs"], _head(given["head"]), against)


def _head(text: str | None) -> str | None:
    """A hash or its beginning. Raises BadInput for what no entry can begin with, or many could."""
    found = None if text is None else text.strip().lower()
    if found is not None and (not HEAD[0] <= len(found) <= HEAD[1] or not set(found) <= set("0123456789abcdef")):
        raise BadInput(f"head {text!r}: give {HEAD[0]} to {HEAD[1]} hexadecimal digits, as an audit prints them")
    return found


def _share(text: str | None) -> float:
    """0 to 1. Raises BadInput."""
    from manifests.audit import load_audit

    if text is None:
        return load_audit().sample
    if text == "all":
        return 1.0
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise BadInput(f"replay {text!r}: give a share of the attempts from 0 to 1, or all")
    return share


def _result(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        found = strict.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"against {path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise BadInput(f"against {path}: is not JSON ({error}); write it by `assay score RUN --format json`") from None
    if not isinstance(found, dict):
        raise BadInput(f"against {path}: is no result of `assay score RUN --format json`")
    return found


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """One line that changes in a terminal; without one, one line per event, and no mere counting."""
    from rich.markup import escape

    from runner.cli.common import console

    screen = console(error=True)
    if not screen.is_terminal:
        yield lambda text: echo(text, err=True) if not text.endswith((" action", " actions")) else None
        return
    with screen.status("audit ...") as status:
        yield lambda text: status.update(escape(text))
