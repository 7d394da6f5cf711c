"""The overview leads to episodes that can be watched: those of which a film lies beside the records, and no other."""

from __future__ import annotations

from leaderboard_records import RULE, SUCCESS, twice, write_run

from leaderboard import films
from leaderboard.blocks import html_of
from leaderboard.board import Board
from leaderboard.site import Found, Site, read_detail
from leaderboard.source import Entry, read_entry, record_of
from leaderboard.views import front
from runner.store.artifacts import RENDERED, rendered_stem
from runner.store.store import Run, Store


def film(store: Store, run: Run, number: int, ending: str = ".mp4") -> str:
    """A film of the attempt ``number`` of a run; returns the name of its file."""
    record = record_of(store.attempts(run)[number])
    assert record is not None
    folder = store.folder(run) / RENDERED
    folder.mkdir(exist_ok=True)
    name = f"{rendered_stem(record)}{ending}"
    (folder / name).write_bytes(b"film")
    return name


def entry_of(store: Store, run: Run) -> Entry:
    found = read_entry(store, run)
    assert isinstance(found, Entry)
    return found


def test_failures_come_first_and_what_is_no_film_of_an_attempt_is_left_out(store: Store) -> None:
    run = write_run(store, "r", twice(RULE, SUCCESS), model="lab/r", tasks="marble/dual-panda/A007")
    assert films.of_run(store, entry_of(store, run)) == ()
    name = film(store, run, 1, ".wide.mp4")
    film(store, run, 2, ".webp")
    film(store, run, 3, ".png")
    for odd in (name.replace("-c0-", "-c0-9"), "notes.mp4", name.replace("-5-", "-8-")):
        (store.folder(run) / RENDERED / odd).write_bytes(b"film")
    found = films.of_run(store, entry_of(store, run))
    assert [(item.sequence, item.outcome, item.code, item.condition) for item in found] == [
        (8, "failure", "RULE", 1),
        (5, "success", None, 0),
    ]


def test_the_overview_leads_to_films_of_models_before_those_of_baselines(store: Store) -> None:
    baseline = write_run(store, "reference", twice(SUCCESS), model="reference")
    model = write_run(store, "m", twice(RULE, RULE), model="lab/m")
    for run in (baseline, model):
        for number in range(5):
            film(store, run, number)
    site = Site(store, Found(Board(None).refresh(store)), lambda run: read_detail(store, run))
    watch = front.filmed(site)
    assert [(item.agent, item.outcome) for item in watch] == [
        ("lab/m", "failure"), ("lab/m", "failure"), ("reference", "success"), ("reference", "success")
    ]  # fmt: skip
    page = html_of(front.build(site, watch))
    for item in watch:
        assert f'href="?run={item.run}&amp;attempt={item.sequence}"' in page
    assert "Watch" not in html_of(front.build(site))
