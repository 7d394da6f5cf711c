"""`assay evaluate` as a user runs it: on the real launcher, as plain processes (baselines only)."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pexpect
import pytest
from sqlmodel import col, select
from test_cli import ASSAY, assay, one_error

from runner.store import ledger
from runner.store.store import Store
from runner.store.tables import EntryRow

CHOICES = ["--model", "noop", "--subset", "full", "--tasks", "marble/dual-panda/A007", "--runtime", "process"]


def test_a_run_is_evaluated_scored_and_not_rerun(tmp_path: Path) -> None:
    done = assay(tmp_path, "evaluate", *CHOICES, "--jobs", "2", "--run", "first", "--format", "json", check=0)
    result = json.loads(done.stdout)  # nothing but the result on stdout
    assert result["run"]["name"] == "first"
    assert result["run"]["official"] is False
    assert result["headline"] is None  # a choice of tasks has its own rates only
    assert result["total"]["metrics"]["pass_at_2"]["balanced"]["percent"] == "0.00"
    assert [group["successes"] for group in result["groups"]] == [0]
    assert result["total"]["codes"] == {"QUIT": 8}  # two attempts at each condition
    assert "✗ QUIT    marble/dual-panda/A007 c0 #2" in done.stderr

    again = assay(tmp_path, "evaluate", *CHOICES, "--run", "first", "--format", "json", check=0)
    assert json.loads(again.stdout) == result
    assert "start" not in again.stderr
    scored = assay(tmp_path, "score", "first", "--format", "json", check=0)
    assert json.loads(scored.stdout) == result

    table = assay(tmp_path, "score", "first", check=0).stdout
    for text in ("✗ QUIT", "Pass@1", "Pass@2", "not official (runtime process)", "score again: assay score first"):
        assert text in table
    lines = assay(tmp_path, "score", "first", "--format", "csv", "--by", "condition", check=0).stdout.splitlines()
    assert len(lines) == 1 + 1 + 4
    assert assay(tmp_path, "score", "first", "--format", "markdown", check=0).stdout.startswith("| by | label |")
    assert "first" in assay(tmp_path, "runs", check=0).stdout


def test_a_changed_choice_under_the_same_run_is_refused_by_field(tmp_path: Path) -> None:
    assay(tmp_path, "evaluate", *CHOICES, "--run", "r", "--protocol", "single", check=0)
    changed = ["--model", "random", *CHOICES[2:]]
    text = one_error(assay(tmp_path, "evaluate", *changed, "--run", "r", "--protocol", "single", check=2))
    assert "run r: model was noop and is now random" in text


def test_every_changed_setting_of_a_finished_run_is_named_at_once_and_nothing_is_started(tmp_path: Path) -> None:
    assay(tmp_path, "evaluate", *CHOICES, "--run", "r", "--protocol", "single", check=0)
    changed = [*CHOICES[:-1], "docker", "--run", "r", "--protocol", "pass2", "--level", "L3"]
    done = assay(tmp_path, "evaluate", *changed, check=2)
    text = one_error(done)
    for said in (
        "protocol was single and is now pass2",
        "level was L0 and is now L3",
        "runtime was process and is now docker",
    ):
        assert said in text
    assert "RUN=..." in text
    assert done.stderr.count("\n") == 1  # neither the run nor a runtime was announced before
    assay(tmp_path, "evaluate", *CHOICES[:-1], "auto", "--run", "r", "--protocol", "single", check=0)


def test_two_default_names_make_two_runs_with_distinct_ids(tmp_path: Path) -> None:
    for seedless in (["--protocol", "single"], ["--protocol", "pass2"]):
        assay(tmp_path, "evaluate", *CHOICES, *seedless, check=0)
    runs = json.loads(assay(tmp_path, "runs", "--json", check=0).stdout)
    assert len({run["id"] for run in runs}) == 2
    assert sorted(run["name"].split("-")[:4] for run in runs) == [
        ["noop", "full", "pass2", "embedded"],
        ["noop", "full", "single", "embedded"],
    ]


def test_environments_that_cannot_run_here_are_named_and_stay_missing(tmp_path: Path) -> None:
    tasks = "marble/dual-panda/A007,pocket_cube/aloha/C0[1378]"
    choices = ["--model", "noop", "--subset", "full", "--tasks", tasks, "--runtime", "process", "--protocol", "single"]
    done = assay(tmp_path, "evaluate", *choices, "--format", "json", check=0)
    assert "missing here: 4 pocket_cube environments: mujoco has no pocket_cube environments yet" in done.stderr
    result = json.loads(done.stdout)
    assert result["total"]["planned"] == 20
    assert result["total"]["missing"] == 16
    metric = result["total"]["metrics"]["pass_at_1"]["balanced"]
    assert metric["value"] is None  # partial: bounds, never a number
    assert (metric["lower"], metric["upper"]) == (0.0, 0.5)  # suites weigh equally: Launch 0, Cube unknown


def test_a_selection_that_cannot_run_here_at_all_is_one_line(tmp_path: Path) -> None:
    choices = ["--model", "noop", "--subset", "full", "--tasks", "pocket_cube/aloha/*", "--runtime", "process"]
    text = one_error(assay(tmp_path, "evaluate", *choices, check=2))
    assert "none of its 10 environments can run here" in text


def test_an_attempt_with_an_unknown_cause_makes_the_command_fail_and_stays_visible(tmp_path: Path) -> None:
    assay(tmp_path, "evaluate", *CHOICES, "--run", "r", "--protocol", "single", check=0)
    _know_another_cause(tmp_path)
    done = assay(tmp_path, "score", "r", check=1)
    assert "1 attempt ended with a cause or code that no table has" in done.stdout
    assert json.loads(assay(tmp_path, "score", "r", "--format", "json", check=1).stdout)["total"]["invalid"] == 1


def _know_another_cause(home: Path) -> None:
    """The run as a program with more causes would have written it, hash chain included."""
    store = Store(home)
    run = store.find_run("r")
    assert run is not None
    with store.database.write() as session:
        previous = ledger.GENESIS
        for row in session.exec(select(EntryRow).where(EntryRow.run_id == run.id).order_by(col(EntryRow.sequence))):
            if row.kind == "closed" and '"condition":1' in row.payload:
                row.payload = row.payload.replace('"quit"', '"gremlins"')
            row.previous = previous
            row.hash = previous = ledger.entry_hash(
                run.id, row.sequence, row.kind, row.time, json.loads(row.payload), previous
            )
            session.add(row)
        session.flush()
        ledger.rebuild(session, run.id)
    store.close()


@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_shows_live_progress_within_its_width(tmp_path: Path, columns: int) -> None:
    child = pexpect.spawn(
        ASSAY[0],
        [*ASSAY[1:], "evaluate", *CHOICES, "--protocol", "single"],
        env={"ASSAY_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "TERM": "xterm", "OPENBLAS_NUM_THREADS": "1"},
        dimensions=(40, columns),
        encoding="utf-8",
        timeout=120,
    )
    child.expect("conditions? settled")
    live = child.before
    child.expect("score again")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert "simulated" in live
    shown = [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line) for line in re.split(r"[\r\n]+", live)]
    assert max(map(len, shown)) <= columns


def test_a_run_goes_on_when_nobody_reads_its_progress_any_more(tmp_path: Path) -> None:
    command = [*ASSAY, "evaluate", *CHOICES, "--run", "r", "--protocol", "single", "--format", "json"]
    environment = {"ASSAY_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        assert process.stderr.readline().startswith(b"run r:")
        process.stderr.close()
        result = json.loads(process.stdout.read())
    assert process.returncode == 0
    assert result["total"]["failures"] == 4


def test_letters_that_the_locale_does_not_have_end_no_command(tmp_path: Path) -> None:
    environment = {"ASSAY_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "ascii"}
    command = [*ASSAY, "evaluate", *CHOICES, "--run", "r", "--protocol", "single"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "\\u2717 QUIT" in done.stdout
