"""The same store on PostgreSQL, chosen by the URL in ASSAY_STORE: a real server where its binaries are installed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import postgres_server
import pytest
from incident_board import LATE_FAULT, board, one_condition
from leaderboard_records import QUIT
from slider_runtime import Scripted, evaluation, fail

from manifests.demo import FOLDER
from runner.imports.ledger import Source, import_ledger
from runner.incidents import confirm, reject
from runner.score import score_run
from runner.store.database import Database, StoreError
from runner.store.store import Store

DEMO = FOLDER / "gpt-6-astra.csv"
needs_server = pytest.mark.postgresql


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """URL of an empty server's database ``assay``."""
    with postgres_server.running() as url:
        yield url


@needs_server
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


@needs_server
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


RUNNER = """
import sys
from pathlib import Path
from slider_runtime import Scripted, evaluation, fail
made = evaluation(Path(sys.argv[1]), Scripted(fail), name=f"runner-{sys.argv[2]}", parameters=[{}])
made.run()
made.store.append(made.store.find_run("shared"), "opened",
                  {"attempt": sys.argv[2], "environment_id": "e", "condition": 0})
"""


@needs_server
def test_field_14_eight_runners_on_one_store_give_exact_counts_and_no_lock_error(server: str, tmp_path: Path) -> None:
    # The first to come makes the schema; each evaluates a run of its own, and all append to one ledger.
    url = postgres_server.database(server, "eight")
    store = Store(tmp_path / "shared", url)
    shared = store.create_run("shared", {})
    tests = Path(__file__).parent
    runners = [
        subprocess.Popen(
            [sys.executable, "-c", RUNNER, str(tmp_path / str(number)), str(number)],
            env=os.environ | {"ASSAY_STORE": url, "PYTHONPATH": f"{tests.parent}:{tests}"},
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(8)
    ]
    errors = [process.communicate(timeout=240)[1] for process in runners]
    assert [process.returncode for process in runners] == [0] * 8, errors
    assert sorted(run.name for run in store.runs()) == [*(f"runner-{number}" for number in range(8)), "shared"]
    for run in store.runs():
        assert store.verify(run) is None
        assert store.leases(run) == []
        if run.name != "shared":
            assert [row.outcome for row in store.attempts(run)] == ["failure"] * 2
            assert [entry.sequence for entry in store.entries(run)] == list(range(1, 8))
    assert sorted(row.id for row in store.attempts(shared)) == [str(number) for number in range(8)]


@needs_server
def test_decisions_imports_and_withdrawals_are_the_same_in_postgresql(server: str, tmp_path: Path) -> None:
    manifests, who = board(tmp_path)
    kept = []
    for url in (None, server):
        store = Store(tmp_path / str(url is None), url)
        run = one_condition(store, "decided", LATE_FAULT, LATE_FAULT, QUIT)
        confirm(store, run, 2, manifests, who, "the host lost power")
        reject(store, run, 5, manifests, who, "the agent killed it", "quit")
        demo, _ = import_ledger(store, DEMO, Source("demo", "reconstructed", "ep-100", "pass2"), manifests)
        store.withdraw_run(demo, "me", "a test")
        found = store.find_run("demo")
        assert found is not None
        assert found.withdrawn is not None
        results = [score_run(store, store.find_run(name) or demo, manifests) for name in ("decided", "demo")]
        kept.append([{**result, "run": None, "not_rankable": None} for result in results])
    assert kept[0] == kept[1]


@needs_server
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
