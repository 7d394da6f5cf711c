"""Two or more runs of one setting against the first of them: paired differences, and the conditions that flipped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leaderboard import charts
from leaderboard.blocks import Block, Page, data_of, figure, page
from leaderboard.charts import Line
from leaderboard.markup import Safe, badge, join, link, notice, small, table, tag
from leaderboard.ranking import Standing
from leaderboard.source import Entry
from leaderboard.views import parts
from manifests.load import load
from manifests.words import count

FLIPS = 200  # conditions listed of each kind; the download has all


@dataclass(frozen=True)
class Sampled:
    """What the intervals of a board resample, what a difference counts, and whether conditions are independent."""

    units: str
    counted: str
    independent: str


SAMPLED = {
    "tasks": Sampled("whole tasks", "tasks", ", which those of one task are not: trust the interval above"),
    "episodes": Sampled("the episodes of each task", "episodes", ", as episodes of different seeds are"),
}


@dataclass(frozen=True)
class Pair:
    """``second`` against ``first``: the results of :mod:`scoring.compare` and :mod:`scoring.flips`."""

    first: Entry
    second: Entry
    compared: dict[str, Any]
    flips: dict[str, Any]


def build(standing: Standing, entries: Sequence[Entry], pairs: Sequence[Pair]) -> Page:
    title = (tag("h1", "Compare"), tag("p", parts.setting_title(standing.setting), class_="quiet"))
    if len(standing.rows) < 2:
        text = "Runs of different settings are never compared; a second run of this setting makes a comparison."
        return page("Compare", *title, notice("This setting has one run.", tag("p", text)))
    if not pairs:
        return page("Compare", *title, notice("Choose two runs or more, at the top of the page."))
    first = pairs[0].first
    said = tag(
        "p",
        "Against ",
        tag("strong", link(parts.agent_name(first), run=first.run.name)),
        f", on the same conditions. The intervals resample {_sampled(standing).units}; where all change alike an exact "
        "bound stands.",
        class_="lead",
    )
    blocks: list[Block | Safe] = [*title, said]
    for pair in pairs:
        blocks += _pair(standing, pair)
    return page("Compare", *blocks)


def _pair(standing: Standing, pair: Pair) -> list[Block | Safe]:
    compared = pair.compared
    names = {key: name for key, name in compared["names"].items() if key in _defined(compared)}
    key = sorted(name for name in names if name.startswith("pass_at"))[-1]
    name = f"{standing.setting.id}-{pair.first.run.name}-{pair.second.run.name}"
    title = f"{parts.agent_name(pair.second)} minus {parts.agent_name(pair.first)}"
    sampled = _sampled(standing)
    suites = compared["by_suite"] if len(compared["by_suite"]) > 1 else {}  # one suite by itself is the whole
    rows = [("All suites" if suites else "All tasks", compared["total"]), *suites.items()]
    head = ("Tasks", *names.values())
    body = [[tag("strong", label), *(_difference(found[metric], sampled) for metric in names)] for label, found in rows]
    caption = "Difference in points, with its 95 % interval, or exact bounds where all tasks change alike"
    html = join((tag("h2", title, *(parts.marks(pair.second))), table(caption, head, body, kind="cards figures")))
    columns = ("tasks", "metric", "points", *parts.BOUNDS, "tasks_better", "tasks_equal", "tasks_worse")
    plain = [[label, metric, *_numbers(found[metric])] for label, found in rows for metric in names]
    lines = [
        Line(
            label,
            (parts.dot(found[key]),),
            _points(found[key]),
        )
        for label, found in rows
        if found[key] is not None
    ]
    blocks: list[Block | Safe] = [Block(html, data_of(f"differences-{name}", columns, plain))]
    if lines:
        told = "; ".join(f"{line.label} {line.note}" for line in lines)
        alt = f"{names[key]}: {title}, points with 95 % intervals or exact bounds: {told}"
        blocks.append(figure(charts.differences(f"difference-{name}", alt, lines), f"{names[key]}, {title}, in points"))
    return [*blocks, _flips(pair, names[key], name, sampled)]


def _sampled(standing: Standing) -> Sampled:
    board = load().boards.get(standing.setting.board)
    return SAMPLED[board.resampled if board is not None else "tasks"]


def _defined(compared: dict[str, Any]) -> list[str]:
    """Metrics with a difference somewhere, and the one that decides: an episode has no all-four."""
    rows = [compared["total"], *compared["by_suite"].values()]
    return [key for key in compared["names"] if key.startswith("pass_at") or any(row[key] for row in rows)]


def _difference(found: dict[str, Any] | None, sampled: Sampled) -> Safe:
    if found is None:
        return join(("undefined", tag("br"), small("one of the runs is partial here")))
    span, words = parts.span(found), parts.sure(found)
    sure = badge("apart from 0") if span and (span[0] > 0 or span[1] < 0) else Safe("")
    tasks = (
        f"{sampled.counted}: {found['tasks_better']} better, {found['tasks_equal']} equal, {found['tasks_worse']} worse"
    )
    return join(
        (tag("span", _points(found), class_="pair"), " ", sure, tag("br"), small(words), tag("br"), small(tasks))
    )


def _points(found: dict[str, Any]) -> str:
    text = str(found["points"])
    return text if text.startswith(("-", "+")) else f"+{text}"


def _numbers(found: dict[str, Any] | None) -> list[Any]:
    if found is None:
        return [None] * 8
    counts = [found["tasks_better"], found["tasks_equal"], found["tasks_worse"]]
    return [float(found["points"]), *parts.bounds(found), *counts]


def _flips(pair: Pair, metric: str, name: str, sampled: Sampled) -> Block:
    found = pair.flips
    gained, lost = found["gained"], found["lost"]
    p_value = found["p_value"]
    test = "no condition differs" if p_value is None else f"McNemar, exact, two-sided: p = {_p(p_value)}"
    head = (metric, f"{parts.agent_name(pair.second)} solves", "does not")
    rows = [
        [f"{parts.agent_name(pair.first)} solves", found["both"], len(lost)],
        ["does not", len(gained), found["neither"]],
    ]
    note = (
        f"{test}; {found['undecided']} of {count(found['planned'], 'condition')} open in one of the runs. "
        f"The test takes conditions as independent{sampled.independent}."
    )
    lists = [
        _list(f"Gained: only {parts.agent_name(pair.second)} solves them", gained, pair),
        _list(f"Lost: only {parts.agent_name(pair.first)} solves them", lost, pair),
    ]
    html = join(
        (
            tag("h3", "Conditions that flipped"),
            table("Conditions by who solves them", head, rows),
            tag("p", note),
            *lists,
        )
    )
    columns = ("change", "environment_id", "condition")
    plain = [[change, *place] for change, places in (("gained", gained), ("lost", lost)) for place in places]
    return Block(html, data_of(f"flips-{name}", columns, plain))


def _list(title: str, places: list[list[Any]], pair: Pair) -> Safe:
    if not places:
        return Safe("")
    items = [
        tag("li", link(f"{environment} c{condition}", task=environment, setting=pair.first.setting.id))
        for environment, condition in places[:FLIPS]
    ]
    more = f", the first {FLIPS}" if len(places) > FLIPS else ""
    return tag("details", tag("summary", f"{title} ({len(places)}{more})"), tag("ul", *items, class_="columns"))


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1e}"
