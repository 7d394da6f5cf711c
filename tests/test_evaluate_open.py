"""A run that is done but for decisions on incidents says so: what waits, what one types next, and its exit status."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from incident_board import INTERRUPTED, LATE_FAULT, one_condition, trusting
from leaderboard_records import QUIT
from slider_runtime import Scripted, evaluation

from runner.cli import run as assay
from runner.cli.evaluate import UNDECIDED, _finish
from runner.evaluate import Evaluation
from runner.keys import new_key
from runner.store.store import Store


def killed(home: Path, protocol: str) -> Evaluation:
    """A run whose only attempt began and was killed, about to be started again."""

    def start() -> Evaluation:
        return evaluation(home, Scripted(lambda context: None), parameters=[{}], protocol=protocol)

    first = start()
    run = first._run(None, first.make_runtime())
    attempt = first.store.open_attempt(run, first.planned[0].environment_id, 0, first.owner)
    first.store.begin_attempt(run, attempt.id)
    first.store.close()
    return start()


@pytest.mark.parametrize(
    ("protocol", "confirmed"),
    [
        ("pass2", "it takes no opportunity: run the same command again for another attempt"),
        ("single", "its condition is invalid: protocol single replaces no attempt"),
    ],
)
def test_an_evaluation_that_waits_for_a_decision_ends_with_a_status_of_its_own_and_says_what_is_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], protocol: str, confirmed: str
) -> None:
    made = killed(tmp_path, protocol)
    run = made.run()
    assert _finish(made, run, "table", None) == UNDECIDED == 3
    said = capsys.readouterr().out
    assert "marble/dual-panda/A007 c0 (ledger 2): interrupted: " in said
    assert "1 condition waits: the score is partial until each is decided" in said
    given = "--reviewer NAME --reason TEXT"  # no trusted key says who decides
    assert f"assay incidents confirm test 2 {given}    ({confirmed})" in said
    assert f"assay incidents reject test 2 --ruled agent_exception {given}    (it is that failure)" in said
    assert "start another run with RUN=..." in said
    assert _finish(made, run, "json", None) == UNDECIDED  # the same for a script that reads JSON
    made.store.close()


def test_the_commands_that_are_said_decide_and_the_same_evaluation_then_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    made = killed(home, "pass2")
    run = made.run()
    monkeypatch.setenv("ASSAY_HOME", str(home))
    monkeypatch.setenv("ASSAY_KEY", str(tmp_path / "key.pem"))

    def said() -> list[str]:
        _finish(made, run, "table", None)
        return re.findall(r"assay (incidents \w+ .+?)(?:    \(|$)", capsys.readouterr().out, re.MULTILINE)

    def type_in(command: str) -> str:
        assert assay(shlex.split(command.replace("TEXT", "'the power failed'").replace("NAME", "Ann"))) == 0
        return capsys.readouterr().out

    commands = said()
    assert [command.split()[1] for command in commands] == ["list", "confirm", "reject"]
    assert "invalid by interrupted" in type_in(commands[0])
    assert "attempt 2: recorded as a proposal" in type_in(commands[1])  # nobody's key is trusted
    manifests = trusting(new_key(tmp_path / "key.pem"))
    monkeypatch.setattr("manifests.load.load", lambda: manifests)
    assert "attempt 2: confirmed" in type_in(said()[1])
    made.manifests = manifests
    run = made.run()
    assert [row.cause for row in made.store.attempts(run)] == ["interrupted", "quit", "quit"]
    assert _finish(made, run, "table", None) == 0
    assert "Incident candidates" not in capsys.readouterr().out
    made.store.close()


def test_a_candidate_that_came_after_what_counts_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one_condition(Store(tmp_path), "r", QUIT, QUIT, LATE_FAULT)
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    assert assay(["score", "r"]) == 0
    assert "no condition waits for them: they came after what counts there" in capsys.readouterr().out


def test_many_candidates_are_counted_and_the_score_of_an_open_run_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("runner.report.MAX_ROWS", 1)
    one_condition(Store(tmp_path), "r", LATE_FAULT, INTERRUPTED)
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    assert assay(["score", "r"]) == 0  # a question that was answered
    said = capsys.readouterr().out
    assert "  and 1 attempt more" in said
    assert "1 condition waits" in said
