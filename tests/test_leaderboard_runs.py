"""The pages of a run and of an attempt over a real store: outcomes, reasons, marks, audits."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

if "leaderboard" not in os.environ.get("ASSAY_REQUIRE", ""):
    pytest.importorskip("streamlit", reason="left out, needs streamlit: `make test-leaderboard` installs it")

from incident_board import board
from leaderboard_records import FAULT, QUIT, RULE, SUCCESS, twice, write_run
from leaderboard_visit import lines, shown, visit, words

from manifests.demo import FOLDER
from manifests.load import load
from manifests.records import Usage
from runner.imports.ledger import Source, import_ledger
from runner.incidents import confirm, reject, reviewer
from runner.store.leases import Owner
from runner.store.store import Run, Store

DEMO = FOLDER / "gpt-6-astra.csv"


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
    rows = lines(page, "Attempts with ledger sequence 2 to ")
    assert len(rows) == 24
    assert rows[0].startswith("#1 [2] ")  # as the line of progress in the terminal
    assert rows[1].startswith("#2 [5] ")
    assert "failure RULE interlock.launch scored valid attempt 1 of at most 2: failure RULE" in rows[0]
    assert "candidate incident candidate (container_fault), neither confirmed nor rejected" in rows[1]
    (failures,) = lines(page, "Scored failures by code and clause")
    assert failures.startswith("RULE A rule of the task was broken")
    assert failures.endswith("interlock.launch 12 of 12")


def test_attempts_are_paged(store: Store) -> None:
    write_run(store, "r", twice(QUIT, QUIT), subset="ep-launch")
    assert len(lines(visit(run="r"), "Attempts with")) == 200
    assert len(lines(visit(run="r", page=2), "Attempts with")) == 72
    assert len(lines(visit(run="r", page="no"), "Attempts with")) == 200
    assert '<span aria-current="page">2</span>' in shown(visit(run="r", page=99))


def test_new_records_appear_on_the_next_visit(store: Store) -> None:
    run = write_run(store, "r", lambda *_: None)
    assert "0 attempts" in words(visit(run="r"))
    store.open_attempt(run, "marble/dual-panda/A007", 0, Owner.current())
    assert "1 attempt at the tasks of the selection: 1 pending" in words(visit(run="r"))


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


def test_the_evidence_of_a_fault_is_shown_where_it_happened(store: Store) -> None:
    ending = replace(FAULT, evidence={"exit_code": 137, "log": "killed in /home/alice/x.py <b>", "starts": 2})
    write_run(store, "r", twice(ending))
    page = words(visit(run="r", attempt=2))
    assert "exit code 137 log killed in …/x.py <b> starts 2" in page
    rows = lines(visit(view="failures"), "Incidents, 12 of 12 with their evidence")
    assert "the container ended; kept: exit code, log, starts none that binds" in rows[0]


def test_from_an_attempt_lead_ways_to_the_others_at_its_condition_and_to_the_next(store: Store) -> None:
    write_run(store, "r", twice(RULE, SUCCESS))
    page = visit(run="r", attempt=5)
    assert "Attempts at this condition: ✕ RULE #1 [2] #2 [5] previous in the ledger next in the ledger" in words(page)
    for other in (2, 8):
        assert f"?run=r&amp;attempt={other}" in shown(page)
    assert "previous in the ledger" not in words(visit(run="r", attempt=2))


def test_a_run_has_the_command_that_makes_it_again_and_what_it_was_made_with(store: Store) -> None:
    images = {"mujoco": {"environment": "sha256:" + "e" * 64}}
    write_run(store, "r", twice(RULE), model="lab/r", settings={"images": images})
    for page in (words(visit(run="r")), words(visit(view="audit"))):
        assert (
            "assay evaluate --model lab/r --board ep --subset smoke --protocol pass2 --profile embedded --seed 0"
            in page
        )
        assert "--run again-r" in page
    rows = lines(visit(run="r"), "What the run was made with")
    assert f"image of mujoco: environment sha256:{'e' * 64}" in rows


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
    assert line.startswith("– noop baseline withdrawn r no rank: withdrawn ")
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
    assert "noop baseline stale" in page
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


# -- audits


def report(run: Run, head: str, entries: int, *, passed: bool) -> str:
    chain = {"name": "chain", "status": "passed", "summary": "whole", "data": {"entries": entries, "head": head}}
    replay = {"sequence": 2, "status": "same", "actions": 230}
    checks = [chain, {"name": "replay", "status": "passed", "summary": "1 of 1", "data": {"attempts": [replay]}}]
    about = {"name": run.name, "id": run.id, "kind": "evaluated"}
    return json.dumps({"run": about, "passed": passed, "ended": "2026-11-30T10:00:00.000000Z", "checks": checks})


def test_audits_beside_the_run_and_beside_the_store_are_shown_with_the_ledger_that_they_saw(store: Store) -> None:
    run = write_run(store, "r", twice(RULE), model="lab/r")
    head = store.entries(run)[9].hash
    for folder, text in (
        (store.folder(run) / "rendered" / "audit", report(run, head, 10, passed=True)),
        (store.home / "audits" / "from-the-lab", report(run, "0" * 64, 5, passed=False)),
        (store.home / "audits" / "of-another", report(replace(run, id="1" * 32), "0" * 64, 5, passed=True)),
        (store.home / "audits" / "no-report", "[1, 2"),
    ):
        folder.mkdir(parents=True)
        (folder / "audit.json").write_text(text)
    for parameters in ({"view": "audit"}, {"run": "r"}):
        rows = lines(visit(**parameters), "Reports")
        assert len(rows) == 2
        assert [row for row in rows if "✓ passed chain" in row and "its first 10 entries written beside the run" in row]
        assert [row for row in rows if "not the ledger that is here kept as from-the-lab" in row]
    assert "Replay the same over 230 actions" in words(visit(run="r", attempt=2))
