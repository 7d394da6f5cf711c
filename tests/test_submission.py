"""A run is submitted, verified offline, imported, and scores as it did at its origin."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest
from submission_forge import RUNS, forge, origin, taken_in
from test_cli import ASSAY, assay, one_error

from manifests.load import load
from manifests.submission import load_limits
from runner.errors import AssayError, BadInput
from runner.store.store import Store
from runner.submission.bundle import submit


def with_key(home: Path, key: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"ASSAY_HOME": str(home), "ASSAY_KEY": str(key), "PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run([*ASSAY, *arguments], capture_output=True, text=True, timeout=120, env=environment)


def score(home: Path, run: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(assay(home, "score", run, "--format", "json", check=0).stdout)
    assert result["run"].pop("records") == str(home / run)  # where it lies is all that may differ,
    result["run"].pop("submitter")  # and that it came from somebody
    return result


@pytest.mark.parametrize("model", RUNS)
def test_a_run_that_was_submitted_and_imported_scores_exactly_like_its_origin(tmp_path: Path, model: str) -> None:
    made, board = origin(), tmp_path / "board"
    bundle = tmp_path / "bundle.zip"
    done = with_key(made.home, made.home / "key.pem", "submit", model, "-o", str(bundle), "--name", "Test Lab")
    assert done.returncode == 0, done.stderr
    assert f"signed by key {made.key.public}" in done.stdout
    checked = assay(tmp_path / "nowhere", "verify", str(bundle), check=0)
    assert checked.stdout.splitlines()[-1].startswith(f"{bundle}: good; run {model} ")
    assert not (tmp_path / "nowhere").exists()  # nothing is needed, and nothing made
    assay(board, "import", str(bundle), check=0)
    assert score(board, model) == score(made.home, model)
    (listed,) = json.loads(assay(board, "runs", "--json", check=0).stdout)
    assert listed["submitter"] == {"key": made.key.public, "name": "Test Lab"}
    assert f"submitted by Test Lab {made.key.public[:12]}" in assay(board, "runs", check=0).stdout
    for path in sorted((made.home / model).rglob("*")):
        if path.is_file():
            assert (board / model / path.relative_to(made.home / model)).read_bytes() == path.read_bytes()


def test_the_same_run_key_and_name_make_the_same_bytes(tmp_path: Path) -> None:
    made = origin()
    store = Store(made.home)
    run = store.find_run("noop")
    assert run is not None
    submit(store, run, load(), load_limits(), made.key, tmp_path / "again.zip", "Test Lab")
    assert (tmp_path / "again.zip").read_bytes() == made.bundles["noop"].read_bytes()


def test_a_key_that_signs_is_asked_for_by_name(tmp_path: Path) -> None:
    made = origin()
    path = str(made.bundles["noop"])
    assay(tmp_path, "verify", path, "--key", made.key.public, check=0)
    other = assay(tmp_path, "verify", path, "--key", made.other.public, "--json", check=1)
    (problem,) = json.loads(other.stdout)["problems"]
    assert problem["path"] == "submission.json: signatures[0].keyid"
    assert "64 hexadecimal digits" in one_error(assay(tmp_path, "verify", path, "--key", "abc", check=2))
    assert "cannot be read" in one_error(assay(tmp_path, "verify", str(tmp_path / "none.zip"), check=2))


# ---- submit refuses


def test_submit_needs_a_key_a_run_and_a_free_name(tmp_path: Path) -> None:
    home = origin().home
    free = str(tmp_path / "b.zip")
    done = with_key(home, tmp_path / "none.pem", "submit", "noop", "-o", free)
    assert "`assay keys new` makes one" in one_error(done)
    assert "run 'nop' is not in" in one_error(with_key(home, home / "key.pem", "submit", "nop", "-o", free))
    long = with_key(home, home / "key.pem", "submit", "noop", "-o", free, "--name", "x" * 101)
    assert "use 1 to 100 characters" in one_error(long)
    Path(free).write_bytes(b"mine")
    assert "there is a file already" in one_error(with_key(home, home / "key.pem", "submit", "noop", "-o", free))
    assert Path(free).read_bytes() == b"mine"


def test_an_artifact_that_was_changed_is_not_submitted(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(origin().home, home)
    store = Store(home)
    run = store.find_run("reference")  # no two of its attempts have the same states
    assert run is not None
    target = next((home / "reference").rglob("states.npy"))
    target.write_bytes(target.read_bytes() + b"x")
    with pytest.raises(AssayError, match=r"artifact .*states.npy: has SHA-256 \w+, its record says"):
        submit(store, run, load(), load_limits(), origin().key, tmp_path / "b.zip")
    target.unlink()
    with pytest.raises(AssayError, match=r"artifact .*states.npy: is missing"):
        submit(store, run, load(), load_limits(), origin().key, tmp_path / "b.zip")
    assert list(tmp_path.glob("*.zip*")) + list(tmp_path.glob(".*")) == []


def test_a_run_whose_records_contradict_each_other_is_one_line_before_anything_is_written(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(origin().home, home)
    for statement, said in (
        ("UPDATE attempt SET outcome = 'success' WHERE condition = 0", "outcome is 'success' in the table"),
        ("UPDATE entry SET payload = replace(payload, 'quit', 'goal_met')", "its ledger is damaged (entry"),
    ):
        with sqlite3.connect(home / "assay.sqlite") as raw:
            raw.execute(statement)
        raw.close()
        done = with_key(home, home / "key.pem", "submit", "noop", "-o", str(tmp_path / "b.zip"))
        assert done.returncode == 1
        assert done.stdout == ""
        text = one_error(done)
        assert text.startswith("run noop: ")
        assert said in text
        assert "restore the store from a backup" in text
    assert list(tmp_path.glob("*.zip*")) + list(tmp_path.glob(".*")) == []


def test_a_run_with_an_open_condition_is_not_submitted(tmp_path: Path) -> None:
    made = forge()
    store = Store(tmp_path / "home")
    first = made.lines[0]["payload"]
    run = store.create_run("unfinished", first["settings"])
    done = submit(store, run, load(), load_limits(), origin().key, tmp_path / "b.zip")
    assert done.path is None
    text = "\n".join(map(str, done.report.problems))
    assert "A007 c3: the condition has no attempt; go on with the run, then submit" in text
    assert not (tmp_path / "b.zip").exists()


def test_a_withdrawn_run_and_one_of_another_submitter_are_not_submitted(tmp_path: Path) -> None:
    store, run = taken_in(tmp_path / "board", origin().bundles["noop"])
    with pytest.raises(BadInput, match=r"it was submitted by key .*; pass their bundle on"):
        submit(store, run, load(), load_limits(), origin().other, tmp_path / "b.zip")
    withdrawn = store.withdraw_run(run, "somebody", "a mistake")
    with pytest.raises(BadInput, match=r"it is withdrawn .* by somebody: a mistake"):
        submit(store, withdrawn, load(), load_limits(), origin().key, tmp_path / "b.zip")
