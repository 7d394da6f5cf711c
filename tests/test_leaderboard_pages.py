"""The pages over a real store: what a reader sees, and what stands there when there is nothing to see."""

from __future__ import annotations

import html
import os
import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

if "leaderboard" not in os.environ.get("ASSAY_REQUIRE", ""):
    pytest.importorskip("streamlit", reason="left out, needs streamlit: `make test-leaderboard` installs it")

from incident_board import board
from leaderboard_records import FAULT, QUIT, RULE, SUCCESS, twice, write_run
from streamlit.testing.v1 import AppTest

from leaderboard.app import __file__ as APP
from manifests.demo import FOLDER
from manifests.load import load
from manifests.records import Usage
from runner.imports.ledger import Source, import_ledger
from runner.incidents import confirm, reject, reviewer
from runner.score import score_run
from runner.store.leases import Owner
from runner.store.store import Store

DEMO = FOLDER / "gpt-6-astra.csv"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    return Store(tmp_path / "home")


def visit(**parameters: Any) -> AppTest:
    app = AppTest.from_file(APP, default_timeout=60)
    for name, value in parameters.items():
        app.query_params[name] = str(value)
    app.run()
    assert not app.exception, app.exception
    return app


def shown(app: AppTest) -> str:
    """The page as HTML, without its style sheet."""
    bodies = [element.proto.body for element in app.get("html")]
    return "\n".join(body for body in bodies if not body.lstrip().startswith("<style"))


def words(app: AppTest) -> str:
    """The page as a reader sees it."""
    return spoken(shown(app))


def spoken(part: str) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", part))).strip()


def lines(app: AppTest, caption: str) -> list[str]:
    """The rows of a table, as words."""
    found = re.search(rf"<caption>{re.escape(caption)}.*?</table>", shown(app), flags=re.DOTALL)
    if found is None:
        return []
    body = found.group(0).split("<tbody>")[1]
    return [spoken(row) for row in body.split("<tr>")[1:]]


# -- ranking


def test_complete_official_runs_are_ranked_by_the_last_metric_and_equal_ones_share_a_rank(store: Store) -> None:
    write_run(store, "best", twice(SUCCESS), model="best", subset="ep-launch")
    write_run(store, "none-a", twice(QUIT, QUIT), model="noop", subset="ep-launch")
    write_run(store, "none-b", twice(RULE, RULE), model="random", subset="ep-launch")
    write_run(store, "second", twice(RULE, SUCCESS), model="second", subset="ep-launch")
    rows = lines(visit(view="ranking"), "Ranked")
    # best and second both reach 100 % Pass@2; Pass@1 puts best first.
    assert [row.split()[:2] for row in rows] == [["1", "best"], ["2", "second"], ["3", "noop"], ["3", "random"]]
    assert "100.00 % 95 %: 100.00 to 100.00; 136 of 136 conditions" in rows[0]
    assert "34 of 34 groups" in rows[0]
    assert "272 scored" in rows[2]


def test_a_partial_run_has_bounds_and_no_rank_and_no_mean(store: Store) -> None:
    def play(environment_id: str, condition: int, ordinal: int) -> Any:
        return SUCCESS if environment_id.endswith("A007") and ordinal == 1 else None

    write_run(store, "early", play, model="early", subset="ep-launch")
    app = visit(view="ranking")
    assert lines(app, "Ranked") == []
    (row,) = lines(app, "Partial: bounds, no rank")
    assert row.startswith("– early early no rank: 33 of 34 groups are partial")
    assert "2.94 to 100.00 % bounds; 4 of 4 known, 136 conditions planned" in row
    assert "No run of this setting has a rank yet." in words(app)
    assert 'class="figure"' not in shown(app)


def test_a_run_of_an_unofficial_runtime_is_marked_and_has_no_rank(store: Store) -> None:
    write_run(store, "local", twice(SUCCESS), model="local", subset="ep-launch", runtime="bubblewrap")
    app = visit(view="ranking")
    (row,) = lines(app, "Complete, without a rank")
    assert "runtime bubblewrap is not official" in row
    assert "bubblewrap not official" in row


@pytest.mark.parametrize(
    "other",
    [
        {"subset": "ep-launch"},
        {"protocol": "single"},
        {"level": "L3"},
        {"tasks": "marble/dual-panda/A007"},
        {"settings": {"profile": "native"}},
        {"settings": {"versions": {"assay": "9"}}},
        {"settings": {"seed": 1}},
        {"settings": {"grants": ["reference-kit"]}},
    ],
)
def test_runs_of_two_settings_never_share_a_table(store: Store, other: dict[str, Any]) -> None:
    write_run(store, "one", twice(QUIT, QUIT))
    write_run(store, "two", twice(QUIT, QUIT), **other)
    page = shown(visit(view="ranking"))
    assert page.count('<section class="standing"') == 2
    for section in page.split('<section class="standing"')[1:]:
        assert ("?run=one" in section) != ("?run=two" in section)


def test_a_filter_in_the_address_narrows_the_settings_and_an_unknown_value_does_not(store: Store) -> None:
    write_run(store, "smoke-run", twice(QUIT, QUIT))
    write_run(store, "launch-run", twice(QUIT, QUIT), subset="ep-launch")
    page = shown(visit(view="ranking", subset="smoke"))
    assert "?run=smoke-run" in page
    assert "?run=launch-run" not in page
    assert "?run=launch-run" in shown(visit(view="ranking", subset="nonsense"))


def test_choosing_a_filter_puts_it_into_the_address(store: Store) -> None:
    write_run(store, "smoke-run", twice(QUIT, QUIT))
    write_run(store, "launch-run", twice(QUIT, QUIT), subset="ep-launch")
    app = visit(view="ranking")
    app.selectbox(key="subset").select("ep-launch").run()
    assert "?run=smoke-run" not in shown(app)


def test_the_page_prints_the_numbers_of_the_score_command(store: Store) -> None:
    def play(environment_id: str, condition: int, ordinal: int) -> Any:
        good = (int(environment_id[-2:]) + condition) % 3 == ordinal % 3
        return (
            None
            if ordinal > 2 or (ordinal == 2 and (int(environment_id[-2:]) + condition) % 3 == 1)
            else (SUCCESS if good else RULE)
        )

    run = write_run(store, "mixed", play, model="mixed", subset="ep-launch")
    report = score_run(store, run, load())
    (row,) = lines(visit(view="ranking"), "Ranked")
    for metric in ("pass_at_1", "pass_at_2"):
        rate = report["total"]["metrics"][metric]
        low, high = (f"{100 * bound:.2f}" for bound in rate["balanced"]["interval"])
        count = f"{rate['successes']} of {rate['planned']} conditions"
        assert f"{rate['balanced']['percent']} % 95 %: {low} to {high}; {count}" in row


def test_a_run_that_cannot_be_scored_is_shown_with_the_reason(store: Store) -> None:
    write_run(store, "odd", twice(QUIT), settings={"subset": "ep-2000"})
    write_run(store, "fine", twice(QUIT, QUIT))
    app = visit(view="ranking")
    (row,) = lines(app, "Not scored, with the reason")
    assert row.startswith("odd")
    assert "subset 'ep-2000' is unknown" in row
    assert "?run=fine" in shown(app)
    assert "subset 'ep-2000' is unknown" in words(visit(run="odd"))


# -- run


def test_the_matrix_has_every_planned_condition_and_links_to_every_attempt(store: Store) -> None:
    def play(environment_id: str, condition: int, ordinal: int) -> Any:
        if environment_id.endswith("A026"):
            return None
        return twice(RULE, SUCCESS)(environment_id, condition, ordinal)

    run = write_run(store, "r", play)
    page = visit(run="r")
    rows = lines(page, "Environments by condition")
    assert len(rows) == 3
    assert rows[0].count("✓ success") == 4
    assert rows[0].endswith("4 of 4")
    assert rows[2].count("– missing") == 4
    assert rows[2].endswith("0 of 4 partial")
    for attempt in store.attempts(run):
        assert f"?run=r&amp;attempt={attempt.sequence}" in shown(page)


def test_every_attempt_has_its_eligibility_with_the_reason_and_its_clause(store: Store) -> None:
    write_run(store, "r", twice(RULE, FAULT))
    page = visit(run="r")
    rows = lines(page, "Attempts 2 to ")
    assert len(rows) == 24
    assert "failure RULE interlock.launch scored valid attempt 1 of at most 2: failure RULE" in rows[0]
    assert "candidate incident candidate (container_fault), neither confirmed nor rejected" in rows[1]
    (failures,) = lines(page, "Scored failures by code and clause")
    assert failures.startswith("RULE A rule of the task was broken")
    assert failures.endswith("interlock.launch 12 of 12")


def test_attempts_are_paged(store: Store) -> None:
    write_run(store, "r", twice(QUIT, QUIT), subset="ep-launch")
    assert len(lines(visit(run="r"), "Attempts ")) == 200
    assert len(lines(visit(run="r", page=2), "Attempts ")) == 72
    assert len(lines(visit(run="r", page="no"), "Attempts ")) == 200
    assert '<span aria-current="page">2</span>' in shown(visit(run="r", page=99))


def test_a_damaged_ledger_is_said_so_in_words(store: Store) -> None:
    write_run(store, "r", twice(QUIT))
    write_run(store, "whole", twice(QUIT))
    with sqlite3.connect(store.home / "assay.sqlite") as raw:
        raw.execute(
            "UPDATE entry SET payload = replace(payload, 'quit', 'goal') "
            "WHERE sequence = 4 AND run_id = (SELECT id FROM run WHERE name = 'r')"
        )
    page = words(visit(run="r"))
    assert "The ledger of this run is damaged. entry 4 was changed" in page
    assert "hash chain broken" in page
    assert "hash chain intact" in words(visit(run="whole"))


def test_new_records_appear_on_the_next_visit(store: Store) -> None:
    run = write_run(store, "r", lambda *_: None)
    assert "0 attempts" in words(visit(run="r"))
    store.open_attempt(run, "marble/dual-panda/A007", 0, Owner.current())
    assert "1 attempts at the tasks of the selection: 1 pending" in words(visit(run="r"))


# -- episode


def test_an_attempt_shows_its_verdict_with_the_clause_as_the_agent_was_told_it(store: Store) -> None:
    write_run(store, "r", twice(RULE), usage=Usage(tokens_input=262960, tokens_cached=257955, tokens_output=1744))
    page = words(visit(run="r", attempt=2))
    assert "Single-target warm-up" in page
    assert "Outcome ✕ failure" in page
    assert "scored : valid attempt 1 of at most 2: failure RULE" in page
    assert "launched before the aiming cycle was complete" in page
    assert "interlock.launch No launch before the aiming cycle is complete." in page
    assert "11.46 s of simulated time" in page
    assert "264,704 of 30,000,000; input 262,960, of it cached 257,955, output 1,744" in page
    assert "Cost unknown" in page
    assert "actions.npy" in page


def test_unknown_usage_is_unknown_and_not_zero(store: Store) -> None:
    write_run(store, "r", twice(QUIT))
    assert "Tokens unknown of 30,000,000; input unknown, of it cached unknown, output unknown" in words(
        visit(run="r", attempt=2)
    )


def test_a_rejected_incident_shows_its_ruling_and_what_was_recorded(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifests, who = board(tmp_path)
    monkeypatch.setattr("leaderboard.source.load", lambda: manifests)
    run = write_run(store, "r", twice(FAULT))
    attempt = store.attempts(run)[0]
    confirm(store, run, attempt.sequence, manifests, reviewer("the lab", None, manifests), "please exclude it")
    reject(store, run, attempt.sequence, manifests, who, "the agent killed it", "quit")
    page = words(visit(run="r", attempt=attempt.sequence))
    assert "Outcome ✕ failure" in page
    assert "infrastructure fault claimed and rejected" in page
    assert "invalid, container_fault, ERR" in page
    assert "rejected by the board (ledger entry" in page
    assert "the agent killed it" in page
    assert "Proposal, does not bind confirmed by the lab" in page


def test_a_withdrawn_run_stands_apart_with_its_reason(store: Store) -> None:
    run = write_run(store, "r", twice(SUCCESS), subset="ep-launch")
    store.withdraw_run(run, "the lab", "the wrong checkpoint")
    (line,) = lines(visit(view="ranking"), "Withdrawn")
    assert line.startswith("– noop withdrawn r no rank: withdrawn ")
    assert "by the lab: the wrong checkpoint" in line
    page = words(visit(run="r"))
    assert "This run has no rank. withdrawn " in page
    assert "by the lab: the wrong checkpoint" in page


@pytest.mark.parametrize("kind", ["published", "reconstructed", "external"])
def test_attempts_made_elsewhere_are_marked_so_and_have_no_rank(store: Store, kind: str) -> None:
    import_ledger(store, DEMO, Source("gpt-6-astra", kind, "ep-100", "pass2", "GPT-6-Astra"), load())
    (line,) = lines(visit(view="ranking"), "Complete, without a rank")
    assert line.startswith(f"– GPT-6-Astra {kind} gpt-6-astra no rank: {kind}: ")
    assert "19.94 %" in line
    assert "elsewhere not official" in line
    assert "736 scored 69 excluded 41 extra" in line
    page = words(visit(run="gpt-6-astra"))
    assert f"GPT-6-Astra {kind}" in page
    assert "846 attempts at the tasks of the selection: 736 scored, 69 excluded, 41 extra." in page
    attempt = words(visit(run="gpt-6-astra", attempt=12))
    assert "This attempt was made elsewhere." in attempt
    assert "There is no record of it, only what its file says." in attempt


def test_a_stale_score_is_marked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(store, "r", twice(SUCCESS))
    found = load()
    engine = found.engines["mujoco"].model_copy(update={"evaluator": 2})
    raised = replace(found, engines={**found.engines, "mujoco": engine})
    monkeypatch.setattr("leaderboard.source.load", lambda: raised)
    text = "stale: the version of the evaluator of mujoco was 1 and is now 2"
    assert text in words(visit(view="ranking"))
    page = words(visit(run="r"))
    assert "noop stale" in page
    assert text in page


def test_an_attempt_without_a_record_says_where_it_stands(store: Store) -> None:
    run = write_run(store, "r", lambda *_: None)
    row = store.open_attempt(run, "marble/dual-panda/A007", 0, Owner.current())
    assert "It was opened and has not begun." in words(visit(run="r", attempt=row.sequence))
    store.begin_attempt(run, row.id)
    assert "It began and has not ended." in words(visit(run="r", attempt=row.sequence))


def test_what_an_agent_wrote_is_shown_and_not_obeyed(store: Store, tmp_path: Path) -> None:
    attack = "<script>alert(1)</script>\x1b[2J\u202e " + str(tmp_path / "home" / "x.py") + " sk-0123456789abcdefghij"
    ending = replace(RULE, text=attack, clause=attack, data={attack: attack, "clause_text": attack})
    model = "<img src=x onerror=alert(1)>"
    write_run(store, "r", twice(ending), model=model, parameters={"api_key": "abc123", "note": attack})
    for page in (visit(), visit(view="ranking"), visit(view="failures"), visit(run="r"), visit(run="r", attempt=2)):
        body = shown(page)
        assert "<script" not in body
        assert "<img src=x" not in body
        assert not set("\x1b\u202e") & set(body)
        for secret in ("sk-0123456789", "abc123", str(tmp_path)):
            assert secret not in body
    assert "\\x1b[2J" in body


# -- overview


def test_the_overview_tells_of_the_largest_complete_selection_while_nobody_has_a_rank(store: Store) -> None:
    write_run(store, "smoke", twice(SUCCESS), runtime="process")
    import_ledger(store, DEMO, Source("gpt-6-astra", "reconstructed", "ep-100", "pass2", "GPT-6-Astra"), load())
    page = words(visit())
    assert "No run of this setting has a rank yet. GPT-6-Astra (reconstructed) has 19.94 % Pass@2" in page
    assert "60 of 100 tasks are solved under no condition by the only run." in page  # the text: 40 tasks within two


def test_the_overview_says_whether_the_lead_is_sure(store: Store) -> None:
    write_run(store, "best", twice(SUCCESS), model="best", subset="ep-launch")
    write_run(store, "none", twice(QUIT, QUIT), model="none", subset="ep-launch")
    page = words(visit())
    assert "best leads with 100.00 % Pass@2 (95 %: 100.00 to 100.00; 136 of 136 conditions)." in page
    assert "the intervals do not overlap" in page


# -- nothing to show


@pytest.mark.parametrize("home", ["missing", "empty folder", "no run"])
def test_without_a_run_the_page_says_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    if home != "missing":
        (tmp_path / "home").mkdir()
    if home == "no run":
        Store(tmp_path / "home").close()
    page = words(visit(view="ranking"))
    assert "No runs yet" in page
    assert "make evaluate MODEL=reference SUBSET=smoke" in page
    assert str(tmp_path) not in page
    assert (tmp_path / "home").exists() is (home != "missing")


def test_a_locked_store_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.store.database.READER_TIMEOUT_S", 0.05)
    write_run(store, "r", twice(QUIT))
    store.close()
    holder = sqlite3.connect(store.home / "assay.sqlite", isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    page = words(visit(view="ranking"))
    assert "The store is in use" in page
    assert str(store.home) not in page
    holder.close()


def test_a_store_of_a_newer_schema_says_so(store: Store) -> None:
    with sqlite3.connect(store.home / "assay.sqlite") as raw:
        raw.execute("UPDATE alembic_version SET version_num = '0999'")
    page = words(visit(view="ranking"))
    assert "The store is of another version" in page
    assert "update this checkout" in page
    assert str(store.home) not in page


@pytest.mark.parametrize("content", [b"no database" * 1000, b"SQLite format 3\x00" + b"\xee" * 8000])
def test_a_damaged_store_says_so_without_naming_the_folder(store: Store, content: bytes) -> None:
    store.close()
    for path in store.home.glob("assay.sqlite*"):
        path.unlink()
    (store.home / "assay.sqlite").write_bytes(content)
    page = words(visit(view="ranking"))
    assert "The store cannot be read" in page
    assert str(store.home) not in page


def test_a_wrong_address_of_the_store_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_STORE", "mysql://root:secret@host/db")
    page = words(visit(view="ranking"))
    assert "The store has no valid address" in page
    assert "secret" not in page


def test_an_unknown_run_and_an_unknown_attempt_have_a_page(store: Store) -> None:
    write_run(store, "r", twice(QUIT))
    assert "This store has no run named <b>x</b>" in words(visit(run="<b>x</b>"))
    assert "has no attempt with the sequence number 9999" in words(visit(run="r", attempt=9999))


def test_the_pages_write_nothing(store: Store) -> None:
    write_run(store, "r", twice(QUIT))
    store.close()
    before = (store.home / "assay.sqlite").read_bytes()
    for parameters in ({}, {"run": "r"}, {"run": "r", "attempt": 2}):
        visit(**parameters)
    assert (store.home / "assay.sqlite").read_bytes() == before
    assert [path.name for path in store.home.iterdir() if path.stat().st_size and path.suffix != ".sqlite-shm"] == [
        "assay.sqlite"
    ]
