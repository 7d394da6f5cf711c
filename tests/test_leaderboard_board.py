"""What the pages know of a store: the same of every attempt as scoring, from narrow queries and summaries that are
made once; on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from incident_board import LATE_FAULT, board, one_condition
from leaderboard_records import FAULT, QUIT, RULE, SUCCESS, twice, write_run
from test_store_postgres import server  # noqa: F401  (the fixture of a PostgreSQL server)

from leaderboard import source
from leaderboard.board import Board
from leaderboard.facts import facts_of
from leaderboard.slots import state
from leaderboard.source import Entry, read_entry
from leaderboard.tally import tally
from manifests.demo import FOLDER
from manifests.load import load
from manifests.records import Usage
from runner.imports.ledger import Source, import_ledger
from runner.incidents import confirm, reject
from runner.score import score_run
from runner.store.scored import scored_attempt
from runner.store.store import Run, Store
from scoring.rows import BREAKDOWNS


def astra(store: Store) -> Run:
    source_of = Source("gpt-6-astra", "reconstructed", "ep-100", "pass2", "GPT-6-Astra")
    return import_ledger(store, FOLDER / "gpt-6-astra.csv", source_of, load())[0]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "home")


def mixed(environment_id: str, condition: int, ordinal: int) -> object:
    endings = ((SUCCESS,), (RULE, SUCCESS), (QUIT, RULE), (FAULT,))[condition]
    return twice(*endings)(environment_id, condition, ordinal)


def check_facts(store: Store, tmp_path: Path) -> None:
    manifests, who = board(tmp_path)
    one = one_condition(store, "confirmed", LATE_FAULT)
    confirm(store, one, store.attempts(one)[0].sequence, manifests, who, "the cable was out")
    other = one_condition(store, "rejected", LATE_FAULT)
    reject(store, other, store.attempts(other)[0].sequence, manifests, who, "the agent killed it", "quit")
    usage = Usage(tokens_input=70, tokens_cached=60, tokens_output=7, cost_usd=0.25)
    runs = [one, other, astra(store), write_run(store, "mixed", mixed, usage=usage)]  # type: ignore[arg-type]
    for run in runs:
        rows = store.attempts(run)
        assert [item.attempt for item in facts_of(store, run, manifests)] == [
            scored_attempt(r, manifests) for r in rows
        ]
    costs = [item.record.cost_usd for item in facts_of(store, runs[-1], manifests) if item.record]
    assert costs == [0.25] * len(store.attempts(runs[-1]))


def test_the_narrow_query_says_of_every_attempt_what_its_whole_record_says(store: Store, tmp_path: Path) -> None:
    check_facts(store, tmp_path)


def test_the_narrow_query_says_the_same_on_postgresql(server: str, tmp_path: Path) -> None:  # noqa: F811
    check_facts(Store(tmp_path / "home", server), tmp_path)


def test_a_summary_has_the_numbers_of_the_score_command(store: Store) -> None:
    run = astra(store)
    report = score_run(store, run, load())
    entry = read_entry(store, run, BREAKDOWNS)
    assert isinstance(entry, Entry)
    for part in ("total", "by", "groups", "attempts", "ledger", "headline"):
        assert entry.report[part] == report[part]
    codes = {suite: dict(counts) for suite, counts in report["codes_by_suite"].items()}
    found: dict[str, dict[str, int]] = {suite: {} for suite in codes}
    for suite, code, _, count in entry.failures:
        found[suite][code] = found[suite].get(code, 0) + count
    assert found == codes
    others = {name: report["ledger"][name] for name in ("excluded", "extra")}
    assert {name: sum(n for status, _, n in entry.others if status == name) for name in others} == others


def test_the_signs_of_the_slots_are_the_states_of_the_conditions(store: Store) -> None:
    entry = read_entry(store, write_run(store, "mixed", mixed))  # type: ignore[arg-type]
    assert isinstance(entry, Entry)
    conditions = [condition for group in entry.report["groups"] for condition in group["conditions"]]
    assert list(map(state, entry.slots)) == [condition["state"] for condition in conditions]
    for sign, condition in zip(entry.slots, conditions, strict=True):
        within = {k: known for k, known in condition["within"].items() if known is not None}
        assert within == ({k: int(int(sign) <= int(k)) for k in within} if sign.isdigit() else dict.fromkeys(within, 0))


def test_the_tally_counts_the_runs_that_solve_a_condition(store: Store) -> None:
    plays = {"best": twice(SUCCESS), "none": twice(QUIT, QUIT), "mixed": mixed, "open": lambda *_: None}
    entries = [read_entry(store, write_run(store, name, play)) for name, play in plays.items()]  # type: ignore[arg-type]
    found = tally([entry for entry in entries if isinstance(entry, Entry)])
    # Conditions 0 and 1 are solved by best and mixed, 2 and 3 by best alone; of 3 the fault of mixed is open.
    assert [found.of_task(number) for number in range(3)] == [[(2, 3), (2, 3), (1, 3), (1, 2)]] * 3
    assert found.solvers.tolist() == [2, 2, 2]
    assert found.everywhere.tolist() == [1, 1, 1]


def counting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the runs that are scored from now on."""
    scored: list[str] = []

    def read(store: Store, run: Run, **options: bool) -> object:
        scored.append(run.name)
        return source.read_entry(store, run, **options)

    monkeypatch.setattr("leaderboard.workers.read_entry", read)
    return scored


def test_a_run_is_scored_once_and_again_when_its_ledger_has_grown(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored, place = counting(monkeypatch), tmp_path / "cache" / "board.sqlite"
    run = write_run(store, "one", twice(QUIT))
    write_run(store, "two", mixed)  # type: ignore[arg-type]
    first = Board(place)
    found = first.refresh(store)
    assert first.refresh(store) == found
    assert sorted(scored) == ["one", "two"]
    assert Board(place).refresh(store) == found
    assert len(scored) == 2
    store.append(run, "withdrawn", {"reviewer": "the lab", "reason": "the wrong checkpoint"})
    again = first.refresh(store)
    assert scored[2:] == ["one"]
    withdrawn = {item.run.name: item.run.withdrawn for item in again}
    assert withdrawn["two"] is None
    assert "the wrong checkpoint" in str(withdrawn["one"])
    assert Board(place).refresh(store) == again


@pytest.mark.parametrize("damage", ["no folder", "garbage", "older"])
def test_a_cache_that_is_of_no_use_is_done_without(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    write_run(store, "one", twice(QUIT))
    place = tmp_path / "cache" / "board.sqlite"
    found = Board(place).refresh(store)
    break_it: dict[str, Callable[[], object]] = {
        "no folder": lambda: (tmp_path / "file").write_text("no folder"),
        "garbage": lambda: place.write_bytes(b"no database" * 100),
        "older": lambda: monkeypatch.setattr("leaderboard.summaries._maker", lambda: "another program"),
    }
    break_it[damage]()
    used = tmp_path / "file" / "board.sqlite" if damage == "no folder" else place
    scored = counting(monkeypatch)
    assert Board(used).refresh(store) == found
    assert scored == ["one"]
