"""`assay claims check FILE`: both formats, the exit status, and one line for every file that cannot be read."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from manifests.claims import COLUMNS, FOLDER, read_claims
from manifests.errors import ManifestError
from runner.cli import run
from scoring.claims.check import check

HEADER = "agent,subset,suite,conditions,pass_at_1\n"
GOOD = HEADER + "x,s,all,8,12.50\n"


def write(folder: Path, text: str, name: str = "paper.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("row", "status"), [("x,s,all,8,12.50\n", 0), ("x,s,all,8,12.60\n", 1)])
def test_the_exit_status_says_consistent_or_not(
    row: str, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["claims", "check", str(write(tmp_path, HEADER + row))]) == status
    assert capsys.readouterr().out.splitlines()[-1] == ("not consistent" if status else "consistent")


def test_json_has_every_finding_and_the_table_has_what_fails(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(FOLDER / "ep-text.json")
    assert run(["claims", "check", path, "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["counts"]["rate"] == {"holds": 53, "fails": 38, "undecided": 0}
    assert run(["claims", "check", path]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.startswith("fails  rate")]) == 38
    assert not [line for line in lines if line.startswith("holds")]


def test_csv_and_json_say_the_same(tmp_path: Path) -> None:
    claims = read_claims(FOLDER / "ep-text.json")
    path = tmp_path / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(row.model_dump() for row in claims.rows)
    assert read_claims(path).rows == claims.rows
    assert check(read_claims(path))["counts"]["rate"] == {"holds": 44, "fails": 38, "undecided": 0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: column 'agent' stands 0 times; give it once"),
        (HEADER, "rows: tuple should have at least 1 item"),
        (GOOD.replace("suite", "suit"), "line 1: unknown column 'suit'; nearest: suite"),
        (GOOD.replace("12.50", "112.50"), "line 2: pass_at_1: '112.50' is no printed percentage; give 0 to 100"),
        (GOOD.replace("12.50", "١٢.٥٠"), "line 2: pass_at_1: '١٢.٥٠' is no printed percentage"),
        (GOOD.replace("12.50", "12,50"), "line 2: has not 5 values"),
        (GOOD.replace("12.50", "nan"), "line 2: pass_at_1: 'nan' is no printed percentage"),
        (GOOD.replace(",8,", ",0,"), "line 2: conditions: input should be greater than 0, got 0"),
        (GOOD.replace(",8,", ",8.5,"), "line 2: conditions: '8.5' is not a whole number"),
        (GOOD.replace(",8,", ",,"), "line 2: conditions: field required"),
        (GOOD.replace("x,s,", "x,,"), "line 2: subset: field required"),
        (GOOD.replace("all", "mean"), "rows[0].suite 'mean': no row has a suite of subset 's'"),
        (GOOD + "x,s,all,8,12.50\n", "rows: table / x / s / all stands 2 times"),
        (HEADER + '"x,s,all,8,12.50\n', "write the file as plain CSV"),
    ],
)
def test_a_csv_that_is_wrong_is_one_line_with_field_and_value(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["claims", "check", str(write(tmp_path, text))]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert "paper.csv" in line


def _document(**fields: Any) -> str:
    row = {"agent": "x", "subset": "s", "suite": "all", "conditions": 8, "pass_at_1": "12.50"}
    return json.dumps({"title": "t", "rows": [row], **fields})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ('{"title": "t", "title": "u"}', "the key 'title' stands twice"),
        (_document().replace("8", "NaN"), "NaN is no JSON number"),
        (_document().replace('"12.50"', "12.5"), "rows[0].pass_at_1: input should be a valid string, got 12.5"),
        (_document(row=[]), "row: unknown field"),
        (_document(partitions=[{"whole": "s", "parts": ["t", "u"]}]), "partitions[0]: no row has subset 't'"),
        (_document(totals=[{"name": "n", "total": -1, "parts": {"a": 1}}]), "totals[0].total: input should be greater"),
    ],
)
def test_a_json_that_is_wrong_is_one_line_with_field_and_value(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ManifestError) as error:
        read_claims(write(tmp_path, text, "paper.json"))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_or_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="cannot be read: No such file"):
        read_claims(tmp_path / "none.csv")
    with pytest.raises(ManifestError, match=r"ending '\.xlsx' is not \.json or \.csv"):
        read_claims(write(tmp_path, GOOD, "paper.xlsx"))
    (tmp_path / "latin.csv").write_bytes(b"agent\xff")
    with pytest.raises(ManifestError, match="not UTF-8 text: byte 5"):
        read_claims(tmp_path / "latin.csv")


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    path = write(tmp_path, "\ufeff" + GOOD.replace("\n", "\r\n"))
    assert read_claims(path).rows[0].pass_at_1 == "12.50"


TABLES = "table,agent,subset,suite,conditions,attempts,pass_at_1,pass_at_2,successes,failures\n"


@pytest.mark.parametrize(
    ("first", "second", "what"),
    [
        ("T6,x,s,a,24,,12.50,16.67,,", "T9,x,s,a,24,,25.00,16.67,,", "T9 prints 25.00, T6 prints 12.50"),
        ("T6,x,s,a,24,,12.50,16.67,,", "T9,x,s,a,24,,12.50,29.17,,", "T9 prints 29.17, T6 prints 16.67"),
        ("T6,x,s,a,24,40,,,,", "T9,x,s,a,24,41,,,,", "T9 prints 41 attempts, T6 prints 40"),
        ("T6,x,s,a,24,,,,4,", "T9,x,s,a,24,,,,5,", "T9 prints 5 successes, T6 prints 4"),
        ("T6,x,s,a,24,,,,,20", "T9,x,s,a,24,,,,,19", "T9 prints 19 failures, T6 prints 20"),
        (
            "T6,x,s,a,24,,12.50,,,\nT6,x,s,mean,24,,12.50,,,",
            "T9,x,s,mean,24,,16.67,,,",
            "T9 prints 16.67, T6 prints 12.50",
        ),
        ("T6,x,s,a,80,,16.25,20.00,,", "T9,x,s,a,80,,16.25,20.00,24,56", "24/80 = 30.00, T6 prints 20.00"),
    ],
)
def test_two_tables_that_print_one_figure_differently_do_not_agree(
    first: str, second: str, what: str, tmp_path: Path
) -> None:
    found = check(read_claims(write(tmp_path, f"{TABLES}{first}\n{second}\n")))
    assert any(row["check"] == "agreement" and row["text"] == what and not row["holds"] for row in found["findings"])


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        (
            ["T,x,s,a,80,,25.00,,,", "T,x,s,b,20,,25.00,,,", "T,x,s,all,100,,50.00,,,"],
            "the rates of the suites pool to 25.00, printed 50.00",
        ),
        (["T,x,s,all,80,140,25.00,30.00,,60"], "60 failures leave 20/80 = 25.00, T prints 30.00"),
        (["T,x,s,all,80,,,,24,", "U,x,s,all,80,,,,,59"], "24 successes in T + 59 failures in U = 83, of 80 conditions"),
        (
            ["T,x,s,all,80,90,,25.00,,"],
            "90 attempts for 80 conditions: 70 solved by the first, and in the end 20 at most are solved",
        ),
        (
            ["T,x,s,all,80,90,,30.00,24,56"],
            "90 attempts for 80 conditions: 70 solved by the first, and in the end 24 at most are solved",
        ),
        (["T,x,s,all,80,80,25.00,,79,1"], "79/80 = 98.75, T prints Pass@1 25.00 of one attempt each"),
        (["T,x,s,all,80,,25.00,,10,70"], "10/80 = 12.50, T prints Pass@1 25.00"),
        (
            ["T,x,s,a,80,,,30.00,,", "T,x,s,b,20,,,30.00,,", "T,x,s,mean,100,,,30.00,31,"],
            "31 solved, the rates of the suites give 30",
        ),
        (
            ["T,x,s,a,80,140,,30.00,,", "T,x,s,b,20,35,,30.00,,", "T,x,s,all,100,199,,,,"],
            "the suites have 175 attempts, printed 199",
        ),
        (
            ["T,x,s,a,80,,,,24,56", "T,x,s,b,20,,,,6,14", "T,x,s,all,100,,,,,90"],
            "the suites leave 70 unsolved, printed 90",
        ),
        (["T,x,s,a,80,,,,,", "T,x,s,mean,80,99,,,,", "U,x,s,all,80,98,,,,"], "U prints 98 attempts, T prints 99"),
    ],
)
def test_columns_rows_and_tables_that_contradict_each_other_are_found(
    rows: list[str], what: str, tmp_path: Path
) -> None:
    found = check(read_claims(write(tmp_path, TABLES + "\n".join(rows) + "\n")))
    assert what in [row["text"] for row in found["findings"] if row["holds"] is False]


@pytest.mark.parametrize(
    "rows",
    [
        ["T,x,s,all,80,140,25.00,,,", "U,x,s,all,80,,,30.00,,"],  # the second attempts are in the other table
        ["T,x,s,a,80,140,25.00,,,", "U,x,s,a,80,,,30.00,24,", "V,x,s,a,80,,,,,56"],
        ["T,x,s,all,80,,25.00,,24,56"],  # Pass@2 is not printed: more may be solved in the end
        ["T,x,s,all,80,80,25.00,,20,60"],
        ["T,x,s,a,80,,,30.00,,", "T,x,s,b,20,,,30.00,,", "T,x,s,mean,100,,,30.00,30,70"],
    ],
)
def test_columns_of_several_tables_that_fit_are_no_contradiction(rows: list[str], tmp_path: Path) -> None:
    assert check(read_claims(write(tmp_path, TABLES + "\n".join(rows) + "\n")))["consistent"]


@pytest.mark.parametrize("name", ['"T\nO"', "A\x1c", "A\x85B", "\u202eA"])
def test_a_name_keeps_its_characters_or_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"line .: agent: .* has characters that cannot be printed; leave them out"):
        read_claims(write(tmp_path, f"{TABLES}T,{name},s,all,80,,25.00,,,\n"))


def test_tables_with_other_decimals_agree_as_far_as_they_go(tmp_path: Path) -> None:
    rows = "T6,x,s,a,24,,12.5,16.7,,\nT9,x,s,a,24,,12.50,16.67,4,20\nT10,x,s,a,24,45,13,17,4,20\n"
    assert check(read_claims(write(tmp_path, TABLES + rows)))["consistent"]


def test_attempts_are_held_against_the_rate_of_their_own_table(tmp_path: Path) -> None:
    rows = "T5,x,s,all,80,147,16.25,20.00,,\nT7,x,s,all,80,140,25.00,30.00,24,56\n"
    found = check(read_claims(write(tmp_path, TABLES + rows)))
    assert found["counts"]["attempts"] == {"holds": 2, "fails": 0, "undecided": 0}
    assert not found["consistent"]
