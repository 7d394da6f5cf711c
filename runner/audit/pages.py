"""An audit for people: the same document as Markdown, as one HTML file, and as a table in a terminal."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.audit.audit import Audit
from runner.audit.findings import Check, Finding
from runner.errors import AssayError
from runner.store.text import stamp
from runner.terminal import printable
from runner.words import count

if TYPE_CHECKING:
    from rich.console import Console

SHOWN = 200  # findings of one check; the JSON has all
MARKS = {"passed": "✓", "undecided": "?", "failed": "✗", "skipped": "–"}
WHAT = {
    "chain": "hashes, sequence and signatures of the ledger",
    "artifacts": "files against the hashes in the records",
    "rescore": "every number again from the records alone",
    "eligibility": "which attempts count, and why",
    "replay": "stored actions again in fresh pairs, states compared",
    "rerun": "conditions evaluated anew by the same agent",
}
REPLAYS = ("attempt", "condition", "class", "actions", "digests", "states", "first divergence", "verdict", "actions/s")
STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.3rem .7rem;border-bottom:1px solid #d0d7de;text-align:left}
td:first-child{white-space:nowrap}
.passed{color:#1a7f37}.failed{color:#cf222e}.undecided{color:#9a6700}
.skipped{color:#6e7781}code{font-size:.9em}h1 .verdict{white-space:nowrap}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}td,th{border-color:#30363d}}"""


def write(audit: Audit, folder: Path) -> list[Path]:
    """``audit.json``, ``audit.md`` and ``audit.html`` in ``folder``. Raises AssayError when they cannot be written."""
    contents = {
        "audit.json": json.dumps(audit.plain(), indent=1, ensure_ascii=False) + "\n",
        "audit.md": markdown(audit),
        "audit.html": page(audit),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            (folder / name).write_text(content, encoding="utf-8")
    except OSError as error:
        raise AssayError(
            f"report {folder}: cannot be written ({error.strerror}): name another folder with -o"
        ) from None
    return [folder / name for name in contents]


def show(console: Console, audit: Audit, *, written: bool) -> None:
    """The checks as a table, then every problem, the verdict, and the head of the log. ``written``: a report with the
    notes is too."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("check", "", "what was found"):
        table.add_column(column)
    colours = {"passed": "green", "undecided": "yellow", "failed": "red", "skipped": "dim"}
    for check in audit.checks:
        table.add_row(check.name, f"[{colours[check.status]}]{check.status}", escape(check.summary))
    console.print(table)
    for check in audit.checks:
        for severity, mark in (("problem", "[red]✗[/]"), ("doubt", "[yellow]?[/]")):
            for finding in _listed(check, severity):
                console.print(f"{mark} {check.name}: {escape(printable(finding))}", soft_wrap=True, highlight=False)
    notes = sum(finding.severity == "note" for check in audit.checks for finding in check.findings)
    more = f", {count(notes, 'note')} {'in the report' if written else 'that -o FOLDER lists'}" if notes else ""
    colour = colours[audit.verdict]
    console.print(
        f"[{colour}]{_word(audit)}[/] audit of {escape(audit.run.name)} (seed {audit.options.seed}{more})"
        f"{escape(f': {audit.remark}' if audit.remark else '')}",
        highlight=False,
        soft_wrap=True,
    )
    if audit.head is not None:
        console.print(f"head {audit.head} (`--head` demands it of a later audit)", highlight=False, soft_wrap=True)


def markdown(audit: Audit) -> str:
    """The report as Markdown."""
    lines = [f"# Audit of {audit.run.name}: {_word(audit)}", ""]
    lines += [f"**{_escaped(audit.remark.capitalize())}**", ""] if audit.remark else []
    lines += [_facts(audit), ""]
    lines += _table(("", "check", "looks at", "found"), [_row(check) for check in audit.checks])
    for check in audit.checks:
        for severity in ("problem", "doubt", "note"):
            if found := list(_listed(check, severity)):
                lines += ["", f"## {check.name}: {severity}s", "", *(f"- {_escaped(text)}" for text in found)]
        if rows := _replays(check):
            lines += ["", "## Replayed attempts", "", *_table(REPLAYS, rows)]
    return "\n".join([*lines, ""])


def page(audit: Audit) -> str:
    """The report as one HTML file that needs nothing else."""
    title, word = html.escape(f"Audit of {audit.run.name}"), audit.verdict
    parts = [
        f"<h1>{title}: <span class='verdict {word}'>{_word(audit)}</span></h1>",
        f"<p><strong>{html.escape(audit.remark.capitalize())}</strong></p>" if audit.remark else "",
        f"<p>{html.escape(_facts(audit))}</p>",
        _html_table(("", "check", "looks at", "found"), [_row(check) for check in audit.checks]),
    ]
    for check in audit.checks:
        for severity in ("problem", "doubt", "note"):
            if found := list(_listed(check, severity)):
                items = "".join(f"<li>{html.escape(text)}</li>" for text in found)
                parts.append(f"<h2>{html.escape(check.name)}: {severity}s</h2><ul>{items}</ul>")
        if rows := _replays(check):
            parts.append(f"<h2>Replayed attempts</h2>{_html_table(REPLAYS, rows)}")
    head = f"<meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>{title}</title>"
    return f"<!doctype html><html lang='en'>{head}<style>{STYLE}</style><body>{''.join(parts)}</body></html>\n"


def _word(audit: Audit) -> str:
    return audit.verdict.upper()


def _facts(audit: Audit) -> str:
    options = audit.options
    return (
        f"Run {audit.run.id}, {audit.run.kind}. {stamp(audit.began)[:19]} to {stamp(audit.ended)[:19]} UTC. "
        f"Ledger head {audit.head or 'none'}. Sampling seed {options.seed}, share replayed {options.share:g}."
    )


def _row(check: Check) -> tuple[str, ...]:
    return f"{MARKS[check.status]} {check.status}", check.name, WHAT[check.name], check.summary


def _listed(check: Check, severity: str) -> Iterator[str]:
    found: list[Finding] = [finding for finding in check.findings if finding.severity == severity]
    yield from (str(finding) for finding in found[:SHOWN])
    if len(found) > SHOWN:
        yield f"and {len(found) - SHOWN} more, in audit.json"


def _replays(check: Check) -> list[tuple[str, ...]]:
    return [_replay(row) for row in check.data.get("attempts", ())] if check.name == "replay" else []


def _replay(row: dict[str, Any]) -> tuple[str, ...]:
    name = f"{row['environment_id']} c{row['condition']}"
    if row["status"] == "failed":
        return (str(row["sequence"]), name, "", str(row["actions"]), "", "", f"not replayed: {row['why']}", "", "")
    apart, verdict = row["divergence"], row["verdict"]
    where = "none"
    if apart is not None:
        size = f" by {apart['size']:.3g}" if apart["size"] is not None else ""
        where = f"{apart['field']} in actions {apart['after'] + 1} to {apart['by']}{size}"
    said = (
        verdict["recorded"] if verdict["agrees"] is not False else f"{verdict['recorded']}, now {verdict['replayed']}"
    )
    counts = (str(row[name]) for name in ("actions", "digests", "states"))
    speed = f"{row['actions'] / row['stepping_s']:,.0f}" if row["stepping_s"] else ""
    return (str(row["sequence"]), name, row["class"], *counts, where, said, speed)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return lines + ["| " + " | ".join(_escaped(cell) for cell in row) + " |" for row in rows]


def _html_table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    def line(cells: tuple[str, ...], tag: str) -> str:
        mark = next((name for name in MARKS if cells[0].endswith(name)), "")
        return f"<tr class='{mark}'>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{line(head, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"


def _escaped(text: str) -> str:
    """Texts of agents and files inside Markdown: no table cell ends early, no markup of theirs is ours."""
    return html.escape(" ".join(text.split()), quote=False).replace("|", "\\|").replace("`", "\\`").replace("[", "\\[")
