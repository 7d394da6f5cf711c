"""Audit: the reports that are stored, incidents and decisions by run, extra attempts, and how to run it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leaderboard.audits import Audit
from leaderboard.blocks import Block, Page, data_of, page
from leaderboard.markup import Safe, badge, code, join, link, notice, small, table, tag
from leaderboard.source import Entry
from leaderboard.views import again, parts
from manifests.words import count
from runner.store.status import EVALUATED

RUNS = 200  # lines of a table; the download has all
STATUSES = ("candidate", "excluded", None, "extra", None)  # of the attempts behind the numbers of a line
STATUS = {"passed": ("✓", ""), "failed": ("✕", "warn"), "skipped": ("–", "")}


def build(entries: Sequence[Entry], reports: Mapping[str, Sequence[Audit]]) -> Page:
    """``reports`` by run name, the latest first."""
    return page(
        "Audit",
        tag("h1", "Audit"),
        tag(
            "p",
            "Do the recorded attempts give the published numbers, and did they happen as recorded? Whoever has the "
            "records can ask again; an audit changes nothing.",
            class_="lead",
        ),
        _reports(entries, reports),
        _incidents(entries),
        _how(entries),
    )


def commands(entries: Sequence[Entry]) -> Page:
    """The end of the page, which depends on the settings of the runs alone."""
    return page("", again.of_runs(entries))


def command(run: str) -> Safe:
    return tag("pre", code(Safe(f'assay audit {run} --replay all -o "${{ASSAY_HOME:-runs}}/{run}/rendered/audit"')))


def _how(entries: Sequence[Entry]) -> Safe:
    name = next((entry.run.name for entry in entries if entry.run.kind == EVALUATED), "RUN")
    what = (
        ("chain", "hashes, sequence and signatures of the ledger"),
        ("artifacts", "every file against the hash in its record"),
        ("rescore", "every number again from the records alone"),
        ("eligibility", "which attempts count, and why"),
        ("replay", "stored actions again in fresh containers of the same image, states compared"),
        ("rerun", "chosen conditions evaluated anew by the same agent (--rerun N); never scored"),
    )
    items = [tag("li", tag("strong", name), ": ", text) for name, text in what]
    return join(
        (
            tag("h2", "Run it yourself"),
            tag("p", "Of a run, for example this one:"),
            command(name),
            tag(
                "p",
                "It writes the report to where this page finds it. One from elsewhere is found in ",
                code(Safe("audits/ANY-NAME/audit.json")),
                " below the folder of the records. It looks at:",
            ),
            tag("ul", *items),
            tag(
                "p",
                "Without the records: ask the submitter for the bundle, ",
                code("assay verify bundle.zip"),
                ", ",
                code("assay import bundle.zip"),
                ", then the same command.",
            ),
        )
    )


def _reports(entries: Sequence[Entry], reports: Mapping[str, Sequence[Audit]]) -> Block | Safe:
    title = tag("h2", "Latest reports")
    if not reports:
        return join((title, notice("No audit report is stored.", tag("p", "The command below writes one."))))
    named = [(entry.run.name, report) for entry in entries for report in reports.get(entry.run.name, ())]
    return reports_of("audits", title, named, runs=True)


def reports_of(name: str, title: Safe, named: Sequence[tuple[str, Audit]], *, runs: bool) -> Block:
    """A table of reports, each with its run; without ``runs`` they are all of one. ``name`` is that of its data."""
    rows, plain = [], []
    for run, report in named:
        word = _word(report.verdict)
        ended = report.ended[:16].replace("T", " ")
        said = [_check(item) for item in report.checks]
        first = [link(run, run=run), word] if runs else [word]
        rows.append([*first, join(said, "<br>"), f"{ended} UTC", _state(report)])
        source = report.kept or "rendered/audit"
        plain += [
            [
                run,
                item.get("name"),
                item.get("status"),
                item.get("summary"),
                ended,
                source,
                report.entries,
                report.holds,
            ]
            for item in report.checks
        ]
    head = (*(("Run",) if runs else ()), "Result", "Checks", "Ended", "Of which ledger")
    columns = ("run", "check", "status", "summary", "ended", "source", "entries", "ledger_holds")
    html = join((title, table("Reports", head, rows, kind="cards")))
    return Block(html, data_of(name, columns, plain))


def _state(report: Audit) -> Safe:
    """Which ledger it speaks of, and where the report lies."""
    where = "written beside the run" if report.kept is None else f"kept as {report.kept}; nobody signs a report"
    if report.entries is None:
        return join(("it does not say", tag("br"), small(where)))
    state: Any = f"its first {count(report.entries, 'entry')}"
    if not report.holds:
        state = badge("not the ledger that is here", "warn")
    return join((state, tag("br"), small(where)))


def _word(status: str) -> Safe:
    sign, kind = STATUS.get(status, ("?", "warn"))
    return badge(f"{sign} {status}", kind)


def _check(item: dict[str, Any]) -> Safe:
    return join((_word(str(item.get("status"))), " ", str(item.get("name")), " ", small(str(item.get("summary", "")))))


def _incidents(entries: Sequence[Entry]) -> Block:
    """Of every run with incidents, extra attempts or unknown causes."""
    rows, plain = [], []
    for entry in entries:
        counts = entry.report["ledger"]
        incidents = counts["incidents"]
        numbers = [incidents["candidate"], incidents["confirmed"], incidents["rejected"], counts["extra"]]
        numbers.append(len(counts["unknown_causes"]))
        plain.append([entry.run.name, counts["attempts"], *numbers, counts["excluded_percent"]])
        if any(numbers):
            share = counts["excluded_percent"]
            cells = [
                _number(entry, number, status) if number else "–"
                for number, status in zip(numbers, STATUSES, strict=True)
            ]
            name = join((link(entry.run.name, run=entry.run.name), tag("br"), small(parts.agent_name(entry))))
            rows.append([name, *cells, "–" if share is None else f"{share} %"])
    head = ("Run", "Open", "Confirmed", "Rejected", "Extra attempts", "Unknown causes", "Excluded")
    caption = f"Incidents and extra attempts, {min(len(rows), RUNS)} of {count(len(entries), 'run')}"
    said = tag(
        "p",
        "An incident is a claimed infrastructure fault. The policy confirms it where the agent could not act yet, the "
        "board's keys otherwise. A confirmed one takes no opportunity; above 10 % excluded attempts a run has no rank. "
        "Extra attempts are kept and never scored.",
    )
    shown = table(caption, head, rows[:RUNS], kind="cards") if rows else tag("p", "No run has any.")
    columns = ("run", "attempts", "open", "confirmed", "rejected", "extra", "unknown_causes", "excluded_percent")
    return Block(join((tag("h2", "Incidents and decisions"), said, shown)), data_of("incidents", columns, plain))


def _number(entry: Entry, number: int, status: str | None) -> Safe:
    """How many attempts, with a way to them where they have a status of their own."""
    words = f"{number} of {entry.report['ledger']['attempts']}"
    return Safe(words) if status is None else link(words, run=entry.run.name, status=status)
