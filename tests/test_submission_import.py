"""A bundle is imported as a whole or not at all, and stays its submitter's."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from incident_board import trusting
from submission_forge import TASK, Forge, forge, origin, put, taken_in
from test_cli import assay, one_error

from manifests.load import load
from manifests.submission import load_limits
from runner.errors import AssayError, BadInput
from runner.keys import new_key
from runner.score import score_run
from runner.store import ledger
from runner.store.decisions import incident_state, why_proposal
from runner.store.store import Store
from runner.store.text import now, stamp
from runner.submission import importing
from runner.submission.bundle import submit
from runner.submission.importing import import_bundle
from runner.submission.received import received

# ---- import is a transaction


def everything(home: Path) -> tuple[list[str], list[str]]:
    """Files below a store and the runs in it."""
    store = Store(home)
    runs = [run.name for run in store.runs()]
    store.close()
    return sorted(path.name for path in home.iterdir() if not path.name.startswith("assay.sqlite")), runs


def test_a_refused_bundle_changes_nothing(tmp_path: Path) -> None:
    made = forge("noop")
    put(made.predicate, "budgets.launcher.actions", 15000)
    path = made.signed().write(tmp_path / "b.zip")
    done = assay(tmp_path / "board", "import", str(path), check=1)
    assert "problem: statement.predicate.budgets.launcher.actions: is 15000, and 7500" in done.stdout
    assert done.stdout.splitlines()[-1] == f"{path}: REFUSED, 1 problem; nothing was imported"
    assert everything(tmp_path / "board") == ([], [])


def test_a_duplicate_is_refused_and_both_keys_are_named(tmp_path: Path) -> None:
    made, home = origin(), tmp_path / "board"
    taken_in(home, made.bundles["noop"])
    before = everything(home)
    text = one_error(assay(home, "import", str(made.bundles["noop"]), "--name", "again", check=2))
    assert f"it is in the store as 'noop' and was submitted by key {made.key.public}; nothing is imported twice" in text
    stolen = forge("noop")
    stolen.predicate["submitter"] = {"key": made.other.public, "name": "Thief"}
    path = stolen.signed(made.other).write(tmp_path / "stolen.zip")
    text = one_error(assay(home, "import", str(path), "--name", "mine", check=2))
    assert f"was submitted by key {made.key.public}; this bundle is signed by another key, {made.other.public}" in text
    assert everything(home) == before
    assert "was evaluated here" in one_error(assay(made.home, "import", str(path), "--name", "mine", check=2))


def test_attempts_of_another_run_are_not_imported_under_a_new_run_id(tmp_path: Path) -> None:
    store, _ = taken_in(tmp_path / "board", origin().bundles["noop"])
    copied = forge("noop")
    for line in copied.lines:
        line["run"] = "a" * 32
    for closed in copied.of("closed"):
        closed["record"]["run"] = "a" * 32
    path = copied.forged().write(tmp_path / "b.zip")
    with pytest.raises(BadInput, match="attempts of it are in the store under another run"):
        import_bundle(store, path, load(), load_limits(), "copied")
    assert everything(tmp_path / "board") == (["locks", "noop"], ["noop"])


def test_a_name_that_is_taken_is_refused_and_another_may_be_given(tmp_path: Path) -> None:
    store, _ = taken_in(tmp_path, origin().bundles["noop"], name="mine")
    with pytest.raises(BadInput, match="run 'mine': another run has that name; give --name"):
        import_bundle(store, origin().bundles["random"], load(), load_limits(), "mine")
    with pytest.raises(BadInput, match="use 1 to 100 letters"):
        import_bundle(store, origin().bundles["random"], load(), load_limits(), "../x")
    (tmp_path / "other").mkdir()
    with pytest.raises(BadInput, match=r"the folder .* is in the way; move it away, or give --name"):
        import_bundle(store, origin().bundles["random"], load(), load_limits(), "other")
    assert everything(tmp_path) == (["locks", "mine", "other"], ["mine"])


@pytest.mark.parametrize("fault", ["unpacking", "recording", "committing"])
def test_an_import_that_fails_on_its_way_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        if fault == "unpacking":
            patch.setattr(importing, "_copy", broken)
        elif fault == "recording":
            patch.setattr(ledger, "append", broken)
        else:
            patch.setattr(Path, "rename", lambda *paths: (os.rename(*paths), broken()))
        with pytest.raises(AssayError, match=r"cannot be written \(No space left on device\); free some space"):
            import_bundle(Store(tmp_path), origin().bundles["noop"], load(), load_limits())
    assert everything(tmp_path) == (["locks"], [])
    taken_in(tmp_path, origin().bundles["noop"])
    assert everything(tmp_path) == (["locks", "noop"], ["noop"])


def test_an_import_that_is_killed_before_its_commit_can_be_repeated(tmp_path: Path) -> None:
    program = (
        "import os, sys\nfrom pathlib import Path\nfrom manifests.load import load\n"
        "from manifests.submission import load_limits\nfrom runner.store.store import Store\n"
        "from runner.submission import importing\n"
        "Path.rename = lambda *paths: (os.rename(*paths), os._exit(9))\n"
        "importing.import_bundle(Store(Path(sys.argv[1])), Path(sys.argv[2]), load(), load_limits())\n"
    )
    arguments = [sys.executable, "-c", program, str(tmp_path), str(origin().bundles["noop"])]
    assert subprocess.run(arguments, timeout=120).returncode == 9
    assert everything(tmp_path) == (["locks", "noop"], [])  # a folder without a run, and no run without its folder
    taken_in(tmp_path, origin().bundles["noop"])
    assert not (tmp_path / "noop" / importing.MARKER).exists()


def test_a_bundle_that_changes_while_it_is_imported_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "b.zip"
    forge("noop").write(path)
    unpack = importing._unpack

    def change_first(*arguments: Any) -> None:
        made = forge("noop")
        made.record["text"] = made.record["text"][::-1]
        path.write_bytes(made.written().write(tmp_path / "other.zip").read_bytes())
        unpack(*arguments)

    monkeypatch.setattr(importing, "_unpack", change_first)
    with pytest.raises(AssayError, match="was changed while it was being imported"):
        import_bundle(Store(tmp_path / "board"), path, load(), load_limits())
    assert everything(tmp_path / "board") == (["locks"], [])


# ---- what an imported run is


def test_an_imported_run_keeps_its_chain_and_says_who_submitted_it(tmp_path: Path) -> None:
    store, run = taken_in(tmp_path, origin().bundles["random"], name="theirs")
    assert store.verify(run) is None
    source = received(store)[run.id]
    assert (source.key, source.name, source.run_name) == (origin().key.public, "Test Lab", "theirs")
    entries = store.entries(run)
    assert [entry.hash for entry in entries[: source.entries]] == [line["hash"] for line in forge("random").lines]
    assert [entry.kind for entry in entries[source.entries :]] == ["received"]
    with store.database.write() as session:
        assert ledger.rebuild(session, run.id) == 8


def test_the_score_of_an_imported_run_says_who_submitted_it(tmp_path: Path) -> None:
    taken_in(tmp_path, origin().bundles["noop"])
    said = assay(tmp_path, "score", "noop", check=0).stdout
    assert f"{origin().key.public[:12]}, whose records say: " in said


def test_nobody_but_its_submitter_goes_on_with_a_run(tmp_path: Path) -> None:
    taken_in(tmp_path, origin().bundles["noop"])
    choices = ["--model", "noop", "--subset", "full", "--tasks", TASK, "--runtime", "process", "--run", "noop"]
    text = one_error(assay(tmp_path, "evaluate", *choices, check=2))
    assert f"it was submitted by key {origin().key.public}, and only they go on with it" in text


def candidate(decided_by: Any) -> Forge:
    """A run whose first attempt is an incident that its submitter confirmed, with their own key."""
    from test_submission_ledger import decide

    made = forge("noop")
    put(made.record, "cause", "evaluator_error")
    made.record.update(outcome="invalid", code="ERR", incident="candidate", evidence={"log": "?"})
    decide(made, "confirmed", decided_by)
    return made.forged()


def test_a_decision_of_a_submitter_confirms_only_where_the_board_trusts_their_key(tmp_path: Path) -> None:
    made = origin()
    path = candidate(made.key).write(tmp_path / "b.zip")
    boards = {"unknown": load(), "later": trusting(made.key, since=now()), "trusted": trusting(made.key)}
    for name, manifests in boards.items():
        incident = "confirmed" if name == "trusted" else "candidate"
        store, run = taken_in(tmp_path / name, path, manifests)
        row = min(store.attempts(run), key=lambda row: row.sequence)
        assert incident_state(row, manifests).incident == incident
        result = score_run(store, run, manifests)
        assert len(result["candidates"]) == (incident == "candidate")


def test_a_decision_is_no_younger_than_the_time_under_its_signature(tmp_path: Path) -> None:
    made = origin()
    manifests = trusting(made.key, since=now() + timedelta(hours=1))
    forged = candidate(made.key)
    forged.lines[-1]["time"] = stamp(now() + timedelta(hours=2))  # the entry's time is the submitter's to write
    store, run = taken_in(tmp_path, forged.forged().write(tmp_path / "b.zip"), manifests)
    state = incident_state(min(store.attempts(run), key=lambda row: row.sequence), manifests)
    assert (state.incident, state.binding) == ("candidate", None)
    assert "and it was made on" in why_proposal(state.proposals[0], manifests)


def test_a_signing_key_is_in_no_bundle() -> None:
    made = origin()
    secret = (made.home / "key.pem").read_bytes().splitlines()[1]
    for path in made.bundles.values():
        with zipfile.ZipFile(path) as bundle:
            assert not any(secret in bundle.read(name) for name in bundle.namelist())


def test_a_new_key_signs_what_the_old_one_signed(tmp_path: Path) -> None:
    made = origin()
    store = Store(made.home)
    run = store.find_run("noop")
    assert run is not None
    with tempfile.TemporaryDirectory() as folder:
        key = new_key(Path(folder) / "key.pem")
        done = submit(store, run, load(), load_limits(), key, tmp_path / "b.zip")
    assert done.path is not None
    again = Forge(done.path, key)
    assert again.predicate["submitter"] == {"key": key.public, "name": None}
    assert again.lines == forge("noop").lines
