"""The quick look at a run agrees with the store's own check, whatever was changed in the database."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from incident_board import LATE_FAULT, board, one_condition
from leaderboard_records import FAULT, QUIT, RULE, SUCCESS, twice, write_run

from bench.leaderboard_store import write
from leaderboard.board import Board
from leaderboard.intact import damage
from leaderboard.source import Unscored
from manifests.demo import FOLDER
from manifests.load import load
from runner.imports.ledger import Source, import_ledger
from runner.incidents import confirm, reject, reviewer
from runner.store.database import Damaged
from runner.store.leases import Owner
from runner.store.store import Run, Store

TABLES = ("entry", "attempt")


@pytest.fixture(scope="module")
def every_kind(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, list[Run]]:
    """Runs with every kind of ledger entry: proposals, decisions, a ruling, attempts that are open or were resumed, a
    withdrawal, an imported ledger."""
    folder = tmp_path_factory.mktemp("intact")
    store, (manifests, who) = Store(folder / "home"), board(folder)
    decided = one_condition(store, "decided", LATE_FAULT, LATE_FAULT)
    one, two = (row.sequence for row in store.attempts(decided))
    confirm(store, decided, one, manifests, reviewer("the lab", None, manifests), "please exclude it")
    confirm(store, decided, one, manifests, who, "the cable was out")
    reject(store, decided, two, manifests, who, "the agent killed it", "quit")
    mixed = write_run(store, "mixed", lambda e, c, n: twice(*((SUCCESS,), (RULE, QUIT), (FAULT,), ())[c])(e, c, n))
    opened = store.open_attempt(mixed, "marble/dual-panda/A007", 3, Owner.current())
    store.resume_attempt(mixed, opened.id, Owner.current())
    store.begin_attempt(mixed, opened.id)
    store.open_attempt(mixed, "marble/dual-panda/A007", 3, Owner.current())
    withdrawn = write_run(store, "withdrawn", twice(QUIT))
    store.withdraw_run(withdrawn, "the lab", "the wrong checkpoint")
    astra = Source("astra", "reconstructed", "ep-100", "pass2", "GPT-6-Astra")
    imported = import_ledger(store, FOLDER / "gpt-6-astra.csv", astra, load())[0]
    return store, [decided, mixed, store.find_run("withdrawn") or withdrawn, imported]


def words_of_the_store(store: Store, run: Run) -> str | None:
    try:
        store.check_intact(run)
    except Damaged as error:
        return str(error).removeprefix(f"run {run.name}: ")
    except (ValueError, AttributeError, KeyError, TypeError):  # it cannot even be read
        return "an entry of its ledger cannot be read: restore the store from a backup"
    return None


def test_a_run_of_any_kind_of_entry_is_sound_without_asking_the_store(
    every_kind: tuple[Store, list[Run]], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, runs = every_kind

    def asked(run: Run) -> None:
        raise AssertionError(f"the quick look at {run.name} was in doubt")

    monkeypatch.setattr(store, "check_intact", asked)
    assert [damage(store, run) for run in runs] == [None] * len(runs)


@settings(max_examples=25)
@given(which=st.integers(0, 3), table=st.sampled_from(TABLES), place=st.integers(0, 10**6), column=st.integers(0, 20))
def test_any_change_of_a_row_is_found_and_told_in_the_words_of_the_store(
    every_kind: tuple[Store, list[Run]], which: int, table: str, place: int, column: int
) -> None:
    store, runs = every_kind
    run = runs[which]
    with closing(sqlite3.connect(store.home / "assay.sqlite")) as raw:
        keys = [row[0] for row in raw.execute(f"SELECT rowid FROM {table} WHERE run_id = ? ORDER BY 1", [run.id])]
        names = [row[1] for row in raw.execute(f"PRAGMA table_info({table})") if row[1] != "run_id"]
        key, name = keys[place % len(keys)], names[column % len(names)]
        (before,) = raw.execute(f"SELECT {name} FROM {table} WHERE rowid = ?", [key]).fetchone()
        try:
            raw.execute(f"UPDATE {table} SET {name} = ? WHERE rowid = ?", [_other(before, name), key])
            raw.commit()
            found, told = damage(store, run), words_of_the_store(store, run)
        finally:
            raw.execute(f"UPDATE {table} SET {name} = ? WHERE rowid = ?", [before, key])
            raw.commit()
    assert found == told
    assert found is not None
    assert damage(store, run) is None


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("which", range(4))
def test_a_row_that_was_deleted_is_found(every_kind: tuple[Store, list[Run]], table: str, which: int) -> None:
    store, runs = every_kind
    run = runs[which]
    with closing(sqlite3.connect(store.home / "assay.sqlite")) as raw:
        row = raw.execute(f"SELECT * FROM {table} WHERE run_id = ? ORDER BY rowid DESC LIMIT 1", [run.id]).fetchone()
        cut = f"DELETE FROM {table} WHERE rowid = (SELECT max(rowid) FROM {table} WHERE run_id = ?)"
        raw.execute(cut, [run.id])
        raw.commit()
        found = damage(store, run)
        raw.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        raw.commit()
    assert found is not None
    assert damage(store, run) is None


def _other(value: Any, name: str) -> Any:
    if name in ("time", "opened_at", "began_at", "closed_at"):
        return "2020-01-01 00:00:00.000000"
    if isinstance(value, int):
        return value + 100_000
    return "x" if value is None else f"{value[:-1]}{'1' if value[-1] != '1' else '2'}"


def test_a_file_of_another_size_and_a_folder_that_the_ledger_does_not_have_are_found(store: Store) -> None:
    run = write_run(store, "r", twice(QUIT))
    folder = store.attempt_folder(run, store.attempts(run)[3].id).final
    (folder / "actions.npy").write_bytes(b"short")
    assert damage(store, run) == (
        "attempt 11: its file actions.npy has 5 bytes, and its record says 25: restore the folder of the run from a "
        "backup"
    )
    (folder / "actions.npy").unlink()
    assert "attempt 11: its file actions.npy is missing" in str(damage(store, run))
    stranger = store.folder(run) / ("0" * 32)
    folder.rename(stranger)
    assert "holds an attempt that the ledger does not have" in str(damage(store, run))


def test_the_store_of_the_bench_is_a_sound_one(tmp_path: Path) -> None:
    store = write(tmp_path / "home", 1)
    (run,) = store.runs()
    store.check_intact(run)
    assert damage(store, run) is None


def test_several_processes_find_what_one_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaderboard.workers.MANY", 3)
    store = Store(tmp_path / "home")
    small = [write_run(store, f"r-{number}", twice(QUIT)) for number in range(3)]
    with closing(sqlite3.connect(store.home / "assay.sqlite")) as raw, raw:
        raw.execute("UPDATE attempt SET outcome = 'success' WHERE sequence = 2 AND run_id = ?", [small[1].id])
    reader = Store(tmp_path / "home", read_only=True)
    together, alone = Board(tmp_path / "one.sqlite"), Board(None)
    found = together.refresh(reader, jobs=2)
    assert found == alone.refresh(reader)
    assert [item.run.name for item in found if isinstance(item, Unscored) and item.damaged] == ["r-1"]
    with closing(sqlite3.connect(store.home / "assay.sqlite")) as raw, raw:
        raw.execute("UPDATE attempt SET outcome = 'failure' WHERE sequence = 2 AND run_id = ?", [small[1].id])
        raw.execute("UPDATE attempt SET outcome = 'success' WHERE sequence = 2 AND run_id = ?", [small[2].id])
    again = together.refresh(reader, jobs=2)
    assert [item.run.name for item in again if isinstance(item, Unscored)] == ["r-2"]
