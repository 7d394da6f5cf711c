"""One run: its rates, its outcomes by environment and condition, and every attempt with the reason why it counts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from leaderboard import ranking
from leaderboard.audits import Audit
from leaderboard.blocks import Block, Data, Page, data_of, page
from leaderboard.markup import Safe, badge, code, facts, join, link, moment, notice, seconds, small, table, tag
from leaderboard.site import Detail
from leaderboard.source import Attempt, Entry, Unscored
from leaderboard.views import audit, parts, strips, tasks
from leaderboard.words import STATES
from manifests.load import load
from runner.store.status import EVALUATED

PAGE = 200  # attempts on one page


@dataclass(frozen=True)
class Wanted:
    """Which attempts are listed. None: whatever they have."""

    task: str | None = None
    code: str | None = None
    clause: str | None = None
    status: str | None = None

    def takes(self, judged: dict[str, Any], clause: str | None) -> bool:
        failed = judged["status"] == "scored" and judged["outcome"] == "failure"
        return (
            self.task in (None, judged["environment_id"])
            and self.status in (None, judged["status"])
            and (self.code is None or (failed and self.code == (judged["code"] or "none")))
            and (self.clause is None or (failed and self.clause == (clause or "none")))
        )


@dataclass(frozen=True)
class Listed:
    """Page ``number`` of the attempts that are wanted, ``count`` of them in all."""

    attempts: Sequence[Attempt]
    number: int
    count: int


def number_of(text: str | None, count: int) -> int:
    """A page number from the address, within what there is."""
    pages = max(1, math.ceil(count / PAGE))
    return min(int(text), pages) if text and text.isascii() and text.isdigit() and int(text) > 0 else 1


@dataclass(frozen=True)
class About:
    """What the store says beside the records: when the run last was found to be what its ledger says, and the audits of
    it, the latest first."""

    looked: datetime
    audits: Sequence[Audit]


def build(detail: Detail, about: About, wanted: Wanted, listed: Listed) -> Page:
    entry = detail.entry
    head = parts.head(tag("span", entry.run.name, aria_current="page"))
    lists = _attempts(entry, wanted, listed)
    if wanted != Wanted():
        return page(entry.run.name, head, tag("h1", parts.agent_name(entry)), lists)
    body = (_summary(entry, about.looked), _rates(entry), _codes(entry), _matrix(detail), _audits(entry, about.audits))
    return page(entry.run.name, head, *body, lists)


def unscored(found: Unscored) -> Page:
    """A run without numbers, and why. Of one that is damaged nothing else is shown."""
    name = found.run.name
    head = parts.head(tag("span", name, aria_current="page"))
    said = notice("This run cannot be scored here.", tag("p", found.why))
    if found.damaged:
        why = f"What is stored of it contradicts itself, so that none of its numbers is shown: {found.why}."
        see = ("Whoever has the records finds every fault with ", code(f"assay audit {name}"), ".")
        said = notice("This run is damaged.", tag("p", why), tag("p", *see), kind="bad")
    return page(name, head, tag("h1", name), said)


def _summary(entry: Entry, looked: datetime) -> Safe:
    total, setting, agent = entry.report["total"], entry.setting, entry.run.settings["agent"]
    reasons = ranking.why_not_ranked(entry)
    unofficial = entry.official is False or entry.run.kind != EVALUATED
    runtime = join((", ".join(entry.runtimes), " ", badge("not official", "warn") if unofficial else ""))
    notices = []
    if reasons:
        notices.append(notice("This run has no rank.", tag("ul", *(tag("li", reason) for reason in reasons))))
    return join(
        (
            tag("h1", parts.agent_name(entry), *parts.marks(entry)),
            tag("p", parts.setting_title(setting), class_="quiet"),
            *notices,
            facts(
                [
                    ("Run", entry.run.name),
                    ("Created", moment(entry.run.created_at)),
                    ("Last attempt ended", moment(entry.updated_at)),
                    ("Agent", f"{agent['name']} {agent.get('version', '')}, {agent.get('kind', 'unknown')}"),
                    ("Parameters", entry.parameters or "none"),
                    ("Runtime", runtime),
                    (
                        "Coverage",
                        f"{total['groups_complete']} of {total['groups']} groups complete",
                    ),
                    ("Ledger", f"hash chain, attempts and files hold; looked at {moment(looked)}"),
                    ("Signature", _signature(entry)),
                    ("Cost", _cost(entry)),
                ]
            ),
        )
    )


def _signature(entry: Entry) -> Safe:
    if entry.signer is None:
        return Safe("recorded here, not submitted" if entry.run.kind == EVALUATED else "none: made elsewhere")
    name = f"{entry.signer.name}, " if entry.signer.name else ""
    return join((f"held at import; {name}key ", code(entry.signer.key)))


def _cost(entry: Entry) -> str:
    if entry.cost_usd is None:
        return "unknown"
    unknown = f", {entry.unpriced} attempts of unknown price" if entry.unpriced else ""
    return f"${entry.cost_usd:,.2f}{unknown}"


def _rates(entry: Entry) -> Safe:
    report = entry.report
    names = report["names"]
    rows = [("All tasks", report["total"])]
    suites = report["by"]["suite"]
    if len(suites) > 1:
        rows += [(row["label"], row) for row in suites]
    head = ("Tasks", *names.values(), "Conditions", "Time@S", "Tok@S")
    return join(
        (
            tag("h2", "Rates"),
            table("Rates by suite", head, [_rate_row(label, row, names) for label, row in rows], kind="cards"),
        )
    )


def _rate_row(label: str, row: dict[str, Any], names: dict[str, str]) -> list[Any]:
    time, tokens = row["time_at_success_s"], row["tokens_at_success"]
    states = ("successes", "failures", "candidate", "invalid", "missing")
    counts = ", ".join(f"{row[state]} {state}" for state in states if row[state])
    return [
        label,
        *(parts.rate(row["metrics"][key], name, parts.unit_of(key)) for key, name in names.items()),
        join((f"{row['planned']} planned", tag("br"), small(counts))),
        join((seconds(time["mean"]) if time["successes"] else "–", tag("br"), small(_over(time)))),
        join((_mean_tokens(tokens), tag("br"), small(_over(tokens)))),
    ]


def _mean_tokens(tokens: dict[str, Any]) -> str:
    if not tokens["successes"]:
        return "–"
    return "unknown" if tokens["mean"] is None else f"{tokens['mean']:,.0f}"


def _over(found: dict[str, Any]) -> str:
    unknown = f", {found['unknown']} unknown" if found["unknown"] else ""
    return f"over {found['successes']} successes{unknown}"


def _audits(entry: Entry, found: Sequence[Audit]) -> Block | Safe:
    title = tag("h2", "Audits")
    if found:
        return audit.reports_of(
            f"audits-{entry.run.name}", title, [(entry.run.name, item) for item in found], runs=False
        )
    if entry.run.kind != EVALUATED:
        return Safe("")
    return join(
        (
            title,
            tag("p", "No audit report of this run is stored. Anybody with the records makes one:"),
            audit.command(entry.run.name),
        )
    )


def _codes(entry: Entry) -> Block | Safe:
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for _, failure, clause, number in entry.failures:
        counts[failure, clause] += number
    if not counts:
        return Safe("")
    words, total = load().codes, sum(counts.values())
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rows = [
        [
            code(failure),
            words.get(failure, "no table has this code"),
            link(clause, run=entry.run.name, code=failure, clause=clause),
            f"{number} of {total}",
        ]
        for (failure, clause), number in order
    ]
    head = ("Code", "Meaning", "Clause of the first violation", "Scored failures")
    html = join((tag("h2", "Failures"), table("Scored failures by code and clause", head, rows, kind="cards")))
    plain = [[failure, clause, number, total] for (failure, clause), number in order]
    return Block(html, data_of(f"failures-{entry.run.name}", ("code", "clause", "failures", "of"), plain))


def _matrix(detail: Detail) -> Block | Safe:
    entry = detail.entry
    groups = entry.report["groups"]
    if strips.wide(len(group["conditions"]) for group in groups):
        names = [_environment(entry, group["environment_id"]) for group in groups]
        return strips.outcomes(entry, groups, names, tag("h2", "Outcomes"))
    at: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for attempt in entry.report["attempts"]:
        at[attempt["environment_id"], attempt["condition"]].append(attempt)
    conditions = max(len(group["conditions"]) for group in entry.report["groups"])
    head = ("Environment", *(f"Condition {index}" for index in range(conditions)), "Solved")
    rows = [_matrix_row(entry, group, conditions, at) for group in entry.report["groups"]]
    legend = [tag("li", parts.state(name), " ", words) for name, words in STATES.items()]
    caption = f"Environments by condition; {parts.NUMBERING}"
    return join((tag("h2", "Outcomes"), tag("ul", *legend, class_="legend"), table(caption, head, rows, kind="matrix")))


def _matrix_row(
    entry: Entry, group: dict[str, Any], conditions: int, at: dict[tuple[str, int], list[dict[str, Any]]]
) -> list[Any]:
    environment_id = group["environment_id"]
    cells: list[Any] = [
        tasks.cell(entry, condition, at[environment_id, condition["condition"]]) for condition in group["conditions"]
    ]
    cells += [""] * (conditions - len(cells))
    solved = f"{group['successes']} of {group['planned']}"
    label = solved if group["complete"] else join((solved, tag("br"), small("partial")))
    return [_environment(entry, environment_id), *cells, label]


def _environment(entry: Entry, environment_id: str) -> Safe:
    known = load().environments[environment_id]
    where = link(environment_id, task=environment_id, setting=entry.setting.id)
    return join((where, tag("br"), small(known.title or known.suite)))


def _attempts(entry: Entry, wanted: Wanted, listed: Listed) -> Block | Safe:
    head = ("Attempt", "Environment", "Condition", "Outcome", "Clause", "What the protocol makes of it", "Wall time")
    blocks = [tag("h2", "Attempts"), _counts(entry)]
    given = {name: value for name, value in vars(wanted).items() if value is not None}
    if given:
        words = ", ".join(f"{name} {value}" for name, value in given.items())
        every = link("all of this run", run=entry.run.name)
        blocks.append(tag("p", f"Only those with {words}: {listed.count}. See ", every, "."))
    shown = listed.attempts
    if shown:
        span = f"{shown[0].row.sequence} to {shown[-1].row.sequence}"
        caption = f"Attempts with ledger sequence {span}, in this order; {parts.NUMBERING}"
        blocks.append(table(caption, head, [_attempt_row(entry.run.name, item) for item in shown], kind="cards"))
    pages = math.ceil(listed.count / PAGE)
    if pages > 1:
        steps = [
            tag("span", index, aria_current="page")
            if index == listed.number
            else link(index, run=entry.run.name, page=index, **given)
            for index in range(1, pages + 1)
        ]
        items = [tag("li", step) for step in steps]
        blocks.append(tag("nav", tag("ol", *items), class_="pages", aria_label="Pages of attempts"))
    return Block(join(blocks), _data(entry))


def _data(entry: Entry) -> Data:
    """Every attempt of the selection with what the protocol makes of it."""
    columns = ("sequence", "environment_id", "condition", "outcome", "cause", "code", "incident", "status", "reason")
    rows = [[row[name] for name in columns] for row in entry.report["attempts"]]
    return data_of(f"attempts-{entry.run.name}", columns, rows)


def _counts(entry: Entry) -> Safe:
    ledger = entry.report["ledger"]
    names = ("scored", "excluded", "candidate", "extra", "invalid", "pending")
    counts = ", ".join(f"{ledger[name]} {name}" for name in names if ledger[name]) or "none"
    outside = f"; {ledger['outside_selection']} more at tasks outside it" if ledger["outside_selection"] else ""
    return tag("p", f"{ledger['attempts']} attempts at the tasks of the selection: {counts}{outside}.")


def _attempt_row(run: str, attempt: Attempt) -> list[Any]:
    judged, record = attempt.judged, attempt.record
    name = parts.outcome_state(judged["outcome"], judged["status"], judged["incident"])
    violation = record.violation if record else None
    return [
        link(parts.attempt_name(attempt.ordinal, attempt.row.sequence), run=run, attempt=attempt.row.sequence),
        attempt.row.environment_id,
        attempt.row.condition,
        parts.state(name, " ".join(filter(None, (judged["outcome"] or "open", judged["code"])))),
        (violation.clause if violation else None) or "–",
        join((tag("strong", judged["status"]), tag("br"), small(judged["reason"]))),
        seconds(record.wall_s) if record else "–",
    ]
