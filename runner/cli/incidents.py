"""``assay incidents``: who was let down by the infrastructure, and who decides that."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.cli.numbers import NumberedCommand
from runner.terminal import echo, echo_json, printable

if TYPE_CHECKING:
    from manifests.load import Manifests
    from runner.incidents import Reviewer
    from runner.store.decisions import IncidentState
    from runner.store.store import Run, Store


@click.group("incidents")
def command() -> None:
    """List infrastructure incidents of a run and decide on them."""


@command.command("list")
@click.argument("run")
@click.option("--all", "everything", is_flag=True, help="Also those that are decided.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")
def list_incidents(run: str, everything: bool, as_json: bool) -> None:
    """List the open candidates of RUN with their evidence.

    And the proposals that no trusted key has taken up.
    """
    from manifests.load import load
    from runner.cli.common import find_run, open_store
    from runner.incidents import incidents

    store = open_store()
    found = incidents(store, find_run(store, run), load(), decided=everything)
    if as_json:
        echo_json(found)
        return
    if not found:
        echo(
            f"no incidents in run {run}" if everything else f"no open incidents in run {run}; --all lists decided ones"
        )
    for item in found:
        for line in _lines(item):
            echo(line)


@command.command("confirm", cls=NumberedCommand)
@click.argument("run")
@click.argument("sequence", type=int)
@click.option("--reason", required=True, help="Why the infrastructure was at fault.")
@click.option("--reviewer", "name", help="Who decides [default: the trust list's name of your key].")
@click.option(
    "--evidence", multiple=True, type=click.Path(path_type=Path), help="A file that shows it; its hash is kept."
)
def confirm(run: str, sequence: int, reason: str, name: str | None, evidence: tuple[Path, ...]) -> None:
    """Confirm that the infrastructure ended an attempt.

    Attempt SEQUENCE of RUN then takes no opportunity.
    """
    from runner.incidents import confirm as decide

    store, found, manifests, who = _prepare(run, name)
    _print(sequence, decide(store, found, sequence, manifests, who, reason, evidence))


@command.command("reject", cls=NumberedCommand)
@click.argument("run")
@click.argument("sequence", type=int)
@click.option("--reason", required=True, help="Why the infrastructure was not at fault.")
@click.option("--ruled", required=True, help="The cause that takes its place, for example agent_exception.")
@click.option("--code", help="With --ruled violation: the code of the violation.")
@click.option("--reviewer", "name", help="Who decides [default: the trust list's name of your key].")
@click.option(
    "--evidence", multiple=True, type=click.Path(path_type=Path), help="A file that shows it; its hash is kept."
)
def reject(
    run: str, sequence: int, reason: str, ruled: str, code: str | None, name: str | None, evidence: tuple[Path, ...]
) -> None:
    """Reject the incident that an attempt claims.

    Attempt SEQUENCE of RUN is then ruled again and takes an opportunity.
    """
    from runner.incidents import reject as decide

    store, found, manifests, who = _prepare(run, name)
    _print(sequence, decide(store, found, sequence, manifests, who, reason, ruled, code, evidence))


def _prepare(run: str, name: str | None) -> tuple[Store, Run, Manifests, Reviewer]:
    from manifests.load import load
    from runner.cli.common import find_run, open_store
    from runner.incidents import reviewer
    from runner.keys import key_path, load_key

    manifests = load()
    who = reviewer(name, load_key(key_path()), manifests)
    store = open_store()
    return store, find_run(store, run), manifests, who


def _print(sequence: int, state: IncidentState) -> None:
    if state.binding is None:
        echo(
            f"attempt {sequence}: recorded as a proposal; it stays {_open(state)} until a key of the board's trust "
            "list decides (docs/incidents.md)"
        )
    elif state.ruled is not None:
        outcome, cause, code = state.ruled
        echo(f"attempt {sequence}: rejected and ruled {outcome} {code or ''} ({cause})".replace("  ", " "))
    else:
        echo(f"attempt {sequence}: confirmed; it takes no opportunity")


def _open(state: IncidentState) -> str:
    return "a candidate" if state.incident == "candidate" else "as it was recorded"


def _lines(item: dict[str, Any]) -> list[str]:
    """One incident as text: what happened, the evidence, what was decided and proposed."""
    acted = "after the agent's first action" if item["acted"] else "before the agent's first action"
    lines = [
        f"{item['sequence']}  {item['environment_id']} c{item['condition']}  {item['incident']}",
        f"    {item['outcome']} by {item['cause']}, {acted}: {printable(item['text'] or 'no text')}",
    ]
    lines += [f"    evidence {name}: {' '.join(str(value).split())[:160]}" for name, value in item["evidence"].items()]
    lines += [f"    artifact {artifact['name']}: {artifact['size']:,} bytes" for artifact in item["artifacts"]]
    for decision in item["decisions"]:
        how = "binding" if decision["binding"] else f"proposal: {decision['why_proposal']}"
        lines.append(
            f"    {decision['decision']} by {printable(decision['reviewer'])} (entry {decision['sequence']}, {how}): "
            f"{printable(decision['reason'])}"
        )
    return lines
