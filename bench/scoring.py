"""Scores of a thousand runs at once against hand-written polars, and the bootstrap of one run.

Both sides start from the same columns in memory and are checked to give the same numbers before anything is timed.
Intervals are not part of the first two figures: polars has no stratified bootstrap to compare with.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from bench.figures import Figure, Target, paired
from bench.scoring_data import ATTEMPTS, CODES, RUNS, Table, columns, rules, selection, table
from bench.tools import say
from scoring import rows
from scoring.batch import Batch, pass_rate, score_batch
from scoring.eligibility import assess
from scoring.ledger import Attempt
from scoring.plain import metric_key
from scoring.rows import BREAKDOWNS
from scoring.uncertainty import RESAMPLES, intervals
from scoring.window import State, Status

EVERYTHING, PASS2, BOOTSTRAP, MEMORY = (
    Target("ratio", "<=", 1.5),
    Target("ratio", "<=", 3.0),
    Target("ours", "<", 0.5),
    Target("ours", "<", 2.0),
)


def run(quick: bool) -> list[Figure]:
    if find_spec("polars") is None:
        raise SystemExit(
            "bench scoring: polars is not installed; pip install --require-hashes -r requirements-bench.lock"
        )
    from bench.scoring_polars import everything, pass_2

    runs = 50 if quick else RUNS
    data, chosen, protocol = table(runs), selection(), rules()
    frame, plan = polars_frame(data), polars_plan()
    check_same(score_batch(columns(data), chosen, protocol), everything(frame, runs, plan))
    check_same_pass_2(pass_rate(columns(data), chosen, protocol, 2), pass_2(frame, plan)["pass_2"].to_numpy())
    say(f"scoring: {runs * ATTEMPTS} attempts, both programs agree on every number")

    rounds = 3 if quick else 11
    whole = _timed(rounds, lambda: score_batch(columns(data), chosen, protocol), lambda: everything(frame, runs, plan))
    single = _timed(rounds, lambda: pass_rate(columns(data), chosen, protocol, 2), lambda: pass_2(frame, plan))
    work = _intervals_of_one_run()
    bootstrap = [_seconds(work)[0] for _ in range(rounds)]
    size = f"{runs} runs x {ATTEMPTS} attempts"
    return [
        paired(f"score {size}, all breakdowns, against polars", "s", *whole, EVERYTHING),
        paired(f"Pass@2 of {size}, against one polars query", "s", *single, PASS2),
        Figure(
            f"bootstrap of {RESAMPLES} resamples, every row of one EP-100 run",
            "s",
            float(np.median(bootstrap)),
            target=BOOTSTRAP,
        ),
        Figure(
            f"memory to score {size}",
            "GB",
            _peak_gb(runs),
            target=MEMORY,
            note="peak of a process of its own, data included",
        ),
    ]


def polars_frame(data: Table) -> Any:
    """The same columns as a frame; unknown is null."""
    import polars as pl

    frame = pl.DataFrame({name: getattr(data, name) for name in Table.__dataclass_fields__ if name != "runs"})
    return frame.with_columns(pl.col("success_wall_s", "tokens").fill_nan(None))


def polars_plan() -> Any:
    """Tasks with their labels, and subsets, from the same manifests."""
    import polars as pl

    from bench.scoring_polars import Plan

    chosen = selection()
    labels = ("type", "split", "embodiment", "engine", "level")
    values = {name: [task.labels.get(name) for task in chosen.tasks] for name in labels}
    position = {task.environment_id: number for number, task in enumerate(chosen.tasks)}
    subsets = {
        name: [position[member] for member in members]
        for name, members in chosen.subsets.items()
        if members <= position.keys()
    }
    frame = pl.DataFrame(
        {"task": range(len(chosen.tasks)), "suite": [task.suite for task in chosen.tasks], **values},
        schema_overrides={"task": pl.Int32, **dict.fromkeys(("suite", *labels), pl.Categorical)},
    )
    return Plan(frame, ("suite", *labels), subsets, CODES)


def _intervals_of_one_run() -> Callable[[], Any]:
    """The intervals of every metric in every row of a complete run: the whole subset and each breakdown."""
    chosen = selection()
    chance = np.random.default_rng(0)
    slots = [(task.environment_id, condition) for task in chosen.tasks for condition in range(task.conditions)]
    outcomes = chance.random(2 * len(slots)) < 0.2
    ledger = [
        Attempt(number, *slots[(number - 1) // 2], "success" if solved else "failure")
        for number, solved in enumerate(outcomes.tolist(), start=1)
    ]
    judged = assess(ledger, chosen, rules())
    masks = [np.ones(judged.layout.slots, dtype=bool)]
    masks += [mask for dimension in BREAKDOWNS for _, mask in rows.parts(judged, dimension)]
    return lambda: [intervals(*rows.unit_rates(judged, mask), seed=0) for mask in masks]


def _timed(rounds: int, ours: Callable[[], Any], raw: Callable[[], Any]) -> tuple[list[float], list[float]]:
    """Seconds of both, in turn; the collector runs before each."""
    pairs = [(_seconds(ours)[0], _seconds(raw)[0]) for _ in range(rounds)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    began = time.perf_counter()
    found = work()
    return time.perf_counter() - began, found


def _peak_gb(runs: int) -> float:
    """Peak resident memory of a process that makes the columns and scores them."""
    text = (
        "import resource\n"
        "from bench.scoring_data import columns, rules, selection, table\n"
        "from scoring.batch import score_batch\n"
        f"score_batch(columns(table({runs})), selection(), rules())\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    done = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True, env=os.environ)
    return int(done.stdout) * 1024 / 1e9


def check_same_pass_2(ours: np.ndarray, raw: np.ndarray) -> None:
    if not np.allclose(ours, raw, rtol=1e-12, atol=0, equal_nan=True):
        raise AssertionError("Pass@2 differs between the programs")


def check_same(ours: Batch, raw: dict[str, Any]) -> None:
    """Both programs give the same rows and numbers. Raises AssertionError with the first that differs."""
    labels = ours.parts.labels
    for dimension, frame in raw.items():
        values = sorted({value for name, value in labels if name == dimension})
        if dimension != "total" and sorted(set(frame["value"])) != values:
            raise AssertionError(f"{dimension}: {sorted(set(frame['value']))} are not {values}")
        for value in set(frame["value"]):
            part = labels.index((dimension, value)) if dimension != "total" else 0
            found = frame.filter(frame["value"] == value)
            for name, mine in _numbers(ours, part).items():
                theirs = found[name].to_numpy().astype(float)
                if not np.allclose(np.asarray(mine, dtype=float), theirs, rtol=1e-12, atol=1e-15, equal_nan=True):
                    raise AssertionError(f"{dimension} {value}: {name} differs: {mine} and {theirs}")
    if {name for name, _ in labels} != set(raw):
        raise AssertionError(f"dimensions {sorted(raw)} are not those of the batch")


def _numbers(ours: Batch, part: int) -> dict[str, Any]:
    """Our numbers of one part [runs] under the names of the polars frames."""
    found: dict[str, Any] = {"complete": ours.complete[:, part]}
    found |= {f"attempts_{status.name.lower()}": ours.attempts[status, :, part] for status in Status}
    found |= {f"state_{state.name.lower()}": ours.states[state, :, part] for state in State}
    found |= {
        f"code_{name}": ours.codes[ours.code_names.index(name), :, part] for name in CODES if name in ours.code_names
    }
    for name, means in (("time", ours.time_at_success_s), ("tokens", ours.tokens_at_success)):
        found |= {f"{name}_mean": means.mean[:, part], f"{name}_unknown": means.unknown[:, part]}
        found |= {"won": means.successes[:, part]}
    for k, solved in ours.solved.items():
        rates = {"pass": ours.rates[metric_key("pass", k)], "four": ours.rates[metric_key("all_four", k)]}
        for name, rate in rates.items():
            if rate.offered[part]:
                found |= {
                    f"{name}_lower_{k}": rate.lower[:, part] / rate.denominator[part],
                    f"{name}_upper_{k}": rate.upper[:, part] / rate.denominator[part],
                }
        found |= {f"yes_{k}": rates["pass"].successes[:, part], f"no_{k}": rates["pass"].failures[:, part]}
        if rates["four"].offered[part]:
            found[f"whole_{k}"] = rates["four"].known[:, part]
        found |= {
            f"one_lower_{k}": solved.one_lower[:, part],
            f"one_upper_{k}": solved.one_upper[:, part],
            f"all_lower_{k}": solved.all_lower[:, part],
            f"all_upper_{k}": solved.all_upper[:, part],
        }
    return found
