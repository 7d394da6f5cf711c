"""Tasks by condition: the outcomes of one run with a way to every attempt, or how many runs solve each condition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from leaderboard import slots
from leaderboard.blocks import Block, Page, data_of, page
from leaderboard.markup import Safe, facts, join, link, notice, small, table, tag
from leaderboard.ranking import Standing, counted
from leaderboard.site import Detail
from leaderboard.source import Entry
from leaderboard.tally import Tally, tally
from leaderboard.views import parts, strips
from leaderboard.words import STATES
from manifests.load import load

SORTS = {"catalog": "catalog order", "hardest": "solved by fewest first", "easiest": "solved by most first"}


def build(standing: Standing, detail: Detail | None, sort: str | None, suite: str | None) -> Page:
    """With ``detail`` the outcomes of that run, else counts over the runs of the standing."""
    runs = counted(standing)
    head = (tag("h1", "Tasks"), tag("p", parts.setting_title(standing.setting), class_="quiet"))
    if not runs:
        return page("Tasks", *head, notice("Every run of this setting was withdrawn."))
    found = tally(runs)
    suites = list(dict.fromkeys(task.suite for task in found.tasks))
    said = [*_unknown("order", sort, SORTS), *_unknown("suite", suite, suites)]
    sort = sort if sort in SORTS else "catalog"
    suite = suite if suite in suites else None
    order = [number for number in _order(found, sort) if suite in (None, found.tasks[number].suite)]
    choice = {"view": "tasks", "setting": standing.setting.id, "runs": detail.entry.run.name if detail else None}
    filters = [_choice("Sort", choice | {"suite": suite}, "sort", sort, dict(SORTS))]
    if len(suites) > 1:
        every: dict[str | None, str] = {None: "all suites", **{name: name for name in suites}}
        filters.append(_choice("Suite", choice | {"sort": sort}, "suite", suite, every))
    body = _counts(standing, found, order) if detail is None else _outcomes(standing, found, order, detail)
    told = tag("p", f"Counted: {parts.counted(standing, runs)}.", class_="quiet")
    return page("Tasks", *head, *said, join(filters), told, body)


def build_task(standing: Standing, environment_id: str) -> Page:
    """One task: what it is, and the outcome of every run under every condition."""
    runs = [row.entry for row in standing.rows if row not in standing.withdrawn]
    among = counted(standing)
    if not among:
        return page(environment_id, tag("h1", environment_id), notice("Every run of this setting was withdrawn."))
    found = tally(among)
    number = next(index for index, task in enumerate(found.tasks) if task.environment_id == environment_id)
    task, start = found.tasks[number], int(found.first[number])
    known = load().environments[environment_id]
    pairs = [
        ("Environment", environment_id),
        ("Suite and type", " · ".join(filter(None, (known.suite, known.type)))),
        ("Split", known.split or "–"),
        ("Robot", known.embodiment),
        ("Objective", known.objective or "as its description says"),
        ("Solved under at least one condition", f"by {found.solvers[number]} of {parts.counted(standing, among)}"),
    ]
    rows = []
    for entry in sorted(runs, key=lambda entry: -_solved(entry.slots[start : start + task.conditions])):
        signs = entry.slots[start : start + task.conditions]
        name = link(parts.agent_name(entry), run=entry.run.name, task=environment_id)
        cells = [parts.state(slots.state(sign), _words(sign)) for sign in signs]
        rows.append([join((name, tag("br"), small(entry.run.name))), *cells, f"{_solved(signs)} of {len(signs)}"])
    head = ("Agent", *(f"Condition {index}" for index in range(task.conditions)), "Solved")
    plain = [[entry.run.name, *map(_words, entry.slots[start : start + task.conditions])] for entry in runs]
    columns = ("run", *(f"condition_{index}" for index in range(task.conditions)))
    return page(
        environment_id,
        parts.head(link("Tasks", view="tasks", setting=standing.setting.id), tag("span", environment_id)),
        tag("h1", known.title or environment_id),
        tag("p", parts.setting_title(standing.setting), class_="quiet"),
        facts(pairs),
        Block(
            strips.runs_of_task(runs, start, task.conditions, "Runs by condition")
            if strips.wide([task.conditions])
            else table("Runs by condition", head, rows, kind="cards"),
            data_of(f"task-{environment_id.replace('/', '-')}", columns, plain),
        ),
    )


def _unknown(what: str, wanted: str | None, known: Iterable[str]) -> list[Safe]:
    """Of an address that names what there is not."""
    names = list(known)
    if wanted is None or wanted in names:
        return []
    return [parts.unknown("This page", what, [wanted], f"There is: {', '.join(names)}.")]


def _order(found: Tally, sort: str) -> Sequence[int]:
    numbers = range(len(found.tasks))
    if sort == "catalog":
        return numbers
    sign = 1 if sort == "hardest" else -1
    return sorted(numbers, key=lambda number: (sign * found.solvers[number], sign * sum(_solved_of(found, number))))


def _solved_of(found: Tally, number: int) -> list[int]:
    return [solved for solved, _ in found.of_task(number)]


def _counts(standing: Standing, found: Tally, order: Sequence[int]) -> Block:
    if strips.wide(task.conditions for task in found.tasks):
        stem = f"tasks-{standing.setting.id}"
        return strips.counts(found, order, lambda number: _name(standing, found, number), stem)
    conditions = max(task.conditions for task in found.tasks)
    rows = []
    for number in order:
        cells = [_heat(solved, known) for solved, known in found.of_task(number)]
        cells += [Safe("")] * (conditions - len(cells))
        solvers, every = int(found.solvers[number]), int(found.everywhere[number])
        rows.append([_name(standing, found, number), *cells, f"{solvers} of {found.runs}", f"{every} of {found.runs}"])
    indices = [f"Condition {index}" for index in range(conditions)]
    head = ("Task", *indices, "Runs that solve it", "under every condition")
    caption = "How many runs solve a condition, of those whose outcome is known; the stronger the shade, the more"
    plain = [
        [
            found.tasks[number].environment_id,
            found.tasks[number].suite,
            *(value for pair in found.of_task(number) for value in pair),
            int(found.solvers[number]),
            int(found.everywhere[number]),
            found.runs,
        ]
        for number in order
    ]
    names = [f"condition_{index}_{what}" for index in range(conditions) for what in ("solved", "known")]
    columns = ("environment_id", "suite", *names, "solvers", "solvers_everywhere", "runs")
    return Block(
        table(caption, head, rows, kind="heatmap matrix cards quarters"),
        data_of(f"tasks-{standing.setting.id}", columns, plain),
    )


def _outcomes(standing: Standing, found: Tally, order: Sequence[int], detail: Detail) -> Block:
    if strips.wide(task.conditions for task in found.tasks):
        by_id = {group["environment_id"]: group for group in detail.entry.report["groups"]}
        chosen = [by_id[found.tasks[number].environment_id] for number in order]
        names = [_name(standing, found, number) for number in order]
        return strips.outcomes(detail.entry, chosen, names)
    at: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for attempt in detail.entry.report["attempts"]:
        at[attempt["environment_id"], attempt["condition"]].append(attempt)
    conditions, rows = max(task.conditions for task in found.tasks), []
    groups = {group["environment_id"]: group for group in detail.entry.report["groups"]}
    for number in order:
        group = groups[found.tasks[number].environment_id]
        cells = [
            cell(detail.entry, condition, at[group["environment_id"], condition["condition"]])
            for condition in group["conditions"]
        ]
        solved = f"{group['successes']} of {group['planned']}"
        label = solved if group["complete"] else join((solved, tag("br"), small("partial")))
        cells += [Safe("")] * (conditions - len(cells))
        rows.append([_name(standing, found, number), *cells, label, f"{found.solvers[number]} of {found.runs}"])
    legend = [tag("li", parts.state(name), " ", words) for name, words in STATES.items()]
    head = ("Task", *(f"Condition {index}" for index in range(conditions)), "Solved", "Runs that solve it")
    caption = f"Outcomes of {parts.agent_name(detail.entry)}; {parts.NUMBERING}"
    html = join((tag("ul", *legend, class_="legend"), table(caption, head, rows, kind="matrix cards")))
    chosen = [groups[found.tasks[number].environment_id] for number in order]
    return Block(html, strips.data(detail.entry, chosen))


def cell(entry: Entry, condition: dict[str, Any], attempts: list[dict[str, Any]]) -> Safe:
    name = condition["state"]
    marks = [parts.mark(entry.run.name, attempt, ordinal) for ordinal, attempt in enumerate(attempts, 1)]
    return tag("div", parts.state(name), *marks, class_=f"cell {name}", title=condition["reason"])


def _name(standing: Standing, found: Tally, number: int) -> Safe:
    task = found.tasks[number]
    known = load().environments[task.environment_id]
    where = link(task.environment_id, task=task.environment_id, setting=standing.setting.id)
    about = " · ".join(filter(None, (known.title, task.labels.get("type", task.suite), known.split)))
    return join((where, tag("br"), small(about)))


def _heat(solved: int, known: int) -> Safe:
    share = solved / known if known else 0.0
    return tag("span", f"{solved} of {known}", class_="heat" if known else "heat open", style=f"--v:{share:.3f}")


def _solved(signs: str) -> int:
    return sum(sign.isdigit() for sign in signs)


def _words(sign: str) -> str:
    return f"success, attempt {sign}" if sign.isdigit() else slots.state(sign)


def _choice(title: str, rest: dict[str, Any], name: str, now: str | None, options: dict[Any, str]) -> Safe:
    """A row of links, one of which is the present page."""
    items = [
        tag("li", tag("span", label, aria_current="true") if value == now else link(label, **rest, **{name: value}))
        for value, label in options.items()
    ]
    return tag("nav", tag("span", f"{title}:"), tag("ol", *items), class_="choice", aria_label=title)
