"""The audit of a run: a good one passes with zero divergence, and every edit of the log, the records or the files is
found and named, also when whoever made it has computed every hash again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audit_forger import NAME, Forger, audit, digests, findings, make_run
from slider_runtime import Scripted, fail

from manifests.load import load
from runner.incidents import signed
from runner.keys import new_key
from runner.score import score_run
from runner.store.decisions import body
from runner.store.store import Store

GOAL, WALL, QUIT, IDLE = 0, 1, 2, 3  # the conditions of the run, by how their attempt ended


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("original")
    make_run(home)
    return home


@pytest.fixture
def home(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "home"))


@pytest.fixture
def forger(home: Path) -> Iterator[Forger]:
    made = Forger(home)
    yield made
    made.database.close()


def failed(home: Path, check: str, text: str, **options: Any) -> None:
    made = audit(home, **options)
    assert not made.passed
    found = findings(made, check)
    assert any(text in line for line in found), found


# ---- a good run ------------------------------------------------------------------------------------------------------
def test_a_good_run_passes_with_zero_divergence(home: Path) -> None:
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file() and "-wal" not in path.name}
    made = audit(home, share=1.0)
    assert made.passed, [str(finding) for check in made.checks for finding in check.problems]
    replays = {row["condition"]: row for row in made.checks[4].data["attempts"]}
    assert {row["status"] for row in replays.values()} == {"same"}
    assert [replays[index]["verdict"]["recorded"] for index in range(3)] == ["goal_met", "violation LIMIT S-02", "quit"]
    assert all(row["class"] == row["declared"] == "bit-exact" for row in replays.values())
    assert all(row["digests"] == 2 + (row["actions"] - 1) // 50 for row in replays.values())
    assert all(
        (home / path).read_bytes() == content for path, content in before.items() if path.suffix != ".sqlite-shm"
    )


def test_every_attempt_is_reported_with_its_status_and_reason(home: Path) -> None:
    attempts = audit(home).checks[3].data["attempts"]
    assert [row["status"] for row in attempts] == ["scored"] * 4
    assert attempts[0]["reason"] == "valid attempt 1 of at most 1: success"


def test_a_rerun_is_reported_and_never_scored(home: Path, forger: Forger) -> None:
    made = audit(home, reruns=2, agent=Scripted(fail))
    (check,) = [check for check in made.checks if check.name == "rerun"]
    assert check.status == "passed"
    assert [row["rerun"]["cause"] for row in check.data["conditions"]] == ["violation", "violation"]
    assert len(forger.sql("SELECT id FROM attempt")) == 4


def test_a_rerun_by_another_agent_is_a_problem(home: Path) -> None:
    agent = Scripted(fail)
    agent.info = replace(agent.info, digest="e" * 64)
    text = "has other code or prompts (eeeeeeeeeeee) than in the run (dddddddddddd)"
    failed(home, "rerun", text, reruns=1, agent=agent)


# ---- FIELD 18 --------------------------------------------------------------------------------------------------------
def empty(forger: Forger) -> None:
    forger.sql("DELETE FROM entry")


def cut_last_entry(forger: Forger) -> None:
    forger.sql("DELETE FROM entry WHERE sequence = ?", forger.sequence("closed"))


def cut_last_attempt_and_fold_again(forger: Forger) -> None:
    forger.sql("DELETE FROM entry WHERE sequence >= ?", forger.sequence("opened"))
    forger.refold()


def cut_last_attempt_with_its_files(forger: Forger) -> None:
    shutil.rmtree(forger.folder(IDLE))
    cut_last_attempt_and_fold_again(forger)


def cut_first_entry(forger: Forger) -> None:
    forger.sql("DELETE FROM entry WHERE sequence = 1")


def cut_in_the_middle(forger: Forger) -> None:
    forger.sql("DELETE FROM entry WHERE sequence = ?", forger.sequence("began", 0))


def extend_without_hash(forger: Forger) -> None:
    text = "INSERT INTO entry SELECT run_id, sequence + 1, kind, time, payload, previous, hash FROM entry"
    forger.sql(f"{text} ORDER BY sequence DESC LIMIT 1")


def extend_with_an_attempt(forger: Forger) -> None:
    record = forger.payload(forger.sequence("closed", 0))["record"]
    opened = {"attempt": "f" * 32, "environment_id": record["environment_id"], "condition": record["condition"]}
    forger.append("opened", opened)
    sequence = forger.sequence("opened")
    forger.append("closed", {"attempt": "f" * 32, "record": record | {"attempt": "f" * 32, "sequence": sequence}})


def extend_with_a_step(forger: Forger) -> None:
    path = forger.folder(GOAL) / "actions.npy"
    np.save(path, np.vstack([np.load(path), [[0.0, 0.0]]]))


@pytest.mark.parametrize(
    ("change", "check", "text"),
    [
        (empty, "chain", "ledger: it is empty"),
        (cut_last_entry, "artifacts", "holds a record, and attempt 11 has none in the ledger"),
        (cut_last_entry, "rescore", "state is 'closed' in the attempt table, and 'began' by the ledger"),
        (cut_last_attempt_and_fold_again, "artifacts", "that the ledger does not have: the log was cut short"),
        (cut_last_attempt_with_its_files, "eligibility", "the run is unfinished or its log was cut short"),
        (cut_first_entry, "chain", "entry 2: entry 1 is missing before it"),
        (cut_in_the_middle, "chain", "entry 4: entry 3 is missing before it"),
        (extend_without_hash, "chain", "entry 14: does not follow the entry before it"),
        (extend_with_an_attempt, "artifacts", "attempt 14: record.json cannot be read"),
        (extend_with_a_step, "artifacts", "actions.npy holds 97 actions, the record counts 96"),
        (extend_with_a_step, "artifacts", "actions.npy has hash"),
    ],
)
def test_field_18_an_empty_truncated_or_extended_log_fails_with_the_reason(
    home: Path, forger: Forger, change: Callable[[Forger], None], check: str, text: str
) -> None:
    change(forger)
    failed(home, check, text)


def test_field_18_a_log_with_an_extra_step_does_not_replay(home: Path, forger: Forger) -> None:
    extend_with_a_step(forger)
    failed(home, "replay", "diverges at action 97: actions differs (recorded 97 actions, now 96 actions)", share=1.0)


def test_field_18_a_log_that_was_cut_and_forged_again_lacks_the_head_that_a_reader_saw(
    home: Path, forger: Forger
) -> None:
    head = audit(home).checks[0].data["head"]
    assert audit(home, head=head).passed
    cut_last_attempt_with_its_files(forger)
    failed(home, "chain", f"no entry has the hash {head}, which was its head before", head=head)


# ---- the log ---------------------------------------------------------------------------------------------------------
def test_an_altered_entry_is_named(home: Path, forger: Forger) -> None:
    forger.record(WALL, lambda record: record.update(outcome="success", cause="goal_met", code=None))
    failed(home, "chain", f"entry {forger.sequence('closed', 1)}: was changed: its hash does not match its content")


def test_an_entry_that_was_hashed_again_breaks_the_next_one(home: Path, forger: Forger) -> None:
    sequence = forger.sequence("began", 1)
    forger.sql("UPDATE entry SET hash = ? WHERE sequence = ?", "a" * 64, sequence)
    failed(home, "chain", f"entry {sequence + 1}: does not follow the entry before it")


def test_two_entries_that_changed_places_are_named(home: Path, forger: Forger) -> None:
    for sequence, other in ((3, 99), (4, 3), (99, 4)):
        forger.sql("UPDATE entry SET sequence = ? WHERE sequence = ?", other, sequence)
    failed(home, "chain", "entry 3: does not follow the entry before it")


def test_a_payload_that_is_no_json_is_named(home: Path, forger: Forger) -> None:
    forger.sql("UPDATE entry SET payload = '{' WHERE sequence = 5")
    failed(home, "chain", "entry 5: its payload is not JSON")
    failed(home, "chain", "entry 5: cannot follow the entries before it")


def test_edited_settings_of_the_run_are_named(home: Path, forger: Forger) -> None:
    settings = json.loads(forger.sql("SELECT settings FROM run")[0][0])
    forger.sql("UPDATE run SET settings = ?", json.dumps(settings | {"level": "L3"}))
    failed(home, "chain", "run: its settings in the table of runs are not those with which it began")


def test_a_withdrawal_that_only_the_table_of_runs_has_or_lacks_is_named(home: Path, forger: Forger) -> None:
    text = "run: whether it is withdrawn is in the table of runs not what its ledger says"
    forger.sql("UPDATE run SET withdrawn = '{}'")
    failed(home, "chain", text)
    forger.sql("UPDATE run SET withdrawn = NULL")
    forger.append("withdrawn", {"reviewer": "somebody", "reason": "a wrong prompt"})
    assert "withdrawn" not in " ".join(findings(audit(home), "chain"))
    forger.sql("UPDATE run SET withdrawn = NULL, withdrawn_at = NULL")
    failed(home, "chain", text)


def test_a_run_that_is_older_or_younger_than_its_ledger_is_named(home: Path, forger: Forger) -> None:
    for year in ("2001", "2999"):
        forger.sql("UPDATE run SET created_at = ? || substr(created_at, 5)", year)
        failed(home, "chain", f"run: was made {year}-")


def test_an_edited_attempt_table_is_named_with_field_and_values(home: Path, forger: Forger) -> None:
    forger.sql("UPDATE attempt SET outcome = 'success' WHERE condition = ?", WALL)
    failed(home, "rescore", "outcome is 'success' in the attempt table, and 'failure' by the ledger")


def test_attempts_at_one_condition_that_overlap_are_named(home: Path, forger: Forger) -> None:
    opened = forger.payload(forger.sequence("opened", 1))
    forger.put(forger.sequence("opened", 1), opened | {"condition": GOAL})
    first, second = forger.sequence("closed", 0), forger.sequence("opened", 1)
    for sequence, other in ((first, 99), (second, first), (99, second)):
        forger.sql("UPDATE entry SET sequence = ? WHERE sequence = ?", other, sequence)
    failed(
        home, "eligibility", f"attempt {first}: opened at marble/dual-panda/A007 c0 before attempt 2 there was closed"
    )


# ---- records that a forger has hashed again --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("change", "check", "text"),
    [
        ({"outcome": "success"}, "rescore", "record.outcome is success; the cause violation makes it failure"),
        ({"code": "DROP"}, "rescore", ""),
        ({"incident": "candidate"}, "rescore", "record.incident is candidate; the cause violation makes it none"),
        ({"condition": 2}, "rescore", "record.condition is 2, and 1 by the ledger"),
        ({"sequence": 77}, "rescore", "record.sequence is 77, and 5 by the ledger"),
        ({"run": "0" * 32}, "rescore", "record.run is"),
        ({"actions": 501}, "rescore", "record.actions is 501, above the budget of 500"),
        ({"simulated_s": 10.5}, "rescore", "record.simulated_s is 10.5, above the budget of 10 s"),
        ({"cause": "bad_luck"}, "eligibility", "attempt 5: its cause or code is in no table"),
        ({"colour": "red"}, "chain", "attempt 5: its record is not one: colour: unknown field"),
        ({"final_digest": "0" * 64}, "artifacts", "digests.json ends with"),
        ({"actions": 99}, "artifacts", "the record counts 99"),
    ],
)
def test_a_forged_record_is_named_by_its_field(
    home: Path, forger: Forger, change: dict[str, Any], check: str, text: str
) -> None:
    if change == {"code": "DROP"}:  # only the evaluator knows better: the replay finds it
        forger.record(WALL, lambda record: record.update(code="DROP"))
        forger.rehash()
        forger.refold()
        failed(home, "replay", "recorded violation DROP S-02, replayed violation LIMIT S-02", share=1.0)
        return
    forger.record(WALL, lambda record: record.update(change))
    forger.rehash()
    if "colour" not in change:
        forger.refold()
    failed(home, check, text)


@pytest.mark.parametrize(
    ("field", "value"), [("protocol", "pass2"), ("level", "L3"), ("engine", "isaaclab"), ("base_seed", 7)]
)
def test_a_record_of_other_settings_than_its_run_is_named(
    home: Path, forger: Forger, field: str, value: str | int
) -> None:
    forger.record(WALL, lambda record: record["settings"].update({field: value}))
    forger.rehash()
    forger.refold()
    failed(home, "rescore", f"record.settings.{field} is {value}, and ")


def test_a_record_with_another_budget_image_or_agent_than_its_run_is_named(home: Path, forger: Forger) -> None:
    def change(record: dict[str, Any]) -> None:
        record["settings"]["budgets"]["actions"] *= 2
        record["images"][0]["content"] = "b" * 64
        record["agent"]["digest"] = "c" * 64

    forger.record(WALL, change)
    forger.rehash()
    forger.refold()
    failed(home, "rescore", "record.settings.budgets.actions is 1000, and ")
    failed(home, "rescore", "record.images: slider is bbbbbbbbbbbb")
    failed(home, "rescore", "record.agent.digest is not that of the run")


def test_a_published_result_that_the_records_do_not_give_is_named(home: Path) -> None:
    store = Store(home, read_only=True)
    run = store.find_run(NAME)
    assert run is not None
    published = json.loads(json.dumps(score_run(store, run, load())))
    store.close()
    assert audit(home, against=published).passed
    published["ledger"]["successes"] = 2
    failed(home, "rescore", "ledger.successes: is 2 in the published result, and 1 from the records", against=published)


# ---- decisions -------------------------------------------------------------------------------------------------------
def decision(forger: Forger, **changes: Any) -> dict[str, Any]:
    record = forger.payload(forger.sequence("closed", QUIT))["record"]
    found = body(forger.run, record, "confirmed", reviewer="somebody", reason="the power failed")
    return {**found, "key": None, "signature": None, **changes}


def test_an_unsigned_decision_is_noted_and_changes_nothing(home: Path, forger: Forger) -> None:
    forger.append("decision", decision(forger))
    made = audit(home)
    assert made.passed
    assert findings(made, "chain", "note") == [
        "entry 14: confirmed by somebody is only a proposal: no key of this board's trust list signed it"
    ]


def test_a_signature_over_another_decision_does_not_hold(home: Path, forger: Forger, tmp_path: Path) -> None:
    key = new_key(tmp_path / "key.pem")
    made = signed(decision(forger), key)
    forger.append("decision", made)
    assert audit(home).passed
    forger.append("decision", made | {"reason": "another reason"})
    failed(home, "chain", "entry 15: the signature of the decision by somebody does not hold")


def test_a_decision_on_another_record_run_or_in_the_name_of_the_policy_is_named(home: Path, forger: Forger) -> None:
    forger.append("decision", decision(forger, record="0" * 64))
    forger.append("decision", decision(forger, run="0" * 32))
    forger.append("decision", decision(forger, reviewer="policy"))
    forger.append("decision", decision(forger, decision="forgiven"))
    forger.append("decision", decision(forger, decision="rejected", ruled={"cause": "goal_met", "code": None}))
    failed(home, "chain", "entry 14: the record that was decided on is not the one that stands in the ledger")
    failed(home, "chain", f"entry 15: decides on run '{'0' * 32}', not on this one")
    failed(home, "chain", "entry 16: confirmed in the name of the policy, which does not decide this one")
    failed(home, "chain", "entry 17: decision 'forgiven' is not one of confirmed, rejected")
    failed(home, "chain", "entry 18: rules a rejected incident to be {'cause': 'goal_met', 'code': None}, which is no")


# ---- files -----------------------------------------------------------------------------------------------------------
def test_a_missing_a_changed_and_an_unlisted_file_are_named(home: Path, forger: Forger) -> None:
    (forger.folder(GOAL) / "states.npy").unlink()
    forger.write(GOAL, "scorer_log.jsonl", b'{"kind": "goal"}\n')
    forger.write(GOAL, "extra.txt", b"SUCCESS")
    forger.write(WALL, "record.json", b"{}")
    failed(home, "artifacts", "attempt 2: states.npy is missing")
    failed(home, "artifacts", "attempt 2: scorer_log.jsonl has hash")
    failed(home, "artifacts", "attempt 2: extra.txt is not listed in the record")
    failed(home, "artifacts", "attempt 5: record.json is not the record that stands in the ledger")


def test_an_artifact_outside_the_folder_of_its_attempt_is_refused(home: Path, forger: Forger) -> None:
    forger.record(GOAL, lambda record: record["artifacts"][0].update(name="../../assay.sqlite"))
    failed(home, "artifacts", "../../assay.sqlite is no name inside the attempt's folder")


# ---- replay ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("forged", [False, True], ids=["file only", "everything hashed again"])
@pytest.mark.parametrize("bit", [30, 51], ids=["small", "large"])
def test_one_bit_of_the_stored_actions_is_found_at_the_right_step(
    home: Path, forger: Forger, bit: int, forged: bool
) -> None:
    content = forger.flip(WALL, 60, bit)
    if forged:
        forger.forge(WALL, "actions.npy", content)
    made = audit(home, share=1.0)
    assert not made.passed
    assert bool(findings(made, "artifacts")) != forged
    rows = {row["condition"]: row for row in made.checks[4].data["attempts"]}
    assert [rows[index]["status"] for index in (GOAL, WALL, QUIT)] == ["same", "diverged", "same"]
    found = rows[WALL]["divergence"]
    assert found["after"] == 50  # the last digest before action 61
    assert 61 <= found["by"] <= 62 if bit == 51 else 61 <= found["by"] <= 100
    assert found["field"].startswith("state[")
    assert 0 < found["size"] < 0.1


def test_an_altered_digest_is_found_at_its_step(home: Path, forger: Forger) -> None:
    found = digests(forger.folder(WALL))
    found[1][1] = "0" * 64
    forger.forge(WALL, "digests.json", json.dumps(found).encode())
    failed(home, "replay", "attempt 5: diverges between actions 1 and 50: digest differs (recorded 000", share=1.0)


def test_an_altered_final_digest_is_found_at_the_end(home: Path, forger: Forger) -> None:
    found = digests(forger.folder(QUIT))
    found[-1][1] = "0" * 64
    forger.record(QUIT, lambda record: record.update(final_digest="0" * 64))
    forger.forge(QUIT, "digests.json", json.dumps(found).encode())
    failed(home, "replay", "attempt 8: diverges between actions 51 and 70: digest differs", share=1.0)


def test_a_failure_that_was_forged_into_a_success_does_not_replay(home: Path, forger: Forger) -> None:
    change = {"outcome": "success", "cause": "goal_met", "code": None, "violation": None, "success_wall_s": 1.0}
    forger.record(QUIT, lambda record: record.update(change))
    forger.rehash()
    forger.refold()
    made = audit(home)
    assert made.passed  # nothing in the records alone speaks against it
    failed(home, "replay", "attempt 8: recorded goal_met, replayed quit", share=1.0)


def test_another_start_than_the_recorded_one_is_named_by_its_field(home: Path, forger: Forger) -> None:
    forger.record(GOAL, lambda record: record["realized"].update(x=0.25))
    forger.rehash()
    forger.refold()
    failed(home, "replay", "before the first action: realized.x differs by 0.25 (recorded 0.25, now 0", share=1.0)


def test_rules_that_were_disclosed_otherwise_are_named(home: Path, forger: Forger) -> None:
    described = json.loads((forger.folder(GOAL) / "describe.json").read_bytes())
    described["clauses"][0]["value"] = 2.0
    forger.forge(GOAL, "describe.json", json.dumps(described).encode())
    failed(home, "replay", "describe.clauses[0].value was 2 and is 1", share=1.0)


def test_an_attempt_whose_actions_are_gone_cannot_be_replayed(home: Path, forger: Forger) -> None:
    (forger.folder(GOAL) / "actions.npy").unlink()
    failed(home, "replay", "attempt 2: cannot be replayed: actions.npy cannot be read", share=1.0)


# ---- the report ------------------------------------------------------------------------------------------------------
def test_sampling_is_seeded_and_recorded(home: Path) -> None:
    samples = [audit(home, share=0.4, seed=seed).checks[4].data["sampling"] for seed in (5, 5, 6)]
    assert samples[0] == samples[1]
    assert samples[0] | {"chosen": []} == {"seed": 5, "share": 0.4, "replayable": 3, "chosen": []}
    assert 2 in samples[0]["chosen"]  # of the successes, too, at least one is looked at
