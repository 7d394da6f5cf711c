"""``python -m leaderboard.export -o FOLDER``: the pages as plain HTML with their data, for any file host.

No server, no scripts: overview, ranking, suites and types, tasks, failures, audit, submission and protocol, built from
the same parts as the served pages. What needs the records (attempts, playback, comparisons) is left to the server.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from leaderboard import audits, ready
from leaderboard.blocks import Block, Page
from leaderboard.markup import SITE, Safe, join, small, tag
from leaderboard.ranking import Standing, counted
from leaderboard.site import Found, Site, read_detail
from leaderboard.views import audit, failures, front, parts, protocol, ranking, submit, suites, tasks
from manifests import strict
from manifests.words import count
from runner.store.database import AssayError, BadInput
from runner.store.store import Store

STYLES = [Path(__file__).with_name(name) for name in ("frame.css", "style.css")]
MARKER = "assay-site.json"  # lists the files of an export, so that the next one replaces them and nothing else
SETTINGS = 12  # settings with pages of their own: those that a visitor sees first
RUNS = 3  # runs in the tables of suites and types
TOGETHER = 1000  # runs whose failures are counted together


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="assay site", description="Write the leaderboard as static pages.")
    parser.add_argument("-o", "--output", type=Path, default=Path("public"), help="folder [default: public]")
    options = parser.parse_args(arguments)
    try:
        store = Store(read_only=True)
        found = ready.board(store).refresh(store, _say, jobs=ready.JOBS)
        files = export(Site(store, Found(found), lambda run: read_detail(store, run)), options.output)
    except AssayError as error:
        print(f"assay: error: {error}", file=sys.stderr)
        return error.exit_code
    size = sum((options.output / name).stat().st_size for name in files)
    print(f"{options.output}: {count(len(files), 'file')}, {size / 1e6:.1f} MB; open {options.output / 'index.html'}")
    return 0


def export(site: Site, folder: Path) -> list[str]:
    """Write the site; returns the names of its files. Raises AssayError for a folder that holds something else."""
    old = _files_of(folder)
    standings = site.standings[:SETTINGS]
    names = _Names(site.standings, standings)
    token = SITE.set(names)
    try:
        written: dict[str, bytes] = {}
        for name, view, page in _pages(site, standings):
            written[name] = _document(page, view).encode()
            written |= _attached(page)
    finally:
        SITE.reset(token)
    written[MARKER] = json.dumps({"files": sorted(written)}, indent=1).encode()
    try:
        for name in old:
            (folder / name).unlink(missing_ok=True)
        for name, content in written.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    except OSError as error:
        raise AssayError(f"site {folder}: cannot be written ({error.strerror}): name another folder with -o") from None
    return sorted(written)


class _Names:
    """Parameters of a page to the name of its file; None for a page that is not exported."""

    def __init__(self, every: list[Standing], own: list[Standing]) -> None:
        self._own = {item.setting.id for item in own}
        self._first = own[0].setting.id if own else None
        self._pages = {item.setting.id: -(-len(item.rows) // ranking.TABLE_ROWS) for item in every}

    def __call__(self, given: dict[str, str]) -> str | None:
        view = given.get("view")
        if not given:
            return "index.html"
        if view in ("audit", "submit", "protocol"):
            return f"{view}.html"
        if view == "ranking":
            return self._ranking(given)
        setting = given.get("setting", self._first)
        plain = given.keys() <= {"view", "setting"} and setting in self._own
        return f"{view}-{setting}.html" if view in ("suites", "tasks", "failures") and plain else None

    def _ranking(self, given: dict[str, str]) -> str | None:
        setting, number = given.get("setting"), given.get("page", "1")
        if setting is None:
            return "ranking.html"
        if number == "1" and self._pages.get(setting, 0) <= 1:
            return f"ranking.html#s-{setting}"
        return f"ranking-{setting}-{number}.html" if setting in self._own else "ranking.html"


def _pages(site: Site, standings: list[Standing]) -> Iterator[tuple[str, str | None, Page]]:
    """(file name, its place in the navigation, page)."""
    yield "index.html", None, front.build(site)
    yield (
        "ranking.html",
        "ranking",
        ranking.build(site.standings, site.unscored, site.damaged, unfinished=site.unfinished),
    )
    for standing in standings:
        setting = standing.setting.id
        for number in range(1, -(-len(standing.rows) // ranking.TABLE_ROWS) + 1):
            if len(standing.rows) > ranking.TABLE_ROWS:
                yield f"ranking-{setting}-{number}.html", "ranking", ranking.build([standing], [], number=number)
        yield (
            f"suites-{setting}.html",
            "suites",
            suites.build(standing, site.details(site.chosen(standing, [], RUNS)), site.siblings(standing)),
        )
        yield f"tasks-{setting}.html", "tasks", tasks.build(standing, None, None, None)
        runs = counted(standing)[:TOGETHER]
        yield f"failures-{setting}.html", "failures", failures.build(standing, runs or [standing.rows[0].entry], [])
    reports = audits.of_runs(site.store, [entry.run for entry in site.entries])
    parts_of_audit = (audit.build(site.entries, reports), audit.commands(site.entries))
    yield "audit.html", "audit", Page("Audit", tuple(block for part in parts_of_audit for block in part.blocks))
    yield "submit.html", "submit", submit.build()
    yield "protocol.html", "protocol", protocol.build()


def _document(page: Page, view: str | None) -> str:
    body = join(_part(block) for block in page.blocks)
    made = datetime.now(UTC)
    foot = small(
        f"Written {made:%Y-%m-%d %H:%M} UTC by Assay. Attempts, playback and comparisons are on a served leaderboard: ",
        tag("code", "make leaderboard"),
    )
    head = join(
        (
            Safe('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
            tag("title", f"{page.title} · Assay leaderboard"),
            Safe(f"<style>{''.join(path.read_text(encoding='utf-8') for path in STYLES)}</style>"),
        )
    )
    skip = Safe('<a class="skip" href="#content">To the content</a>')
    content = tag(
        "div", skip, parts.navigation(view), tag("main", body, id="content"), tag("footer", foot), class_="frame"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body class="stHtml">{content}</body></html>\n'


def _part(block: Block) -> Safe:
    """A block with links to its files, and its data inside the page."""
    links = [Safe(f'<a href="{name}" download>{label}</a>') for label, name, _ in _files(block)]
    embedded = Safe("")
    if block.data is not None:
        plain = block.data.json().decode().replace("<", "\\u003c")
        embedded = Safe(f'<script type="application/json" id="data-{block.data.name}">{plain}</script>')
    return join((block.html, tag("div", *links, class_="files") if links else Safe(""), embedded))


def _attached(page: Page) -> dict[str, bytes]:
    return {name: content for block in page.blocks for _, name, content in _files(block)}


def _files(block: Block) -> list[tuple[str, str, bytes]]:
    """(label, name, content) of what can be downloaded. Parquet needs pyarrow, which comes with the pages."""
    found = []
    if block.data is not None:
        found += [("CSV", f"data/{block.data.name}.csv", block.data.csv())]
        found += [("JSON", f"data/{block.data.name}.json", block.data.json())]
        if find_spec("pyarrow") is not None:
            found += [("Parquet", f"data/{block.data.name}.parquet", block.data.parquet())]
    if block.drawing is not None:
        found += [("SVG", f"figures/{block.drawing.name}.svg", block.drawing.svg(paper=True).encode())]
        found += [("PNG", f"figures/{block.drawing.name}.png", block.drawing.png())]
    return found


def _files_of(folder: Path) -> list[str]:
    """The files of an earlier export in ``folder``. Raises BadInput for a folder that holds something else."""
    try:
        if not folder.exists() or not any(folder.iterdir()):
            return []
        listed = [str(name) for name in strict.loads((folder / MARKER).read_bytes())["files"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise BadInput(f"output {folder}: is not empty and holds no site: name another folder with -o") from None
    return [name for name in listed if not os.path.isabs(name) and ".." not in Path(name).parts]


def _say(done: int, count: int) -> None:
    if count > 20 and done % 100 == 0:
        print(f"reading the runs: {done} of {count}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
