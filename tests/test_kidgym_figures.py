"""Published and computed figures of KidGym: as printed, as the rules give them, and checked like every manifest."""

from __future__ import annotations

from pathlib import Path

import pytest

from images.kidgym.baseline import baseline
from images.kidgym.catalog import LEVELS, NAMES
from manifests.errors import ManifestError
from manifests.figures import FILE, figures
from manifests.load import FOLDER

MEANS = {
    "o3": 0.6306,
    "GPT-5": 0.6439,
    "GPT-4o": 0.3325,
    "Gemini-2.5 Pro": 0.6556,
    "Gemini-2.5 Flash": 0.4519,
    "Claude-3.7 Sonnet": 0.4617,
    "QwenVL-2.5 (72B)": 0.3197,
    "InternVL-3 (78B)": 0.2661,
    "QwenVL-2.5 (32B)": 0.3564,
    "InternVL-3 (38B)": 0.2936,
    "QwenVL-2.5 (7B)": 0.1389,
    "InternVL-3 (8B)": 0.1358,
    "DeepSeekVL-2": 0.1417,
    "Human": 0.9867,
}
"""Of the 36 printed rates of each row: one that was copied wrongly would show."""


def test_published_rates_are_the_printed_ones_of_fifteen_rows() -> None:
    (table,) = [item for item in figures("kidgym") if item.origin == "published"]
    assert (len(table.rows), table.mode, table.episodes) == (15, "zero-shot", 100)
    assert all(len(row.rates) == 12 and all(len(rates) == 3 for rates in row.rates.values()) for row in table.rows)
    rows = {row.name: row for row in table.rows}
    assert rows["o3"].rates["MA"] == ("0.87", "0.42", "0.27")
    assert rows["Human"].rates["CL"] == ("0.98", "0.95", "0.93")
    assert rows["Random"].rates["SO"] == ("0.50", "0.08", "0.04")
    assert {row.name: round(row.mean(), 4) for row in table.rows if row.kind != "chance"} == MEANS


def test_the_computed_row_is_what_the_rules_give() -> None:
    (table,) = [item for item in figures("kidgym") if item.origin == "computed"]
    (row,) = table.rows
    for code in NAMES:
        for level in LEVELS:
            assert row.rates[code][level - 1] == f"{float(baseline(code, level)):.6f}"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"CL": ["1.00", "0.98", "0.92"]', '"CL": ["1.00", "0.98"]', "rates.CL: o3 has 2 rates, the catalog 3 levels"),
        ('"CL": ["1.00", "0.98", "0.92"]', '"CL": ["1.00", "0.98", "1.92"]', "should match pattern"),
        ('"CL": ["1.00", "0.98", "0.92"]', '"CL": ["1.00", "0.98", 0.92]', "valid string"),
        ('"MFI": ["0.81", "0.50", "0.37"]', '"XX": ["0.81", "0.50", "0.37"]', "rates.MFI: o3 has 0 rates"),
        ('"name": "GPT-5"', '"name": "o3"', "rows[1].name: 'o3' stands twice"),
        ('"kind": "people"', '"kind": "robot"', "kind"),
        ('"origin": "published"', '"origin": "measured"', "origin"),
        ('"kidgym":', '"kidgim":', "unknown board 'kidgim'"),
        ('"episodes": 100', '"episodes": 100, "interval": 0.05', "unknown field"),
    ],
)
def test_a_wrong_figure_is_one_line_that_names_the_field(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = (FOLDER / FILE).read_text(encoding="utf-8")
    assert old in text
    (tmp_path / FILE).write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ManifestError) as caught:
        figures("kidgym", tmp_path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_board_without_figures_has_none() -> None:
    assert figures("ep") == ()
