"""Tasks, levels and capabilities of a few runs: the page of a board whose tasks come in levels of difficulty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leaderboard import charts, ranking
from leaderboard.blocks import Block, Page, data_of, figure, page
from leaderboard.markup import Safe, join, link, notice, small, table, tag
from leaderboard.radar import MOST, Shape, radar
from leaderboard.ranking import Standing
from leaderboard.site import Detail
from leaderboard.views import parts, printed
from manifests.load import load

TITLE = "Tasks and capabilities"
ALL = "All"
DIMENSIONS = {"difficulty": "Level", "capability": "Capability"}
DIFFICULTY = {"L1": "Level 1", "L2": "Level 2", "L3": "Level 3"}  # a task's own levels, not those of access


def has(board: str) -> bool:
    """Whether the tasks of a board come in levels and need capabilities."""
    known = load().boards.get(board)
    return known is not None and {"difficulty", "capability"} <= set(known.breakdowns)


def build(standing: Standing, details: Sequence[Detail], siblings: Sequence[Standing] = ()) -> Page:
    """``details`` are runs of the standing, in the order in which they are shown; ``siblings`` are the standings that
    differ in the setting alone, this one among them."""
    head = (
        tag("h1", TITLE),
        tag("p", parts.setting_title(standing.setting), class_="quiet"),
        _modes(standing, siblings),
    )
    if not details:
        return page(TITLE, *head, notice("No run is chosen."))
    board = standing.setting.board
    blocks: list[Block | Safe] = [*head, _matrix(standing, details)]
    blocks += _capabilities(standing, details)
    blocks.append(_table(standing, details, "difficulty", "Levels"))
    blocks += printed.tables(board, standing.setting.mode)
    return page(TITLE, *blocks)


def _modes(standing: Standing, siblings: Sequence[Standing]) -> Safe:
    """From one way of prompting to the others, where runs of them exist."""
    if len(siblings) < 2:
        return Safe("")
    items = [
        tag(
            "li",
            tag("span", item.setting.mode, aria_current="true")
            if item is standing
            else link(item.setting.mode, view="suites", setting=item.setting.id),
        )
        for item in siblings
    ]
    return tag("nav", tag("span", "Setting:"), tag("ol", *items), class_="choice", aria_label="Setting")


# ---- task by level --------------------------------------------------------------------------------------------------
def _matrix(standing: Standing, details: Sequence[Detail]) -> Block:
    """A line for each task and run, a column for each level."""
    key = ranking.pass_keys(details[0].entry.report)[0]
    name = details[0].entry.report["names"][key]
    grid = _grid(standing.setting.board)
    levels = list(dict.fromkeys(level for cells in grid.values() for level in cells))
    rows, plain, boxes = [], [], []
    for suite in [None, *grid]:
        for detail in details:
            cells = [_metric(detail, suite, level, grid, key) for level in (*levels, None)]
            agent = parts.agent_name(detail.entry)
            rows.append([_suite(suite), link(agent, run=detail.entry.run.name), *map(_heat, cells)])
            plain += [
                [suite or "all", level or "all", detail.entry.run.name, key, *parts.numbers(found)]
                for level, found in zip((*levels, None), cells, strict=True)
                if found is not None
            ]
            label = suite or ALL if len(details) == 1 else f"{suite or ALL} · {agent}"
            boxes.append((label, [(_value(found), parts.percent_cell(found) if found else "–") for found in cells]))
    columns = [DIFFICULTY.get(level, level) for level in levels]
    head = ("Task", "Agent", *columns, "All levels")
    html = join(
        (
            tag("h2", "Tasks by level"),
            table(f"{name} in percent with its 95 % interval; the stronger the shade, the more", head, rows,
                  kind="heatmap grid cards"),
        )
    )  # fmt: skip
    alt = f"{name} in percent by task and level, {parts.setting_title(standing.setting)}"
    drawing = charts.heat(f"levels-{standing.setting.id}", alt, [*columns, "All levels"], boxes)
    names = ("task", "level", "run", "metric", *parts.NUMBERS)
    return Block(html, data_of(f"levels-{standing.setting.id}", names, plain), drawing)


def _grid(board: str) -> dict[str, dict[str, str]]:
    """Suite to level to environment id, in catalog order."""
    found: dict[str, dict[str, str]] = {}
    for entry in load().catalogs[board].environments:
        found.setdefault(entry.suite, {})[str(entry.native_level)] = entry.id
    return found


def _metric(
    detail: Detail, suite: str | None, level: str | None, grid: dict[str, dict[str, str]], key: str
) -> dict[str, Any] | None:
    """Of one environment, of a task over its levels, of a level over its tasks, or of all; None where none is there."""
    by = detail.entry.report["by"]
    if suite is None:
        row = detail.entry.report["total"] if level is None else _row(by["difficulty"], level)
    else:
        row = _row(by["suite"], suite) if level is None else _row(by["task"], grid[suite].get(level))
    return None if row is None else row["metrics"][key]


def _row(rows: Sequence[dict[str, Any]], label: str | None) -> dict[str, Any] | None:
    return next((row for row in rows if row["label"] == label), None)


def _suite(suite: str | None) -> Safe:
    if suite is None:
        return tag("strong", "All tasks")
    title = printed.task_title(suite)
    return join((tag("strong", suite), " ", small(title) if title else ""))


def _heat(metric: dict[str, Any] | None) -> Safe:
    if metric is None:
        return Safe("–")
    rate = metric["balanced"]
    words = [tag("span", f"{parts.percent_cell(metric)} %", class_="pair"), " "]
    words.append(small(f"{metric['successes']} of {metric['planned']}"))
    if rate["value"] is not None:
        words += [tag("br"), small(parts.sure(rate))]
    return tag("span", *words, class_="heat" if rate["value"] is not None else "heat open",
               style=f"--v:{rate['value'] or 0:.3f}")  # fmt: skip


def _value(metric: dict[str, Any] | None) -> float | None:
    value: float | None = None if metric is None else metric["balanced"]["value"]
    return value


# ---- capabilities ---------------------------------------------------------------------------------------------------
def _capabilities(standing: Standing, details: Sequence[Detail]) -> list[Block | Safe]:
    """The shape of each run over the capabilities, people and chance beside them, and the table of what is drawn."""
    axes = [row["label"] for row in details[0].entry.report["by"]["capability"]]
    if len(axes) < 3:
        return [_table(standing, details, "capability", "Capabilities")]
    key = ranking.pass_keys(details[0].entry.report)[0]
    name = details[0].entry.report["names"][key]
    shapes = [
        Shape(
            parts.agent_name(detail.entry),
            tuple(_value(row["metrics"][key] if row else None) for row in _by_axis(detail, axes)),
        )
        for detail in details
    ]
    beside = printed.shapes(standing.setting.board, standing.setting.mode, axes)
    shown = [*shapes[: MOST - len(beside)], *beside]
    alt = f"{name} by capability, {parts.setting_title(standing.setting)}: " + "; ".join(map(_spoken(axes), shown))
    drawing, narrow = (
        radar(f"capabilities-{standing.setting.id}", alt, axes, shown, narrow=narrow) for narrow in (False, True)
    )
    caption = f"{name} by capability; hollow: not measured here. A task counts for each capability that it needs."
    return [
        tag("h2", "Capabilities"),
        figure(drawing, caption, narrow=narrow),
        _table(standing, details, "capability", None),
    ]


def _by_axis(detail: Detail, axes: Sequence[str]) -> list[dict[str, Any] | None]:
    return [_row(detail.entry.report["by"]["capability"], axis) for axis in axes]


def _spoken(axes: Sequence[str]) -> Any:
    def words(shape: Shape) -> str:
        rates = (f"{axis} {100 * rate:.0f} %" for axis, rate in zip(axes, shape.rates, strict=True) if rate is not None)
        return f"{shape.label}: {', '.join(rates)}"

    return words


def _table(standing: Standing, details: Sequence[Detail], dimension: str, title: str | None) -> Block:
    """The values of a dimension, one column for each run."""
    key = ranking.pass_keys(details[0].entry.report)[0]
    name = details[0].entry.report["names"][key]
    labels = dict.fromkeys(row["label"] for detail in details for row in detail.entry.report["by"][dimension])
    rows, plain = [], []
    for label in labels:
        found = [_row(detail.entry.report["by"][dimension], label) for detail in details]
        cells = [parts.rate(row["metrics"][key], name, parts.unit_of(key)) if row else Safe("–") for row in found]
        rows.append([DIFFICULTY.get(label, label), *cells])
        plain += [
            [label, detail.entry.run.name, key, *parts.numbers(row["metrics"][key])]
            for detail, row in zip(details, found, strict=True)
            if row is not None
        ]
    head = (DIMENSIONS[dimension], *(parts.agent_name(detail.entry) for detail in details))
    shown = table(f"{name} by {DIMENSIONS[dimension].lower()}", head, rows, kind="cards")
    columns = (dimension, "run", "metric", *parts.NUMBERS)
    html = join((tag("h2", title), shown)) if title else shown
    return Block(html, data_of(f"{dimension}-{standing.setting.id}", columns, plain))
