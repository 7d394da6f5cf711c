"""Pieces that more than one page shows: the head of the page, the name of a setting, a rate with its denominator."""

from __future__ import annotations

from typing import Any

from leaderboard.markup import Safe, badge, bar, hundredths, join, link, small, tag
from leaderboard.source import Entry, Setting
from leaderboard.words import SIGNS
from manifests.load import load
from runner.store.status import EVALUATED

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
    parts = [
        f"chosen tasks of {setting.subset}" if setting.tasks else (subset.title if subset else setting.subset),
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
    return entry.model if entry.agent == entry.model else f"{entry.model} ({entry.agent})"


def marks(entry: Entry) -> list[Safe | str]:
    """What must be seen beside the name: withdrawn, made elsewhere, stale."""
    found: list[Safe | str] = []
    if entry.run.withdrawn is not None:
        found += [" ", badge("withdrawn", "warn")]
    if entry.run.kind != EVALUATED:
        found += [" ", badge(entry.run.kind, "warn")]
    if entry.stale:
        found += [" ", badge("stale", "warn")]
    return found


def rate(metric: dict[str, Any], name: str, unit: str) -> Safe:
    """A rate of the report with interval and denominator; bounds where it is undefined."""
    found, known, planned = metric["balanced"], metric["known"], metric["planned"]
    if found["percent"] is None:
        spoken = f"{name} between {found['lower_percent']} and {found['upper_percent']} percent"
        return join(
            (
                tag("span", f"{found['lower_percent']} to {found['upper_percent']} %", class_="bounded"),
                bar(found["lower"], found["upper"], None, spoken),
                small(f"bounds; {metric['successes']} of {known} known, {planned} {unit} planned"),
            )
        )
    low, high = found["interval"] or (found["value"], found["value"])
    interval = f"95 %: {hundredths(low)} to {hundredths(high)}" if found["interval"] else "no interval: one task"
    return join(
        (
            tag("span", f"{found['percent']} %", class_="figure"),
            bar(low, high, found["value"], f"{name} {found['percent']} percent, {interval}"),
            small(f"{interval}; {metric['successes']} of {planned} {unit}"),
        )
    )


def unit_of(key: str) -> str:
    """What the denominator of a metric counts."""
    return "conditions" if key.startswith("pass_at_") else "groups"


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


def duration(seconds: float | None) -> str:
    """Seconds, or minutes from two minutes on."""
    if seconds is None:
        return "unknown"
    return f"{seconds / 60:,.1f} min" if seconds >= 120 else f"{seconds:,.1f} s"


def mean_cell(found: dict[str, Any], shown: str) -> Safe:
    """A mean over successes, with how many there are."""
    if not found["successes"]:
        return join(("–", " ", small("no success")))
    unknown = f", {found['unknown']} unknown" if found["unknown"] else ""
    return join((shown if found["mean"] is not None else "unknown", " ", small(f"of {found['successes']}{unknown}")))
