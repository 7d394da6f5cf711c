"""Figures that nobody measured here: printed by others, or computed from the rules. They stand apart from the runs, say
where they come from, and have neither a rank nor an interval."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from leaderboard.blocks import Block, data_of
from leaderboard.markup import Safe, badge, join, small, table, tag
from leaderboard.radar import Shape
from manifests.figures import Row, Table, figures
from manifests.load import load
from manifests.words import count

KINDS = {"model": "model", "people": "people", "chance": "random choices"}
BESIDE = ("people", "chance")  # kinds that are drawn with every run: the best that is known, and luck


def of(board: str, mode: str | None) -> list[Table]:
    """Those of a board that a setting may be read beside."""
    return [item for item in figures(board) if item.mode in (None, mode)]


def tables(board: str, mode: str | None) -> list[Block | Safe]:
    """Each rate as it was printed, a column for each task; nothing for a board without figures."""
    found: list[Block | Safe] = [_table(board, item) for item in of(board, mode)]
    return [tag("h2", "Not measured here"), *found] if found else []


def summary(board: str, mode: str | None, *, opened: bool) -> Block | Safe:
    """One line for each row, the mean over all tasks and levels: for the ranking. ``opened``: shown at once."""
    rows = [(item, row) for item in of(board, mode) for row in item.rows]
    if not rows:
        return Safe("")
    order = sorted(rows, key=lambda pair: (-pair[1].mean(), pair[1].name))
    cells = sum(map(len, order[0][1].rates.values()))
    lines = [
        [join((row.name, " ", badge(item.origin, "warn"))), KINDS[row.kind], f"{100 * row.mean():.2f} %"]
        for item, row in order
    ]
    head = ("Name", "Kind", f"Mean of {cells} rates")
    caption = "Published and computed figures: not measured here, no rank, no interval"
    sources = [tag("li", tag("strong", item.title), ": ", item.source) for item in of(board, mode)]
    html = tag(
        "details",
        tag("summary", f"{count(len(rows), 'row')} of published and computed figures, to read beside these"),
        table(caption, head, lines, kind="cards"),
        tag("ul", *sources, class_="quiet"),
        open="open" if opened else None,
    )
    columns = ("name", "kind", "origin", "mean_percent", "source")
    plain = [[row.name, row.kind, item.origin, round(100 * row.mean(), 4), item.source] for item, row in order]
    return Block(html, data_of(f"not-measured-{board}-{mode}", columns, plain))


def shapes(board: str, mode: str | None, axes: Sequence[str]) -> list[Shape]:
    """People and exact chance over the capabilities. The printed chance is left out where an exact one is there."""
    found = [(item, row) for item in of(board, mode) for row in item.rows if row.kind in BESIDE]
    exact = any(item.origin == "computed" and row.kind == "chance" for item, row in found)
    return [
        Shape(f"{row.name} ({item.origin})", tuple(row.mean(suites_of(board, axis)) for axis in axes), aside=True)
        for item, row in found
        if not (exact and row.kind == "chance" and item.origin == "published")
    ]


@cache
def suites_of(board: str, capability: str) -> tuple[str, ...]:
    """The tasks that need a capability."""
    entries = load().catalogs[board].environments
    return tuple(dict.fromkeys(entry.suite for entry in entries if capability in entry.capabilities))


@cache
def task_title(suite: str) -> str | None:
    """``Memory Maze`` for MMA: what the titles of its levels have in common."""
    for catalog in load().catalogs.values():
        for entry in catalog.environments:
            if entry.suite == suite and entry.title and ", level" in entry.title:
                return entry.title.partition(",")[0]
    return None


def _table(board: str, item: Table) -> Block:
    suites = list(item.rows[0].rates)
    rows = [
        [join((tag("strong", row.name), tag("br"), small(KINDS[row.kind]))), *(_cell(row, suite) for suite in suites),
         f"{row.mean():.2f}"]
        for row in item.rows
    ]  # fmt: skip
    behind = "" if item.episodes is None else f" {item.episodes} episodes of a model behind each rate."
    html = join(
        (
            tag("h3", item.title, " ", badge(item.origin, "warn")),
            tag("p", f"{item.source}.{behind}", class_="quiet"),
            table("Success rates, level 1 to 3 below each other", ("Name", *suites, "Mean"), rows, kind="printed"),
            _by_capability(board, item),
        )
    )
    columns = ("name", "kind", "origin", "task", "level", "rate")
    plain = [
        [row.name, row.kind, item.origin, suite, level, float(rate)]
        for row in item.rows
        for suite, rates in row.rates.items()
        for level, rate in enumerate(rates, 1)
    ]
    return Block(html, data_of(f"{item.origin}-{board}", columns, plain))


def _by_capability(board: str, item: Table) -> Safe:
    axes = list(dict.fromkeys(axis for entry in load().catalogs[board].environments for axis in entry.capabilities))
    rows = [[row.name, *(f"{row.mean(suites_of(board, axis)):.2f}" for axis in axes)] for row in item.rows]
    return table("Their means by capability", ("Name", *axes), rows) if axes else Safe("")


def _cell(row: Row, suite: str) -> Safe:
    return join(row.rates[suite], "<br>")
