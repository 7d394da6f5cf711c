"""What it takes to make a run again: the command with every choice that its settings record, and what it was made
with."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

from leaderboard.blocks import Block, data_of
from leaderboard.markup import Safe, code, join, link, notice, small, table, tag
from leaderboard.public import HIDDEN, public, without_secrets
from leaderboard.ranking import BASELINE
from leaderboard.source import Entry
from leaderboard.views import parts
from runner.store.status import EVALUATED
from runner.store.store import Run

RUNS = 50  # commands on one page; the download has all
LONGEST = 94  # characters of a name of which the new one is made: it has 100 at most
CHOICES = ("board", "subset", "tasks", "protocol", "profile", "seed", "runtime")  # settings of the same name
OPTIONS = ("temperature", "effort", "base_url", "max_output_tokens")  # parameters with an option of their own


def command(run: Run) -> str | None:
    """``assay evaluate`` with what the settings of a run say, under a new name; None for a run that was made elsewhere.
    A baseline is its own agent, with a level and grants of its own, and calls no model. The value of a parameter that
    is named like a secret is left out."""
    if run.kind != EVALUATED:
        return None
    settings, agent = run.settings, run.settings["agent"]
    given = {name: settings.get(name) for name in ("model", *CHOICES)}
    parameters: dict[str, Any] = agent["parameters"]
    if agent.get("kind") != BASELINE:
        grants = ",".join(settings["grants"]) or None
        given |= {"agent": agent["name"], "setting": settings.get("mode"), "level": settings["level"], "grants": grants}
        given |= {name.replace("_", "-"): parameters.get(name) for name in OPTIONS}
    words = ["assay", "evaluate"]
    for name, value in given.items():
        words += [] if value is None else [f"--{name}", str(value)]
    extra = without_secrets(parameters.get("extra"))
    for name, value in extra.items() if isinstance(extra, dict) else ():
        words += ["--parameter", f"{name}={json.dumps(value)}"]
    words += ["--stream"] * bool(parameters.get("stream")) + ["--gpus"] * bool(settings.get("gpus"))
    return shlex.join([*words, "--run", f"again-{run.name[:LONGEST]}"])


def of_run(entry: Entry) -> Block | Safe:
    """The command, and the versions and identities of what the run was made with."""
    found = command(entry.run)
    title = tag("h2", "Make it again", id="make-it-again")
    if found is None:
        return join((title, tag("p", "This run was made elsewhere: there is nothing here to run.")))
    settings = entry.run.settings
    versions, images = settings.get("versions") or {}, settings.get("images") or {}
    rows = [[f"version of {name}", str(version)] for name, version in sorted(versions.items())]
    rows.append(["agent, its code and prompts", str(settings["agent"].get("digest"))])
    rows += [
        [f"image of {engine}: {role}", str(content)]
        for engine, roles in sorted(images.items())
        for role, content in sorted(roles.items())
    ]
    shown = table("What the run was made with", ("Part", "Version or identity"), _coded(rows), kind="cards")
    html = join(
        (
            title,
            tag("p", "The same agent anew, under a name of its own. Compare it with this run on the ", _compare(), "."),
            _shown(found),
            tag("details", tag("summary", "What it was made with, to compare with what is installed"), shown),
        )
    )
    return Block(html, data_of(f"made-with-{entry.run.name}", ("part", "identity"), [*rows, ["command", found]]))


def of_runs(entries: Sequence[Entry]) -> Block | Safe:
    """The commands of all runs that were made here."""
    found = [(entry, text) for entry in entries if (text := command(entry.run)) is not None]
    title = tag("h2", "Evaluate anew")
    if not found:
        return join((title, tag("p", "No run of this store was made by Assay: there is none to make again.")))
    rows = [
        [
            join((link(entry.run.name, run=entry.run.name), tag("br"), small(parts.agent_name(entry)))),
            code(text),
        ]
        for entry, text in found[:RUNS]
    ]
    said = "An audit asks whether the records hold. Whether the result comes again is asked by the same command, anew:"
    caption = f"The command that makes a run again, {len(rows)} of {len(found)}"
    shown = table(caption, ("Run", "Command"), rows, kind="cards commands")
    html = join((title, tag("p", said), tag("details", tag("summary", caption), shown)))
    return Block(html, data_of("commands", ("run", "command"), [[entry.run.name, text] for entry, text in found]))


def _coded(rows: Sequence[Sequence[str]]) -> list[list[Any]]:
    return [[name, code(value)] for name, value in rows]


def _compare() -> Safe:
    return link("page that compares runs", view="compare")


def _shown(found: str) -> Safe:
    text = tag("pre", code(found))
    if public(found) == found and HIDDEN not in found:
        return text
    return join((text, notice("A part of it may not be shown here: its submitter knows it.")))
