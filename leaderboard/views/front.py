"""The front page: who leads, how sure that is, where it is won and lost, on one screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from leaderboard import films
from leaderboard.blocks import Block, Page, page
from leaderboard.films import Film
from leaderboard.markup import Safe, address, code, join, link, moment, small, tag
from leaderboard.ranking import Standing, counted, is_baseline, pass_keys
from leaderboard.site import Site
from leaderboard.source import Entry, Setting
from leaderboard.tally import tally
from leaderboard.views import parts, ranking
from leaderboard.words import EVALUATE
from manifests.load import load
from manifests.words import count

BEST = 6  # runs in the figure
FIRST = 5  # settings, and runs of each, that are asked for films
OTHERS = 5  # further settings


def filmed(site: Site) -> tuple[Film, ...]:
    """Episodes to watch: of the first runs that have any, in the order of the settings, models first in each."""
    some = (
        sorted((row.entry for row in standing.rows[:FIRST]), key=is_baseline) for standing in site.standings[:FIRST]
    )
    return films.some(site.store, (entry for entries in some for entry in entries))


def build(site: Site, watch: Sequence[Film] = ()) -> Page:
    """``watch`` are episodes that can be watched, none where the records are not at hand."""
    standing = site.standings[0] if site.standings else None
    blocks: list[Block | Safe] = [_header(site), parts.damaged(site.damaged), parts.unfinished(site.unfinished)]
    if standing is None:
        blocks.append(tag("p", "No run of this store has numbers to show: ", link("see why", view="ranking"), "."))
        return page("Overview", *blocks)
    setting = standing.setting
    blocks.append(
        tag(
            "section",
            tag("p", *ranking.lead(standing), class_="lead"),
            tag("p", parts.setting_title(setting), " · ", link("all settings", view="ranking"), class_="quiet"),
        )
    )
    blocks.append(ranking.intervals(standing, BEST))
    cards = [_suites(standing), _tasks(standing), _failures(standing), _watch(watch), _start(site)]
    blocks += [tag("div", *cards, class_="tiles"), _others(site, setting)]
    return page("Overview", *blocks)


def _header(site: Site) -> Safe:
    newest = max((entry.updated_at for entry in site.entries if entry.updated_at), default=None)
    counts = f"{count(len(site.found.runs), 'run')} in {count(len(site.standings), 'setting')}"
    return tag(
        "header",
        tag("h1", "Assay leaderboard"),
        tag(
            "p",
            "Foundation models act, in simulated scenes and on boards: each attempt starts fresh, is judged by an "
            "evaluator out of the agent's reach, and can be replayed. ",
            small(f"{counts}; last attempt {moment(newest)}."),
        ),
    )


def _others(site: Site, shown: Setting) -> Safe:
    """Who leads in other settings: first that of every other board, then more of this one; nothing where there is one
    setting."""
    first: dict[str, Standing] = {}
    for standing in site.standings:
        first.setdefault(standing.setting.board, standing)
    boards = [standing for name, standing in first.items() if name != shown.board]
    rest = [item for item in site.standings if item.setting != shown and item not in boards]
    items = []
    for standing in [*boards, *rest][:OTHERS]:
        board = load().boards.get(standing.setting.board)
        named = board.title if board and standing in boards else parts.setting_title(standing.setting)
        where = link(named, view="ranking", setting=standing.setting.id)
        items.append(tag("li", tag("strong", where), ": ", *ranking.lead(standing, brief=True)))
    if not items:
        return Safe("")
    left = len(boards) + len(rest) - len(items)
    more = tag("p", link(f"{count(left, 'more setting')} on the ranking", view="ranking")) if left else Safe("")
    return tag("section", tag("h2", "In other settings"), tag("ul", *items), more)


def _tile(title: Any, where: Safe, *content: Any) -> Safe:
    return tag("section", tag("h2", title), *content, tag("p", where, class_="more"), class_="tile")


def _best(standing: Standing) -> Entry:
    """The first model; the first baseline where there is none."""
    entries = [row.entry for row in standing.rows]
    return next((entry for entry in entries if not is_baseline(entry)), entries[0])


def _suites(standing: Standing) -> Safe:
    """The rates of the best model by suite."""
    entry = _best(standing)
    key = pass_keys(entry.report)[0]
    items = []
    for row in entry.report["by"]["suite"]:
        metric = row["metrics"][key]
        value = metric["balanced"]["value"]
        bar = tag("span", class_="fill", style=f"width:{100 * (value or 0):.1f}%")
        solved = small(f"{metric['successes']} of {metric['planned']}")
        figures = tag("span", f"{parts.percent_cell(metric)} % ", solved, class_="number")
        items.append(tag("li", tag("span", row["label"]), figures, tag("span", bar, class_="meter"), class_="measure"))
    name = f"{entry.report['names'][key]} of {parts.agent_name(entry)}, by suite"
    more = link("Suites and types", view="suites", setting=standing.setting.id)
    return _tile("Where it is won", more, tag("p", name, class_="quiet"), tag("ul", *items, class_="measures"))


def _tasks(standing: Standing) -> Safe:
    """How many tasks are solved by nobody, by some, by all."""
    runs = counted(standing)
    if not runs:
        return _tile("Tasks", link("Tasks", view="tasks"), tag("p", "Every run of this setting was withdrawn."))
    found = tally(runs)
    nobody, every = int((found.solvers == 0).sum()), len(found.tasks)
    hard = int((found.everywhere == 0).sum())
    what = f"{'task' if every == 1 else 'tasks'} {'is' if nobody == 1 else 'are'}"
    words = "the only run" if found.runs == 1 else f"any of {found.runs} runs"
    models = "" if len(standing.rows) == len(runs) or all(map(is_baseline, runs)) else " of a model"
    more = link("Task by condition", view="tasks", setting=standing.setting.id)
    return _tile(
        "What nobody solves",
        more,
        tag(
            "p",
            tag("strong", f"{nobody} of {every}", class_="figure"),
            f" {what} solved under no condition by {words}{models}.",
        ),
        tag("p", tag("strong", f"{hard} of {every}", class_="figure"), " by none under every condition."),
    )


def _failures(standing: Standing) -> Safe:
    """The most frequent codes of the best model."""
    entry = _best(standing)
    counts: Counter[str] = Counter()
    for _, failure, _, number in entry.failures:
        counts[failure] += number
    total, texts = sum(counts.values()), load().codes
    items = [
        tag("li", code(name), f" {number} of {total} ", small(texts.get(name, "no table has this code").split(":")[0]))
        for name, number in counts.most_common(3)
    ]
    more = link("Failures and exclusions", view="failures", setting=standing.setting.id)
    said = tag("ul", *items) if items else tag("p", "No scored failure.")
    about = tag("p", f"Scored failures of {parts.agent_name(entry)}, by code", class_="quiet")
    see = Safe("")
    if address(run=entry.run.name) is not None:  # a static export has no attempts
        see = tag("p", link("Every attempt of this run", run=entry.run.name), ": verdict, clause, playback.")
    return _tile("Why it fails", more, about, said, see)


def _watch(watch: Sequence[Film]) -> Safe:
    """The way to episodes that can be watched; nothing where there are none."""
    if not watch:
        return Safe("")
    environments, items = load().environments, []
    for film in watch:
        known = environments.get(film.environment_id)
        name = (known.title if known else None) or film.environment_id
        sign = parts.state(film.outcome, " ".join(filter(None, (film.outcome, film.code))))
        where = link(name, run=film.run, attempt=film.sequence)
        items.append(tag("li", where, tag("br"), sign, " ", small(f"{film.agent}, condition {film.condition}")))
    about = tag("p", "Episodes as they went, drawn from the recorded states", class_="quiet")
    return _tile("Watch", link("More attempts by run", view="ranking"), about, tag("ul", *items))


def _start(site: Site) -> Safe:
    return _tile(
        "Take part",
        join((link("How to evaluate and submit", view="submit"), " · ", link("the rules", view="protocol"))),
        tag("p", "One command runs an agent in fresh containers and scores it:"),
        tag("pre", code(Safe(EVALUATE))),
        tag("p", "Anybody can check a published run: ", link("audit", view="audit"), "."),
    )
