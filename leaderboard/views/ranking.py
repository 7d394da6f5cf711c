"""The ranking: one table per setting, so that settings never mix; who leads, how sure that is, and what it took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from leaderboard import charts, ranking
from leaderboard.blocks import Block, Page, data_of, figure, page
from leaderboard.charts import Line
from leaderboard.markup import Safe, facts, join, link, moment, notice, table, tag
from leaderboard.ranking import Row, Standing
from leaderboard.rows import NO_TIME
from leaderboard.source import Entry, Setting, Unscored
from leaderboard.views import parts, printed, ranking_rows
from leaderboard.words import LEVELS
from manifests.load import load
from manifests.words import count
from runner.store.status import EVALUATED

FIGURE_ROWS = 12  # runs in the figure of a standing
TABLE_ROWS = 100  # runs of a standing on one page
TABLES = 12  # standings on one page
FILTERS: dict[str, tuple[str, Callable[[Setting], str]]] = {
    "board": ("Board", lambda setting: setting.board),
    "subset": ("Subset", lambda setting: setting.subset),
    "mode": ("Prompting", lambda setting: setting.mode or "the only one"),
    "protocol": ("Protocol", lambda setting: setting.protocol),
    "profile": ("Engine profile", lambda setting: setting.profile),
    "level": ("Access level", lambda setting: setting.level),
}


def build(
    standings: Sequence[Standing],
    unscored: Sequence[Unscored],
    damaged: Sequence[Unscored] = (),
    *,
    unfinished: bool = False,
    number: int = 1,
) -> Page:
    """``standings`` are those that the filters leave. With one of them ``number`` pages through its runs.
    ``unfinished`` says that an import has not ended."""
    blocks: list[Block | Safe] = [
        tag(
            "header",
            tag("h1", "Ranking"),
            tag(
                "p",
                "Each attempt is judged by an evaluator that the agent cannot reach; only attempts in fresh containers "
                "are official. Settings never mix: each table holds one. Every rate stands with its denominator and "
                "its 95 % interval, or the exact bound where all tasks agree. Suites weigh the same in a rate, so "
                "that it is not the share of the conditions that stand beside it.",
            ),
            parts.damaged(damaged),
            parts.unfinished(unfinished),
        )
    ]
    if not standings:
        blocks.append(notice("No run matches these filters.", " ", link("Show all runs", view="ranking")))
    for standing in standings[:TABLES]:
        blocks += _standing(standing, number if len(standings) == 1 else 1)
    if more := standings[TABLES:]:
        items = [
            tag("li", link(parts.setting_title(s.setting), view="ranking", setting=s.setting.id), f": {_runs(s)}")
            for s in more
        ]
        blocks.append(tag("section", tag("h2", "More settings"), tag("ul", *items)))
    if unscored:
        blocks.append(
            _without("not-scored", "Runs that cannot be scored here", "Not scored, with the reason", unscored)
        )
    if damaged:
        blocks.append(_without("damaged", "Damaged runs", "Numbers withheld, with the reason", damaged))
    return page("Ranking", *blocks)


def _standing(standing: Standing, number: int) -> list[Block | Safe]:
    setting = standing.setting
    subset = load().subsets.get(setting.subset)
    blocks: list[Safe] = [tag("h2", parts.setting_title(setting))]
    if subset is not None:
        blocks.append(tag("p", subset.text, class_="quiet"))
    blocks.append(tag("p", *lead(standing), class_="lead"))
    blocks.append(_elsewhere(setting))
    first, last = (number - 1) * TABLE_ROWS, number * TABLE_ROWS
    shown = set(map(id, standing.rows[first:last]))
    titles = (
        ("Ranked", standing.ranked),
        ("Complete, without a rank", standing.unranked),
        ("Partial: bounds, no rank", standing.partial),
        ("Withdrawn", standing.withdrawn),
    )
    for title, rows in titles:
        if here := tuple(row for row in rows if id(row) in shown):
            blocks.append(ranking_rows.table_of(title, here))
    if len(standing.rows) > TABLE_ROWS:
        blocks.append(_pages(standing, number))
    blocks.append(_fixed(standing))
    section = tag("section", *blocks, class_="standing", id=f"s-{setting.id}")
    found: list[Block | Safe] = [Block(section, ranking_rows.data(standing))]
    if standing.ranked or standing.unranked:
        found.append(intervals(standing))
    return [*found, printed.summary(setting.board, setting.mode, opened=bool(standing.ranked))]


def intervals(standing: Standing, most: int = FIGURE_ROWS) -> Block:
    """The figure of a standing: the complete runs, the best first, then partial ones."""
    rows = standing.rows[:most]
    keys = ranking.pass_keys(standing.rows[0].entry.report)[::-1]
    names = [standing.rows[0].entry.report["names"][key] for key in keys]
    agents = Counter(parts.agent_name(row.entry) for row in rows)
    lines = [
        Line(
            _label(row, alone=agents[parts.agent_name(row.entry)] == 1),
            tuple(parts.dot(row.entry.report["total"]["metrics"][key]["balanced"]) for key in keys),
            f"{parts.percent_cell(row.entry.report['total']['metrics'][keys[-1]])} %",
        )
        for row in rows
    ]
    highest = max((dot.upper for line in lines for dot in line.dots), default=1.0)
    title = parts.setting_title(standing.setting)
    what = " and ".join(names)
    told = "; ".join(f"{line.label} {line.note}" for line in lines)
    alt = f"{what} with 95 % intervals or exact bounds, {title}: {told}"
    name = f"ranking-{standing.setting.id}"
    drawing, narrow = (
        charts.intervals(name, alt, names, lines, highest=_round_up(highest), narrow=narrow) for narrow in (False, True)
    )
    more = f"; the first {most} of {_runs(standing)}" if len(standing.rows) > most else ""
    caption = f"{what} with 95 % intervals, or exact bounds where all tasks agree (grey: bounds of a partial run)"
    return figure(drawing, f"{caption}; {title}{more}", narrow=narrow)


def _label(row: Row, *, alone: bool) -> str:
    """Of one agent with several runs the name of the run comes first: the end of a long label is cut."""
    name = parts.agent_name(row.entry) if alone else f"{row.entry.run.name}: {parts.agent_name(row.entry)}"
    return f"{row.rank}. {name}" if row.rank else name


def lead(standing: Standing, *, brief: bool = False) -> list[Any]:
    """One sentence: who leads and how sure that is; ``brief`` among those of other settings."""
    if not standing.ranked:
        best_known = next(iter(standing.rows), None)
        if best_known is None or not best_known.entry.report["complete"]:
            return ["no complete run yet."] if brief else ["No run of this setting has a rank yet."]
        name = tag("strong", _name(best_known.entry))
        kind = best_known.entry.run.kind
        mark = f" ({kind})" if kind != EVALUATED else ""
        said = [name, f"{mark} has {_headline(best_known.entry)}"]
        return [*said, ", no rank."] if brief else ["No run of this setting has a rank yet. ", *said, "."]
    first = [row.entry for row in standing.ranked if row.rank == 1]
    best = _headline(first[0])
    if len(first) > 1:
        names = ", ".join(_name(entry) for entry in first)
        return [tag("strong", names), f" share the first place with {best}."]
    sentence = [tag("strong", _name(first[0])), f" leads with {best}."]
    if len(standing.ranked) > 1:
        second = standing.ranked[1].entry
        sentence.append(f" {_name(second)} is second with {_headline(second)}; {_how_sure(first[0], second)}.")
    return sentence


def _name(entry: Entry) -> str:
    return f"{parts.agent_name(entry)}{' (baseline)' if ranking.is_baseline(entry) else ''}"


def _headline(entry: Entry) -> str:
    key = ranking.pass_keys(entry.report)[0]
    metric = entry.report["total"]["metrics"][key]
    solved = f"{metric['successes']} of {count(metric['planned'], 'condition')}"
    rate, suites = metric["balanced"], len(entry.report["by"]["suite"])
    over = f" over {suites} suites that weigh the same" if suites > 1 else ""
    return f"{rate['percent']} % {entry.report['names'][key]}{over} ({parts.sure(rate)}; {solved})"


def _how_sure(first: Entry, second: Entry) -> str:
    """What the intervals or exact bounds of the deciding metric say of the order."""
    key = ranking.pass_keys(first.report)[0]
    one, two = (parts.span(entry.report["total"]["metrics"][key]["balanced"]) for entry in (first, second))
    if one is None or two is None:
        return "no interval says how sure that is"
    return "the intervals do not overlap" if one[0] > two[1] else "the intervals overlap: this is not sure"


def _round_up(value: float) -> float:
    return next((step for step in (0.25, 0.5, 0.75) if value <= step), 1.0)


def _elsewhere(setting: Setting) -> Safe:
    """The other pages of this setting."""
    views = {"suites": "suites and types", "tasks": "tasks", "failures": "failures", "compare": "compare runs"}
    found = [link(label, view=view, setting=setting.id) for view, label in views.items()]
    shown = [item for item, label in zip(found, views.values(), strict=True) if item != label]
    return tag("p", "Of this setting: ", join(shown, " · "), class_="quiet") if shown else Safe("")


def _pages(standing: Standing, number: int) -> Safe:
    pages = -(-len(standing.rows) // TABLE_ROWS)
    steps = [
        tag("span", index, aria_current="page")
        if index == number
        else link(index, view="ranking", setting=standing.setting.id, page=index)
        for index in range(1, pages + 1)
    ]
    items = [tag("li", step) for step in steps]
    return tag("nav", tag("ol", *items), class_="pages", aria_label="Pages of runs")


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
                ("Exact bounds", f"95 %, {interval['exact_bound']}: an interval would have no width"),
                ("Order", "by the metric of most attempts, then by the next; equal rates share a rank"),
            ]
        ),
    )


def _runs(standing: Standing) -> str:
    return count(len(standing.rows), "run")


def _without(name: str, title: str, caption: str, found: Sequence[Unscored]) -> Block:
    """Runs without numbers. ``name`` is that of the data."""
    made = [None if item.run.created_at == NO_TIME else item.run.created_at for item in found]
    rows = [
        (link(item.run.name, run=item.run.name), moment(time) if time else "unknown", item.why)
        for item, time in zip(found, made, strict=True)
    ]
    shown = tag("section", tag("h2", title), table(caption, ("Run", "Created", "Reason"), rows, kind="cards"))
    plain = [
        [item.run.name, time.isoformat() if time else None, item.why] for item, time in zip(found, made, strict=True)
    ]
    return Block(shown, data_of(f"runs-{name}", ("run", "created", "reason"), plain))
