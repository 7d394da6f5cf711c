"""Pieces that more than one page shows: the head of the page, the name of a setting, a rate with its denominator."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose
from typing import Any

from leaderboard.charts import Dot
from leaderboard.markup import Safe, badge, bar, code, hundredths, join, link, notice, small, tag
from leaderboard.ranking import Standing, is_baseline
from leaderboard.source import Entry, Setting, Unscored
from leaderboard.words import SIGNS
from manifests.load import load
from manifests.words import count
from runner.store.status import EVALUATED

NUMBERING = "#2 [17] is the second attempt at its condition, the one with the ledger sequence 17"
BANNER = 5  # runs that are named in the banner
NAV = {
    None: "Overview",
    "ranking": "Ranking",
    "suites": "Suites and types",
    "tasks": "Tasks",
    "compare": "Compare",
    "failures": "Failures",
    "audit": "Audit",
    "submit": "Submit",
    "protocol": "Protocol",
}


def navigation(current: str | None) -> Safe:
    """The bar of every page. ``current`` is a key of NAV, or ``run`` for a page that has no place in it."""
    items = [
        tag("li", tag("span", label, aria_current="page") if view == current else where)
        for view, label in NAV.items()
        if (where := link(label, view=view)) != label or view == current
    ]
    return tag("nav", tag("ol", *items), class_="site", aria_label="Pages")


def head(*trail: Safe) -> Safe:
    """The way from the ranking to here."""
    steps = [tag("li", step) for step in (link("Ranking", view="ranking"), *trail)]
    return tag("nav", tag("ol", *steps), class_="trail", aria_label="Where you are")


def setting_title(setting: Setting) -> str:
    """``EP-100 Launch · pass2 · embedded (mujoco) · L0``, and grants and a base seed where they are not the usual."""
    subset = load().subsets.get(setting.subset)
    name = subset.title if subset else setting.subset
    parts = [
        f"Chosen tasks of {name}" if setting.tasks else name,
        *([setting.mode] if setting.mode else []),
        setting.protocol,
        f"{setting.profile} ({', '.join(setting.engines)})",
        setting.level,
        *setting.grants,
    ]
    if setting.seed != 0:
        parts.append(f"seed {setting.seed}")
    return " · ".join(parts)


def agent_name(entry: Entry) -> str:
    """The model, and how it acted where that is another name."""
    return entry.title if entry.agent == entry.model else f"{entry.title} ({entry.agent})"


def marks(entry: Entry) -> list[Safe | str]:
    """What must be seen beside the name: a baseline, withdrawn, made elsewhere, stale."""
    found: list[Safe | str] = [" ", badge("baseline")] if is_baseline(entry) else []
    if entry.run.withdrawn is not None:
        found += [" ", badge("withdrawn", "warn")]
    if entry.run.kind != EVALUATED:
        found += [" ", badge(entry.run.kind, "warn")]
    if entry.stale:
        found += [" ", badge("stale", "warn")]
    return found


def counted(standing: Standing, entries: Sequence[Entry]) -> str:
    """``3 runs of models; baselines are not counted``, or just how many runs there are."""
    words = count(len(entries), "run")
    if any(map(is_baseline, entries)) or not any(is_baseline(row.entry) for row in standing.rows):
        return words
    return f"{words} of models; baselines are not counted"


def unknown(where: str, what: str, names: Sequence[str], instead: str) -> Safe:
    """The notice for an address that names what there is not."""
    listed = join((code(name) for name in names), ", ")
    return notice(f"{where} has no {what} ", listed, ".", tag("p", instead))


def damaged(found: Sequence[Unscored]) -> Safe:
    """The banner for runs whose numbers are withheld; nothing where there is none."""
    if not found:
        return Safe("")
    names = join((link(item.run.name, run=item.run.name) for item in found[:BANNER]), ", ")
    more = f" and {len(found) - BANNER} more" if len(found) > BANNER else ""
    number = "A run of this store is" if len(found) == 1 else f"{len(found)} runs of this store are"
    said = ("What is stored of ", names, more, " contradicts itself, so that no number of it is shown anywhere here.")
    return notice(f"{number} damaged.", tag("p", *said), kind="bad")


def attempt_name(ordinal: int | None, sequence: int) -> str:
    """``#2 [17]``, as in the terminal: the second attempt at its condition, ledger sequence 17."""
    return f"[{sequence}]" if ordinal is None else f"#{ordinal} [{sequence}]"


def clause_name(clause: str) -> str:
    """Of an attempt that ended without breaking one, or was made elsewhere, there is none."""
    return "none named" if clause == "none" else clause


def mark(run: str, attempt: dict[str, Any], ordinal: int | None) -> Safe:
    """A link to an attempt with its sign and code; dotted where it is not scored."""
    name = outcome_state(attempt["outcome"], attempt["status"], attempt["incident"])
    label = " ".join(filter(None, (SIGNS[name], attempt["code"], attempt_name(ordinal, attempt["sequence"]))))
    scored = "scored" if attempt["status"] == "scored" else "aside"
    return tag("span", link(label, run=run, attempt=attempt["sequence"]), class_=f"mark {scored}")


def unfinished(found: bool) -> Safe:
    """The notice of an import that has not ended; nothing where there is none."""
    if not found:
        return Safe("")
    said = "It is running now, or was stopped in the middle: then the same command completes it."
    return notice("An import into this store has not ended.", tag("p", said, " What is shown is whole without it."))


def rate(metric: dict[str, Any], name: str, unit: str) -> Safe:
    """A rate of the report with interval and denominator; bounds where it is undefined."""
    found, known, planned = metric["balanced"], metric["known"], metric["planned"]
    if found["percent"] is None:
        spoken = f"{name} between {found['lower_percent']} and {found['upper_percent']} percent"
        return join(
            (
                tag("span", f"{found['lower_percent']} to {found['upper_percent']} %", class_="bounded"),
                bar(found["lower"], found["upper"], None, spoken),
                small(f"bounds; {metric['successes']} of {known} known, {count(planned, unit)} planned"),
            )
        )
    low, high = span(found) or (found["value"], found["value"])
    return join(
        (
            tag("span", f"{found['percent']} %", class_="figure"),
            bar(low, high, found["value"], f"{name} {found['percent']} percent, {sure(found)}"),
            small(f"{sure(found)}; {metric['successes']} of {count(planned, unit)}"),
        )
    )


def span(found: dict[str, Any]) -> tuple[float, float] | None:
    """How far a balanced rate or a difference may be from its value: its interval, or the exact bound where all tasks
    agree, since the interval has no width there. None where nothing can be said."""
    bound = found["exact_bound"] or found["interval"]
    return (bound[0], bound[1]) if bound and bound[0] < bound[1] else None


def sure(found: dict[str, Any]) -> str:
    """The same in words: ``95 %: 8.93 to 19.23``, or ``exact 95 %: ≥ 91.57``, a bound to one side."""
    found_span = span(found)
    if found_span is None:
        return "no interval: the tasks of each suite agree" if found["interval"] else "no interval"
    low, high = map(hundredths, found_span)
    if not found["exact_bound"]:
        return f"95 %: {low} to {high}"
    if isclose(found["value"], found_span[1]):
        return f"exact 95 %: ≥ {low}"
    if isclose(found["value"], found_span[0]):
        return f"exact 95 %: ≤ {high}"
    return f"exact 95 %: {low} to {high}"


def dot(found: dict[str, Any]) -> Dot:
    """A balanced rate in a figure."""
    if found["value"] is None:
        return Dot(None, found["lower"], found["upper"])
    return Dot(found["value"], *(span(found) or (found["value"], found["value"])))


def numbers(metric: dict[str, Any]) -> list[Any]:
    """The columns NUMBERS of a download."""
    found = metric["balanced"]
    percent = None if found["percent"] is None else float(found["percent"])
    return [percent, *bounds(found), metric["successes"], metric["planned"]]


def unit_of(key: str) -> str:
    """What the denominator of a metric counts, one of it."""
    return "condition" if key.startswith("pass_at_") else "group"


def state(name: str, label: str | None = None) -> Safe:
    """A sign and a word on the colour of the state."""
    return tag("span", tag("span", SIGNS[name], aria_hidden="true"), " ", label or name, class_=f"state {name}")


def outcome_state(outcome: str | None, status: str, incident: str) -> str:
    """The name in SIGNS for an attempt."""
    if outcome is None:
        return "open"
    if incident == "candidate" or status == "excluded":
        return "candidate" if incident == "candidate" else "excluded"
    return outcome


def percent_cell(metric: dict[str, Any]) -> str:
    """``19.94`` or, of a partial run, ``12.00–30.00``."""
    found = metric["balanced"]
    return found["percent"] if found["percent"] is not None else f"{found['lower_percent']}–{found['upper_percent']}"


BOUNDS = ("lower", "upper", "exact_lower", "exact_upper")
NUMBERS = ("percent", *BOUNDS, "successes", "planned")


def bounds(found: dict[str, Any]) -> list[float | None]:
    """The columns BOUNDS of a download: the interval, or the bounds of a partial rate, and the exact bound; None where
    there is none."""
    ends = found["interval"] if found["value"] is not None else (found["lower"], found["upper"])
    return [*(ends or (None, None)), *(found["exact_bound"] or (None, None))]


def duration(seconds: float | None) -> str:
    """Seconds, or minutes from two minutes on."""
    if seconds is None:
        return "unknown"
    return f"{seconds / 60:,.1f} min" if seconds >= 120 else f"{seconds:,.1f} s"


def mean_cell(found: dict[str, Any], shown: str) -> Safe:
    """A mean over successes, with how many there are."""
    if not found["successes"]:
        return join(("–", " ", small("no success")))
    if found["mean"] is not None:
        return join((shown, " ", small(f"over {found['successes']}")))
    every = found["unknown"] == found["successes"]
    return join(("unknown ", small(f"for {'all' if every else found['unknown']} of {found['successes']}")))
