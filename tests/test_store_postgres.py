"""The same store on PostgreSQL, chosen by the URL in ASSAY_STORE: a real server where its binaries are installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from slider_runtime import Scripted, evaluation, fail
from sqlalchemy import create_engine, text

from runner.store.database import Database, StoreError
from runner.store.store import Store

BINARIES = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
USER = "nobody"  # the server refuses to run as root


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of an empty server's database ``assay``."""
    if BINARIES is None:
        pytest.skip("left out, the PostgreSQL server is not installed (Debian: postgresql)")
    if os.geteuid() == 0 and shutil.which("su") is None:
        pytest.skip("left out, the PostgreSQL server does not run as root and there is no su")
    folder = Path("/tmp") / f"assay-postgres-{os.getpid()}"  # pytest's folders are closed to other users
    folder.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def run(command: str) -> None:
        shell = ["su", "-s", "/bin/sh", USER, "-c", command] if os.geteuid() == 0 else ["sh", "-c", command]
        subprocess.run(shell, check=True, stdout=subprocess.DEVNULL, timeout=120, cwd="/")

    if os.geteuid() == 0:
        shutil.chown(folder, USER)
    try:
        run(f"{BINARIES}/initdb -D {folder}/data -A trust -U assay --no-sync")
        options = f"-k {folder} -p {port} -c listen_addresses=127.0.0.1 -c fsync=off"
        run(f"{BINARIES}/pg_ctl -D {folder}/data -o '{options}' -l {folder}/log -w start")
        try:
            base = f"postgresql+psycopg://assay@127.0.0.1:{port}"
            admin = create_engine(f"{base}/postgres", isolation_level="AUTOCOMMIT")
            with admin.connect() as connection:
                connection.execute(text("CREATE DATABASE assay"))
            admin.dispose()
            yield f"{base}/assay"
        finally:
            run(f"{BINARIES}/pg_ctl -D {folder}/data -m immediate stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_a_whole_run_is_kept_in_postgresql(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_STORE", server)
    made = evaluation(tmp_path, Scripted(fail), name="pg", jobs=2)
    run = made.run()
    assert [row.cause for row in made.store.attempts(run)] == ["violation"] * 4
    assert made.store.verify(run) is None
    assert made.store.leases(run) == []
    assert not (tmp_path / "assay.sqlite").exists()
    found = Store(tmp_path).find_run("pg")
    assert found == run
    assert found.created_at.utcoffset() is not None


def test_writers_of_one_run_never_share_a_sequence_number(server: str, tmp_path: Path) -> None:
    store = Store(tmp_path, server)
    run = store.create_run("shared", {"odd": "\x00 \ud800"})

    def write(name: int) -> None:
        for index in range(20):
            store.append(run, "opened", {"attempt": f"{name}-{index}", "environment_id": "e", "condition": 0})

    threads = [threading.Thread(target=write, args=(name,)) for name in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [entry.sequence for entry in store.entries(run)] == list(range(1, 102))
    assert store.verify(run) is None


def test_the_migrated_tables_are_those_of_the_program(server: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from sqlmodel import SQLModel

    database = Database(server)
    with database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), SQLModel.metadata) == []


def test_a_server_that_is_away_is_one_line_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        Store(tmp_path, "postgresql+psycopg://assay:secret@127.0.0.1:1/assay")
    text_of = str(caught.value)
    assert "secret" not in text_of
    assert "\n" not in text_of
    assert "check that it is running" in text_of
