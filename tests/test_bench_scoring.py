"""The two programs of the scoring bench: equal on every number, and told apart when one is wrong."""

from __future__ import annotations

import numpy as np
import pytest

pl = pytest.importorskip("polars", reason="left out, needs requirements-bench.lock")

from bench import scoring as bench  # noqa: E402
from bench.scoring_data import ATTEMPTS, EXCLUDED, columns, rules, selection, table  # noqa: E402
from bench.scoring_polars import everything, pass_2  # noqa: E402
from scoring.batch import pass_rate, score_batch  # noqa: E402
from scoring.window import Status  # noqa: E402

RUNS = 20


def frame(data: bench.Table) -> pl.DataFrame:
    return bench.polars_frame(data)


def test_both_programs_give_the_same_numbers() -> None:
    data = table(RUNS, seed=1)
    ours = score_batch(columns(data), selection(), rules())
    bench.check_same(ours, everything(frame(data), RUNS, bench.polars_plan()))
    single = pass_2(frame(data), bench.polars_plan())["pass_2"].to_numpy()
    bench.check_same_pass_2(pass_rate(columns(data), selection(), rules(), 2), single)
    assert 0 < np.isnan(single).sum() < RUNS, "complete and open runs are both in the data"
    counts = ours.attempts[:, :, 0]
    assert (counts.sum(axis=0) == ATTEMPTS).all()
    assert (counts[Status.EXCLUDED] == EXCLUDED).all()
    assert (counts.sum(axis=1) > 0).all(), "every status occurs"


def test_one_changed_outcome_is_noticed() -> None:
    data = table(RUNS, seed=1)
    ours = score_batch(columns(data), selection(), rules())
    scored = np.flatnonzero((data.outcome == 1) & (data.incident == 0))[0]
    data.outcome[scored] = 0
    with pytest.raises(AssertionError, match="differ"):
        bench.check_same(ours, everything(frame(data), RUNS, bench.polars_plan()))
