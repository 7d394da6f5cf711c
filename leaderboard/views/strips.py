"""Tasks with many conditions in little room: one sign for each, with a way to its attempt. Where a task has a hundred
episodes, a column for each would be no table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from leaderboard import slots
from leaderboard.blocks import Block, Data, data_of
from leaderboard.markup import Safe, join, link, small, table, tag
from leaderboard.source import Entry
from leaderboard.tally import Tally
from leaderboard.views import parts
from leaderboard.words import SIGNS, STATES
from manifests.words import count

WIDE = 8  # conditions of a task from which it gets a strip
EMPTY = Safe("")
TEN = 10  # signs that stand together, for the eye to count
READ = "read from left to right from condition 0, in tens; a sign leads to its last attempt"

Attempts = dict[tuple[str, int], list[dict[str, Any]]]  # by environment and condition
Name = Callable[[int], Safe]  # of a task by its number


def wide(conditions: Iterable[int]) -> bool:
    """Whether a selection with so many conditions of each task is shown in strips."""
    return max(conditions, default=0) > WIDE


def by_place(attempts: Iterable[dict[str, Any]]) -> Attempts:
    found: Attempts = defaultdict(list)
    for attempt in attempts:
        found[attempt["environment_id"], attempt["condition"]].append(attempt)
    return found


def outcomes(entry: Entry, groups: Sequence[dict[str, Any]], names: Sequence[Safe], heading: Safe = EMPTY) -> Block:
    """A line for each group of a run, in the order given."""
    at = by_place(entry.report["attempts"])
    rows = [
        [name, _strip(entry.run.name, group, at), _solved(group)] for name, group in zip(names, groups, strict=True)
    ]
    legend = [tag("li", parts.state(name), " ", words) for name, words in STATES.items()]
    caption = f"Outcomes of {parts.agent_name(entry)}: {READ}"
    shown = table(caption, ("Task", "Conditions", "Solved"), rows, kind="strips")
    return Block(join((heading, tag("ul", *legend, class_="legend"), shown)), data(entry, groups))


def data(entry: Entry, groups: Sequence[dict[str, Any]]) -> Data:
    """The outcome of every condition of some groups of a run."""
    rows = [
        [group["environment_id"], group["suite"], condition["condition"], condition["state"], condition["reason"]]
        for group in groups
        for condition in group["conditions"]
    ]
    return data_of(f"outcomes-{entry.run.name}", ("environment_id", "suite", "condition", "state", "reason"), rows)


def counts(found: Tally, order: Sequence[int], name: Name, stem: str) -> Block:
    """How many conditions of each task are solved by every run, by some and by none of those that know them."""
    rows, plain = [], []
    for number in order:
        pairs = found.of_task(number)
        known = [(solved, runs) for solved, runs in pairs if runs]
        every = sum(solved == runs for solved, runs in known)
        none = sum(solved == 0 for solved, _ in known)
        parted = (every, len(known) - every - none, none)
        rows.append([name(number), *(_heat(count, len(pairs)) for count in parted), len(pairs) - len(known)])
        plain.append([found.tasks[number].environment_id, found.tasks[number].suite, *parted, len(pairs), found.runs])
    head = ("Task", "Solved by every run", "by some", "by none", "not known")
    caption = f"Conditions of each task by how many of {count(found.runs, 'run')} solve them"
    columns = ("environment_id", "suite", "by_every", "by_some", "by_none", "conditions", "runs")
    return Block(table(caption, head, rows, kind="heatmap matrix"), data_of(stem, columns, plain))


def runs_of_task(entries: Sequence[Entry], first: int, count: int, title: str) -> Safe:
    """One task: a line for each run, from its signs."""
    rows = []
    for entry in entries:
        states = [slots.state(sign) for sign in entry.slots[first : first + count]]
        name = link(parts.agent_name(entry), run=entry.run.name)
        signs = [_sign(state, f"{index}: {state}") for index, state in enumerate(states)]
        solved = f"{states.count('success')} of {count}"
        rows.append([join((name, tag("br"), small(entry.run.name))), _tens(signs, f"{solved} solved"), solved])
    return table(title, ("Agent", "Conditions", "Solved"), rows, kind="strips")


def _strip(run: str, group: dict[str, Any], at: Attempts) -> Safe:
    signs = []
    for condition in group["conditions"]:
        attempts = at.get((group["environment_id"], condition["condition"]), [])
        sign = _sign(condition["state"], f"{condition['condition']}: {condition['state']}, {condition['reason']}")
        signs.append(link(sign, run=run, attempt=attempts[-1]["sequence"]) if attempts else sign)
    return _tens(signs, f"{group['environment_id']}: {group['successes']} of {group['planned']} solved")


def _sign(state: str, words: str) -> Safe:
    return tag("span", SIGNS[state], class_=f"sign {state}", title=words)


def _tens(signs: Sequence[Safe], spoken: str) -> Safe:
    tens = [tag("span", *signs[first : first + TEN], class_="ten") for first in range(0, len(signs), TEN)]
    return tag("div", *tens, class_="strip", role="group", aria_label=spoken)


def _solved(group: dict[str, Any]) -> Any:
    solved = f"{group['successes']} of {group['planned']}"
    return solved if group["complete"] else join((solved, tag("br"), small("partial")))


def _heat(count: int, of: int) -> Safe:
    return tag("span", f"{count} of {of}", class_="heat", style=f"--v:{count / of if of else 0:.3f}")
