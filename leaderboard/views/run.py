"""One run: its rates, its outcomes by environment and condition, and every attempt with the reason why it counts."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import streamlit as st

from leaderboard import cached, ranking, source
from leaderboard.markup import Safe, badge, code, facts, join, link, moment, notice, seconds, small, table, tag
from leaderboard.source import Attempt, Entry, Unscored
from leaderboard.views import parts
from leaderboard.words import SIGNS, STATES
from manifests.load import load
from runner.store.status import EVALUATED
from runner.store.store import Run, Store

PAGE = 200  # attempts on one page


def show(store: Store, run: Run, page: str | None) -> None:
    entry, broken = cached.details(store, run)
    head = parts.head(tag("span", run.name, aria_current="page"))
    if isinstance(entry, Unscored):
        st.html(join((head, tag("h1", run.name), notice("This run cannot be scored here.", tag("p", entry.why)))))
        return
    attempts = source.attempts_of(entry, store.attempts(run))
    blocks = (_summary(entry, broken), _rates(entry), _codes(attempts), _matrix(entry, attempts))
    st.html(join((head, *blocks, _attempts(entry, attempts, page))))


def _summary(entry: Entry, broken: str | None) -> Safe:
    total, setting, agent = entry.report["total"], entry.setting, entry.run.settings["agent"]
    reasons = ranking.why_not_ranked(entry)
    unofficial = entry.official is False or entry.run.kind != EVALUATED
    runtime = join((", ".join(entry.runtimes), " ", badge("not official", "warn") if unofficial else ""))
    notices = []
    if broken is not None:
        notices.append(notice("The ledger of this run is damaged.", tag("p", broken), kind="bad"))
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
                    ("Ledger", "hash chain intact" if broken is None else "hash chain broken"),
                ]
            ),
        )
    )


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


def _codes(attempts: list[Attempt]) -> Safe:
    counts = source.clauses(attempts)
    if not counts:
        return Safe("")
    words, total = load().codes, sum(counts.values())
    rows = [
        [code(failure), words.get(failure, "no table has this code"), clause, f"{number} of {total}"]
        for (failure, clause), number in counts.items()
    ]
    head = ("Code", "Meaning", "Clause of the first violation", "Scored failures")
    return join((tag("h2", "Failures"), table("Scored failures by code and clause", head, rows, kind="cards")))


def _matrix(entry: Entry, attempts: list[Attempt]) -> Safe:
    report = entry.report
    at: dict[tuple[str, int], list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        at[attempt.row.environment_id, attempt.row.condition].append(attempt)
    conditions = max(len(group["conditions"]) for group in report["groups"])
    head = ("Environment", *(f"Condition {index}" for index in range(conditions)), "Solved")
    rows = [_matrix_row(entry.run.name, group, conditions, at) for group in report["groups"]]
    legend = [tag("li", parts.state(name), " ", words) for name, words in STATES.items()]
    return join(
        (
            tag("h2", "Outcomes"),
            tag("ul", *legend, class_="legend"),
            table("Environments by condition; a number is an attempt", head, rows, kind="matrix"),
        )
    )


def _matrix_row(
    run: str, group: dict[str, Any], conditions: int, at: dict[tuple[str, int], list[Attempt]]
) -> list[Any]:
    environment_id = group["environment_id"]
    entry = load().environments[environment_id]
    cells: list[Any] = [
        _matrix_cell(run, condition, at[environment_id, condition["condition"]]) for condition in group["conditions"]
    ]
    cells += [""] * (conditions - len(cells))
    solved = f"{group['successes']} of {group['planned']}"
    label = join((environment_id, tag("br"), small(entry.title or entry.suite)))
    return [label, *cells, solved if group["complete"] else join((solved, tag("br"), small("partial")))]


def _matrix_cell(run: str, condition: dict[str, Any], attempts: list[Attempt]) -> Safe:
    links = [_mark(run, attempt) for attempt in attempts]
    name = condition["state"]
    return tag("div", parts.state(name), *links, class_=f"cell {name}", title=condition["reason"])


def _mark(run: str, attempt: Attempt) -> Safe:
    judged = attempt.judged
    name = parts.outcome_state(judged["outcome"], judged["status"], judged["incident"])
    label = f"{SIGNS[name]} {judged['code'] or ''} #{attempt.row.sequence}".replace("  ", " ")
    scored = "scored" if judged["status"] == "scored" else "aside"
    return tag("span", link(label, run=run, attempt=attempt.row.sequence), class_=f"mark {scored}")


def _attempts(entry: Entry, attempts: list[Attempt], page: str | None) -> Safe:
    pages = max(1, math.ceil(len(attempts) / PAGE))
    number = min(int(page), pages) if page and page.isascii() and page.isdigit() and int(page) > 0 else 1
    head = ("Attempt", "Environment", "Condition", "Outcome", "Clause", "What the protocol makes of it", "Wall time")
    shown = attempts[(number - 1) * PAGE : number * PAGE]
    blocks = [tag("h2", "Attempts"), _counts(entry)]
    if shown:
        caption = f"Attempts {shown[0].row.sequence} to {shown[-1].row.sequence}, in ledger order"
        blocks.append(table(caption, head, [_attempt_row(entry.run.name, item) for item in shown], kind="cards"))
    if pages > 1:
        steps = [
            tag("li", tag("span", index, aria_current="page") if index == number else _step(entry, index))
            for index in range(1, pages + 1)
        ]
        blocks.append(tag("nav", tag("ol", *steps), class_="pages", aria_label="Pages of attempts"))
    return join(blocks)


def _step(entry: Entry, index: int) -> Safe:
    return link(index, run=entry.run.name, page=index)


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
        link(f"#{attempt.row.sequence}", run=run, attempt=attempt.row.sequence),
        attempt.row.environment_id,
        attempt.row.condition,
        parts.state(name, " ".join(filter(None, (judged["outcome"] or "open", judged["code"])))),
        (violation.clause if violation else None) or "–",
        join((tag("strong", judged["status"]), tag("br"), small(judged["reason"]))),
        seconds(record.wall_s) if record else "–",
    ]
