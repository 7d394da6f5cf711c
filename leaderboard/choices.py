"""What a visitor can choose: settings, runs and filters by widgets that write into the address, so that every view has
a link of its own."""

from __future__ import annotations

import math
from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from leaderboard import audits, cached, episode_page, source, verify
from leaderboard.blocks import Page, page
from leaderboard.draw import draw
from leaderboard.markup import notice, tag
from leaderboard.pickers import ALL, EVERY, paged, pick, pick_filters, pick_many, unknown_runs, unknown_setting
from leaderboard.ranking import Standing, counted
from leaderboard.site import MOST_RUNS, Site
from leaderboard.source import Attempt, Entry, Unscored
from leaderboard.views import attempts, audit, compare, failures, parts, protocol, run, submit, suites, tasks, trouble
from leaderboard.views import ranking as ranking_view
from manifests.words import count
from runner.store.status import EVALUATED

DETAILED = 3  # runs of which every incident is listed
AUDITED = 500  # runs whose folder is asked for a report


def show_ranking(site: Site) -> None:
    wanted = st.query_params.get("setting")
    if wanted is not None and any(item.setting.id == wanted for item in site.standings):
        chosen = [item for item in site.standings if item.setting.id == wanted]
    else:
        unknown_setting(site, "All settings are shown.")
        chosen = ranking_of(site)
    pages = math.ceil(len(chosen[0].rows) / ranking_view.TABLE_ROWS) if len(chosen) == 1 else 1
    page_number = paged("page", pages)
    half = site.unfinished
    key = ("ranking", tuple(item.setting.id for item in chosen), page_number, half)

    def make() -> Page:
        return ranking_view.build(chosen, site.unscored, site.damaged, unfinished=half, number=page_number)

    draw(cached.page(site, key, make))


def ranking_of(site: Site) -> list[Standing]:
    """The standings that the filters leave."""
    filters = ranking_view.FILTERS
    picked = pick_filters(filters, [entry.setting for entry in site.entries])
    return [
        item
        for item in site.standings
        if all(value in (ALL, filters[key][1](item.setting)) for key, value in picked.items())
    ]


def show_suites(site: Site) -> None:
    standing, entries = _runs(site, default=3)
    if standing is not None:
        key = ("suites", standing.setting.id, tuple(entry.run.name for entry in entries))
        draw(cached.page(site, key, lambda: suites.build(standing, site.details(entries), site.siblings(standing))))


def show_tasks(site: Site) -> None:
    left, right = _halves(site)
    with left:
        standing = _setting(site)
    if standing is None:
        return
    rows = {row.entry.run.name: row.entry for row in standing.rows}
    labels = {EVERY: "how many runs solve it"} | {name: _named(entry) for name, entry in rows.items()}
    unknown_runs(rows)
    with right:
        name = pick("Outcomes of", "runs", labels, EVERY)
    if name in rows and site.look(rows[name].run) is not None:
        st.rerun()  # it is damaged: without it
    sort, suite = st.query_params.get("sort"), st.query_params.get("suite")

    def make() -> Page:
        details = site.details([rows[name]]) if name in rows else []
        return tasks.build(standing, details[0] if details else None, sort, suite)

    draw(cached.page(site, ("tasks", standing.setting.id, name, sort, suite), make))


def show_task(site: Site, environment_id: str) -> None:
    standings = [item for item in site.standings if _plans(item, environment_id)]
    if not standings:
        trouble.unknown_task(environment_id)
        return
    wanted = st.query_params.get("setting")
    if all(item.setting.id != wanted for item in standings):
        unknown_setting(site, "Another one is shown.")
    found = next((item for item in standings if item.setting.id == wanted), standings[0])
    draw(tasks.build_task(found, environment_id))


def show_failures(site: Site) -> None:
    standing, entries = _runs(site, default=MOST_RUNS, every=True)
    if standing is None:
        return
    key = ("failures", standing.setting.id, tuple(entry.run.name for entry in entries))
    draw(cached.page(site, key, lambda: failures.build(standing, entries, _aside(site, entries))))


def _aside(site: Site, entries: list[Entry]) -> list[tuple[Entry, Attempt]]:
    """The attempts with an incident, where the runs are few enough to read them whole."""
    found: list[tuple[Entry, Attempt]] = []
    if len(entries) <= DETAILED:
        for detail in site.details(entries):
            incidents = [row for row in detail.entry.report["attempts"] if row["incident"] != "none"]
            numbers = [row["sequence"] for row in incidents]
            found += [(detail.entry, item) for item in source.attempts_of(site.store, detail.entry, numbers)]
    return found


def show_compare(site: Site) -> None:
    standing, entries = _runs(site, default=2)
    if standing is not None:
        if len(entries) == 1:  # against the first, or the next one where it is the first itself
            other = next((row.entry for row in standing.rows if row.entry.run != entries[0].run), None)
            entries = [*([other] if other is not None else []), *entries]
        pairs = [cached.pair(site, entries[0], other) for other in entries[1:]]
        draw(compare.build(standing, entries, pairs))


def show_audit(site: Site) -> None:
    runs = [entry.run for entry in site.entries if entry.run.kind == EVALUATED][:AUDITED]
    draw(audit.build(site.entries, audits.of_runs(site.store, runs)))
    draw(cached.page(site, ("commands",), lambda: audit.commands(site.entries)), prefix="commands")


def show_protocol(site: Site | None) -> None:
    draw(protocol.build())


def show_submit(site: Site | None) -> None:
    draw(submit.build())
    st.html(tag("h2", "Check a bundle here"))
    if not verify.available():
        text = "This server has only the pages. Run `assay verify bundle.zip` where Assay is installed."
        st.html(notice("Not on this server.", tag("p", text)))
        return
    given = st.file_uploader(
        f"Drop a bundle of at most {verify.MOST_MB} MB: it is checked, shown to you alone, and never imported.",
        type="zip",
        max_upload_size=verify.MOST_MB,
    )
    if given is None:
        return
    try:
        with st.spinner("Checking the bundle …"):
            found = verify.verify(given.getvalue())
    except verify.CannotVerify as error:
        st.html(notice("The bundle could not be checked.", tag("p", str(error)), kind="bad"))
        return
    draw(submit.result(given.name, found), prefix="result")


def show_run(site: Site, name: str, attempt: str | None) -> None:
    found = next((item for item in site.found.runs if name in (item.run.name, item.run.id)), None)
    if found is None:
        trouble.unknown_run(name)
        return
    detail = site.detail(found.run)
    if isinstance(detail, Unscored):
        draw(run.unscored(detail))
        return
    if attempt is not None:
        episode_page.show(site, detail, attempt)
        return
    query = st.query_params
    wanted = attempts.Wanted(query.get("task"), query.get("code"), query.get("clause"), query.get("status"))
    numbers = [
        row["sequence"]
        for row in detail.entry.report["attempts"]
        if wanted.takes(row, detail.clauses.get(row["sequence"]))
    ]
    number = paged("page", math.ceil(len(numbers) / attempts.PAGE))
    shown = source.attempts_of(site.store, detail.entry, numbers[(number - 1) * attempts.PAGE : number * attempts.PAGE])
    about = run.About(cached.looked(site, found.run), audits.of_run(site.store, found.run))
    draw(run.build(detail, about, wanted, attempts.Listed(shown, number, len(numbers))))


def _halves(site: Site) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Where the choice of a setting and that of runs stand; the second has all of the width where there is one setting
    only, and nothing to choose."""
    if len(site.standings) < 2:
        return st.container(), st.container()
    left, right = st.columns(2)
    return left, right


def _setting(site: Site) -> Standing | None:
    """The setting of the page, by a widget where there are several."""
    standing = site.standing(st.query_params.get("setting"))
    if standing is None:
        draw(page("Assay", notice("No run of this store can be scored.", " See the ranking for the reasons.")))
        return None
    unknown_setting(site, "Another one is shown.")
    labels = {item.setting.id: f"{parts.setting_title(item.setting)}: {_count(item)}" for item in site.standings}
    if len(labels) > 1:
        chosen = pick("Setting", "setting", labels, standing.setting.id)
        standing = site.standing(chosen)
    return standing


def _runs(site: Site, default: int, *, every: bool = False) -> tuple[Standing | None, list[Entry]]:
    """Setting and runs of the page. With ``every`` no choice means all runs that are counted together."""
    left, right = _halves(site)
    with left:
        standing = _setting(site)
    if standing is None:
        return None, []
    labels = {row.entry.run.name: _named(row.entry) for row in standing.rows}
    now = [name for name in dict.fromkeys(st.query_params.get_all("runs")) if name in labels][:MOST_RUNS]
    unknown_runs(labels)
    together = counted(standing) or [row.entry for row in standing.rows]
    if len(labels) > 1:
        none = parts.counted(standing, together) if every else "the first ones"
        with right:
            now = pick_many("Runs", "runs", labels, now, none)
    if every and not now:
        return standing, together
    entries = site.chosen(standing, now, default)
    if any(site.look(entry.run) is not None for entry in entries):
        st.rerun()  # one of them is damaged: without it
    return standing, entries


def _named(entry: Entry) -> str:
    """An option of a choice of runs."""
    return f"{parts.agent_name(entry)} · {entry.run.name}"


def _plans(standing: Standing, environment_id: str) -> bool:
    """Whether the runs of a standing plan an environment."""
    return environment_id in standing.rows[0].entry.run.settings["environments"]


def _count(standing: Standing) -> str:
    return count(len(standing.rows), "run")


SHOWN: dict[str, Callable[..., None]] = {
    "ranking": show_ranking,
    "suites": show_suites,
    "tasks": show_tasks,
    "compare": show_compare,
    "failures": show_failures,
    "audit": show_audit,
    "submit": show_submit,
    "protocol": show_protocol,
}
