"""The store: an append-only ledger per run that survives concurrency, odd text, time zones and killed processes."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlmodel import select

from runner.errors import AssayError, BadInput
from runner.store import ledger
from runner.store.database import Database, StoreError
from runner.store.leases import Owner
from runner.store.store import Store
from runner.store.tables import SCHEMA_VERSION, AttemptRow, EntryRow, RunRow
from runner.store.text import canonical, parse
from runner.store.view import LedgerError

WRITER = """
import sys
from pathlib import Path
from runner.store.store import Store
store = Store(Path(sys.argv[1]))
run = store.create_run(f"writer-{sys.argv[2]}", {"n": int(sys.argv[2])})
for index in range(99):
    store.append(run, "opened", {"attempt": f"{run.id}-{index}", "environment_id": "e", "condition": 0})
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def test_field_14_twenty_processes_write_a_hundred_rows_each_to_a_fresh_file(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(n)], stderr=subprocess.PIPE, text=True)
        for n in range(20)
    ]
    errors = [process.communicate(timeout=240)[1] for process in writers]
    assert [process.returncode for process in writers] == [0] * 20, errors
    store = Store(tmp_path)
    runs = store.runs()
    assert len(runs) == 20
    for run in runs:
        assert [entry.sequence for entry in store.entries(run)] == list(range(1, 101))
        assert store.verify(run) is None


def test_two_processes_append_to_one_run_without_sharing_a_sequence_number(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = store.create_run("shared", {})
    program = (
        "import sys\nfrom pathlib import Path\nfrom runner.store.store import Store\n"
        "store = Store(Path(sys.argv[1])); run = store.find_run('shared')\n"
        "for i in range(50): store.append(run, 'opened', "
        "{'attempt': f'{sys.argv[2]}-{i}', 'environment_id': 'e', 'condition': 0})"
    )
    writers = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name]) for name in ("a", "b", "c")]
    assert [process.wait(120) for process in writers] == [0, 0, 0]
    assert [entry.sequence for entry in store.entries(run)] == list(range(1, 152))
    assert store.verify(run) is None


def test_a_sequence_number_cannot_be_used_twice(store: Store) -> None:
    run = store.create_run("r", {})
    from sqlalchemy.exc import IntegrityError

    entry = store.entries(run)[0]
    with pytest.raises(IntegrityError), store.database.write() as session:
        session.add(EntryRow(**{**entry.__dict__, "run_id": run.id, "payload": "{}"}))


@pytest.mark.parametrize("zone", ["America/St_Johns", "Asia/Kathmandu"])
def test_field_15_times_stay_aware_and_the_same_instant_on_a_host_that_is_not_on_utc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        before = datetime.now().astimezone()
        run = Store(tmp_path).create_run("r", {})
        found = Store(tmp_path).find_run("r")
        assert found is not None
        assert found.created_at.tzinfo is UTC
        assert found.created_at == run.created_at
        assert 0 <= (found.created_at - before).total_seconds() < 60
        entry = Store(tmp_path).entries(run)[0]
        assert entry.time.tzinfo is UTC
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_naive_time_is_refused(store: Store) -> None:
    from sqlalchemy.exc import StatementError

    with pytest.raises(StatementError, match="has no zone"), store.database.write() as session:
        session.add(RunRow(id="x", name="x", created_at=datetime(2026, 1, 1), settings="{}"))


def test_field_07_two_runs_of_the_same_second_have_distinct_ids(store: Store) -> None:
    ids = {store.create_run(f"r{n}", {"same": True}).id for n in range(20)}
    assert len(ids) == 20


@pytest.mark.parametrize(
    "text", ["lone \ud800 surrogate", "nul \x00 inside", b"\xff\xfe not UTF-8", "plain é", float("nan"), 2**63]
)
def test_odd_text_is_stored_and_read_back_as_valid_text(store: Store, text: object) -> None:
    run = store.create_run("r", {})
    store.append(run, "opened", {"attempt": "a", "environment_id": "e", "condition": 0, "note": text})
    stored = store.entries(run)[-1].payload["note"]
    stored.encode("utf-8")
    assert "\x00" not in stored
    assert store.verify(run) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(st.characters()) | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3),
    max_leaves=8,
)


@given(_JSON)
def test_canonical_form_is_a_fixed_point(value: object) -> None:
    once = canonical(value)
    assert canonical(parse(once.decode("utf-8"))) == once


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ("UPDATE entry SET payload = replace(payload, 'env', 'ENV') WHERE sequence = 2", "entry 2 was changed"),
        ("UPDATE entry SET time = '2020-01-01 00:00:00.000000' WHERE sequence = 3", "entry 3 was changed"),
        ("DELETE FROM entry WHERE sequence = 2", "entry 2 is missing"),
        ("UPDATE entry SET previous = hash WHERE sequence = 3", "entry 3 does not follow"),
        ("DELETE FROM entry", "the ledger is empty"),
    ],
)
def test_the_hash_chain_names_the_entry_that_was_touched(store: Store, damage: str, why: str) -> None:
    run = store.create_run("r", {})
    for name in "abc":
        store.append(run, "opened", {"attempt": name, "environment_id": "env", "condition": 0})
    assert store.verify(run) is None
    with sqlite3.connect(store.home / "assay.sqlite") as raw:
        raw.execute(damage)
    reason = store.verify(run)
    assert reason is not None
    assert why in reason


def test_the_attempt_table_is_what_the_ledger_folds_to(store: Store) -> None:
    run = store.create_run("r", {})
    owner = Owner.current()
    first = store.open_attempt(run, "e", 0, owner)
    store.begin_attempt(run, first.id)
    store.open_attempt(run, "e", 1, owner)
    before = [row.model_dump() for row in store.attempts(run)]
    with store.database.write() as session:
        assert ledger.rebuild(session, run.id) == 2
    assert [row.model_dump() for row in store.attempts(run)] == before


def test_an_entry_that_contradicts_the_ledger_is_refused_and_leaves_nothing(store: Store) -> None:
    run = store.create_run("r", {})
    attempt = store.open_attempt(run, "e", 0, Owner.current())
    store.begin_attempt(run, attempt.id)
    with pytest.raises(LedgerError, match="is began, not opened"):
        store.resume_attempt(run, attempt.id, Owner.current())
    assert [entry.kind for entry in store.entries(run)] == ["run", "opened", "began"]


def test_a_killed_owner_leaves_no_lease_behind(store: Store) -> None:
    run = store.create_run("r", {})
    dead = Owner("dead", Owner.current().host, 1)
    store.lease_run(run, dead)
    store.open_attempt(run, "e", 0, dead)
    assert len(store.leases(run)) == 2
    store.lease_run(run, Owner.current())
    assert store.leases(run) == ["run"]


def test_a_live_lease_of_another_machine_is_in_the_way(store: Store) -> None:
    run = store.create_run("r", {})
    store.lease_run(run, Owner("other", "elsewhere", 77))
    with pytest.raises(BadInput, match="process 77 on elsewhere"):
        store.lease_run(run, Owner.current())


def test_a_second_live_evaluation_of_a_run_is_refused_with_its_process(store: Store) -> None:
    lock = store.lock("r")
    with pytest.raises(BadInput, match=f"process {os.getpid()} on "):
        store.lock("r")
    lock.release()
    store.lock("r").release()


@pytest.mark.parametrize("name", ["a?b", "a#b%20c", "a b", "a\nb", "ü", "a&b=c"])
def test_a_store_is_in_the_folder_that_was_named_whatever_its_name(tmp_path: Path, name: str) -> None:
    Store(tmp_path / name).close()
    assert (tmp_path / name / "assay.sqlite").is_file()
    assert os.listdir(tmp_path) == [name]
    reader = Store(tmp_path / name, read_only=True)
    assert reader.runs() == []
    reader.close()


def test_a_future_schema_version_is_one_line(tmp_path: Path) -> None:
    Store(tmp_path).close()
    with sqlite3.connect(tmp_path / "assay.sqlite") as raw:
        raw.execute("UPDATE alembic_version SET version_num = '0999'")
    with pytest.raises(StoreError) as caught:
        Store(tmp_path)
    assert str(caught.value) == (
        f"store {tmp_path}/assay.sqlite: schema version 0999 is newer than this program knows ({SCHEMA_VERSION}): "
        "upgrade assay"
    )


@pytest.mark.parametrize("content", [b"this is no database at all" * 100, None])
def test_a_corrupt_database_is_one_line(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "assay.sqlite"
    if content is None:  # a real database whose pages were overwritten
        Store(tmp_path).close()
        raw = path.read_bytes()
        path.write_bytes(raw[:100] + b"\xee" * (len(raw) - 100))
    else:
        path.write_bytes(content)
    with pytest.raises(StoreError) as caught:
        Store(tmp_path).runs()
    assert str(caught.value).startswith(f"store {path}: not a usable database (")
    assert "\n" not in str(caught.value)


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "assay.sqlite") as raw:
        raw.execute("CREATE TABLE photos (id INTEGER)")
    with pytest.raises(StoreError, match=r"holds tables of another program \(photos\)"):
        Store(tmp_path)


@pytest.mark.parametrize(("magic", "name"), [(0x6969, "NFS"), (0xFF534D42, "CIFS")])
def test_field_14_a_network_file_system_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, magic: int, name: str
) -> None:
    monkeypatch.setattr("runner.store.database.filesystem_magic", lambda path: magic)
    with pytest.raises(StoreError, match=f"file system is {name}.*ASSAY_HOME"):
        Store(tmp_path)


def test_field_14_a_doubtful_file_system_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.store.database.filesystem_magic", lambda path: 0x65735546)
    with pytest.warns(UserWarning, match="FUSE"):
        Store(tmp_path)


@pytest.mark.parametrize("url", ["mysql://u@h/d", "not a url"])
def test_a_store_url_of_another_kind_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(AssayError, match="ASSAY_STORE"):
        Store(tmp_path, url)


def test_the_schema_version_is_the_head_of_the_migrations_and_matches_the_tables(tmp_path: Path) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.config import Config
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory
    from sqlmodel import SQLModel

    config = Config()
    config.set_main_option("script_location", "runner.store:migrations")
    assert ScriptDirectory.from_config(config).get_current_head() == SCHEMA_VERSION
    database = Database(f"sqlite:///{tmp_path}/x.sqlite")
    with database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), SQLModel.metadata) == []


def test_a_write_that_fails_half_way_leaves_nothing(store: Store) -> None:
    run = store.create_run("r", {})
    opened = {"attempt": "a", "environment_id": "e", "condition": 0}
    with store.database.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1

    def opens_and_fails() -> None:
        with store.database.write() as session:
            ledger.append(session, run.id, "opened", opened)
            ledger.append(session, run.id, "closed", {"attempt": "another"})

    with pytest.raises(LedgerError):
        opens_and_fails()
    assert len(store.entries(run)) == 1
    with store.database.read() as session:
        assert session.exec(select(AttemptRow)).all() == []
