"""Failures: codes by suite, the clause that broke first, causes of attempts that do not count, exclusions with their
evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from leaderboard import charts
from leaderboard.blocks import Block, Page, data_of, figure, page
from leaderboard.markup import Safe, code, join, link, notice, small, table, tag
from leaderboard.ranking import Standing, is_baseline
from leaderboard.source import Attempt, Entry
from leaderboard.views import parts
from leaderboard.words import ELSEWHERE, INCIDENTS
from manifests.load import load
from manifests.words import count

CLAUSES = 40  # lines of the table of clauses; the download has all
ASIDE = 100  # attempts of a run that were excluded or claimed; the run's page has all


def build(standing: Standing, entries: Sequence[Entry], aside: Sequence[tuple[Entry, Attempt]]) -> Page:
    """``entries`` are the runs that are counted together, ``aside`` their attempts with an incident."""
    names = ", ".join(parts.agent_name(entry) for entry in entries)
    if len(entries) > 3:
        names = f"{count(len(entries), 'run')} of this setting, together"
    left_out = any(map(is_baseline, (row.entry for row in standing.rows))) and not any(map(is_baseline, entries))
    head = (
        tag("h1", "Failures"),
        tag("p", parts.setting_title(standing.setting), class_="quiet"),
        tag("p", "Counted: ", tag("strong", names), ". Baselines are not." if left_out else "", class_="lead"),
    )
    if not any(entry.failures or entry.others for entry in entries):
        return page("Failures", *head, notice("No attempt failed, and none was left out."))
    blocks: list[Block | Safe] = [_codes(standing, entries), *_figure(standing, entries), _clauses(standing, entries)]
    blocks += [_others(standing, entries), _aside(standing, entries, aside)]
    return page("Failures", *head, *blocks)


def _by_suite(entries: Sequence[Entry]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {row["label"]: Counter() for row in entries[0].report["by"]["suite"]}
    for entry in entries:
        for suite, failure, _, number in entry.failures:
            found[suite][failure] += number
    return found


def _codes(standing: Standing, entries: Sequence[Entry]) -> Block:
    found, texts = _by_suite(entries), load().codes
    total = sum(found.values(), Counter())
    codes = [name for name, _ in total.most_common()]
    rows = [
        [suite, f"{sum(counts.values()):,}", *(f"{counts[name]:,}" if counts[name] else "–" for name in codes)]
        for suite, counts in found.items()
    ]
    rows.append([tag("strong", "All suites"), f"{sum(total.values()):,}", *(f"{total[name]:,}" for name in codes)])
    meaning = [tag("li", code(name), " ", texts.get(name, "no table has this code")) for name in codes]
    html = join(
        (
            tag("h2", "Codes by suite"),
            table("Scored failures by suite and code", ("Suite", "Failed attempts", *codes), rows),
            tag("details", tag("summary", "What the codes mean"), tag("ul", *meaning)),
            tag(
                "p",
                "A code names the event that ended an attempt. By itself it does not say whether agent, controller or "
                "simulator brought that event about.",
                class_="quiet",
            ),
        )
    )
    plain = [[suite, name, counts[name]] for suite, counts in found.items() for name in codes]
    return Block(html, data_of(f"codes-{standing.setting.id}", ("suite", "code", "scored_failures"), plain))


def _figure(standing: Standing, entries: Sequence[Entry]) -> list[Block]:
    found = _by_suite(entries)
    total = sum(found.values(), Counter())
    if not total:
        return []
    codes = [name for name, _ in total.most_common(7)]
    rest = [name for name in total if name not in codes]
    names = [*codes, *(["other"] if rest else [])]
    rows = [
        (suite, [*(counts[name] for name in codes), *([sum(counts[name] for name in rest)] if rest else [])])
        for suite, counts in found.items()
    ]
    alt = "Scored failures by suite, split by code: " + "; ".join(
        f"{suite} " + ", ".join(f"{name} {number}" for name, number in zip(names, counts, strict=True) if number)
        for suite, counts in rows
    )
    drawing = charts.stacked(f"failures-{standing.setting.id}", alt, names, rows)
    return [figure(drawing, f"Scored failures by suite, split by code ({sum(total.values()):,} in all)")]


def _clauses(standing: Standing, entries: Sequence[Entry]) -> Block:
    """The clauses that broke first. With one run a line leads to its attempts."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for entry in entries:
        for suite, failure, clause, number in entry.failures:
            counts[suite, failure, clause] += number
    total = sum(counts.values())
    only = entries[0].run.name if len(entries) == 1 else None
    rows = []
    for (suite, failure, clause), number in counts.most_common(CLAUSES):
        label = parts.clause_name(clause)
        where = (
            (code(label) if clause != "none" else label)
            if only is None
            else link(label, run=only, code=failure, clause=clause)
        )
        rows.append([where, code(failure), suite, f"{number:,} of {total:,}"])
    shown = table("Scored failures by the clause that broke first", ("Clause", "Code", "Suite", "Failures"), rows)
    if all(clause == "none" for _, _, clause in counts):
        shown = tag(
            "p",
            f"None of {count(total, 'failure')} names a clause: the attempts ended without breaking one, or ",
            "were made elsewhere.",
        )
    html = join((tag("h2", "First violated clause"), shown))
    plain = [[suite, failure, clause, number] for (suite, failure, clause), number in counts.most_common()]
    return Block(html, data_of(f"clauses-{standing.setting.id}", ("suite", "code", "clause", "failures"), plain))


def _others(standing: Standing, entries: Sequence[Entry]) -> Block:
    counts: Counter[tuple[str, str]] = Counter()
    for entry in entries:
        for status, cause, number in entry.others:
            counts[status, cause] += number
    every = sum(entry.report["ledger"]["attempts"] for entry in entries)
    causes = load().causes
    rows = [
        [status, code(cause), causes[cause].text if cause in causes else "no text for it", f"{number:,} of {every:,}"]
        for (status, cause), number in counts.most_common()
    ]
    head = ("Status", "Cause", "Meaning", "Attempts")
    told = table("Attempts that are not scored, by status and cause", head, rows, kind="cards")
    html = join(
        (tag("h2", "Attempts that do not count"), told if rows else tag("p", f"None of {count(every, 'attempt')}."))
    )
    plain = [[status, cause, number, every] for (status, cause), number in counts.most_common()]
    return Block(html, data_of(f"not-scored-{standing.setting.id}", ("status", "cause", "count", "attempts"), plain))


def _aside(standing: Standing, entries: Sequence[Entry], aside: Sequence[tuple[Entry, Attempt]]) -> Block | Safe:
    incidents: Counter[str] = Counter()
    for entry in entries:
        incidents.update(entry.report["ledger"]["incidents"])
    claimed = sum(incidents.values())
    title = tag("h2", "Incidents and exclusions")
    if not claimed:
        return join((title, tag("p", "No infrastructure incident was claimed.")))
    words = ", ".join(f"{incidents[name]} {name}" for name in INCIDENTS if incidents[name])
    said = tag(
        "p", f"{count(claimed, 'incident')}: {words}. A confirmed one takes no opportunity; an open one leaves it open."
    )
    if not aside:
        return join((title, said, tag("p", "Choose at most three runs to see each incident with its evidence.")))
    rows = [_incident(entry, attempt) for entry, attempt in aside[:ASIDE]]
    head = ("Attempt", "Task", "State", "Cause", "Evidence", "Decision")
    caption = f"Incidents, {min(len(aside), ASIDE)} of {len(aside)} with their evidence; {parts.NUMBERING}"
    columns = ("run", "sequence", "environment_id", "condition", "incident", "cause", "evidence", "decision")
    plain = [
        [
            entry.run.name,
            attempt.row.sequence,
            attempt.row.environment_id,
            attempt.row.condition,
            attempt.state.incident,
            attempt.judged["cause"],
            _evidence(attempt),
            _decision(attempt),
        ]
        for entry, attempt in aside
    ]
    html = join((title, said, table(caption, head, rows, kind="cards")))
    return Block(html, data_of(f"incidents-{standing.setting.id}", columns, plain))


def _incident(entry: Entry, attempt: Attempt) -> list[Any]:
    row = attempt.row
    return [
        join(
            (
                link(parts.attempt_name(attempt.ordinal, row.sequence), run=entry.run.name, attempt=row.sequence),
                " ",
                small(entry.run.name),
            )
        ),
        join((row.environment_id, tag("br"), small(f"condition {row.condition}"))),
        INCIDENTS[attempt.state.incident],
        code(attempt.judged["cause"] or "not recorded"),
        _evidence(attempt),
        _decision(attempt),
    ]


def _evidence(attempt: Attempt) -> str:
    record = attempt.record
    if record is None:
        return "made elsewhere: no record here"
    said = record.text or "no text"
    kept = [name.replace("_", " ") for name in record.evidence if name not in ELSEWHERE]
    return f"{said}; kept: {', '.join(kept)}" if kept else said


def _decision(attempt: Attempt) -> str:
    binding = attempt.state.binding
    if binding is None:
        return "that of its source" if attempt.record is None else "none that binds"
    return f"{binding.decision} by {binding.payload.get('reviewer')}: {binding.payload.get('reason')}"
