"""The store as a reader opens it: it changes nothing, whatever it finds, and sees what a live writer has committed."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from runner.store.database import StoreError, StoreLocked, StoreMissing, StoreVersion
from runner.store.store import Store

# As a user who may not write there: the whole point of a store that is mounted read-only.
READ_AS_NOBODY = """
import os, sys
from pathlib import Path
from runner.store.store import Store
Store(Path(sys.argv[2])).close()  # imports what is imported late, which the other user may not be able to read
os.setgid(65534); os.setuid(65534)
print([run.name for run in Store(Path(sys.argv[1]), read_only=True).runs()])
"""


def listing(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}


def test_a_reader_sees_what_a_live_writer_has_committed(tmp_path: Path) -> None:
    writer = Store(tmp_path)
    reader = Store(tmp_path, read_only=True)
    run = writer.create_run("r", {"a": 1})
    assert reader.find_run("r") == run
    writer.append(run, "opened", {"attempt": "x", "environment_id": "e", "condition": 0})
    assert reader.lengths() == {run.id: 2}
    assert [row.id for row in reader.attempts(run)] == ["x"]


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    Store(tmp_path).create_run("r", {})
    before = listing(tmp_path)
    with pytest.raises((StoreError, OperationalError), match="readonly"):
        Store(tmp_path, read_only=True).create_run("another", {})
    assert listing(tmp_path) == before


@pytest.mark.parametrize("closed", [True, False])
def test_a_store_on_a_folder_that_cannot_be_written_is_read(tmp_path: Path, closed: bool) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    home = tmp_path / "home"
    store = Store(home)
    store.create_run("r", {})
    if closed:
        store.close()
    assert (home / "assay.sqlite-wal").exists() is not closed
    for folder in (tmp_path, *tmp_path.parents):
        if folder.is_relative_to("/tmp") and folder != Path("/tmp"):
            folder.chmod(0o755)
    command = [sys.executable, "-c", READ_AS_NOBODY, str(home), str(tmp_path / "warm")]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert found.stdout == "['r']\n", found.stderr


def test_a_folder_that_may_not_be_entered_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", refuse)
    with pytest.raises(StoreError, match="Permission denied: make its folder readable") as caught:
        Store(tmp_path, read_only=True)
    assert not isinstance(caught.value, StoreMissing)


@pytest.mark.parametrize("make_folder", [True, False])
def test_a_missing_store_is_not_made(tmp_path: Path, make_folder: bool) -> None:
    home = tmp_path / "home"
    if make_folder:
        home.mkdir()
    with pytest.raises(StoreMissing, match="record a run first"):
        Store(home, read_only=True)
    assert home.exists() is make_folder
    assert not (home / "assay.sqlite").exists()


def test_an_empty_file_is_a_store_in_which_nothing_was_recorded(tmp_path: Path) -> None:
    (tmp_path / "assay.sqlite").touch()
    with pytest.raises(StoreMissing):
        Store(tmp_path, read_only=True)
    assert (tmp_path / "assay.sqlite").stat().st_size == 0


@pytest.mark.parametrize(("version", "word"), [("0999", "newer"), ("0000", "older")])
def test_a_store_of_another_schema_is_named_and_not_migrated(tmp_path: Path, version: str, word: str) -> None:
    Store(tmp_path).close()
    with sqlite3.connect(tmp_path / "assay.sqlite") as raw:
        raw.execute("UPDATE alembic_version SET version_num = ?", (version,))
    with pytest.raises(StoreVersion, match=word):
        Store(tmp_path, read_only=True)
    with sqlite3.connect(tmp_path / "assay.sqlite") as raw:
        assert raw.execute("SELECT version_num FROM alembic_version").fetchone() == (version,)


def test_a_store_that_somebody_holds_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.store.database.READER_TIMEOUT_S", 0.05)
    Store(tmp_path).close()
    holder = sqlite3.connect(tmp_path / "assay.sqlite", isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreLocked, match="another thread of this process holds it"):
        Store(tmp_path, read_only=True)
    holder.execute("ROLLBACK")
    holder.close()
    assert Store(tmp_path, read_only=True).runs() == []
