"""The pages when something is the matter: a damaged run, a half-finished import, a store that cannot be read or holds
nothing."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

if "leaderboard" not in os.environ.get("ASSAY_REQUIRE", ""):
    pytest.importorskip("streamlit", reason="left out, needs streamlit: `make test-leaderboard` installs it")

from leaderboard_records import QUIT, SUCCESS, twice, write_run
from leaderboard_visit import lines, visit, words

from runner.store.store import Store

OF_R = "run_id = (SELECT id FROM run WHERE name = 'r')"
ROW = f"UPDATE attempt SET outcome = 'success' WHERE sequence = 2 AND {OF_R}"
DAMAGE = {
    "an entry was edited": (
        f"UPDATE entry SET payload = replace(payload, 'quit', 'goal') WHERE sequence = 4 AND {OF_R}",
        "its ledger is damaged (entry 4 was changed: its hash does not match its content)",
    ),
    "a row was edited": (ROW, "outcome is 'success' in the table and 'failure' in the ledger"),
    "the model was renamed": (
        "UPDATE run SET settings = replace(settings, 'lab/r', 'lab/x') WHERE name = 'r'",
        "its settings are not those in the first entry of its ledger",
    ),
    "the settings are no JSON": (
        "UPDATE run SET settings = 'not json' WHERE name = 'r'",
        "its settings are not those in the first entry of its ledger",
    ),
    "the time of its making is none": (
        "UPDATE run SET created_at = 'rubbish' WHERE name = 'r'",
        "what its row has for a time is none: restore the store from a backup",
    ),
    "a withdrawal is no JSON": (
        "UPDATE run SET withdrawn = '[', withdrawn_at = created_at WHERE name = 'r'",
        "whether it is withdrawn is not what its ledger says",
    ),
    "an artifact is missing": (None, "attempt 2: its file actions.npy is missing"),
}


def spoil(store: Store, change: str) -> None:
    """Change the database behind the back of the store."""
    with sqlite3.connect(store.home / "assay.sqlite") as raw:
        raw.execute(change)


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_numbers_of_a_damaged_run_are_withheld_everywhere(
    store: Store, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leaderboard.board.TURN_S", 60.0)  # a visit looks at both runs, however busy the machine is
    run = write_run(store, "r", twice(QUIT), model="lab/r")
    write_run(store, "whole", twice(SUCCESS), model="lab/whole")
    change, why = DAMAGE[damage]
    if change is None:
        (store.attempt_folder(run, store.attempts(run)[0].id).final / "actions.npy").unlink()
    else:
        assert "lab/r" in words(visit(view="ranking"))
        spoil(store, change)
    for parameters in ({}, {"view": "ranking"}):
        page = words(visit(**parameters))
        assert "A run of this store is damaged. What is stored of r contradicts itself" in page
        assert "lab/r" not in page
        assert "lab/whole" in page
    (row,) = lines(visit(view="ranking"), "Numbers withheld, with the reason")
    assert row.startswith("r ")
    assert why in row
    for parameters in ({"run": "r"}, {"run": "r", "attempt": "2"}):
        page = words(visit(**parameters))
        assert "This run is damaged." in page
        assert why in page
        assert "Verdict" not in page
        assert "%" not in page
        assert str(store.home) not in page
    assert "hash chain, attempts and files hold" in words(visit(run="whole"))


@pytest.mark.parametrize("view", ["suites", "tasks", "compare", "failures"])
def test_a_damaged_run_is_left_out_where_runs_are_chosen(store: Store, view: str) -> None:
    write_run(store, "r", twice(QUIT), model="lab/r")
    write_run(store, "whole", twice(SUCCESS), model="lab/whole")
    assert "lab/r" in words(visit(view=view, runs=["whole", "r"]))
    spoil(store, ROW)
    assert "lab/r" not in words(visit(view=view, runs=["whole", "r"]))


def test_a_run_that_was_mended_has_its_numbers_again(store: Store) -> None:
    write_run(store, "r", twice(QUIT), model="lab/r")
    spoil(store, ROW)
    assert "This run is damaged." in words(visit(run="r"))
    spoil(store, ROW.replace("success", "failure"))
    assert "hash chain, attempts and files hold" in words(visit(run="r"))


def test_a_half_finished_import_leaves_what_is_committed_and_is_said(store: Store) -> None:
    write_run(store, "r", twice(QUIT), model="lab/r")
    assert "An import" not in words(visit(view="ranking"))
    staged = store.home / f".{'a' * 32}.import"  # what a killed import leaves (runner/submission/importing.py)
    (staged / ("b" * 32)).mkdir(parents=True)
    (staged / ".importing").touch()
    for parameters in ({}, {"view": "ranking"}):
        page = words(visit(**parameters))
        assert "lab/r" in page
        assert "An import into this store has not ended." in page
        assert "What is shown is whole without it" in page


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


def test_what_stands_in_place_of_the_database_is_said(store: Store) -> None:
    write_run(store, "r", twice(QUIT))
    store.close()
    for path in store.home.glob("assay.sqlite*"):
        path.unlink()
    page = words(visit(view="ranking"))
    assert "The database is missing" in page
    assert "Restore it from a backup" in page
    (store.home / "assay.sqlite").write_bytes(b"no database" * 1000)
    assert "assay.sqlite is no SQLite database" in words(visit())
    (store.home / "assay.sqlite").unlink()
    (store.home / "assay.sqlite").mkdir()
    page = words(visit())
    assert "assay.sqlite is a folder" in page
    assert "No runs yet" not in page


@pytest.mark.parametrize("view", ["submit", "protocol"])
def test_how_to_take_part_and_the_rules_are_read_whatever_the_store_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, view: str
) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "none"))
    page = words(visit(view=view))
    assert "No runs yet" not in page
    assert {"submit": "What a submission states", "protocol": "Known limitations"}[view] in page


def test_a_wrong_address_of_the_store_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_STORE", "mysql://root:secret@host/db")
    page = words(visit(view="ranking"))
    assert "The store has no valid address" in page
    assert "secret" not in page


def test_an_unknown_run_and_an_unknown_attempt_have_a_page(store: Store) -> None:
    write_run(store, "r", twice(QUIT))
    assert "This store has no run named <b>x</b>" in words(visit(run="<b>x</b>"))
    for number in ("9999", str(2**63), "9" * 5000, "-1", "x"):
        assert f"has no attempt with the ledger sequence {number[:1000]}" in words(visit(run="r", attempt=number))


def test_the_pages_write_nothing(store: Store) -> None:
    write_run(store, "r", twice(QUIT))
    store.close()
    before = (store.home / "assay.sqlite").read_bytes()
    for parameters in ({}, {"run": "r"}, {"run": "r", "attempt": 2}):
        visit(**parameters)
    assert (store.home / "assay.sqlite").read_bytes() == before
    kept = {path.name for path in store.home.iterdir() if path.stat().st_size and path.suffix != ".sqlite-shm"}
    assert kept == {"assay.sqlite", "r"}
