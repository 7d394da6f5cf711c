"""`assay score` says the same in every form: table, Markdown, CSV, JSON; and how to print it again."""

from __future__ import annotations

import csv
import io
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from leaderboard_records import write_run
from rich.console import Console
from test_cli import assay

from runner.report import print_report
from runner.report_rows import metric
from runner.store.leases import Owner
from runner.store.store import Store

DEMO = str(Path(__file__).parent.parent / "manifests" / "demo" / "gpt-6-astra.csv")
FILE = ["score", "--ledger", DEMO]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reconstructed ledger of the demo as a run named x."""
    folder = tmp_path_factory.mktemp("home")
    choices = ["--model", "GPT-6-Astra", "--kind", "reconstructed", "--subset", "ep-100", "--protocol", "pass2"]
    assay(folder, "ledger", "import", DEMO, "--name", "x", *choices, check=0)
    return folder


def after(text: str, title: str) -> list[list[str]]:
    """The rows of the table whose head begins with ``title``, as cells."""
    lines = text.splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith(f"{title} "))
    rows = []
    for line in lines[start:]:
        if not line:
            break
        rows.append([cell.strip() for cell in line.split("  ") if cell.strip()])
    return rows


@pytest.mark.parametrize("what", [["score", "x"], FILE])
def test_table_markdown_csv_and_json_have_the_same_numbers_for_each_breakdown(home: Path, what: list[str]) -> None:
    asked = ["--subset", "ep-easy", "--by", "suite,type"]
    text, markdown, table, plain = (
        assay(home, *what, *asked, "--format", form, check=0).stdout for form in ("table", "markdown", "csv", "json")
    )
    result = json.loads(plain)
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["by"] for row in rows] == ["total"] + ["suite"] * 5 + ["type"] * 16
    for dimension in ("suite", "type"):
        head, *shown = after(text, dimension)
        assert head == [dimension, "planned", "successes", "failures", *result["names"].values()]  # all are scored
        for cells, row in zip(shown, result["by"][dimension], strict=False):
            pass_at_2 = metric(row["metrics"]["pass_at_2"], intervals=True)
            counts = [str(row[name]) for name in ("planned", "scored", "successes", "failures")]
            assert cells[:4] == [row["label"], counts[0], *counts[2:]]
            assert pass_at_2 in cells
            assert f"| {dimension} | {row['label']} | {' | '.join(counts)} |" in markdown
            assert pass_at_2 in markdown
            (found,) = (line for line in rows if (line["by"], line["label"]) == (dimension, row["label"]))
            assert found["pass_at_2"] == row["metrics"]["pass_at_2"]["balanced"]["percent"]
            assert found["pass_at_2"] in pass_at_2
            low, high = row["metrics"]["pass_at_2"]["balanced"]["interval"]
            assert found["pass_at_2_interval_lower"] == f"{100 * low:.2f}"
            assert found["pass_at_2_interval_upper"] == f"{100 * high:.2f}"


@pytest.mark.parametrize(
    "arguments",
    [
        ["score", "x"],
        ["score", "x", "--subset", "ep-20", "--by", "type", "--by", "suite,split"],
        [*FILE, "--by", "suite"],
    ],
)
def test_score_again_is_the_command_that_prints_the_same(home: Path, arguments: list[str]) -> None:
    first = assay(home, *arguments, check=0).stdout
    again = first.splitlines()[-1].removeprefix("score again: assay ")
    assert assay(home, *shlex.split(again), check=0).stdout == first


def test_without_a_choice_the_table_shows_the_suites_where_there_are_several(home: Path) -> None:
    assert len(after(assay(home, "score", "x", check=0).stdout, "suite")) == 1 + 5 + 1
    assert "\nsuite" not in assay(home, "score", "x", "--subset", "ep-launch", check=0).stdout


def test_no_line_is_padded_on_a_pipe_and_none_is_longer_than_a_terminal(home: Path) -> None:
    text = assay(home, "score", "x", "--by", "suite", check=0).stdout
    assert not [line for line in text.splitlines() if line != line.rstrip()]
    result = json.loads(assay(home, "score", "x", "--by", "suite", "--format", "json", check=0).stdout)
    for width in (80, 120, 160):
        console = Console(width=width, color_system=None, file=io.StringIO(), record=True)
        print_report(console, result, "assay score x", ("suite",))
        assert max(map(len, console.export_text().splitlines())) <= width


def rate(value: float, interval: Any, exact: Any) -> dict[str, Any]:
    percent = f"{100 * value:.2f}"
    return {
        "balanced": {
            "percent": percent,
            "lower_percent": percent,
            "upper_percent": percent,
            "interval": interval,
            "exact_bound": exact,
        }
    }


def test_all_successes_or_none_are_not_shown_as_certain(home: Path) -> None:
    assert metric(rate(1.0, [1.0, 1.0], [0.3684, 1.0]), True) == "100.00 (≥ 36.84)"
    assert metric(rate(0.0, [0.0, 0.0], [0.0, 0.6316]), True) == "0.00 (≤ 63.16)"
    assert metric(rate(0.5, [0.25, 0.75], None), True) == "50.00 (25.00–75.00)"
    text = assay(home, "score", "x", "--subset", "ep-launch", check=0).stdout
    (line,) = (line for line in text.splitlines() if line.startswith("  All-four@1"))
    assert line == "  All-four@1  0.00 % (0 of 34, 95 % interval 0.00 to 0.00, exact ≤ 8.43)"
    assert "all 34 tasks agree" in text


COUNTED = "846 attempts: 736 scored (645 failed), 69 excluded, 41 extra (2 succeeded, unscored)"
SOLVED = "asks solved within 1 and 2 attempts, of 100: 31 and 40 in at least one condition, 4 and 9 in every condition"


def test_native_successes_among_extra_attempts_and_solved_tasks_are_in_every_form(home: Path) -> None:
    # Specification, results: two native successes among 41 extra attempts; 31 and 40 tasks, of which 4 and 9 wholly.
    for form in ("table", "markdown"):
        text = " ".join(assay(home, "score", "x", "--format", form, check=0).stdout.split())
        assert COUNTED in text
        assert form == "markdown" or "91 successes (64 at the first attempt, 27 later), 309 failures" in text
        assert SOLVED in text
    total, *parts = csv.DictReader(io.StringIO(assay(home, "score", "x", "--format", "csv", check=0).stdout))
    counts = {name: total[f"attempts_{name}"] for name in ("scored", "excluded", "extra", "candidate")}
    assert counts == {"scored": "736", "excluded": "69", "extra": "41", "candidate": "0"}
    assert total["extra_successes"] == "2"
    assert [total[f"tasks_at_least_one_at_{k}"] for k in (1, 2)] == ["31", "40"]
    assert [total[f"tasks_all_at_{k}"] for k in (1, 2)] == ["4", "9"]
    suites = [row for row in parts if row["by"] == "suite"]
    assert sum(int(row["tasks_at_least_one_at_2"]) for row in suites) == 40
    assert sum(int(row["attempts_extra"]) for row in suites) == 41


def test_tasks_that_may_still_be_solved_are_counted_by_their_bounds(tmp_path: Path) -> None:
    file = tmp_path / "ledger.csv"
    head = "sequence,environment_id,condition,outcome,failure_code,incident"
    file.write_text(f"{head}\n1,marble/dual-panda/A007,0,success,,\n")
    score = ["score", "--ledger", str(file), "--subset", "ep-launch", "--protocol", "single"]
    assert (
        "tasks solved, of 34: 1–34 in at least one condition, 0–34 in every condition"
        in assay(tmp_path, *score, check=0).stdout
    )
    (total, *_) = csv.DictReader(io.StringIO(assay(tmp_path, *score, "--format", "csv", check=0).stdout))
    assert [total[f"tasks_at_least_one_at_1{end}"] for end in ("", "_lower", "_upper")] == ["", "1", "34"]


def test_a_run_without_a_record_is_not_said_to_be_unofficial(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = write_run(store, "r", lambda *_: None)
    store.open_attempt(run, "marble/dual-panda/A007", 0, Owner.current())
    assert "no attempt is recorded yet; records in" in assay(tmp_path, "score", "r", check=0).stdout


def test_a_condition_that_was_tried_and_is_due_again_is_shown_with_its_code(tmp_path: Path) -> None:
    file = tmp_path / "ledger.csv"
    head = "sequence,environment_id,condition,outcome,failure_code,incident"
    file.write_text(f"{head}\n1,marble/dual-panda/A007,0,failure,COLL,\n2,marble/dual-panda/A007,1,success,,\n")
    text = assay(tmp_path, "score", "--ledger", str(file), "--subset", "ep-launch", check=0).stdout
    assert "marble/dual-panda/A007  · COLL  ✓   ·   ·   25.00–75.00  25.00–100.00" in text
    assert "33 environments without an attempt" in text
    assert "mean seconds to success unknown" in text  # a file does not say


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("1,marble/dual-panda/A007,0,failure,BANANA,", "failure_code 'BANANA' is not one of COLL"),
        ("1,marble/dual-panda/A007,0,success,COLL,", "failure_code 'COLL' on a success; leave it empty"),
        ("1,nowhere/at/all,0,success,,", "environment_id 'nowhere/at/all' is unknown"),
        ("1,marble/dual-panda/A007,4,success,,", "condition 4 is not one of 0 to 3"),
    ],
)
def test_a_ledger_file_that_names_what_no_table_has_is_refused(row: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "ledger.csv"
    file.write_text(f"sequence,environment_id,condition,outcome,failure_code,incident\n{row}\n")
    ended = assay(tmp_path, "score", "--ledger", str(file), check=2)
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1
    assert text in ended.stderr
