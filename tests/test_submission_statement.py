"""What is signed: every change to a statement or its envelope is refused, or named (FIELD 22 among them)."""

from __future__ import annotations

import base64
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from submission_forge import Change, Forge, blob, forge, origin, problems, put

from manifests.submission import ENVELOPE_FILE
from runner.store.text import canonical


def test_a_good_bundle_has_no_problem() -> None:
    for path in origin().bundles.values():
        assert problems(path) == ""


def test_taking_a_bundle_apart_and_putting_it_together_changes_nothing(tmp_path: Path) -> None:
    assert problems(forge().forged().write(tmp_path / "b.zip")) == ""


# ---- the statement: changed and signed again by its own submitter

STATED: dict[str, Any] = {
    "board": "chess",
    "model": "gpt-6-astra",
    "agent.name": "code",
    "agent.kind": "model",
    "agent.version": "9.9.9",
    "agent.digest": "0" * 64,
    "agent.parameters": {"effort": "high"},
    "subset": "ep-100",
    "tasks": None,
    "environments": {},
    "protocol": "single",
    "profile": "native",
    "level": "L0",
    "grants": [],
    "seed": 1,
    "runtime": "docker",
    "official": True,
    "gpus": True,
    "images.mujoco.mujoco": "0" * 64,
    "versions.scoring": "0",
    "fingerprints": [],
    "attempts.success": 3,
    "attempts.candidates": 1,
    "usage.tokens_output": 7,
    "usage.wall_s": 1.0,
    "usage.cost_usd": None,
    "artifacts.size": 1,
    "artifacts.files": 0,
    "ledger.entries": 12,
    "ledger.head": "0" * 64,
    "ledger.size": 1,
    "run.id": "0" * 32,
    "run.name": "other",
    "run.created_at": "2026-01-01T00:00:00.000000Z",
    "budgets.launcher.actions": 15000,
    "budgets.launcher.simulated_s": 300,
    "budgets.launcher.wall_s": 1200,
    "budgets.launcher.tokens": None,
    "budgets.launcher.images": 200,
}


@pytest.mark.parametrize("field", STATED)
def test_a_changed_field_of_the_statement_is_refused_with_its_path(tmp_path: Path, field: str) -> None:
    made = forge()
    put(made.predicate, field, STATED[field])
    assert f"statement.predicate.{field}" in problems(made.signed().write(tmp_path / "b.zip"))


def test_field_22_a_budget_times_two_or_fewer_conditions_is_refused_with_its_path(tmp_path: Path) -> None:
    # mlcommons/inference#1342. In the statement, and again in a ledger that was written for it.
    made = forge()
    put(made.predicate, "budgets.launcher.actions", 15000)
    made.predicate["conditions"]["marble/dual-panda/A007"].pop()
    text = problems(made.signed().write(tmp_path / "stated.zip"))
    assert "statement.predicate.budgets.launcher.actions: is 15000, and 7500 by ledger and manifests" in text
    assert "statement.predicate.conditions.marble/dual-panda/A007: 3 conditions, the manifests prescribe 4" in text

    made = forge()
    put(made.settings, "budgets.launcher.actions", 15000)
    for closed in made.of("closed"):
        put(closed, "record.settings.budgets.actions", 15000)
    text = problems(made.forged().write(tmp_path / "recorded.zip"))
    assert "ledger.jsonl[1].payload.settings.budgets.launcher.actions: is 15000, and 7500 by the manifests" in text
    assert re.search(r"ledger.jsonl\[\d+\].payload.record.settings.budgets.actions: is 15000, and 7500", text)

    made = forge()
    dropped = {payload["attempt"] for payload in made.of("opened") if payload["condition"] == 3}
    made.lines = [line for line in made.lines if line["payload"].get("attempt") not in dropped]
    text = problems(made.forged().write(tmp_path / "left-out.zip"))
    assert "ledger.jsonl: marble/dual-panda/A007 c3: the condition has no attempt; go on with the run" in text


# ---- the envelope


def resealed(made: Forge, change: Callable[[bytes], bytes]) -> None:
    made.sealed(change(base64.b64decode(made.envelope["payload"])))


ENVELOPES: list[tuple[str, Change, str]] = [
    ("another payload type", lambda made: made.envelope.update(payloadType="text/plain"),
     r"envelope.payloadType: 'text/plain'"),
    ("no signature", lambda made: made.envelope.update(signatures=[]), r"envelope.signatures: \[\]"),
    ("two signatures", lambda made: made.envelope["signatures"].append(made.envelope["signatures"][0]),
     r"envelope.signatures"),
    ("a cut signature", lambda made: put(made.envelope["signatures"][0], "sig", "AAAA"),
     r"signatures\[0\].sig: 'AAAA' is no sig"),
    ("another key's name", lambda made: put(made.envelope["signatures"][0], "keyid", origin().other.public),
     r"signatures\[0\].sig: .* is no signature of this payload by key"),
    ("no key", lambda made: put(made.envelope["signatures"][0], "keyid", "me"),
     r"envelope.signatures\[0\].keyid: 'me'"),
    ("a payload that is no base64", lambda made: put(made.envelope, "payload", "?"), r"payload: is not base64"),
    ("spare bits in base64", lambda made: put(made.envelope, "payload", made.envelope["payload"] + "AB=="),
     r"payload: is not base64"),
    ("an unknown field", lambda made: made.envelope.update(note="x"), r"envelope.note: unknown field"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), [row[1:] for row in ENVELOPES], ids=[row[0] for row in ENVELOPES])
def test_a_changed_envelope_is_refused(tmp_path: Path, change: Change, message: str) -> None:
    made = forge()
    change(made)
    made.files[ENVELOPE_FILE] = canonical(made.envelope)
    text = problems(made.write(tmp_path / "b.zip"))
    assert re.search(message, text), text


STATEMENTS: list[tuple[str, Callable[[bytes], bytes], str]] = [
    ("a future schema", lambda raw: raw.replace(b"submission:1", b"submission:2"),
     r"predicateType: .*:2' is a schema that"),
    ("a foreign predicate", lambda raw: raw.replace(b"urn:assay:submission:1", b"slsa"),
     r"statement.predicateType: 'slsa'"),
    ("a future version", lambda raw: raw.replace(b'"schema_version":1', b'"schema_version":2'),
     r"schema_version: 2 is a schema"),
    ("another statement type", lambda raw: raw.replace(b"Statement/v1", b"Statement/v0"), r"statement._type"),
    ("a key twice", lambda raw: raw.replace(b'{"_type"', b'{"_type":0,"_type"'),
     r"statement: the key '_type' stands twice"),
    ("NaN", lambda raw: re.sub(rb'"wall_s":[0-9.]+', b'"wall_s":NaN', raw), r"statement: NaN is no JSON number"),
    ("not canonical", lambda raw: raw + b" ", r"statement: is not the canonical form"),
    ("an unknown field", lambda raw: raw.replace(b'"board"', b'"bo":1,"board"'),
     r"statement.predicate.bo: unknown field"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), [row[1:] for row in STATEMENTS], ids=[row[0] for row in STATEMENTS])
def test_a_changed_statement_is_refused_though_its_signature_holds(
    tmp_path: Path, change: Callable[[bytes], bytes], message: str
) -> None:
    made = forge()
    resealed(made, change)
    text = problems(made.write(tmp_path / "b.zip"))
    assert re.search(message, text), text
    assert "is no signature" not in text


def test_a_bundle_signed_again_by_another_key_is_named(tmp_path: Path) -> None:
    made, keys = forge(), origin()
    text = problems(made.signed(keys.other).write(tmp_path / "signature.zip"))
    assert "statement.predicate.submitter.key: is" in text
    assert "it was signed again by another key" in text
    made.predicate["submitter"] = {"key": keys.other.public, "name": "Test Lab"}
    stolen = made.signed(keys.other).write(tmp_path / "all.zip")
    assert problems(stolen) == ""  # whose run it is, no signature can say: only who was known to have it
    assert f"{keys.other.public} signed this, not the key {keys.key.public} that was asked for" in problems(
        stolen, keys.key.public
    )


# ---- any byte


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_any_single_byte_change_of_the_payload_is_refused(tmp_path: Path, position: float, bit: int) -> None:
    made = forge("noop")
    payload = bytearray(base64.b64decode(made.envelope["payload"]))
    payload[int(position * len(payload))] ^= 1 << bit
    made.envelope["payload"] = base64.b64encode(payload).decode()
    made.files[ENVELOPE_FILE] = canonical(made.envelope)
    assert "is no signature of this payload" in problems(made.write(tmp_path / "b.zip"))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_any_single_byte_change_of_the_archive_is_refused_or_changes_no_file(
    tmp_path: Path, position: float, bit: int
) -> None:
    """A few bytes of a zip say nothing that is read, such as the system that made it."""
    original = origin().bundles["noop"]
    raw = bytearray(original.read_bytes())
    raw[int(position * len(raw))] ^= 1 << bit
    path = tmp_path / "b.zip"
    path.write_bytes(raw)
    if problems(path) == "":
        assert members(path) == members(original)


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_every_problem_is_printed_and_not_only_the_first(tmp_path: Path) -> None:
    made = forge()
    put(made.record, "outcome", "failure")
    made.files.pop(blob(made))
    made.files["README"] = b"x"
    put(made.predicate, "seed", 4)
    text = problems(made.written().signed().write(tmp_path / "b.zip"))
    for expected in (
        "README: extra file",
        "].hash:",
        "record.outcome:",
        "predicate.seed: is 4",
        "missing: a record names",
    ):
        assert expected in text
