"""Scoring by hand in polars, for one protocol and one subset: what somebody would write who needs these numbers once.

It produces what :func:`scoring.batch.score_batch` does under ``pass2``: the window of every attempt, the state of
every condition, Pass@k and all-four with bounds, tasks solved, Time@S, Tok@S and failure codes, for the whole subset
and every breakdown. Input are the columns of :mod:`bench.scoring_data` as a frame.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

NEVER = 1 << 30
STATUSES = ("scored", "excluded", "candidate", "extra", "invalid", "pending")
STATES = ("success", "failure", "candidate", "invalid", "missing")
SUCCESS, FAILURE, INVALID = range(3)  # outcomes
CANDIDATE, CONFIRMED = 1, 2  # incidents
K = (1, 2)


@dataclass(frozen=True)
class Plan:
    """``tasks``: one row per task with ``task``, ``suite`` and a column per dimension (null: in no part). ``subsets``:
    tasks by name. ``codes``: the names of the failure codes by number. Four conditions per task."""

    tasks: pl.DataFrame
    dimensions: tuple[str, ...]
    subsets: dict[str, list[int]]
    codes: tuple[str, ...]


def pass_2(attempts: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Pass@2 of every run, in one query; null where a condition is open."""
    valid = (pl.col("incident") == 0) & (pl.col("outcome") != INVALID)
    slots = 4 * len(plan.tasks)
    return (
        attempts.lazy()
        .filter(pl.col("incident") != CONFIRMED)
        .select(
            "sequence",
            cell=pl.col("run") * slots + pl.col("task") * 4 + pl.col("condition"),
            won=pl.when(valid).then((pl.col("outcome") == SUCCESS).cast(pl.Int8)).otherwise(-1),
        )
        .sort("cell", "sequence")
        .group_by("cell", maintain_order=True)
        .agg(first=pl.col("won").get(0, null_on_oob=True), second=pl.col("won").get(1, null_on_oob=True))
        .select(
            run=pl.col("cell") // slots,
            task=pl.col("cell") % slots // 4,
            won=pl.when(pl.col("first") == 1)
            .then(1)
            .when((pl.col("first") == 0) & (pl.col("second") >= 0))
            .then(pl.col("second")),
        )
        .group_by("run", "task")
        .agg(pl.col("won").sum(), known=pl.col("won").count())
        .join(plan.tasks.lazy().select("task", "suite"), on="task")
        .group_by("run", "suite")
        .agg(pl.col("won").mean() / 4, pl.col("known").sum())
        .group_by("run")
        .agg(pl.when(pl.col("known").sum() == slots).then(pl.col("won").mean()).alias("pass_2"))
        .sort("run")
        .collect()
    )


def everything(attempts: pl.DataFrame, runs: int, plan: Plan) -> dict[str, pl.DataFrame]:
    """A frame per dimension, rows by run and value."""
    slots = _slots(attempts, runs, plan)
    sums = [pl.col(name).sum() for name in slots.columns if name not in ("run", "task", "condition")]
    tasks = (
        slots.lazy()
        .group_by("run", "task")
        .agg(sums)
        .join(plan.tasks.lazy(), on="task")
        .with_columns(_tasks(planned=4))
        .collect()
    )
    queries = {"total": _parts(tasks.lazy().with_columns(value=pl.lit("total")), "value", units=4)}
    for name in plan.dimensions:
        queries[name] = _parts(tasks.lazy().filter(pl.col(name).is_not_null()), name, units=4)
    subsets = [
        tasks.lazy().filter(pl.col("task").is_in(members)).with_columns(value=pl.lit(name))
        for name, members in plan.subsets.items()
    ]
    if subsets:
        queries["subset"] = _parts(pl.concat(subsets), "value", units=4)
    single = slots.lazy().join(plan.tasks.lazy().select("task", "suite"), on="task").with_columns(_tasks(planned=1))
    queries["condition"] = _parts(single.with_columns(pl.col("condition").cast(pl.String)), "condition", units=1)
    return dict(zip(queries, pl.collect_all(queries.values()), strict=True))


def _slots(attempts: pl.DataFrame, runs: int, plan: Plan) -> pl.DataFrame:
    """One row per run, task and condition, also without an attempt."""
    slots = 4 * len(plan.tasks)
    kept, block = pl.col("incident") != CONFIRMED, (pl.col("incident") == CANDIDATE) | (pl.col("outcome") == INVALID)
    win = (pl.col("outcome") == SUCCESS) & (pl.col("incident") == 0)
    ordered = (
        attempts.lazy()
        .with_columns(
            cell=pl.col("run").cast(pl.Int32) * slots + pl.col("task").cast(pl.Int32) * 4 + pl.col("condition")
        )
        .sort("cell", "sequence")
        .with_columns(kept=kept.cast(pl.Int32), running=kept.cum_sum().cast(pl.Int32))
        .with_columns(
            won_at=pl.when(win).then("running"),
            blocked_at=pl.when(block & kept).then(pl.col("running") * 2 + (pl.col("incident") != CANDIDATE)),
        )
        .collect()
    )
    by_cell = (
        ordered.lazy()
        .group_by("cell")
        .agg(
            base=pl.col("running").first() - pl.col("kept").first(),
            total=pl.col("kept").sum().cast(pl.Int32),
            first_win=pl.col("won_at").min(),
            first_block=pl.col("blocked_at").min(),
        )
    )
    grid = pl.LazyFrame({"cell": pl.int_range(runs * slots, dtype=pl.Int32, eager=True)})
    cells = (
        grid.join(by_cell, on="cell", how="left", maintain_order="left")
        .with_columns(
            pl.col("base", "total").fill_null(0),
            first_win=(pl.col("first_win") - pl.col("base") - 1).fill_null(NEVER),
            first_block=(pl.col("first_block") // 2 - pl.col("base") - 1).fill_null(NEVER),
            candidate=(pl.col("first_block") % 2 == 0).fill_null(False),
        )
        .with_columns(end=pl.min_horizontal("first_win", pl.lit(1)))
        .with_columns(blocked=pl.col("first_block") <= pl.col("end"))
        .with_columns(
            *((pl.col("first_win").lt(pl.col("first_block")) & (pl.col("first_win") < k)).alias(f"yes_{k}") for k in K)
        )
        .with_columns(
            *((~pl.col(f"yes_{k}") & (pl.min_horizontal("first_block", "total") >= k)).alias(f"no_{k}") for k in K),
            closed=~pl.col("blocked") & (pl.col("total") > pl.col("end")),
            candidate=pl.col("blocked") & pl.col("candidate"),
            invalid=pl.col("blocked") & ~pl.col("candidate"),
            limit=pl.when("blocked").then("first_block").otherwise("end"),
        )
        .collect()
    )
    cell = ordered["cell"]
    place = pl.col("running") - 1 - cells["base"].gather(cell)
    late, waits = place > cells["limit"].gather(cell), cells["blocked"].gather(cell)
    status = (
        pl.when(pl.col("kept") == 0)
        .then(1)
        .when(late)
        .then(pl.when(waits).then(5).otherwise(3))
        .when(pl.col("incident") == CANDIDATE)
        .then(2)
        .when(pl.col("outcome") == INVALID)
        .then(4)
        .otherwise(0)
        .cast(pl.Int8)
    )
    scored, small = pl.col("status") == 0, pl.Int32
    won, lost = scored & (pl.col("outcome") == SUCCESS), scored & (pl.col("outcome") == FAILURE)
    counts = (
        ordered.lazy()
        .with_columns(status=status)
        .select(
            "cell",
            *(
                (pl.col("status") == number).cast(small).alias(f"attempts_{name}")
                for number, name in enumerate(STATUSES)
            ),
            *(
                (lost & (pl.col("code") == number)).cast(small).alias(f"code_{name}")
                for number, name in enumerate(plan.codes)
            ),
            time=pl.when(won).then("success_wall_s"),
            time_unknown=(won & pl.col("success_wall_s").is_null()).cast(small),
            tokens=pl.when(won).then("tokens"),
            tokens_unknown=(won & pl.col("tokens").is_null()).cast(small),
            won=won.cast(small),
        )
        .group_by("cell")
        .agg(pl.all().sum())
    )
    states = {
        "success": pl.col("closed") & pl.col("yes_2"),
        "failure": pl.col("closed") & ~pl.col("yes_2"),
        "candidate": pl.col("candidate"),
        "invalid": pl.col("invalid"),
        "missing": ~pl.col("closed") & ~pl.col("blocked"),
    }
    return (
        cells.lazy()
        .join(counts, on="cell", how="left", maintain_order="left")
        .select(
            (pl.col("cell") // slots).alias("run"),
            (pl.col("cell") % slots // 4).alias("task"),
            (pl.col("cell") % 4).alias("condition"),
            *(pl.col(f"{answer}_{k}").cast(pl.Int32) for k in K for answer in ("yes", "no")),
            *(found.cast(pl.Int32).alias(f"state_{name}") for name, found in states.items()),
            *(pl.col(f"attempts_{name}").fill_null(0) for name in STATUSES),
            *(pl.col(f"code_{name}").fill_null(0) for name in plan.codes),
            *(pl.col(name).fill_null(0) for name in ("time", "time_unknown", "tokens", "tokens_unknown", "won")),
        )
        .collect()
    )


def _tasks(planned: int) -> list[pl.Expr]:
    """What is counted by task, of so many conditions."""
    found = [((pl.col("state_success") + pl.col("state_failure")) == planned).alias("complete")]
    for k in K:
        yes, no = pl.col(f"yes_{k}"), pl.col(f"no_{k}")
        found += [
            (yes == planned).alias(f"all_lower_{k}"),
            (no == 0).alias(f"all_upper_{k}"),
            (yes > 0).alias(f"one_lower_{k}"),
            (no < planned).alias(f"one_upper_{k}"),
            (yes + no == planned).alias(f"whole_{k}"),
        ]
    return found


def _parts(tasks: pl.LazyFrame, value: str, units: int) -> pl.LazyFrame:
    """Suites within each part, then parts."""
    sums = [f"{answer}_{k}" for k in K for answer in ("yes", "no")]
    sums += [f"{which}_{end}_{k}" for k in K for which in ("one", "all") for end in ("lower", "upper")]
    sums += [f"whole_{k}" for k in K] + ["complete", "time", "time_unknown", "tokens", "tokens_unknown", "won"]
    patterns = "^(state|attempts|code)_.*$"
    groups = ["run", "suite"] if value == "suite" else ["run", value, "suite"]
    rates = {f"pass_lower_{k}": pl.col(f"yes_{k}") / (units * pl.col("tasks")) for k in K}
    rates |= {f"pass_upper_{k}": 1 - pl.col(f"no_{k}") / (units * pl.col("tasks")) for k in K}
    rates |= {f"four_{end}_{k}": pl.col(f"all_{end}_{k}") / pl.col("tasks") for k in K for end in ("lower", "upper")}
    mean = [
        pl.when((pl.col("won") > 0) & (pl.col(f"{name}_unknown") == 0))
        .then(pl.col(name) / pl.col("won"))
        .alias(f"{name}_mean")
        for name in ("time", "tokens")
    ]
    return (
        tasks.group_by(groups)
        .agg(pl.col(*sums).sum(), pl.col(patterns).sum(), tasks=pl.len())
        .with_columns(**rates)
        .group_by("run", value)
        .agg(pl.col(*sums, "tasks").sum(), pl.col(patterns).sum(), pl.col(*rates).mean())
        .with_columns(mean)
        .rename({value: "value"} if value != "value" else {})
        .sort("run", "value")
    )
