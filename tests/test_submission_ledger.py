"""The ledger of a bundle: what a submitter changes in it is refused, though they do all sums and signatures again."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from submission_forge import Change, Forge, forge, origin, problems, put, verify
from test_arrays import npy

from manifests.load import load
from manifests.lookup import engine_name, members, why_not
from manifests.submission import ENVELOPE_FILE, LEDGER_FILE
from runner.incidents import signed
from runner.store.decisions import body
from runner.store.text import now, stamp

# ---- records and entries: changed, chained, stated and signed again

RECORDED: list[tuple[str, Any, str]] = [
    ("outcome", "failure", r"record.outcome: 'failure', and cause 'goal_met' is 'success' under pass2"),
    ("cause", "quit", r"record.outcome: 'success', and cause 'quit' is 'failure'"),
    ("cause", "gremlins", r"record.outcome: 'success', and cause 'gremlins' is 'invalid'"),
    ("code", "COLL", r"record.code: 'COLL', and cause 'goal_met' is None"),
    ("incident", "candidate", r"record.incident: 'candidate' does not follow from cause 'goal_met'"),
    ("final_digest", "0" * 64, r"record.final_digest: '0+' after \d+ actions, .*the state digest was altered"),
    ("actions", 5, r"record.actions: 5, actions.npy holds \d+ actions"),
    ("actions", 7501, r"record.actions: 7501 are above the budget of 7500"),
    ("simulated_s", 150.5, r"record.simulated_s: 150.5 s are above the budget of 150 s"),
    ("simulated_s", -1, r"record.simulated_s: -1.0 is below 0"),
    ("simulated_s", 0, r"record.simulated_s: 0.0 s are not \d+ actions at 50 Hz"),
    ("wall_s", 1e9, r"record.wall_s: 1000000000.0 s are above the budget of 900 s"),
    ("usage.images_sent", 5000, r"record.usage.images_sent: 5000 are above the budget of 100"),
    ("usage.tokens_input", 10**12, r"record.usage: 1000000000000 tokens are above the budget of 3.4e\+07 tokens"),
    ("usage.tokens_input", 10**30, r"record.usage.tokens_input: '1000000000000000\S+: Input should be a valid integer"),
    ("usage.cost_usd", 1e308, r"record.usage.cost_usd: 1e\+308: Input should be less than"),
    ("images", [], r"record.images.mujoco: is absent, and '[0-9a-f]{64}' by the run's settings"),
    ("actions", 0, r"record.actions: 0 of a success"),
    ("acted", False, r"record.acted: is false with \d+ actions"),
    ("success_wall_s", 1e6, r"record.success_wall_s: 1000000.0 is not within wall_s"),
    ("success_wall_s", None, r"record.success_wall_s: None is not within wall_s"),
    ("usage.tokens_output", -5, r"record.usage.tokens_output: -5 is below 0"),
    ("usage.tokens_output", "many", r"record.usage.tokens_output: 'many': Input should be a valid integer"),
    ("official", True, r"record.official: true with runtime 'process'; only docker is official"),
    ("runtime", "docker", r"record.runtime: is 'docker', and 'process' by the run's settings"),
    ("run", "0" * 32, r"record.run: is '0+', and '[0-9a-f]{32}' by the attempt's entries"),
    ("attempt", "0" * 32, r"record.attempt: is '0+'"),
    ("sequence", 99, r"record.sequence: is 99, and 2 by the attempt's entries"),
    ("environment_id", "marble/dual-panda/A025", r"record.environment_id: is 'marble/dual-panda/A025'"),
    ("condition", 1, r"record.condition: is 1, and 0 by the attempt's entries"),
    ("opened_at", "2026-01-01T00:00:00Z", r"record.opened_at: is 2026-01-01T00:00:00.000000Z, and"),
    ("began_at", None, r"record.began_at: is None"),
    ("closed_at", "2036-01-01T00:00:00Z", r"record.closed_at: 2036-\S+ is after its entry of"),
    ("closed_at", "2006-01-01T00:00:00Z", r"record.closed_at: 2006-\S+ is long before its entry of"),
    ("closed_at", "9999-12-31T23:59:59-23:00", r"record.closed_at: .* after the year 9999 on UTC; write it as UTC"),
    ("began_at", "0001-01-01T00:00:00+23:00", r"record.began_at: .* before the year 1 or .* on UTC; write it as UTC"),
    ("agent.digest", "0" * 64, r"record.agent.digest: is '0+', and '[0-9a-f]{64}' by the run's settings"),
    ("agent.parameters", {"effort": "high"}, r"record.agent.parameters"),
    ("settings.level", "L0", r"record.settings.level: is 'L0', and 'L3' by the manifests"),
    ("settings.grants", [], r"record.settings.grants"),
    ("settings.mode", "easy", r"record.settings.mode: is 'easy', and 'loaded' by the manifests"),
    ("settings.base_seed", 1, r"record.settings.base_seed: is 1, and 0"),
    ("settings.protocol", "single", r"record.settings.protocol: is 'single', and 'pass2'"),
    ("settings.budgets.actions", 15000, r"record.settings.budgets.actions: is 15000, and 7500"),
    ("settings.versions.scoring", "9", r"record.settings.versions.scoring: is '9', and '1' by the run's settings"),
    ("schema_version", 2, r"record.schema_version: 2 is a schema that this program does not know .*; upgrade assay"),
    ("artifacts", [], r"record.artifacts: a success without actions.npy cannot be replayed"),
]


@pytest.mark.parametrize(("field", "value", "message"), RECORDED, ids=lambda value: str(value)[:30])
def test_a_changed_record_is_refused_though_its_chain_and_signature_hold(
    tmp_path: Path, field: str, value: Any, message: str
) -> None:
    made = forge()
    put(made.record, field, value)
    text = problems(made.forged().write(tmp_path / "b.zip"))
    assert re.search(rf"ledger.jsonl\[\d+\].payload.{message}", text), text
    assert "hash" not in text


def test_an_edited_record_breaks_the_chain_and_the_signature(tmp_path: Path) -> None:
    made = forge("noop")
    put(made.record, "outcome", "success")
    text = problems(made.written().write(tmp_path / "b.zip"))
    assert re.search(r"ledger.jsonl\[\d+\].hash: [0-9a-f]{64} is not the [0-9a-f]{64} of its content", text)
    assert "ledger.jsonl: has SHA-256" in text
    text = problems(forge("noop").written().write(tmp_path / "same.zip"))
    assert text == ""


def rename(made: Forge, name: str) -> None:
    made.artifact("actions.npy")["name"] = name


def replace_image(made: Forge) -> None:
    for closed in made.of("closed"):
        closed["record"]["images"][0]["content"] = "1" * 64


def second_image(made: Forge, content: str | None = None) -> None:
    """An unknown image, or the same once more, before the one that the run names."""
    image = made.record["images"][0]
    made.record["images"].insert(0, {**image, "content": content or image["content"]})


def add_artifacts(made: Forge, *names: str) -> None:
    found = made.artifact("states.npy")
    made.record["artifacts"] += [{**found, "name": name} for name in names]


def decide(
    made: Forge, decision: str, key: Any, ruled: Any = None, *, valid: bool = True, time: datetime | None = None
) -> None:
    record = made.record
    found = body(record["run"], record, decision, reviewer="somebody", reason="of ours", ruled=ruled, time=time)
    payload = signed(found, key)
    if not valid:
        payload["reason"] = "changed after signing"
    made.lines.append({**made.lines[-1], "kind": "decision", "payload": payload})


def by_policy(made: Forge) -> None:
    found = body(made.record["run"], made.record, "confirmed", reviewer="policy", reason="because")
    made.lines.append({**made.lines[-1], "kind": "decision", "payload": {**found, "key": None, "signature": None}})


def overlap(made: Forge) -> None:
    opened = [number for number, line in enumerate(made.lines) if line["kind"] == "opened"]
    made.lines[opened[1]]["payload"]["condition"] = made.lines[opened[0]]["payload"]["condition"]
    made.lines.insert(opened[0] + 1, made.lines.pop(opened[1]))


def unplanned(made: Forge) -> None:
    for payload in (made.of("opened")[0], made.record):
        payload["environment_id"] = "marble/dual-panda/A025"


def nowhere(made: Forge) -> None:
    """A success at an environment that no engine has yet, in a run that planned it."""
    manifests = load()
    engines = {
        entry.id: engine_name(manifests, entry.id, made.settings["profile"]) for entry in members(manifests, "full")
    }
    missing, engine = next((name, engine) for name, engine in engines.items() if why_not(manifests, name, engine))
    made.settings["tasks"] = f"{made.settings['tasks']},{missing}"
    made.settings["environments"][missing] = engine
    for payload in (made.of("opened")[0], made.record):
        payload["environment_id"] = missing


LEDGER: list[tuple[str, Change, str]] = [
    ("replaced image identity in records", replace_image,
     r"record.images.mujoco: is '1+', and '[0-9a-f]{64}' by the run"),
    ("an unknown image before the known one of its role", lambda made: second_image(made, "0" * 64),
     r"record.images\[1\].role: 'mujoco' stands twice; an attempt has one image of each role"),
    ("an image twice", second_image, r"record.images\[1\].role: 'mujoco' stands twice"),
    ("a run named like the id of another", lambda made: put(made.lines[0], "payload.name", "535e" * 8),
     r"payload.name: RUN='535e\w+': 32 hexadecimal digits are the id of a run; use another name"),
    ("no image", lambda made: put(made.settings, "images", {}), r"settings.images.mujoco: has no image 'mujoco'"),
    ("unknown role", lambda made: made.settings["images"]["mujoco"].update(hack="0" * 64),
     r"mujoco.hack: unknown image role"),
    ("unknown subset", lambda made: put(made.settings, "subset", "ep-21"), r"settings: subset 'ep-21' is unknown"),
    ("unknown seed", lambda made: put(made.settings, "seed", 5), r"base seed 5"),
    ("unknown protocol", lambda made: put(made.settings, "protocol", "pass3"), r"protocol 'pass3' is unknown"),
    ("another engine", lambda made: put(made.settings, "environments", {"marble/dual-panda/A007": "maniskill"}),
     r"settings.environments.marble/dual-panda/A007: is 'maniskill', and 'mujoco' by the manifests"),
    ("more environments", lambda made: made.settings["environments"].update({"marble/dual-panda/A025": "mujoco"}),
     r"settings.environments.marble/dual-panda/A025: is 'mujoco', and absent by the manifests"),
    ("unknown field of a record", lambda made: made.record.update(bonus=1), r"record.bonus: unknown field"),
    ("missing field of a record", lambda made: made.record.pop("wall_s"), r"record.wall_s: field required"),
    ("unplanned environment", unplanned, r"ledger.jsonl: marble/dual-panda/A025 c0: is not planned"),
    ("a condition that is not prescribed", lambda made: put(made.of("opened")[0], "condition", 7),
     r"A007 c7: is not planned"),
    ("overlapping attempts", overlap,
     r"payload.condition: marble/dual-panda/A007 c\d was opened while attempt [0-9a-f]{32} was"),
    ("an attempt opened twice", lambda made: made.lines.append(made.lines[1].copy()), r"was opened before"),
    ("an attempt closed twice", lambda made: made.lines.append(made.lines[-1].copy()),
     r"closed: attempt \w+ is closed, not"),
    ("an attempt never closed", lambda made: made.lines.pop(),
     r"ledger.jsonl: .* an attempt is began and has no record"),
    ("withdrawn", lambda made: made.lines.append({**made.lines[-1], "kind": "withdrawn"}), r"\.kind: 'withdrawn'"),
    ("received", lambda made: made.lines.append({**made.lines[-1], "kind": "received"}), r"\.kind: 'received'"),
    ("two runs", lambda made: made.lines.append(made.lines[0].copy()), r"the first entry of a ledger is its run"),
    ("an entry of another run", lambda made: made.lines[-1].update(run="0" * 32),
     r"\.run: 0+ is not the run [0-9a-f]{32}"),
    ("an artifact above its folder", lambda made: rename(made, "../../x.npy"),
     r"name: '../../x.npy' leads out of the attempt"),
    ("an absolute artifact", lambda made: rename(made, "/etc/passwd"), r"name: '/etc/passwd' leads out of the attempt"),
    ("an artifact over the record", lambda made: rename(made, "record.json"), r"name: 'record.json' takes the place"),
    ("a file under the record", lambda made: add_artifacts(made, "record.json/x"),
     r"name: 'record.json/x' takes the place of the attempt's own record.json; give the file another name"),
    ("a file in a file", lambda made: add_artifacts(made, "zz", "zz/b"), r"name: 'zz' stands twice, or another file"),
    ("a file before its folder", lambda made: add_artifacts(made, "zz/b", "zz"), r"name: 'zz' stands twice, or"),
    ("an artifact twice", lambda made: rename(made, "states.npy"), r"name: 'states.npy' stands twice"),
    ("an artifact of another size", lambda made: put(made.artifact("states.npy"), "size", 3), r"size: 3, the file has"),
    ("an artifact without hash", lambda made: put(made.artifact("states.npy"), "sha256", "../x"),
     r"'../x' is no SHA-256"),
    ("code of a violation", lambda made: put(made.record, "violation", {"code": "COLL", "clause": None, "text": "x"}),
     r"record.violation.code: 'COLL' is not the record's code None"),
    ("altered digests", lambda made: made.replace_artifact("digests.json", b'[[0, "00"]]'),
     r"digests.json ends with \[0, '00'\]"),
    ("digests that are no JSON", lambda made: made.replace_artifact("digests.json", b"["),
     r"digests.json cannot be read"),
    ("an array whose header does not end",
     lambda made: made.replace_artifact("actions.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3, ")),
     r"actions.npy cannot be read \(has no readable header"),
    ("an array that declares more than it holds",
     lambda made: made.replace_artifact("actions.npy", npy(
         f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({made.record['actions']}, 10000000000), }}\n")),
     r"artifacts: actions.npy declares \d+ bytes and has \d+"),
    ("an attempt where nobody can make one", nowhere,
     r"ledger.jsonl: \S+ c0: nobody can make an attempt here, .*; verify it with the release that it was made by"),
    ("fewer actions", lambda made: made.replace_artifact("actions.npy", b"none"), r"actions.npy cannot be read"),
    ("a forged decision", lambda made: decide(made, "confirmed", origin().other, valid=False),
     r"payload.signature: is no signature of this decision by key"),
    ("a confirmation in the name of the policy", by_policy, r"confirmed by 'policy' does not fit the attempt's record"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), [row[1:] for row in LEDGER], ids=[row[0] for row in LEDGER])
def test_a_changed_ledger_is_refused_though_its_chain_and_signature_hold(
    tmp_path: Path, change: Change, message: str
) -> None:
    made = forge()
    change(made)
    text = problems(made.forged().write(tmp_path / "b.zip"))
    assert re.search(message, text), text


def test_another_image_is_flagged_as_unknown(tmp_path: Path) -> None:
    made = forge()
    put(made.settings, "images.mujoco.mujoco", "1" * 64)
    replace_image(made)
    report = verify(made.forged().write(tmp_path / "b.zip"))
    assert not report.problems  # the identity of plain processes is that of a machine: only a rerun can tell
    assert any("mujoco.mujoco: unknown image '1111" in str(note) for note in report.notes)


def test_a_container_image_is_one_of_a_release_in_its_own_role(tmp_path: Path) -> None:
    from manifests.image_lock import load_image_lock

    made = forge()
    put(made.settings, "runtime", "docker")
    locked = {role: row.identities[0].content for role, row in load_image_lock().releases["0.1.0"].roles.items()}
    for closed in made.of("closed"):
        put(closed, "record.runtime", "docker")
    text = problems(made.forged().write(tmp_path / "unknown.zip"))
    assert "images.mujoco.mujoco: unknown image" in text
    assert "no release in manifests/images.lock has it" in text
    for role in ("mujoco", "reference"):
        made.settings["images"]["mujoco"][role] = locked[role]
    for closed in made.of("closed"):
        for image in closed["record"]["images"]:
            image["content"] = locked[image["role"]]
    assert problems(made.forged().write(tmp_path / "released.zip")) == ""
    made.settings["images"]["mujoco"]["reference"] = locked["mujoco"]  # a released image, in another role
    assert "images.mujoco.reference: unknown image" in problems(made.forged().write(tmp_path / "swapped.zip"))


QUIT = {"cause": "quit", "code": "QUIT"}


def candidate() -> Forge:
    """A run whose first attempt claims an incident."""
    made = forge("noop")
    put(made.record, "cause", "evaluator_error")
    made.record.update(outcome="invalid", code="ERR", incident="candidate", evidence={"log": "?"})
    return made


def rule(made: Forge, ruled: dict[str, Any], outcome: str = "failure") -> None:
    payload = {"attempt": made.record["attempt"], "outcome": outcome, **ruled, "reason": "of ours"}
    made.lines.append({**made.lines[-1], "kind": "ruled", "payload": payload})


@pytest.mark.parametrize("decision", ["confirmed", "rejected"])
def test_a_decision_of_a_submitter_arrives_as_a_proposal(tmp_path: Path, decision: str) -> None:
    made = candidate()
    decide(made, decision, origin().key, QUIT if decision == "rejected" else None)
    if decision == "rejected":
        rule(made, QUIT)
    report = verify(made.forged().write(tmp_path / "b.zip"))
    assert not report.problems, [str(problem) for problem in report.problems]
    assert any(
        f"{decision} by 'somebody'" in note.text and "arrives as a proposal" in note.text for note in report.notes
    )


GOAL = {"cause": "goal_met", "code": None}
RULED: list[tuple[str, Any, Any, str, str]] = [
    ("a success", GOAL, GOAL, "success", r"payload.ruled: \{'cause': 'goal_met', .* cannot take the place"),
    ("a success by its entry", GOAL, GOAL, "success", r"\[27\].payload: \{'cause': 'goal_met', .* cannot take"),
    ("an incident", {"cause": "interrupted", "code": "ERR"}, None, "", r"'interrupted', .* cannot take the place"),
    ("no cause", {"cause": "gremlins", "code": None}, None, "", r"'gremlins', .* cannot take the place"),
    ("a code of its own", {"cause": "quit", "code": "COLL"}, None, "", r"'quit', 'code': 'COLL'.* cannot take"),
    ("a violation without code", {"cause": "violation", "code": None}, None, "", r"'violation', .* cannot take"),
    ("another outcome", QUIT, QUIT, "success", r"outcome: 'success', and .*'quit'.* is 'failure' under pass2"),
    ("another cause", QUIT, {"cause": "agent_exception", "code": "QUIT"}, "failure",
     r"ruled: attempt \w+ has no rejected incident that became 'agent_exception QUIT'"),
    ("another code", QUIT, {"cause": "quit", "code": "COLL"}, "failure",
     r"ruled: attempt \w+ has no rejected incident that became 'quit COLL'"),
    ("no rejection", None, QUIT, "failure", r"ruled: attempt \w+ has no rejected incident"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("decided", "entry", "outcome", "message"), [row[1:] for row in RULED], ids=[row[0] for row in RULED]
)
def test_a_rejected_incident_becomes_a_failure_and_nothing_else_whoever_signs(
    tmp_path: Path, decided: Any, entry: Any, outcome: str, message: str
) -> None:
    made = candidate()
    if decided is not None:
        decide(made, "rejected", origin().other, decided)
    if entry is not None:
        rule(made, entry, outcome)
    text = problems(made.forged().write(tmp_path / "b.zip"))
    assert re.search(message, text), text


def test_a_decision_of_the_future_is_refused_since_its_key_may_be_trusted_by_then(tmp_path: Path) -> None:
    for ahead, refused in ((timedelta(hours=1), False), (timedelta(days=2), True)):
        made = candidate()
        decide(made, "confirmed", origin().key)
        made.lines[-1]["time"] = stamp(now() + ahead)
        text = problems(made.forged().write(tmp_path / "b.zip"))
        assert bool(re.search(r"ledger.jsonl\[\d+\].time: \S+ is in the future", text)) == refused, text
        signed = candidate()
        decide(signed, "confirmed", origin().key, time=now() + ahead)
        text = problems(signed.forged().write(tmp_path / "signed.zip"))
        assert bool(re.search(r"ledger.jsonl\[\d+\].payload.time: \S+ is in the future", text)) == refused, text


@pytest.mark.parametrize(
    ("year", "said"), [("9999", "is in the future: the sub"), ("0001", "is before there was this program")]
)
def test_a_run_of_another_age_is_taken_with_a_note_on_its_clock(tmp_path: Path, year: str, said: str) -> None:
    made = forge("noop")
    for line in made.lines:
        line["time"] = f"{year}-12-31T23:59:59.000000Z"
    for record in (closed["record"] for closed in made.of("closed")):
        for name in ("opened_at", "began_at", "closed_at"):
            record[name] = f"{year}-12-31T23:59:59Z"
    report = verify(made.forged().write(tmp_path / "b.zip"))
    assert not report.problems
    assert [str(note) for note in report.notes if said in str(note)]


def test_a_confirmed_incident_is_ruled_to_be_nothing(tmp_path: Path) -> None:
    made = candidate()
    decide(made, "confirmed", origin().other, QUIT)
    text = problems(made.forged().write(tmp_path / "b.zip"))
    assert re.search(r"payload.ruled: \{'cause': 'quit', .*\} of a confirmed incident; leave it out", text), text


def test_the_policy_confirms_only_so_many_incidents_of_a_condition(tmp_path: Path) -> None:
    made = forge("noop")
    for opened in made.of("opened")[:3]:
        opened["condition"] = 0
        record = next(closed["record"] for closed in made.of("closed") if closed["attempt"] == opened["attempt"])
        record.update(cause="container_fault", outcome="invalid", code="ERR", incident="candidate", condition=0)
        record.update(evidence={"log": "?"}, violation=None)
        found = body(record["run"], record, "confirmed", reviewer="policy", reason="before the first action")
        made.lines.append({**made.lines[-1], "kind": "decision", "payload": {**found, "key": None, "signature": None}})
    text = problems(made.forged().write(tmp_path / "b.zip"))
    assert "3 incidents at marble/dual-panda/A007 c0 are confirmed by policy, 2 are allowed; ask a reviewer" in text


# ---- lines: reordering, truncation, extension

LINES: list[tuple[str, Change, str]] = [
    ("two entries swapped", lambda made: made.lines.insert(2, made.lines.pop(1)),
     r"ledger.jsonl\[2\].sequence: is 3 on line 2"),
    ("the last entry cut off", lambda made: made.lines.pop(), r"ledger.jsonl: has SHA-256"),
    ("the first entry cut off", lambda made: made.lines.pop(0), r"ledger.jsonl\[1\].sequence: is 2 on line 1"),
    ("an entry cut out", lambda made: made.lines.pop(4),
     r"ledger.jsonl\[5\].previous: \w+ is not the hash of the entry before"),
    ("an entry twice", lambda made: made.lines.append(made.lines[-1]),
     r"ledger.jsonl\[14\].sequence: is 13 on line 14"),
    ("no entry at all", lambda made: made.lines.clear(), r"ledger.jsonl: is empty"),
    ("a time of an entry", lambda made: made.lines[3].update(time="2026-01-01T00:00:00.000000Z"),
     r"ledger.jsonl\[4\].hash"),
    ("a time that is none", lambda made: made.lines[3].update(time="yesterday"),
     r"ledger.jsonl\[4\].time: 'yesterday'"),
    ("a day that there is not", lambda made: made.lines[3].update(time="2026-13-45T00:00:00.000000Z"),
     r"ledger.jsonl\[4\].time: '2026-13-45T00:00:00.000000Z': .* is no day and time that there is"),
    ("a time in other digits", lambda made: made.lines[3].update(time="٢٠٢٦-01-01T00:00:00.000000Z"),
     r"ledger.jsonl\[4\].time: "),
    ("a kind that is none", lambda made: made.lines[3].update(kind="wish"), r"ledger.jsonl\[4\].kind: 'wish'"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), [row[1:] for row in LINES], ids=[row[0] for row in LINES])
def test_a_ledger_that_was_cut_moved_or_extended_is_refused(tmp_path: Path, change: Change, message: str) -> None:
    made = forge()
    change(made)
    text = problems(made.written().write(tmp_path / "b.zip"))
    assert re.search(message, text), text
    assert "ledger.jsonl: has SHA-256" in text


def test_a_ledger_extended_with_a_whole_chain_is_not_the_signed_one(tmp_path: Path) -> None:
    made = forge()
    made.lines.append({**made.lines[-1], "kind": "decision", "payload": {}})
    text = problems(made.chained().write(tmp_path / "b.zip"))
    assert "ledger.jsonl[14].payload.attempt: field required" in text
    assert "statement.predicate.ledger.entries: is 13, and 14 by ledger" in text


TEXTS: list[tuple[str, str, Callable[[bytes], bytes], str]] = [
    ("a key twice in a record", LEDGER_FILE, lambda raw: raw.replace(b'"acted":', b'"acted":false,"acted":', 1),
     r"ledger.jsonl\[\d+\]: the key 'acted' stands twice"),
    ("NaN in a record", LEDGER_FILE, lambda raw: re.sub(rb'"wall_s":[0-9.]+', b'"wall_s":NaN', raw, count=1),
     r"ledger.jsonl\[\d+\]: NaN is no JSON number"),
    ("an infinite number", LEDGER_FILE, lambda raw: raw.replace(b'"actions":', b'"actions":-Infinity,"a":', 1),
     r"-Infinity"),
    ("a space", LEDGER_FILE, lambda raw: raw.replace(b":", b": ", 1), r"ledger.jsonl\[1\]: is not the canonical form"),
    ("bytes that are no UTF-8", LEDGER_FILE, lambda raw: raw.replace(b"reference", b"r\xffference", 1),
     r"is not UTF-8 at byte"),
    ("deep nesting", LEDGER_FILE, lambda raw: b"[" * 100_000 + b"\n" + raw, r"ledger.jsonl\[1\]: is nested too deeply"),
    ("no last line end", LEDGER_FILE, lambda raw: raw[:-1],
     r"ledger.jsonl: cannot be read \(the last line has no end\)"),
    ("a key twice in the envelope", ENVELOPE_FILE, lambda raw: raw.replace(b"{", b'{"payload":"",', 1),
     r"submission.json: the key 'payload' stands twice"),
    ("an envelope that is no object", ENVELOPE_FILE, lambda raw: b"[]", r"submission.json: envelope: \[\]"),
    ("an envelope that is no JSON", ENVELOPE_FILE, lambda raw: raw[:-1], r"submission.json: is not JSON"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "change", "message"), [row[1:] for row in TEXTS], ids=[row[0] for row in TEXTS])
def test_json_of_a_stranger_is_strict(
    tmp_path: Path, file: str, change: Callable[[bytes], bytes], message: str
) -> None:
    made = forge()
    changed = change(made.files[file])
    assert changed != made.files[file]
    made.files[file] = changed
    text = problems(made.write(tmp_path / "b.zip"))
    assert re.search(message, text), text
