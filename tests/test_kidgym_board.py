"""KidGym's board: published and computed figures stand beside measured ones and never among them; its pages."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from images.kidgym.baseline import baseline
from images.kidgym.catalog import LEVELS, NAMES
from manifests.errors import ManifestError
from manifests.figures import FILE, figures
from manifests.load import FOLDER

FACTS = Path(__file__).parents[2] / "shared" / "kidgym" / "published_zero_shot.csv"


# ---- figures --------------------------------------------------------------------------------------------------------
@pytest.mark.skipif(not FACTS.exists(), reason="the published table is not here")
def test_every_published_rate_is_the_printed_one() -> None:
    with FACTS.open(encoding="utf-8") as file:
        printed = {(r["model"], r["task"], int(r["level"])): r["success_rate"] for r in csv.DictReader(file)}
    (table,) = [item for item in figures("kidgym") if item.origin == "published"]
    loaded = {
        (row.name, suite, number): rate
        for row in table.rows
        for suite, rates in row.rates.items()
        for number, rate in enumerate(rates, 1)
    }
    assert loaded == printed
    assert (len(table.rows), table.mode) == (15, "zero-shot")


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
