"""One run: its rates, its outcomes by environment and condition, and every attempt with the reason why it counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from leaderboard import ranking
from leaderboard.audits import Audit
from leaderboard.blocks import Block, Page, data_of, page
from leaderboard.markup import Safe, badge, code, facts, join, link, moment, notice, seconds, small, table, tag
from leaderboard.site import Detail
from leaderboard.source import Entry, Unscored
from leaderboard.views import again, attempts, audit, parts, strips, tasks
from leaderboard.views.attempts import Listed, Wanted
from leaderboard.words import STATES
from manifests.load import load
from manifests.words import count
from runner.store.status import EVALUATED


@dataclass(frozen=True)
class About:
    """What the store says beside the records: when the run last was found to be what its ledger says, and the audits of
    it, the latest first."""

    looked: datetime
    audits: Sequence[Audit]


def build(detail: Detail, about: About, wanted: Wanted, listed: Listed) -> Page:
    entry = detail.entry
    head = parts.head(tag("span", entry.run.name, aria_current="page"))
    lists = attempts.build(entry, wanted, listed)
    if wanted != Wanted():
        return page(entry.run.name, head, tag("h1", parts.agent_name(entry)), lists)
    body = (_summary(entry, about.looked), _rates(entry), _codes(entry), _matrix(detail))
    return page(entry.run.name, head, *body, _audits(entry, about.audits), again.of_run(entry), lists)


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
            _elsewhere(entry),
            _inside(entry),
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
                        f"{total['groups_complete']} of {count(total['groups'], 'group')} complete",
                    ),
                    ("Ledger", f"hash chain, attempts and files hold; looked at {moment(looked)}"),
                    ("Signature", _signature(entry)),
                    ("Cost", _cost(entry)),
                ]
            ),
        )
    )


def _elsewhere(entry: Entry) -> Safe:
    """The other pages of this run."""
    views = {"suites": "suites and types", "tasks": "tasks", "failures": "failures", "compare": "compared"}
    items = [
        link(label, view=view, setting=entry.setting.id, runs=entry.run.name)
        for view, label in views.items()
        if view != "failures" or entry.failures or entry.others
    ]
    return tag("p", "Of this run: ", join(items, " · "), class_="quiet")


def _inside(entry: Entry) -> Safe:
    """To the parts of this page, which is a long one."""
    names = ["Rates", *(["Failures"] if entry.failures else []), "Outcomes", "Audits", "Make it again", "Attempts"]
    items = [Safe(f'<a href="#{name.lower().replace(" ", "-")}">{name.lower()}</a>') for name in names]
    return tag("p", "On this page: ", join(items, " · "), class_="quiet")


def _heading(name: str) -> Safe:
    return tag("h2", name, id=name.lower().replace(" ", "-"))


def _signature(entry: Entry) -> Safe:
    if entry.signer is None:
        return Safe("recorded here, not submitted" if entry.run.kind == EVALUATED else "none: made elsewhere")
    name = f"{entry.signer.name}, " if entry.signer.name else ""
    return join((f"held at import; {name}key ", code(entry.signer.key)))


def _cost(entry: Entry) -> str:
    if entry.cost_usd is None:
        return "unknown"
    unknown = f", {count(entry.unpriced, 'attempt')} of unknown price" if entry.unpriced else ""
    return f"${entry.cost_usd:,.2f}{unknown}"


def _rates(entry: Entry) -> Block:
    report = entry.report
    names = report["names"]
    rows = [("All tasks", report["total"])]
    suites = report["by"]["suite"]
    if len(suites) > 1:
        rows += [(row["label"], row) for row in suites]
    head = ("Tasks", *names.values(), "Conditions", "Time@S", "Tok@S")
    caption = "Rates by suite; of all tasks suites weigh the same"
    shown = table(caption, head, [_rate_row(label, row, names) for label, row in rows], kind="cards")
    plain = [[label, key, *parts.numbers(row["metrics"][key])] for label, row in rows for key in names]
    columns = ("tasks", "metric", *parts.NUMBERS)
    return Block(join((_heading("Rates"), shown)), data_of(f"rates-{entry.run.name}", columns, plain))


def _rate_row(label: str, row: dict[str, Any], names: dict[str, str]) -> list[Any]:
    time, tokens = row["time_at_success_s"], row["tokens_at_success"]
    nouns = {"successes": "success", "failures": "failure"}
    said = [count(row[state], noun) for state, noun in nouns.items() if row[state]]
    said += [f"{row[state]} {state}" for state in ("candidate", "invalid", "missing") if row[state]]
    return [
        label,
        *(parts.rate(row["metrics"][key], name, parts.unit_of(key)) for key, name in names.items()),
        join((f"{row['planned']} planned", tag("br"), small(", ".join(said)))),
        join((seconds(time["mean"]) if time["successes"] else "–", tag("br"), small(_over(time)))),
        join((_mean_tokens(tokens), tag("br"), small(_over(tokens)))),
    ]


def _mean_tokens(tokens: dict[str, Any]) -> str:
    if not tokens["successes"]:
        return "–"
    return "unknown" if tokens["mean"] is None else f"{tokens['mean']:,.0f}"


def _over(found: dict[str, Any]) -> str:
    part = f", {found['unknown']} of them unknown" if 0 < found["unknown"] < found["successes"] else ""
    return f"over {count(found['successes'], 'success')}{part}"


def _audits(entry: Entry, found: Sequence[Audit]) -> Block | Safe:
    title = _heading("Audits")
    if found:
        return audit.reports_of(
            f"audits-{entry.run.name}", title, [(entry.run.name, item) for item in found], runs=False
        )
    if entry.run.kind != EVALUATED:
        return join((title, tag("p", "Nothing of this run was recorded here: there is no attempt to run again.")))
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
            link(parts.clause_name(clause), run=entry.run.name, code=failure, clause=clause),
            f"{number} of {total}",
        ]
        for (failure, clause), number in order
    ]
    head = ("Code", "Meaning", "Clause of the first violation", "Scored failures")
    html = join((_heading("Failures"), table("Scored failures by code and clause", head, rows, kind="cards")))
    plain = [[failure, clause, number, total] for (failure, clause), number in order]
    return Block(html, data_of(f"failures-{entry.run.name}", ("code", "clause", "failures", "of"), plain))


def _matrix(detail: Detail) -> Block:
    entry = detail.entry
    groups = entry.report["groups"]
    if strips.wide(len(group["conditions"]) for group in groups):
        names = [_environment(entry, group["environment_id"]) for group in groups]
        return strips.outcomes(entry, groups, names, _heading("Outcomes"))
    at: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for attempt in entry.report["attempts"]:
        at[attempt["environment_id"], attempt["condition"]].append(attempt)
    conditions = max(len(group["conditions"]) for group in entry.report["groups"])
    head = ("Environment", *(f"Condition {index}" for index in range(conditions)), "Solved")
    rows = [_matrix_row(entry, group, conditions, at) for group in entry.report["groups"]]
    legend = [tag("li", parts.state(name), " ", words) for name, words in STATES.items()]
    caption = f"Environments by condition; {parts.NUMBERING}"
    shown = table(caption, head, rows, kind="matrix cards")
    return Block(join((_heading("Outcomes"), tag("ul", *legend, class_="legend"), shown)), strips.data(entry, groups))


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
