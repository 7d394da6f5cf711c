"""Every bad input is one line that names the field, the value and the fix, with a non-zero exit and no traceback."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from scoring_reference_ledger import reference_ledger

from runner.store.tables import SCHEMA_VERSION

ASSAY = [sys.executable, "-m", "runner.cli"]


def assay(home: Path, *arguments: str, check: int | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*ASSAY, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={"ASSAY_HOME": str(home), "PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"},
    )
    if check is not None:
        assert done.returncode == check, done.stderr
    return done


def one_error(done: subprocess.CompletedProcess[str]) -> str:
    """The single error line."""
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("assay: error: ")]
    assert len(lines) == 1, done.stderr
    assert done.stderr.rstrip().endswith(lines[0])
    return lines[0].removeprefix("assay: error: ")


@pytest.mark.parametrize("more", [[], ["--dry-run"]], ids=["run", "dry run"])
@pytest.mark.parametrize(
    "name",
    [
        "assay.sqlite",
        "assay.sqlite-wal",
        "assay.sqlite-shm",
        "ASSAY.SQLITE",
        "locks",
        ".",
        "..",
        "a/b",
        "a\nb",
        "-x",
        "",
    ],
)
def test_a_name_that_no_run_can_have_is_refused_before_anything_is_made(
    tmp_path: Path, name: str, more: list[str]
) -> None:
    choices = ["--model", "noop", "--subset", "smoke", "--runtime", "process", f"--run={name}"]
    done = assay(tmp_path, "evaluate", *choices, *more, check=2)
    assert one_error(done).startswith(f"RUN={name!r}: ")
    assert done.stderr.count("\n") == 1
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--model", "gpt-6-astra"], ["model 'gpt-6-astra'", "provider/model", "reference, random, noop"]),
        (["--model", "noop", "--tasks", "marble/dual-panda/A999"], ["'marble/dual-panda/A999'", "assay tasks"]),
        (["--model", "noop", "--subset", "full", "--tasks", "x*["], ["'x*['", "assay tasks"]),
        (["--model", "noop", "--tasks", "marble/*,,"], ["empty pattern", "comma"]),
        (["--model", "noop", "--subset", "ep-21"], ["subset 'ep-21'", "ep-20"]),
        (["--model", "noop", "--subset", ""], ["subset ''", "leave it out for the default"]),
        (["--model", "noop", "--profile", " "], ["profile ' '", "leave it out for the default"]),
        (["--model", "noop", "--jobs", "-1"], ["jobs -1", "1 to 1000"]),
        (["--model", "noop", "--jobs", "many"], ["jobs many: give the number of attempts", "1 to 1000"]),
        (["--model", "noop", "--jobs", "100000"], ["jobs 100000: give", "1 to 1000"]),
        (["--model", "noop", "--seed", "x"], ["seed x: give a base seed from 0"]),
        (["--model", "noop", "--temperature", "hot"], ["temperature hot: give a number from 0"]),
        (["--model", "noop", "--max-cost", "free"], ["max-cost free: give US dollars above 0"]),
        (["--model", "noop", "--rpm", "1.5"], ["rpm 1.5: give a whole number from 1"]),
        (["--model", "noop", "--tasks", "a007"], ["tasks pattern 'a007'", "did you mean marble/dual-panda/A007;"]),
        (["--model", "noop", "--protocol", "pass3"], ["protocol 'pass3'", "pass2"]),
        (["--model", "noop", "--protocol", "pass1"], ["protocol 'pass1'", "board ep", "pass2, single"]),
        (["--model", "random", "--board", "kidgym", "--protocol", "pass2"], ["'pass2'", "kidgym", "pass1, single"]),
        (["--model", "noop", "--profile", "gpu"], ["profile 'gpu'", "embedded"]),
        (["--model", "noop", "--seed", "-2"], ["seed -2", "from 0"]),
        (["--model", "noop", "--seed", "7"], ["seed 7", "use 0"]),
        (["--model", "noop", "--board", "chess"], ["board 'chess'", "ep"]),
        (["--model", "noop", "--level", "L9"], ["level 'L9'", "L0, L1, L2, L3"]),
        (["--model", "reference", "--level", "L0"], ["level L0", "works at L3"]),
        (["--model", "noop", "--grants", "planner"], ["grants planner", "leave GRANTS out"]),
        (["--model", "noop", "--runtime", "podman"], ["runtime 'podman'", "bubblewrap"]),
        (["--model", "noop", "--temperature", "0.5"], ["temperature 0.5", "leave TEMPERATURE out"]),
        (["--model", "noop", "--effort", "high"], ["effort 'high'", "leave EFFORT out"]),
        (["--model", "noop", "--base-url", "http://x"], ["base-url 'http://x'", "leave BASE_URL out"]),
        (["--model", "noop", "--agent", "code"], ["agent 'code'", "leave AGENT out"]),
        (["--model", "noop", "--subset", "smoke", "--run", "../up"], ["RUN='../up'", "letters"]),
        (["--model", "noop", "--colour"], ["--colour"]),
    ],
)
def test_a_bad_choice_of_evaluate_is_one_line_and_starts_nothing(
    tmp_path: Path, arguments: list[str], names: list[str]
) -> None:
    done = assay(tmp_path, "evaluate", *arguments, check=2)
    text = one_error(done)
    for name in names:
        assert name in text
    assert done.stdout == ""
    store = tmp_path / "assay.sqlite"
    if store.exists():
        with sqlite3.connect(store) as raw:
            assert raw.execute("SELECT count(*) FROM run").fetchone() == (0,)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["score", "nothing"], ["run 'nothing'", "assay runs"]),
        (["score"], ["run", "--ledger"]),
        (["score", "x", "--by", "colour"], ["by 'colour'", "suite"]),
        (["score", "--ledger", "/nowhere.csv"], ["/nowhere.csv", "No such file"]),
        (["tasks", "--subset", "ep-99"], ["subset 'ep-99'", "ep-100"]),
        (["tasks", "show", "marble/dual-panda/A777"], ["'marble/dual-panda/A777'", "assay tasks"]),
        (["fly"], ["'fly'"]),
    ],
)
def test_a_bad_argument_of_another_command_is_one_line(tmp_path: Path, arguments: list[str], names: list[str]) -> None:
    text = one_error(assay(tmp_path, *arguments, check=2))
    for name in names:
        assert name in text


def test_a_corrupt_database_and_a_future_schema_are_one_line_each(tmp_path: Path) -> None:
    assay(tmp_path, "runs", check=0)
    path = tmp_path / "assay.sqlite"
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE alembic_version SET version_num = '0042'")
    text = one_error(assay(tmp_path, "runs", check=1))
    assert f"schema version 0042 is newer than this program knows ({SCHEMA_VERSION}): upgrade assay" in text
    path.write_bytes(b"not a database, " * 400)
    for command in (["runs"], ["score", "x"], ["evaluate", "--model", "noop", "--subset", "smoke"]):
        text = one_error(assay(tmp_path, *command, check=1))
        assert f"store {path}: not a usable database" in text


def test_a_home_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    text = one_error(assay(tmp_path / "file" / "home", "runs", check=1))
    assert "set ASSAY_HOME to a folder that you can write" in text


def test_a_fault_of_our_own_is_one_line_with_the_place_of_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from runner import cli

    def broken() -> None:
        raise ZeroDivisionError("deep inside")

    monkeypatch.setattr("runner.cli.common.open_store", broken)
    assert cli.run(["runs"]) == 70
    line = capsys.readouterr().err.strip()
    assert line.startswith("assay: error: unexpected ZeroDivisionError: a fault of assay; the traceback is in ")
    saved = Path(line.rsplit(" ", 1)[1])
    assert "deep inside" in saved.read_text()
    saved.unlink()


def test_without_a_model_the_baselines_and_two_examples_are_shown(tmp_path: Path) -> None:
    text = assay(tmp_path, "evaluate", check=0).stdout
    for word in ("reference", "random", "noop", "make evaluate MODEL=reference", "assay evaluate --model"):
        assert word in text


def test_help_comes_without_heavy_imports() -> None:
    program = (
        "import sys\nfrom runner import cli\ncli.run(['--help'])\n"
        "heavy = {'pydantic', 'sqlalchemy', 'sqlmodel', 'docker', 'numpy', 'rich', 'alembic'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_tasks_lists_a_subset_and_explains_one_task(tmp_path: Path) -> None:
    rows = json.loads(assay(tmp_path, "tasks", "--subset", "ep-20", "--json", check=0).stdout)
    assert len(rows) == 20
    text = assay(tmp_path, "tasks", "show", "marble/dual-panda/A007", check=0).stdout
    assert "Single-target warm-up" in text
    assert "embedded: mujoco runs" in text
    table = assay(tmp_path, "tasks", "--subset", "ep-20", check=0).stdout
    assert all(row["id"] in table for row in rows)


def test_a_ledger_file_consistent_with_the_printed_results_scores_as_printed(tmp_path: Path) -> None:
    # Specification, results: 736 scored, 69 excluded, 41 extra; Pass@1 13.80, Pass@2 19.94 on EP-100.
    rows = ["sequence,environment_id,condition,outcome,failure_code,incident"]
    for attempt in reference_ledger():
        incident = "" if attempt.incident == "none" else attempt.incident
        fields = (
            attempt.sequence,
            attempt.environment_id,
            attempt.condition,
            attempt.outcome,
            attempt.code or "",
            incident,
        )
        rows.append(",".join(map(str, fields)))
    ledger = tmp_path / "ledger.csv"
    ledger.write_text("\n".join(rows) + "\n")
    choices = ["score", "--ledger", str(ledger), "--subset", "ep-100"]
    result = json.loads(assay(tmp_path, *choices, "--format", "json", check=0).stdout)
    assert (result["ledger"]["scored"], result["ledger"]["excluded"], result["ledger"]["extra"]) == (736, 69, 41)
    assert result["headline"]["pass_at_1"]["percent"] == "13.80"
    assert result["headline"]["pass_at_2"]["percent"] == "19.94"
    assert "13.80" in assay(tmp_path, *choices, check=0).stdout
    ledger.write_text("\n".join(rows) + "\n1,marble/dual-panda/A007,0,success,,\n")
    assert "sequence 1 occurs twice" in one_error(assay(tmp_path, *choices, check=2))
