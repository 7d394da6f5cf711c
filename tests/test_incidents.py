"""Incidents: who confirms and rejects them, what that does to a score, and what is refused (design: section 7)."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from incident_board import BOARD, INTERRUPTED, LATE_FAULT, NO_EVIDENCE, SANITY, board, one_condition, trusting
from leaderboard_records import QUIT, RULE, SUCCESS, twice, write_run

from manifests.load import Manifests, load
from runner.errors import BadInput
from runner.incidents import Reviewer, confirm, incidents, reject, reviewer, signed
from runner.keys import new_key
from runner.score import score_run
from runner.store import ledger
from runner.store.decisions import body, incident_state, why_proposal
from runner.store.scored import scored_attempt
from runner.store.store import Run, Store
from runner.store.text import canonical, now

REASON = "the host lost power"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "home")


@pytest.fixture
def trusted(tmp_path: Path) -> tuple[Manifests, Reviewer]:
    return board(tmp_path)


def judged(store: Store, run: Run, manifests: Manifests) -> list[tuple[str, str]]:
    """Status and reason of every attempt, in ledger order."""
    return [(row["status"], row["reason"]) for row in score_run(store, run, manifests)["attempts"]]


def statuses(store: Store, run: Run, manifests: Manifests) -> list[str]:
    return [status for status, _ in judged(store, run, manifests)]


# -- what a binding decision does


def test_a_confirmed_incident_takes_no_opportunity_and_stays_in_the_ledger(
    store: Store, trusted: tuple[Manifests, Reviewer]
) -> None:
    manifests, who = trusted
    run = one_condition(store, "r", LATE_FAULT, QUIT, SUCCESS)
    assert statuses(store, run, manifests) == ["candidate", "pending", "pending"]
    state = confirm(store, run, 2, manifests, who, REASON)
    assert (state.incident, state.binding.trusted if state.binding else None) == ("confirmed", BOARD)
    assert judged(store, run, manifests)[0] == (
        "excluded",
        "confirmed incident (container_fault): takes no opportunity",
    )
    assert statuses(store, run, manifests) == ["excluded", "scored", "scored"]
    result = score_run(store, run, manifests)
    assert result["ledger"]["excluded_percent"] == "33.33"
    assert "33.33 % of attempts are excluded, above the cap of 10.00 %" in result["not_rankable"]
    assert result["candidates"] == []
    assert store.verify(run) is None


def test_a_rejected_incident_is_ruled_again_and_consumes_an_opportunity(
    store: Store, trusted: tuple[Manifests, Reviewer]
) -> None:
    manifests, who = trusted
    run = one_condition(store, "r", INTERRUPTED, QUIT, SUCCESS)
    state = reject(store, run, 2, manifests, who, "the submitter ended it", "agent_exception")
    assert (state.incident, state.ruled) == ("rejected", ("failure", "agent_exception", "QUIT"))
    assert judged(store, run, manifests) == [
        ("scored", "valid attempt 1 of at most 2: failure QUIT"),
        ("scored", "valid attempt 2 of at most 2: failure QUIT"),
        ("extra", "after the scoring window, which attempt 5 closed: its success is not scored"),
    ]
    last = store.entries(run)[-1]
    assert last.kind == "ruled"
    assert (last.payload["outcome"], last.payload["cause"]) == ("failure", "agent_exception")
    row = store.attempt(run, 2)
    assert (row.outcome, row.cause, row.incident) == ("invalid", "interrupted", "candidate"), "the record is not edited"


def test_a_violation_is_ruled_with_the_code_that_the_reviewer_gives(
    store: Store, trusted: tuple[Manifests, Reviewer]
) -> None:
    manifests, who = trusted
    run = one_condition(store, "r", SANITY)
    with pytest.raises(BadInput, match="cause violation takes the code of its violation; give --code, one of COLL"):
        reject(store, run, 2, manifests, who, REASON, "violation")
    state = reject(store, run, 2, manifests, who, REASON, "violation", "COLL")
    assert state.ruled == ("failure", "violation", "COLL")


def test_under_the_single_protocol_a_confirmed_incident_is_not_replaced(
    store: Store, trusted: tuple[Manifests, Reviewer]
) -> None:
    manifests, who = trusted
    run = one_condition(store, "r", LATE_FAULT, protocol="single")
    confirm(store, run, 2, manifests, who, REASON)
    assert judged(store, run, manifests) == [
        ("invalid", "confirmed incident (container_fault): protocol single never replaces an attempt")
    ]


def test_a_failure_is_confirmed_as_an_incident_only_with_evidence(
    store: Store, trusted: tuple[Manifests, Reviewer], tmp_path: Path
) -> None:
    manifests, who = trusted
    run = one_condition(store, "r", RULE)
    with pytest.raises(BadInput, match="attempt 2: it is a failure; give --evidence FILE"):
        confirm(store, run, 2, manifests, who, REASON)
    log = tmp_path / "host.log"
    log.write_text("disk controller reset", encoding="utf-8")
    state = confirm(store, run, 2, manifests, who, REASON, [log])
    assert statuses(store, run, manifests) == ["excluded"]
    assert state.binding is not None
    assert state.binding.payload["evidence"] == [
        {"name": "host.log", "size": 21, "sha256": hashlib.sha256(log.read_bytes()).hexdigest()}
    ]


# -- what is refused


def test_confirming_a_success_is_refused(store: Store, trusted: tuple[Manifests, Reviewer], tmp_path: Path) -> None:
    run = one_condition(store, "r", SUCCESS)
    proof = tmp_path / "proof"
    proof.write_text("x", encoding="utf-8")
    with pytest.raises(BadInput, match="attempt 2 is a success: a success is never an incident"):
        confirm(store, run, 2, *trusted, REASON, [proof])


def test_confirming_without_evidence_is_refused(store: Store, trusted: tuple[Manifests, Reviewer]) -> None:
    manifests, who = trusted
    run = one_condition(store, "r", NO_EVIDENCE)
    with store.database.write() as session:  # write_run lists artifacts, which are evidence too
        row = session.get_one(type(store.attempt(run, 2)), store.attempt(run, 2).id)
        row.record = json.dumps({**json.loads(row.record or ""), "artifacts": []})
        session.add(row)
    with pytest.raises(BadInput, match="attempt 2: its record holds no evidence; give --evidence FILE"):
        confirm(store, run, 2, manifests, who, REASON)


@pytest.mark.parametrize("first", ["confirm", "reject"])
def test_deciding_twice_is_refused_and_leaves_the_ledger_as_it_was(
    store: Store, trusted: tuple[Manifests, Reviewer], first: str
) -> None:
    manifests, who = trusted
    run = one_condition(store, "r", LATE_FAULT)
    if first == "confirm":
        confirm(store, run, 2, manifests, who, REASON)
    else:
        reject(store, run, 2, manifests, who, REASON, "quit")
    before = store.entries(run)
    done = "confirmed" if first == "confirm" else "rejected"
    with pytest.raises(BadInput, match=rf"attempt 2 was {done} by the board \(ledger entry 5\): it is decided"):
        confirm(store, run, 2, manifests, who, "again")
    with pytest.raises(BadInput, match=rf"attempt 2 was {done} by the board"):
        reject(store, run, 2, manifests, who, "again", "quit")
    assert store.entries(run) == before


@pytest.mark.parametrize(
    ("ruled", "text"),
    [
        ("goal_met", "ruled 'goal_met' is no failure of the agent"),
        ("interrupted", "ruled 'interrupted' is no failure of the agent"),
        ("quitt", "ruled 'quitt' is unknown; nearest: quit"),
    ],
)
def test_a_rejected_incident_becomes_a_failure_of_the_agent_and_nothing_else(
    store: Store, trusted: tuple[Manifests, Reviewer], ruled: str, text: str
) -> None:
    run = one_condition(store, "r", LATE_FAULT)
    with pytest.raises(BadInput, match=text):
        reject(store, run, 2, *trusted, REASON, ruled)


def test_what_claims_no_incident_cannot_be_rejected(store: Store, trusted: tuple[Manifests, Reviewer]) -> None:
    run = one_condition(store, "r", QUIT)
    with pytest.raises(BadInput, match=r"attempt 2 is failure \(quit\) and claims no incident: nothing to reject"):
        reject(store, run, 2, *trusted, REASON, "quit")


def test_an_attempt_without_a_record_and_an_unknown_number_are_refused(
    store: Store, trusted: tuple[Manifests, Reviewer]
) -> None:
    from runner.store.leases import Owner

    run = write_run(store, "r", lambda *_: None)
    row = store.open_attempt(run, "marble/dual-panda/A007", 0, Owner.current())
    with pytest.raises(BadInput, match="attempt 2 is opened and has no record yet"):
        confirm(store, run, row.sequence, *trusted, REASON)
    for number in (77, 0, -1, 2**63, -(2**64), 10**30):
        with pytest.raises(BadInput, match=f"no attempt has the sequence number {number}"):
            confirm(store, run, number, *trusted, REASON)


@pytest.mark.parametrize("reason", ["", "  \n", "x" * 5000])
def test_a_reason_is_asked_for(store: Store, trusted: tuple[Manifests, Reviewer], reason: str) -> None:
    run = one_condition(store, "r", LATE_FAULT)
    with pytest.raises(BadInput, match="reason: "):
        confirm(store, run, 2, *trusted, reason)


def test_evidence_that_cannot_be_read_or_is_empty_is_named(
    store: Store, trusted: tuple[Manifests, Reviewer], tmp_path: Path
) -> None:
    run = one_condition(store, "r", LATE_FAULT)
    with pytest.raises(BadInput, match=r"evidence .*gone: cannot be read \(No such file"):
        confirm(store, run, 2, *trusted, REASON, [tmp_path / "gone"])
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(BadInput, match="is no file; give one, and not a folder, a pipe or a device"):
            confirm(store, run, 2, *trusted, REASON, [path])
    (tmp_path / "empty").touch()
    with pytest.raises(BadInput, match="the file is empty and shows nothing"):
        confirm(store, run, 2, *trusted, REASON, [tmp_path / "empty"])


# -- who decides


def test_a_decision_without_a_trusted_key_is_a_proposal_and_changes_no_score(store: Store, tmp_path: Path) -> None:
    run = one_condition(store, "r", LATE_FAULT, QUIT)
    before = score_run(store, run, load())
    stranger = new_key(tmp_path / "stranger.pem")
    for who in (reviewer("submitter", None, load()), reviewer("stranger", stranger, load())):
        state = confirm(store, run, 2, load(), who, REASON)
        assert (state.incident, state.binding) == ("candidate", None)
    state = reject(store, run, 2, load(), reviewer("third", None, load()), REASON, "quit")
    assert [proposal.decision for proposal in state.proposals] == ["confirmed", "confirmed", "rejected"]
    assert score_run(store, run, load()) == before
    with pytest.raises(BadInput, match=r"attempt 2: submitter has proposed that already \(ledger entry 8\)"):
        confirm(store, run, 2, load(), reviewer("submitter", None, load()), "once more")


def test_a_proposal_on_a_failure_leaves_it_a_failure(store: Store, tmp_path: Path) -> None:
    run = one_condition(store, "r", QUIT)
    (tmp_path / "log").write_text("x", encoding="utf-8")
    confirm(store, run, 2, load(), reviewer("submitter", None, load()), REASON, [tmp_path / "log"])
    assert statuses(store, run, load()) == ["scored"]
    (found,) = incidents(store, run, load(), decided=False)
    assert (found["incident"], found["decisions"][0]["binding"]) == ("none", False)


def test_the_board_decides_over_a_proposal(store: Store, trusted: tuple[Manifests, Reviewer]) -> None:
    manifests, who = trusted
    run = one_condition(store, "r", LATE_FAULT)
    confirm(store, run, 2, manifests, reviewer("submitter", None, manifests), REASON)
    assert reject(store, run, 2, manifests, who, REASON, "quit").incident == "rejected"


def test_a_key_that_leaves_the_trust_list_confirms_nothing_any_more(
    store: Store, trusted: tuple[Manifests, Reviewer]
) -> None:
    manifests, who = trusted
    run = one_condition(store, "r", LATE_FAULT)
    confirm(store, run, 2, manifests, who, REASON)
    assert statuses(store, run, manifests) == ["excluded"]
    assert statuses(store, run, load()) == ["candidate"]


FORGERIES: list[dict[str, Any]] = [
    {"reason": "another reason"},
    {"reviewer": "somebody else"},
    {"decision": "rejected", "ruled": {"cause": "quit", "code": "QUIT"}},
    {"signature": None},
    {"signature": "not base64"},
    {"signature": "AAAA"},
    {"key": "00" * 32},
    {"evidence": [{"name": "x", "size": 1, "sha256": "0" * 64}]},
    {"run": "another"},
    {"time": "2030-01-01T00:00:00.000000Z"},
    {"time": None},
    {"record": "0" * 64},
    {"reviewer": "policy", "key": None, "signature": None},
]


@pytest.mark.parametrize("change", FORGERIES, ids=[",".join(change) for change in FORGERIES])
def test_a_signed_decision_that_was_changed_confirms_nothing(
    store: Store, trusted: tuple[Manifests, Reviewer], change: dict[str, Any]
) -> None:
    manifests, who = trusted
    good = one_condition(store, "good", LATE_FAULT)
    confirm(store, good, 2, manifests, who, REASON)
    payload = store.entries(good)[-1].payload
    store.append(good, "decision", {**payload, **change})
    with store.database.write() as session:  # the ledger with the changed decision alone
        session.connection().exec_driver_sql(f"DELETE FROM entry WHERE run_id = '{good.id}' AND sequence = 5")
        ledger.rebuild(session, good.id)
    state = incident_state(store.attempt(good, 2), manifests)
    assert (state.incident, state.binding) == ("candidate", None)


def test_a_decision_holds_for_its_own_attempt_alone(store: Store, trusted: tuple[Manifests, Reviewer]) -> None:
    manifests, who = trusted
    run = one_condition(store, "r", LATE_FAULT, LATE_FAULT)
    confirm(store, run, 2, manifests, who, REASON)
    payload = store.entries(run)[-1].payload
    store.append(run, "decision", {**payload, "attempt": store.attempt(run, 5).id})
    assert scored_attempt(store.attempt(run, 2), manifests).incident == "confirmed"
    assert scored_attempt(store.attempt(run, 5), manifests).incident == "candidate"


def test_a_decision_before_its_key_was_trusted_stays_a_proposal_until_it_is_made_again(
    store: Store, tmp_path: Path
) -> None:
    key = new_key(tmp_path / "lab.pem")
    run = one_condition(store, "r", LATE_FAULT, LATE_FAULT, QUIT)
    confirm(store, run, 2, load(), reviewer("lab", key, load()), REASON)
    reject(store, run, 5, load(), reviewer("lab", key, load()), REASON, "quit")
    later = trusting(key, since=now())
    assert score_run(store, run, later)["attempts"] == score_run(store, run, load())["attempts"]
    (first, second) = incidents(store, run, later, decided=False)
    why = first["decisions"][0]["why_proposal"]
    assert why.startswith("this board trusts the board since ")
    assert not second["decisions"][0]["binding"]
    state = confirm(store, run, 2, later, reviewer(None, key, later), "again, for the board")
    assert (state.incident, state.binding.reviewer if state.binding else None) == ("confirmed", BOARD)
    assert [proposal.payload["reason"] for proposal in state.proposals] == [REASON]
    assert statuses(store, run, later) == ["excluded", "candidate", "pending"]


def test_a_key_that_will_be_trusted_proposes_until_then(store: Store, tmp_path: Path) -> None:
    key = new_key(tmp_path / "key.pem")
    tomorrow = trusting(key, since=now() + timedelta(days=1))
    run = one_condition(store, "r", LATE_FAULT)
    with pytest.raises(BadInput, match="no trusted key says who you are"):
        reviewer(None, key, tomorrow)
    assert confirm(store, run, 2, tomorrow, reviewer("Ada", key, tomorrow), REASON).incident == "candidate"


def test_a_signed_rejection_that_makes_a_success_of_an_incident_does_not_bind(
    store: Store, trusted: tuple[Manifests, Reviewer]
) -> None:
    manifests, who = trusted
    assert who.key is not None
    run = one_condition(store, "r", LATE_FAULT)
    record = json.loads(store.attempt(run, 2).record or "")
    for ruled in ({"cause": "goal_met", "code": None}, {"cause": "quit", "code": "COLL"}, {"code": None}, None):
        found = body(run.id, record, "rejected", reviewer=who.name, reason=REASON, ruled=ruled)
        store.append(run, "decision", signed(found, who.key))
    state = incident_state(store.attempt(run, 2), manifests)
    assert (state.incident, state.binding, len(state.proposals)) == ("candidate", None, 4)


def test_a_signature_of_before_times_were_signed_holds_and_is_a_proposal(
    store: Store, trusted: tuple[Manifests, Reviewer]
) -> None:
    manifests, who = trusted
    assert who.key is not None
    run = one_condition(store, "r", LATE_FAULT)
    found = body(run.id, json.loads(store.attempt(run, 2).record or ""), "confirmed", reviewer=BOARD, reason=REASON)
    found.pop("time")
    store.append(run, "decision", signed(found, who.key))
    state = incident_state(store.attempt(run, 2), manifests)
    assert (state.incident, state.binding) == ("candidate", None)
    assert "covers no time, as those of older releases; decide again" in why_proposal(state.proposals[0], manifests)
    assert confirm(store, run, 2, manifests, who, "again").incident == "confirmed"


def test_of_two_trusted_decisions_the_first_binds(store: Store, tmp_path: Path) -> None:
    one, two = new_key(tmp_path / "1.pem"), new_key(tmp_path / "2.pem")
    both = trusting(one, two)
    run = one_condition(store, "r", LATE_FAULT)
    only_two = trusting(two)  # the second reviewer does not see the first key as trusted
    confirm(store, run, 2, both, reviewer(None, one, both), REASON)
    reject(store, run, 2, only_two, reviewer(None, two, only_two), REASON, "quit")
    assert incident_state(store.attempt(run, 2), both).incident == "confirmed"
    assert incident_state(store.attempt(run, 2), only_two).incident == "rejected"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (None, "give --reviewer NAME"),
        ("policy", "is the name of automatic decisions"),
        ("", "give --reviewer NAME"),
        (" Policy ", "is the name of automatic decisions"),
        (" ", "give --reviewer NAME"),
        ("x" * 101, "give 1 to 100 characters"),
        ("Eve\u202e", "none that cannot be printed"),
    ],
)
def test_a_reviewer_has_a_name(name: str | None, text: str) -> None:
    with pytest.raises(BadInput, match=text):
        reviewer(name, None, load())


def test_a_name_with_other_blanks_is_the_same_reviewer() -> None:
    assert reviewer(" Eve  Adams ", None, load()).name == "Eve Adams"


def test_a_trusted_key_has_the_name_that_the_board_gave_it(tmp_path: Path) -> None:
    manifests, who = board(tmp_path)
    assert who.name == BOARD
    with pytest.raises(BadInput, match="the trust list calls this key 'the board'"):
        reviewer("Alice", who.key, manifests)


# -- what is listed


def test_the_list_shows_open_ones_with_their_evidence_and_all_with_decisions(
    store: Store, trusted: tuple[Manifests, Reviewer]
) -> None:
    manifests, who = trusted
    run = write_run(store, "r", twice(LATE_FAULT))
    confirm(store, run, 2, manifests, who, REASON)
    listed = incidents(store, run, manifests, decided=False)
    assert len(listed) == 11
    assert listed[0]["evidence"] == {"exit": 137}
    assert listed[0]["acted"] is True
    everything = incidents(store, run, manifests, decided=True)
    assert len(everything) == 12
    (decision,) = everything[0]["decisions"]
    assert (decision["decision"], decision["reviewer"], decision["binding"]) == ("confirmed", BOARD, True)


def test_the_view_folds_decisions_again_to_the_same_rows(store: Store, trusted: tuple[Manifests, Reviewer]) -> None:
    manifests, who = trusted
    run = one_condition(store, "r", LATE_FAULT, INTERRUPTED)
    confirm(store, run, 2, manifests, who, REASON)
    reject(store, run, 5, manifests, who, REASON, "quit")
    before = [row.model_dump() for row in store.attempts(run)]
    with store.database.write() as session:
        ledger.rebuild(session, run.id)
    assert [row.model_dump() for row in store.attempts(run)] == before


def test_decisions_in_a_store_of_the_version_before_get_the_times_of_their_entries(
    store: Store, trusted: tuple[Manifests, Reviewer], tmp_path: Path
) -> None:
    manifests, who = trusted
    run = one_condition(store, "r", LATE_FAULT, INTERRUPTED, QUIT)
    confirm(store, run, 2, manifests, reviewer("lab", None, manifests), REASON)
    confirm(store, run, 2, manifests, who, REASON)
    reject(store, run, 5, manifests, who, REASON, "quit")
    before, found = store.attempts(run), score_run(store, run, manifests)
    store.close()
    with sqlite3.connect(tmp_path / "home" / "assay.sqlite") as raw:
        for key, decisions in raw.execute("SELECT id, decisions FROM attempt WHERE decisions NOT NULL").fetchall():
            old = [{name: item[name] for name in ("payload", "sequence")} for item in json.loads(decisions)]
            raw.execute("UPDATE attempt SET decisions = ? WHERE id = ?", (canonical(old).decode(), key))
        raw.execute("UPDATE alembic_version SET version_num = '0002'")
    raw.close()
    again = Store(tmp_path / "home")
    assert again.attempts(run) == before
    assert again.diverged(run) is None
    assert score_run(again, run, manifests) == found


def test_a_confirmation_of_a_record_with_odd_text_holds(store: Store, trusted: tuple[Manifests, Reviewer]) -> None:
    manifests, who = trusted
    odd = replace(LATE_FAULT, text="lone \ud800 and NUL \x00", evidence={"\udcff": b"\xff"})
    run = one_condition(store, "r", odd)
    assert confirm(store, run, 2, manifests, who, "reason with \ud800").incident == "confirmed"
