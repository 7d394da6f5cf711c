"""The claims check on the figures that the specification prints (text: Tables 5 to 8; design: section 8)."""

from __future__ import annotations

from typing import Any

import pytest

from manifests.claims import FOLDER, Claims, read_claims
from manifests.load import load
from manifests.lookup import members
from scoring.claims.check import check

OPUS, GPT = "Opus-5.5-extra", "GPT-6-Astra"


@pytest.fixture(scope="module")
def text() -> Claims:
    return read_claims(FOLDER / "ep-text.json")


@pytest.fixture(scope="module")
def found(text: Claims) -> list[dict[str, Any]]:
    result = check(text)
    assert not result["consistent"]
    findings: list[dict[str, Any]] = result["findings"]
    return findings


def failed(found: list[dict[str, Any]], check: str = "", agent: str = "") -> list[dict[str, Any]]:
    return [row for row in found if row["holds"] is False and check in ("", row["check"]) and agent in row["where"]]


def test_the_declared_denominators_are_those_of_the_catalog(text: Claims) -> None:
    for row in text.rows:
        entries = members(load(), row.subset.lower())
        assert row.conditions == 4 * sum(row.suite in (entry.suite, "mean", "all") for entry in entries)
    for share in text.shares:
        if share.name.startswith("Pass@2 of "):
            name = share.name.split()[2]
            assert share.of == 4 * sum(f"{entry.suite}-{entry.type}" == name for entry in members(load(), "ep-100"))


def test_every_row_of_gpt_6_astra_passes(found: list[dict[str, Any]]) -> None:
    assert [row["where"] for row in failed(found, agent=GPT)] == [f"Table 8: {GPT}, EP-100, Lock"]
    rows = [row for row in found if GPT in row["where"] and row["check"] != "labels"]
    assert {row["check"] for row in rows} >= {"rate", "headline", "average", "attempts", "agreement", "partition"}
    assert all(row["holds"] for row in rows)
    assert not any(row["remark"] for row in rows)


def test_of_the_40_rates_in_the_opus_rows_of_table_6_38_are_unattainable(found: list[dict[str, Any]]) -> None:
    rates = [row for row in found if row["check"] == "rate" and OPUS in row["where"]]
    assert len(rates) == 40
    assert [(row["where"], row["text"]) for row in rates if row["holds"]] == [
        (f"Table 6: {OPUS}, EP-20, Tower, Pass@1", "50.00 is 8 of 16"),
        (f"Table 6: {OPUS}, EP-20, Tower, Pass@2", "56.25 is 9 of 16"),
    ]


def test_each_unattainable_rate_comes_with_its_nearest_attainable_values(found: list[dict[str, Any]]) -> None:
    rates = {row["where"]: row for row in failed(found, "rate")}
    launch = rates[f"Table 6: {OPUS}, EP-100, Launch, Pass@1"]  # 15.51 % of 136 conditions is 21.09
    assert launch["data"]["nearest"] == ["21/136 = 15.44", "22/136 = 16.18"]
    assert rates[f"Table 6: {OPUS}, EP-20, Lock, Pass@2"]["data"]["nearest"] == ["4/12 = 33.33", "5/12 = 41.67"]
    assert all(len(row["data"]["nearest"]) == 2 for row in rates.values())


def test_the_opus_headline_is_unattainable_for_ep_20_only(found: list[dict[str, Any]]) -> None:
    assert [(row["where"], row["data"]["nearest"]) for row in failed(found, "headline")] == [
        (f"Table 5: {OPUS}, EP-20, mean, Pass@1", ["30.42", "30.83"]),
        (f"Table 5: {OPUS}, EP-20, mean, Pass@2", ["38.75", "39.17"]),
    ]


def test_the_opus_counts_of_table_7_are_fine_by_themselves_and_contradict_table_6(found: list[dict[str, Any]]) -> None:
    assert failed(found, "counts") == []
    assert [(row["where"].split(", ")[2], row["text"]) for row in failed(found, "agreement")] == [
        ("Launch", "36/136 = 26.47, Table 6 prints 27.70"),
        ("Tower", "55/84 = 65.48, Table 6 prints 66.14"),
        ("Lock", "20/64 = 31.25, Table 6 prints 45.63"),
        ("Cube", "5/48 = 10.42, Table 6 prints 10.72"),
        ("Home", "17/68 = 25.00, Table 6 prints 29.06"),
        ("mean", "the counts of Table 7 average to 31.72, printed 35.85"),
    ]


def test_97_and_19_labels_for_115_failed_lock_attempts_are_flagged(found: list[dict[str, Any]]) -> None:
    (row,) = failed(found, "labels")
    assert row["text"] == "97 contact + 19 penetration = 116 labels for 115 failed attempts"


def test_suite_rows_average_to_the_headline_for_both_agents(found: list[dict[str, Any]]) -> None:
    rows = [row for row in found if row["check"] == "average"]
    assert len(rows) == 16
    assert all(row["holds"] for row in rows)


def test_attempts_are_conditions_and_first_attempt_failures(found: list[dict[str, Any]]) -> None:
    rows = {row["where"]: row for row in found if row["check"] == "attempts"}
    assert rows[f"Table 5: {GPT}, EP-100, mean"]["text"].endswith("64 solved by the first; the rates give 64")
    assert rows[f"Table 5: {OPUS}, EP-100, mean"]["holds"]
    assert rows[f"Table 5: {OPUS}, EP-20, mean"]["holds"] is None, "its headline has no counts at all"


def test_nothing_else_in_the_text_contradicts_itself(found: list[dict[str, Any]]) -> None:
    assert {row["check"] for row in failed(found)} == {"rate", "headline", "agreement", "labels"}
