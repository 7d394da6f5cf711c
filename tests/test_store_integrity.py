"""A store that is not whole is named for what it is: no condition is drawn again because something was deleted."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from slider_runtime import Scripted, evaluation
from sqlalchemy import event
from test_cli import assay, one_error

from runner.agents.base import AttemptContext
from runner.evaluate import Evaluation
from runner.store.database import Damaged, StoreError, StoreMissing, make_folder
from runner.store.store import Store

CHOICES = ["--model", "noop", "--subset", "smoke", "--tasks", "marble/dual-panda/A007", "--runtime", "process"]


def again(home: Path) -> Evaluation:
    return evaluation(home, Scripted(lambda context: None), protocol="single")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("finished")
    made = again(home)
    made.run()
    made.store.close()
    return home


@pytest.fixture
def home(finished: Path, tmp_path: Path) -> Path:
    """A finished run ``test`` of two attempts."""
    return Path(shutil.copytree(finished, tmp_path / "home"))


def edit(home: Path, *statements: str) -> None:
    with sqlite3.connect(home / "assay.sqlite") as raw:
        for statement in statements:
            raw.execute(statement)
    raw.close()


def checked(store: Store) -> None:
    """What a command does before it shows a number."""
    run = store.find_run("test")
    assert run is not None
    store.check_intact(run)


def refused(home: Path) -> str:
    made = again(home)
    with pytest.raises(Damaged) as caught:
        made.run()
    run = made.store.find_run("test")
    assert run is not None
    assert len([entry for entry in made.store.entries(run) if entry.kind == "opened"]) <= 2
    made.store.close()
    text = str(caught.value)
    assert text.endswith("restore the store from a backup, or start another run with RUN=...")
    return text


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DELETE FROM attempt WHERE condition = 1", "c1) is in the ledger and not in the table of attempts"),
        (
            "UPDATE attempt SET outcome = 'success' WHERE condition = 0",
            "outcome is 'success' in the table and 'failure'",
        ),
        ("UPDATE attempt SET state = 'opened' WHERE condition = 0", "state is 'opened' in the table and 'closed'"),
        ("UPDATE attempt SET condition = 3 WHERE condition = 0", "condition is 3 in the table and 0 in the ledger"),
        ("UPDATE attempt SET record = replace(record, 'quit', 'goal_met') WHERE condition = 1", "record is "),
    ],
)
def test_a_table_of_attempts_that_is_not_what_the_ledger_says_is_not_gone_on_with(
    home: Path, statement: str, said: str
) -> None:
    edit(home, statement)
    assert said in refused(home)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE entry SET time = 'garbage' WHERE sequence = 3", "'garbage' is stored as a time and is none"),
        ("UPDATE attempt SET opened_at = 'x' WHERE condition = 0", "'x' is stored as a time and is none"),
        ("UPDATE run SET created_at = 'x'", "'x' is stored as a time and is none"),
        *(
            (
                f"UPDATE entry SET payload = '{{\"a\":{'[' * deep}{']' * deep}}}' WHERE sequence = 3",
                "entry 3 was changed: its payload is",
            )
            for deep in (900, 100_000)
        ),
        (
            "UPDATE run SET settings = replace(settings, '\"scripted\"', '\"gpt-9\"')",
            "its settings in the table of runs",
        ),
        ("UPDATE run SET settings = '[]'", "its settings are not JSON"),
        (f"UPDATE run SET settings = '{'[' * 100_000}'", "its settings are not JSON (is nested too deeply)"),
        ("UPDATE run SET withdrawn = '{}', withdrawn_at = created_at", "its tombstone holds no reviewer and reason"),
        (
            'UPDATE run SET withdrawn = \'{"reason":"x","reviewer":"y"}\', withdrawn_at = created_at',
            "whether it is withdrawn is in the table of runs not what its ledger says",
        ),
    ],
    ids=lambda value: str(value)[:50],
)
def test_whatever_is_edited_in_the_database_is_one_line_before_any_number(
    home: Path, statement: str, said: str
) -> None:
    edit(home, statement)
    store = Store(home)
    with pytest.raises(Damaged) as caught:
        checked(store)
    assert said in str(caught.value)
    assert "restore the store from a backup" in str(caught.value)
    store.close()


def test_a_run_whose_tombstone_was_taken_away_gives_no_number(home: Path) -> None:
    store = Store(home)
    run = store.find_run("test")
    assert run is not None
    store.withdraw_run(run, "the board", "of ours")
    store.check_intact(run)
    store.close()
    edit(home, "UPDATE run SET withdrawn = NULL, withdrawn_at = NULL")
    store = Store(home)
    with pytest.raises(Damaged, match="whether it is withdrawn is in the table of runs not what its ledger says"):
        store.check_intact(run)
    store.close()


def test_a_run_is_checked_by_reading_its_ledger_once(home: Path) -> None:
    store = Store(home)
    run = store.find_run("test")
    assert run is not None
    statements: list[str] = []
    event.listen(store.database.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    store.check_intact(run)
    assert sum("FROM entry" in statement for statement in statements) == 1
    store.close()


def test_an_attempt_that_no_ledger_knows_is_not_gone_on_with(home: Path) -> None:
    edit(
        home,
        "INSERT INTO attempt SELECT 'x' || substr(id, 2), run_id, sequence + 100, environment_id, condition, state, "
        "opened_at, began_at, closed_at, outcome, cause, code, incident, record, decisions, ruling "
        "FROM attempt LIMIT 1",
    )
    assert "is in the table of attempts and not in the ledger" in refused(home)


def test_a_ledger_whose_end_was_cut_off_is_told_by_the_folders_of_its_attempts(home: Path) -> None:
    edit(home, "DELETE FROM entry WHERE sequence > 4", "DELETE FROM attempt WHERE condition = 1")
    assert "holds an attempt that the ledger does not have" in refused(home)


def test_a_run_that_was_not_touched_goes_on(home: Path) -> None:
    made = again(home)
    run = made.run()
    assert made.store.diverged(run) is None
    made.store.close()


@pytest.mark.parametrize("empty", [True, False])
@pytest.mark.parametrize("read_only", [True, False])
def test_a_ledger_that_is_gone_beside_its_attempts_does_not_begin_anew(
    home: Path, empty: bool, read_only: bool
) -> None:
    path = home / "assay.sqlite"
    path.unlink()
    if empty:
        path.touch()
    with pytest.raises(
        StoreError, match=rf"it is {'empty' if empty else 'missing'}, but .* holds the attempts of test"
    ):
        Store(home, read_only=read_only)
    assert path.exists() is empty
    shutil.rmtree(home / "test")
    Store(home).close()


@pytest.mark.parametrize("replaced", [True, False])
def test_a_store_that_is_removed_while_a_run_uses_it_ends_the_run_in_one_line(tmp_path: Path, replaced: bool) -> None:
    path = tmp_path / "assay.sqlite"

    def act(context: AttemptContext) -> None:
        path.unlink()
        if replaced:
            path.touch()

    made = evaluation(tmp_path, Scripted(act), protocol="single")
    with pytest.raises(StoreError, match="it was removed or replaced while it was in use: restore it from a backup"):
        made.run()
    made.store.close()


def test_an_empty_file_alone_is_a_new_store(tmp_path: Path) -> None:
    (tmp_path / "assay.sqlite").touch()
    store = Store(tmp_path)
    assert store.runs() == []
    store.close()


@pytest.mark.parametrize("kept", ["run", "lease"])
def test_a_migration_that_did_not_end_is_one_line_about_the_file(home: Path, kept: str) -> None:
    edit(home, "DELETE FROM alembic_version", *(f"DROP TABLE {name}" for name in {"attempt", "entry"} - {kept}))
    with pytest.raises(StoreError) as caught:
        Store(home)
    assert "it has tables but no schema version, as after a migration that did not end" in str(caught.value)
    assert "move it away" in str(caught.value)


def test_a_table_that_is_gone_is_one_line_about_the_file(home: Path) -> None:
    edit(home, "DROP TABLE attempt")
    store = Store(home)
    run = store.find_run("test")
    assert run is not None
    with pytest.raises(StoreError, match="no such table: attempt: it is not whole: restore it from a backup"):
        store.attempts(run)
    store.close()


def test_a_version_table_without_anything_is_filled(tmp_path: Path) -> None:
    edit(tmp_path, "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
    store = Store(tmp_path)
    assert store.runs() == []
    store.close()


def test_a_folder_that_cannot_be_made_is_named_with_what_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below" / "it"):
        with pytest.raises(StoreError, match=rf"{tmp_path}/file is a file and no folder: set ASSAY_HOME to a folder"):
            make_folder(path)
    with pytest.raises(StoreError, match=r"store /proc/assay: .*: set ASSAY_HOME to a folder that you can write"):
        make_folder(Path("/proc/assay"))


# ---- a store on a read-only mount ---------------------------------------------------------------------------------


def read_only(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", str(home), str(home), "--", sys.executable, "-m"]
    return subprocess.run(
        [*command, "runner.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={"ASSAY_HOME": str(home), "PATH": os.environ["PATH"], "OPENBLAS_NUM_THREADS": "1"},
    )


@pytest.mark.bubblewrap
def test_every_command_that_reads_works_on_a_read_only_mount(tmp_path: Path) -> None:
    assay(tmp_path, "evaluate", *CHOICES, "--run", "r", "--protocol", "single", check=0)
    for command in (["score", "r"], ["runs"], ["episode", "r", "2"], ["incidents", "list", "r"], ["tasks"]):
        expected = assay(tmp_path, *command, check=0).stdout
        done = read_only(tmp_path, *command)
        assert (done.returncode, done.stdout) == (0, expected), done.stderr
    assert not list(tmp_path.glob("assay.sqlite-*"))
    (tmp_path / "assay.sqlite-wal").touch()  # without a word in it
    assert read_only(tmp_path, "score", "r").returncode == 0


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    "command",
    [["evaluate", *CHOICES, "--run", "r", "--protocol", "single"], ["runs", "withdraw", "r", "--reason", "x"]],
)
def test_a_command_that_writes_says_on_a_read_only_mount_what_to_do(tmp_path: Path, command: list[str]) -> None:
    assay(tmp_path, "evaluate", *CHOICES, "--run", "r", "--protocol", "single", check=0)
    done = read_only(tmp_path, *command)
    assert done.returncode == 1
    assert "make the file and its folder writable, or set ASSAY_HOME" in one_error(done)


@pytest.mark.bubblewrap
def test_a_log_that_cannot_be_merged_on_a_read_only_mount_is_not_passed_over(home: Path) -> None:
    log = home / "assay.sqlite-wal"
    with sqlite3.connect(home / "assay.sqlite") as raw:
        raw.execute("PRAGMA wal_autocheckpoint = 0")
        raw.execute("CREATE TABLE late (x)")
        raw.commit()
        kept = log.read_bytes()
    raw.close()
    log.write_bytes(kept)
    text = one_error(read_only(home, "runs"))
    assert "its last entries stand in the -wal file beside it: copy the folder to where it can be written" in text


def test_a_reader_of_a_place_without_a_store_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing, match="does not exist: record a run first, or set ASSAY_HOME"):
        Store(tmp_path, read_only=True)


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (["DELETE FROM attempt WHERE condition = 0"], "is in the ledger and not in the table of attempts"),
        (["UPDATE attempt SET record = '{'"], "record is '{' in the table"),
        (
            ["DELETE FROM entry WHERE kind = 'closed' AND sequence = (SELECT max(sequence) FROM entry)"],
            "state is 'closed'",
        ),
        (["UPDATE entry SET payload = replace(payload, 'quit', 'goal_met')"], "its ledger is damaged"),
        (["DELETE FROM entry WHERE sequence = 2"], "entry 2 is missing"),
    ],
)
@pytest.mark.parametrize("command", [["score", "test"], ["score", "test", "--format", "json"]])
def test_no_number_is_printed_of_a_run_whose_records_are_damaged(home, statements, said, command) -> None:
    edit(home, *statements)
    done = assay(home, *command)
    line = one_error(done)
    assert said in line
    assert line.startswith("run test: ")
    assert done.stdout == ""
