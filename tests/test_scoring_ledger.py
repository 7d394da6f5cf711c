"""Rows and ledger files become attempts, or one line says which row, field and value cannot."""

from __future__ import annotations

import pytest

from scoring.ledger import Attempt, LedgerError, attempts_from_csv, attempts_from_rows

HEADER = "sequence,environment_id,condition,outcome,failure_code,incident\n"


def test_a_ledger_file_becomes_attempts() -> None:
    text = HEADER + "1,a/x/1,0,failure,RULE,\r\n2,a/x/1,0,success,,\r\n3,a/x/1,1,invalid,ERR,confirmed\n4,a/x/1,2,,,\n"
    assert attempts_from_csv(text) == [
        Attempt(1, "a/x/1", 0, "failure", code="RULE"),
        Attempt(2, "a/x/1", 0, "success"),
        Attempt(3, "a/x/1", 1, "invalid", code="ERR", incident="confirmed"),
        Attempt(4, "a/x/1", 2, None),
    ]


def test_the_outcome_of_a_rejected_incident_in_a_file_is_the_ruled_one() -> None:
    (attempt,) = attempts_from_csv(HEADER + "1,a/x/1,0,failure,QUIT,rejected\n")
    assert attempt.outcome == "invalid"
    assert attempt.ruling == ("failure", None, "QUIT")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: columns (none) are not sequence,environment_id"),
        ("sequence,outcome\n", "line 1: columns sequence,outcome are not"),
        (HEADER + "x,a/x/1,0,failure,,\n", "line 2: sequence 'x' is not a whole number"),
        (HEADER + "1,a/x/1,-1,failure,,\n", "line 2: condition '-1' is not a whole number"),
        (HEADER + "0,a/x/1,0,failure,,\n", "line 2: attempt 0: sequence 0 is not a whole number from 1"),
        (HEADER + "1,,0,failure,,\n", "line 2: attempt 1: environment_id is empty"),
        (HEADER + "1,a/x/1,0,won,,\n", "line 2: attempt 1: outcome 'won' is not one of success, failure, invalid"),
        (HEADER + "1,a/x/1,0,invalid,,yes\n", "line 2: attempt 1: incident 'yes' is not one of none, candidate"),
        (HEADER + "1,a/x/1,0,success,,confirmed\n", "line 2: attempt 1: incident 'confirmed' on a success"),
        (HEADER + "1,a/x/1,0,,,confirmed\n", "line 2: attempt 1: incident 'confirmed' on an open attempt"),
        (HEADER + "1,a/x/1,0\n", "line 2: has not 6 values"),
        (HEADER + "1,a/x/1,0,success,,,7\n", "line 2: has not 6 values"),
        (HEADER + '1,a/x/1,0,success,"x"y,\n', "line 2: ',' expected after"),
        (HEADER + "9" * 5000 + ",a/x/1,0,success,,\n", "line 2: sequence '9999"),
    ],
)
def test_a_bad_ledger_file_is_one_line_that_names_the_value(text: str, message: str) -> None:
    with pytest.raises(LedgerError) as caught:
        attempts_from_csv(text)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_plain_rows_become_attempts() -> None:
    row = {"sequence": 1, "environment_id": "a/x/1", "condition": 0, "outcome": "success", "tokens": 12}
    assert attempts_from_rows([row]) == [Attempt(1, "a/x/1", 0, "success", tokens=12)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"extra": 1}, "row 1: unknown field 'extra'"),
        ({"wall_s": float("nan")}, "attempt 1: wall_s nan is not a finite number"),
        ({"tokens": -1}, "attempt 1: tokens -1 is not a finite number from 0; use null for unknown"),
        ({"condition": True}, "attempt 1: condition True is not a whole number"),
        ({"ruled_outcome": "failure"}, "attempt 1: ruled_outcome 'failure' without a rejected incident"),
    ],
)
def test_a_bad_row_is_named(change: dict, message: str) -> None:
    row = {"sequence": 1, "environment_id": "a/x/1", "condition": 0, "outcome": "success"} | change
    with pytest.raises(LedgerError) as caught:
        attempts_from_rows([row])
    assert str(caught.value).startswith(message)


def test_a_row_without_outcome_is_refused() -> None:
    with pytest.raises(LedgerError, match="row 1: field 'outcome' is missing"):
        attempts_from_rows([{"sequence": 1, "environment_id": "a/x/1", "condition": 0}])
