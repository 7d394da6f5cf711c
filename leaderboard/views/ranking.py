"""The front page: one table per setting, who leads, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from leaderboard import cached, ranking
from leaderboard.markup import Safe, badge, facts, hundredths, join, link, moment, notice, small, table, tag
from leaderboard.ranking import Row, Standing
from leaderboard.source import Entry, Setting, Unscored
from leaderboard.views import parts, trouble
from leaderboard.words import LEVELS
from manifests.load import load
from runner.store.status import EVALUATED
from runner.store.store import Store

ALL = "all"
ASIDE = ("excluded", "extra", "candidate", "invalid", "pending")  # attempts that are not scored
FILTERS: dict[str, tuple[str, Callable[[Setting], str]]] = {
    "board": ("Board", lambda setting: setting.board),
    "subset": ("Subset", lambda setting: setting.subset),
    "protocol": ("Protocol", lambda setting: setting.protocol),
    "profile": ("Profile", lambda setting: setting.profile),
    "level": ("Access level", lambda setting: setting.level),
}


def show(store: Store) -> None:
    found = cached.summaries(store)
    if not found:
        trouble.empty()
        return
    entries = [item for item in found if isinstance(item, Entry)]
    st.html(
        tag(
            "header",
            tag("h1", "Assay leaderboard"),
            tag(
                "p",
                "Embodied agents on simulated robot tasks, each attempt judged by an evaluator that the agent cannot "
                "reach; only attempts in fresh containers are official. Settings never mix: each table holds one.",
            ),
        )
    )
    chosen = _filtered(entries)
    standings = ranking.standings(chosen)
    if not standings and entries:
        st.html(notice("No run matches these filters.", " ", link("Show all runs")))
    for standing in standings:
        st.html(_standing(standing))
    if unscored := [item for item in found if isinstance(item, Unscored)]:
        st.html(_unscored(unscored))


def _filtered(entries: list[Entry]) -> list[Entry]:
    """What the filters leave. A filter with one value only is not shown."""
    options = {name: sorted({value(entry.setting) for entry in entries}) for name, (_, value) in FILTERS.items()}
    shown = [name for name, values in options.items() if len(values) > 1]
    chosen = {}
    for name, column in zip(shown, st.columns(len(shown)) if shown else (), strict=True):
        with column:
            chosen[name] = st.selectbox(FILTERS[name][0], [ALL, *options[name]], key=name, bind="query-params")
    return [
        entry
        for entry in entries
        if all(value in (ALL, FILTERS[name][1](entry.setting)) for name, value in chosen.items())
    ]


def _standing(standing: Standing) -> Safe:
    subset = load().subsets.get(standing.setting.subset)
    blocks: list[Safe] = [tag("h2", parts.setting_title(standing.setting))]
    if subset is not None:
        blocks.append(tag("p", subset.text, class_="quiet"))
    blocks.append(tag("p", *_lead(standing), class_="lead"))
    titles = (
        ("Ranked", standing.ranked),
        ("Complete, without a rank", standing.unranked),
        ("Partial: bounds, no rank", standing.partial),
        ("Withdrawn", standing.withdrawn),
    )
    blocks += [_table(title, rows) for title, rows in titles if rows]
    blocks.append(_fixed(standing))
    return tag("section", *blocks, class_="standing", id=f"s-{standing.setting.id}")


def _lead(standing: Standing) -> list[Any]:
    """One sentence: who leads and how sure that is."""
    if not standing.ranked:
        return ["No run of this setting has a rank yet."]
    first = [row.entry for row in standing.ranked if row.rank == 1]
    best = _headline(first[0])
    if len(first) > 1:
        names = ", ".join(parts.agent_name(entry) for entry in first)
        return [tag("strong", names), f" share the first place with {best}."]
    sentence = [tag("strong", parts.agent_name(first[0])), f" leads with {best}."]
    if len(standing.ranked) > 1:
        second = standing.ranked[1].entry
        sure = "the intervals do not overlap" if _apart(first[0], second) else "the intervals overlap: this is not sure"
        sentence.append(f" {parts.agent_name(second)} is second with {_headline(second)}; {sure}.")
    return sentence


def _headline(entry: Entry) -> str:
    key = ranking.pass_keys(entry.report)[0]
    metric = entry.report["total"]["metrics"][key]
    rate, interval = metric["balanced"], metric["balanced"]["interval"]
    sure = f"95 %: {hundredths(interval[0])} to {hundredths(interval[1])}; " if interval else ""
    count = f"{metric['successes']} of {metric['planned']} conditions"
    return f"{rate['percent']} % {entry.report['names'][key]} ({sure}{count})"


def _apart(first: Entry, second: Entry) -> bool:
    """Whether the intervals of the deciding metric are both known and do not overlap."""
    key = ranking.pass_keys(first.report)[0]
    one, two = (entry.report["total"]["metrics"][key]["balanced"]["interval"] for entry in (first, second))
    return one is not None and two is not None and one[0] > two[1]


def _table(title: str, rows: tuple[Row, ...]) -> Safe:
    keys = ranking.pass_keys(rows[0].entry.report)
    names = rows[0].entry.report["names"]
    head = ["Rank", "Agent", *(names[key] for key in keys), "Coverage", "Attempts", "Runtime", "Last attempt"]
    return table(title, head, [_line(row, keys) for row in rows], kind="cards ranking")


def _line(row: Row, keys: list[str]) -> list[Any]:
    entry, total = row.entry, row.entry.report["total"]
    counts = entry.report["ledger"]
    others = [f"{counts[name]} {name}" for name in ASIDE if counts[name]]
    agent = [tag("strong", link(parts.agent_name(entry), run=entry.run.name)), *parts.marks(entry)]
    agent += [tag("br"), small(entry.run.name)]
    if row.reasons:
        agent += [tag("br"), small("no rank: ", "; ".join(row.reasons))]
    runtime = [", ".join(entry.runtimes)]
    if entry.official is False or entry.run.kind != EVALUATED:
        runtime += [" ", badge("not official", "warn")]
    return [
        tag("span", row.rank if row.rank is not None else "–", class_="rank"),
        join(agent),
        *(parts.rate(total["metrics"][key], entry.report["names"][key], parts.unit_of(key)) for key in keys),
        join((f"{total['groups_complete']} of {total['groups']}", " ", small("groups"))),
        join((f"{counts['scored']} scored", *(tag("br") + small(other) for other in others))),
        join(runtime),
        moment(entry.updated_at),
    ]


def _fixed(standing: Standing) -> Safe:
    """What a setting fixes, to open."""
    setting = standing.setting
    rows = standing.rows
    settings = rows[0].entry.run.settings
    protocol = load().protocols.get(setting.protocol)
    profile = load().profiles.get(setting.profile)
    interval = rows[0].entry.report["interval"]
    return tag(
        "details",
        tag("summary", "What this setting fixes, and how the figures are made"),
        facts(
            [
                ("Tasks", setting.tasks or setting.subset),
                ("Protocol", f"{setting.protocol}: {protocol.text}" if protocol else setting.protocol),
                ("Profile", f"{setting.profile}: {profile.text}" if profile else setting.profile),
                ("Engines", ", ".join(setting.engines)),
                ("Access level", f"{setting.level}: {LEVELS.get(setting.level, '')}"),
                ("Grants", ", ".join(setting.grants) or "none"),
                ("Base seed", setting.seed),
                ("Budgets", settings["budgets"] or "not known"),
                ("Versions", settings["versions"] or "not known"),
                ("Rates", "conditions averaged within tasks, tasks within suites, suites equally"),
                (
                    "Intervals",
                    f"{interval['level']:.0%}, bootstrap over {interval['method']}, "
                    f"{interval['resamples']} resamples, seed {interval['seed']}",
                ),
                ("Order", "by the metric of most attempts, then by the next; equal rates share a rank"),
            ]
        ),
    )


def _unscored(found: list[Unscored]) -> Safe:
    rows = [(item.run.name, moment(item.run.created_at), item.why) for item in found]
    return tag(
        "section",
        tag("h2", "Runs that cannot be scored here"),
        table("Not scored, with the reason", ("Run", "Created", "Reason"), rows, kind="cards"),
    )
