"""The command that makes a run again: it says every choice that the run's settings record, whatever they hold."""

from __future__ import annotations

import json
import shlex
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from leaderboard_records import QUIT, SUCCESS, twice, write_run

from leaderboard.blocks import html_of, page
from leaderboard.source import Entry, read_entry
from leaderboard.views.again import command, of_run, of_runs
from manifests.demo import FOLDER
from manifests.load import load
from runner.cli import run as assay
from runner.cli.evaluate import command as evaluate
from runner.imports.ledger import Source, import_ledger
from runner.store.store import Run, Store

ODD = '"; rm -rf ~ #'
PARAMETERS = {
    "temperature": 0.5,
    "effort": "high",
    "base_url": "http://127.0.0.1:8000/v1",
    "max_output_tokens": 4096,
    "stream": True,
    "extra": {"top_p": 0.9, "stop": ODD},
    "manner": {"turns": 40},
}


def options(text: str | None) -> dict[str, Any]:
    """What the command line makes of the command, as a shell splits it."""
    assert text is not None
    first, second, *rest = shlex.split(text)
    assert (first, second) == ("assay", "evaluate")
    return evaluate.make_context("evaluate", rest).params


def test_the_command_of_a_model_has_every_choice_and_parameter_of_its_run(store: Store) -> None:
    recorded = {"seed": 3, "grants": ["ik", "grasp"], "gpus": True, "mode": "cot"}
    tasks = "marble/dual-panda/A007"
    run = write_run(
        store, "r", twice(QUIT), model="lab/r", tasks=tasks, level="L2", parameters=PARAMETERS, settings=recorded
    )
    found = options(command(run))
    settings = run.settings
    same = ("model", "board", "subset", "tasks", "protocol", "profile", "seed", "runtime", "level", "gpus")
    assert {name: found[name] for name in same} == {name: settings[name] for name in same}
    assert found["agent"] == settings["agent"]["name"]
    assert found["grants"].split(",") == settings["grants"]
    assert found["setting"] == "cot"
    plain = PARAMETERS.keys() - {"extra", "manner"}
    assert {name: found[name] for name in plain} == {name: PARAMETERS[name] for name in plain}
    extra = dict(item.split("=", 1) for item in found["extra"])
    assert {name: json.loads(value) for name, value in extra.items()} == PARAMETERS["extra"]
    assert found["run_name"] == "again-r"


def test_the_command_of_a_baseline_is_taken_as_it_stands(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_run(store, "r", twice(SUCCESS), model="reference", level="L3", settings={"grants": ["reference-kit"]})
    text = command(run)
    assert text is not None
    assert assay([*shlex.split(text)[1:], "--dry-run"]) == 0
    assert "reference" in capsys.readouterr().out


def test_a_parameter_that_is_named_like_a_secret_is_left_out_and_that_is_said(store: Store) -> None:
    extra = {"top_p": 0.9, "api_key": "zzz", "headers": {"X-Access-Token": "yyy"}}
    run = write_run(store, "r", twice(QUIT), model="lab/r", parameters={"extra": extra})
    entry = read_entry(store, run)
    assert isinstance(entry, Entry)
    one, every = page("", of_run(entry)), page("", of_runs([entry]))
    for shown in (html_of(one), html_of(every), str(one.blocks[0].data), str(every.blocks[0].data)):
        assert "zzz" not in shown
        assert "yyy" not in shown
        assert "top_p=0.9" in shown
    assert "A part of it may not be shown here" in html_of(one)


def test_a_run_that_was_made_elsewhere_has_no_command(store: Store) -> None:
    demo = FOLDER / "gpt-6-astra.csv"
    import_ledger(store, demo, Source("g", "reconstructed", "ep-100", "pass2", "GPT-6-Astra"), load())
    (run,) = store.runs()
    assert command(run) is None


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=40))
def test_no_name_breaks_out_of_its_word(text: str) -> None:
    agent = {"name": text, "kind": "model", "parameters": {"effort": text, "extra": {"stop": text}}}
    settings = dict.fromkeys(("board", "subset", "tasks", "protocol", "profile", "runtime", "level"), text)
    run = Run("1" * 32, "r", datetime.now(UTC), {**settings, "model": text, "agent": agent, "seed": 0, "grants": []})
    found = options(command(run))
    assert {found[name] for name in ("model", "agent", "effort", *settings)} == {text}
    assert found["extra"] == (f"stop={json.dumps(text)}",)
