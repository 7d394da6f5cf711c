"""Suites and types: the rates of a few runs by suite and subset, by type, split, embodiment and condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leaderboard import charts, ranking
from leaderboard.blocks import Block, Page, data_of, figure, page
from leaderboard.charts import Line
from leaderboard.markup import Safe, join, link, notice, small, table, tag
from leaderboard.ranking import Standing
from leaderboard.site import Detail
from leaderboard.views import levels, parts
from manifests.load import load

MORE = {"split": "Easy and Hard", "embodiment": "Embodiments", "condition": "Conditions"}


def build(standing: Standing, details: Sequence[Detail], siblings: Sequence[Standing] = ()) -> Page:
    """``details`` are runs of the standing, in the order in which they are shown; ``siblings`` the standings that
    differ in the way of prompting alone."""
    if levels.has(standing.setting.board):
        return levels.build(standing, details, siblings)
    title = tag("h1", "Suites and types")
    setting = tag("p", parts.setting_title(standing.setting), class_="quiet")
    if not details:
        return page("Suites and types", title, setting, notice("No run is chosen."))
    blocks: list[Block | Safe] = [title, setting, _table_of_suites(standing, details)]
    blocks += _types(standing, details)
    blocks += [block for name in MORE for block in _breakdown(standing, details, name)]
    return page("Suites and types", *blocks)


def _table_of_suites(standing: Standing, details: Sequence[Detail]) -> Block:
    """Suite by subset; a cell holds the Pass@k of one run."""
    own = standing.setting.subset
    inside = [name for name in details[0].subsets if name != own]
    rows, plain = [], []
    suites = [row["label"] for row in details[0].entry.report["by"]["suite"]]
    for suite in [None, *(suites if len(suites) > 1 else ())]:  # one suite by itself is the whole
        for detail in details:
            found = [_suite_row(detail, name, suite) for name in (own, *inside)]
            name = link(parts.agent_name(detail.entry), run=detail.entry.run.name)
            rows.append([tag("strong", suite or "All suites"), name, *map(_pair, found, [detail] * len(found))])
            plain += [
                [suite or "all", detail.entry.run.name, subset, key, *parts.numbers(row["metrics"][key])]
                for subset, row in zip((own, *inside), found, strict=True)
                if row is not None
                for key in ranking.pass_keys(detail.entry.report)[::-1]
            ]
    metrics = " / ".join(
        details[0].entry.report["names"][key] for key in ranking.pass_keys(details[0].entry.report)[::-1]
    )
    head = ("Suite", "Agent", *(_subset_title(name) for name in (own, *inside)))
    caption = f"{metrics} in percent by suite and subset; below, successes of conditions"
    html = join(
        (
            tag("h2", "Suites by subset"),
            tag(
                "p",
                "All suites: each suite weighs the same. EP-20 is a diagnostic selection, partly chosen by pilot "
                "successes: no unbiased estimate of the rest.",
                class_="quiet",
            ),
            table(caption, head, rows, kind="cards figures"),
        )
    )
    columns = ("suite", "run", "subset", "metric", *parts.NUMBERS)
    return Block(html, data_of(f"suites-{standing.setting.id}", columns, plain))


def _suite_row(detail: Detail, subset: str, suite: str | None) -> dict[str, Any] | None:
    report = detail.subsets.get(subset, detail.entry.report)
    if suite is None:
        found: dict[str, Any] = report["total"]
        return found
    return next((row for row in report["by"]["suite"] if row["label"] == suite), None)


def _pair(row: dict[str, Any] | None, detail: Detail) -> Safe:
    """Pass@1 / Pass@2 as they are printed."""
    if row is None:
        return join(("–", " ", small("no task")))
    keys = ranking.pass_keys(detail.entry.report)[::-1]
    metrics = [row["metrics"][key] for key in keys]
    counts = " / ".join(str(metric["successes"]) for metric in metrics)
    rates = " / ".join(parts.percent_cell(metric) for metric in metrics)
    return join((tag("span", rates, class_="pair"), tag("br"), small(f"{counts} of {metrics[-1]['planned']}")))


def _types(standing: Standing, details: Sequence[Detail]) -> list[Block | Safe]:
    """Heat map of the types: one column per run."""
    found = _matrix(details, "type")
    if not found:
        return []
    key = ranking.pass_keys(details[0].entry.report)[0]
    metric = details[0].entry.report["names"][key]
    names = [parts.agent_name(detail.entry) for detail in details]
    rows = [[label, *(_heat(row["metrics"][key] if row else None) for row in cells)] for label, cells in found]
    head = ("Type", *names)
    html = join(
        (
            tag("h2", "Types"),
            table(f"{metric} by type; the stronger the shade, the more", head, rows, kind="heatmap"),
        )
    )
    boxes = [
        (
            label,
            [
                (row["metrics"][key]["balanced"]["value"], parts.percent_cell(row["metrics"][key]))
                if row
                else (None, "–")
                for row in cells
            ],
        )
        for label, cells in found
    ]
    title = f"{metric} in percent by type, {parts.setting_title(standing.setting)}"
    drawing = charts.heat(f"types-{standing.setting.id}", title, names, boxes)
    return [Block(html, _long(standing, details, "type", found), drawing)]


def _breakdown(standing: Standing, details: Sequence[Detail], name: str) -> list[Block | Safe]:
    found = _matrix(details, name)
    if not found:
        return []
    keys = ranking.pass_keys(details[0].entry.report)[::-1]
    names = details[0].entry.report["names"]
    rows = [[_label(name, label), *map(_pair, cells, details)] for label, cells in found]
    head = (MORE[name], *(parts.agent_name(detail.entry) for detail in details))
    rates = " / ".join(names[key] for key in keys)
    html = join(
        (tag("h2", MORE[name]), table(f"{rates} in percent; successes of conditions", head, rows, kind="cards"))
    )
    blocks: list[Block | Safe] = [Block(html, _long(standing, details, name, found))]
    if name == "split":
        lines = [
            Line(
                f"{parts.agent_name(detail.entry)}, {label}",
                tuple(parts.dot(row["metrics"][key]["balanced"]) for key in keys),
            )
            for number, detail in enumerate(details)
            for label, cells in found
            if (row := cells[number]) is not None
        ]
        where = parts.setting_title(standing.setting)
        alt = f"{rates} of Easy and Hard tasks with 95 % intervals or exact bounds, {where}"
        drawing = charts.intervals(f"split-{standing.setting.id}", alt, [names[key] for key in keys], lines)
        blocks.append(figure(drawing, alt))
    return blocks


def _matrix(details: Sequence[Detail], name: str) -> list[tuple[str, list[dict[str, Any] | None]]]:
    """The rows of a breakdown by label, with that of every run; none where one label is the whole."""
    labels = list(dict.fromkeys(row["label"] for detail in details for row in detail.entry.report["by"][name]))
    labels = sorted(labels) if name == "split" else labels
    if len(labels) < 2:
        return []
    by_run = [{row["label"]: row for row in detail.entry.report["by"][name]} for detail in details]
    return [(label, [rows.get(label) for rows in by_run]) for label in labels]


def _heat(metric: dict[str, Any] | None) -> Safe:
    if metric is None:
        return Safe("–")
    value = metric["balanced"]["value"]
    count = small(f"{metric['successes']} of {metric['planned']}")
    words = (f"{parts.percent_cell(metric)} %", " ", count)
    return tag("span", *words, class_="heat" if value is not None else "heat open", style=f"--v:{value or 0:.3f}")


def _long(standing: Standing, details: Sequence[Detail], name: str, found: list[Any]) -> Any:
    columns = (name, "run", "metric", *parts.NUMBERS)
    rows = [
        [label, detail.entry.run.name, key, *parts.numbers(metric)]
        for label, cells in found
        for detail, row in zip(details, cells, strict=True)
        if row is not None
        for key, metric in row["metrics"].items()
    ]
    return data_of(f"{name}-{standing.setting.id}", columns, rows)


def _label(name: str, label: str) -> str:
    return f"Condition {label}" if name == "condition" else label


def _subset_title(name: str) -> str:
    subset = load().subsets.get(name)
    return subset.title if subset else name
